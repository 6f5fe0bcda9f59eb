"""Tests of machine formats: contents, validity and escaped model names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import junitparser
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from markdown_it import MarkdownIt
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.conftest import REPOSITORY
from tests.report import handmade
from trtlint.engine.finding import Finding, ModelReport, Report, Rewrite, StaleBaselineEntry, Suppression
from trtlint.engine.rulebook import Rulebook, builtin_rules, load_rules
from trtlint.files.problem import Problem
from trtlint.model.source import Source
from trtlint.report import github, gitlab, junit, markdown, rdjson, sarif
from trtlint.report.locations import Overview, overview

FOUND = Source("net/attention.py", 57, "forward", found=True)
ROOT = Path("/repository")


@pytest.fixture(scope="module")
def rules() -> Rulebook:
    """Return the rules of the handmade findings."""
    return load_rules([builtin_rules() / "accuracy"])


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (REPOSITORY / "tests/data/schemas/sarif-2.1.0.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> Validator:
    """Return a SARIF validator; ``jsonschema.validate`` would check the schema for each document."""
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, format_checker=jsonschema.FormatChecker())


def located(finding: Finding) -> Finding:
    """Return the finding with its sites on a repository line."""
    return replace(finding, sites=tuple(replace(site, source=FOUND) for site in finding.sites))


def mixed() -> Report:
    """Return a report with code lines, accepted findings, notes and an unreadable file."""
    accepted = replace(
        handmade.CLIP,
        suppression=Suppression(
            "configuration", "/home/alice/trtlint.toml", "the caller clips", "2027-01-31"
        ),
    )
    model = replace(
        handmade.one_model().models[0],
        path="models/vit.onnx",
        findings=(located(handmade.SCALE), handmade.CLIP),
        suppressed=(replace(accepted, rule="ACC105", name="other"),),
    )
    return Report((model, handmade.unreadable(), handmade.clean_model()), notes=("one note of the run",))


def seen(report: Report, *, show_conditional: bool = False) -> Overview:
    return overview(report, None, show_conditional=show_conditional)


REPORTS = [
    Report(),
    handmade.one_model(),
    handmade.several_targets(),
    handmade.hostile(),
    mixed(),
]


def indented(data: object) -> str:
    """Return the JSON document that a format writes."""
    return json.dumps(data, indent=2)


def failing(model: str, finding: Finding) -> bool:
    return finding.severity == "error"


# What is shown where.


def test_sites_of_one_line_are_one_spot() -> None:
    scale, clip = seen(mixed()).spots
    assert (scale.place.path, scale.place.line, len(scale.finding.sites)) == ("net/attention.py", 57, 12)
    assert (clip.place.path, clip.place.line) == ("models/vit.onnx", None)


def test_sites_of_two_lines_are_two_spots() -> None:
    sites = list(located(handmade.SCALE).sites)
    sites[0] = replace(sites[0], source=replace(FOUND, line=90))
    finding = replace(handmade.SCALE, sites=tuple(sites))
    spots = seen(Report((ModelReport("m.onnx", "TensorRT", (finding,)),))).spots
    assert [(spot.place.line, len(spot.finding.sites)) for spot in spots] == [(57, 11), (90, 1)]
    assert len({spot.fingerprint for spot in spots}) == 2


def test_a_line_that_was_not_found_is_not_shown() -> None:
    (spot,) = (spot for spot in seen(handmade.one_model()).spots if spot.finding.rule == "ACC102")
    assert spot.place.path == "vit.onnx"


def test_conditional_findings_only_if_asked_for() -> None:
    assert not any(spot.conditional for spot in seen(mixed()).spots)
    spots = seen(mixed(), show_conditional=True).spots
    assert sum(spot.conditional for spot in spots) == 3


def test_paths_are_relative_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    given = ["m.onnx", "../n.onnx", str(tmp_path / "o.onnx"), "../../p.onnx", "./q.onnx"]
    report = Report(tuple(handmade.clean_model(path) for path in given))
    assert overview(report, tmp_path).models == (
        *("below/m.onnx", "n.onnx", "o.onnx", "../../p.onnx", "below/q.onnx"),
    )


def test_several_targets_are_one_spot() -> None:
    spots = {(spot.finding.rule): spot.targets for spot in seen(handmade.several_targets()).spots}
    assert [target.split()[1] for target in spots["ACC104"]] == ["10.6,", "10.7,", "10.8,", "11.0,"]
    assert spots["ACC102"] == ("TensorRT 10.7, SM 8.9 (L4)",)


def test_what_is_gone_from_a_model_is_noted() -> None:
    model = replace(
        handmade.clean_model("m.onnx"), gone=(StaleBaselineEntry("ACC102", "0" * 16, "blocks.0"),)
    )
    all_ = seen(Report((model,)))
    assert all_.notes == (("m.onnx", "ACC102 at blocks.0 no longer occurs, but is still in the baseline"),)
    assert "1 stale place in the baseline" in markdown.dumps(all_)


def test_a_file_that_was_skipped_is_no_passed_test() -> None:
    pointer = replace(handmade.clean_model("m.onnx"), skipped=True, notes=("skipped: a Git LFS pointer",))
    (suite,) = ElementTree.fromstring(junit.dumps(seen(Report((pointer,))), failing))
    assert suite.attrib["skipped"] == suite.attrib["tests"] == "1"
    assert "a Git LFS pointer" in markdown.dumps(seen(Report((pointer,))))


# Snapshots.


def test_sarif(rules: Rulebook, snapshot: SnapshotAssertion) -> None:
    data = sarif.to_sarif(seen(mixed()), [rules.rule("ACC102"), rules.rule("ACC104")])
    driver = data["runs"][0]["tool"]["driver"]
    assert [rule["id"] for rule in driver.pop("rules")] == ["ACC102", "ACC104"]
    assert driver.pop("version") == driver.pop("semanticVersion")
    assert data == snapshot


def test_github(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(github.lines(seen(mixed(), show_conditional=True))) == snapshot


def test_gitlab(snapshot: SnapshotAssertion) -> None:
    assert indented(gitlab.to_gitlab(seen(mixed()))) == snapshot


def test_rdjson(snapshot: SnapshotAssertion) -> None:
    assert indented(rdjson.to_rdjson(seen(mixed()))) == snapshot


def test_junit(snapshot: SnapshotAssertion) -> None:
    assert junit.dumps(seen(mixed()), failing) == snapshot


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert markdown.dumps(seen(mixed(), show_conditional=True)) == snapshot


# SARIF.


@pytest.mark.slow
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("show_conditional", [False, True])
def test_sarif_follows_the_schema(
    report: Report, show_conditional: bool, rules: Rulebook, validator: Validator
) -> None:
    data = sarif.to_sarif(seen(report, show_conditional=show_conditional), rules)
    validator.validate(data)


def test_the_schema_refuses_other_documents(rules: Rulebook, schema: dict[str, Any]) -> None:
    data = sarif.to_sarif(seen(mixed()), rules)
    data["runs"][0]["results"][0]["level"] = "critical"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_sarif_has_every_rule_with_its_help(rules: Rulebook, manual_address: str) -> None:
    driver = sarif.to_sarif(seen(Report()), rules)["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == manual_address
    listed = driver["rules"]
    assert [entry["id"] for entry in listed] == [rule.id for rule in rules]
    for entry, rule in zip(listed, rules, strict=True):
        assert entry["help"]["markdown"] == rule.body.strip()
        assert entry["helpUri"] == f"{manual_address}rules/{rule.id}/"
        assert entry["properties"]["tags"] == ["accuracy"]


def test_sarif_rule_index_points_at_the_rule(rules: Rulebook) -> None:
    run = sarif.to_sarif(seen(mixed()), rules)["runs"][0]
    listed = run["tool"]["driver"]["rules"]
    assert run["results"]
    for result in run["results"]:
        assert listed[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_places(rules: Rulebook) -> None:
    result = sarif.to_sarif(seen(mixed()), rules)["runs"][0]["results"][0]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {
        "uri": "net/attention.py",
        "uriBaseId": "SRCROOT",
    }
    assert location["physicalLocation"]["region"] == {"startLine": 57}
    names = [entry["fullyQualifiedName"] for entry in location["logicalLocations"]]
    assert names[:2] == ["blocks.0.attn", "/blocks.0/attn/MatMul"]
    related = result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert related == "models/vit.onnx"


def test_sarif_sites_of_one_module(rules: Rulebook, schema: dict[str, Any]) -> None:
    one, other = handmade.SCALE.sites[:2]
    sites = (one, replace(other, module=one.module), replace(one, rows=()))
    finding = replace(handmade.SCALE, sites=sites)
    data = sarif.to_sarif(seen(Report((ModelReport("m.onnx", "TensorRT", (finding,)),))), rules)
    jsonschema.validate(data, schema)
    (location,) = data["runs"][0]["results"][0]["locations"]
    kinds = [entry["kind"] for entry in location["logicalLocations"]]
    assert kinds == ["module", "object", "object"]


def test_sarif_says_what_could_not_be_read(rules: Rulebook) -> None:
    (invocation,) = sarif.to_sarif(seen(mixed()), rules)["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    error, *notes = invocation["toolExecutionNotifications"]
    assert error["level"] == "error"
    assert "byte 117" in error["message"]["text"]
    assert {note["level"] for note in notes} == {"note"}


def test_sarif_keeps_what_is_suppressed(rules: Rulebook) -> None:
    (result,) = (
        result
        for result in sarif.to_sarif(seen(mixed()), rules)["runs"][0]["results"]
        if "suppressions" in result
    )
    assert result["suppressions"][0]["justification"] == "the caller clips"
    assert "alice" not in json.dumps(result)


def test_sarif_conditional_findings_are_open(rules: Rulebook) -> None:
    results = sarif.to_sarif(seen(mixed(), show_conditional=True), rules)["runs"][0]["results"]
    kinds = {(result["kind"], result["level"]) for result in results if result["properties"]["depends"]}
    assert kinds == {("open", "none")}


def test_sarif_text_is_no_link_and_no_placeholder() -> None:
    nasty = replace(handmade.CLIP, message="[click](https://example.org) {0} f32[1,2]")
    data = sarif.to_sarif(seen(Report((ModelReport("m.onnx", "TensorRT", (nasty,)),))), [])
    text = data["runs"][0]["results"][0]["message"]["text"]
    assert text.startswith("\\[click\\](https://example.org) {{0}} f32\\[1,2\\]\n")


# GitHub's workflow commands, read back as its runner does:
# https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs

COMMAND = re.compile(r"::(?P<command>error|warning|notice) (?P<properties>.*?)::(?P<data>.*)")


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    match = COMMAND.fullmatch(line)
    assert match is not None

    def plain(text: str) -> str:
        for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(code, char)
        return text

    pairs = (pair.split("=", 1) for pair in match["properties"].split(","))
    return match["command"], {key: plain(value) for key, value in pairs}, plain(match["data"])


def test_github_commands_are_read_back() -> None:
    odd = replace(handmade.CLIP, message="100% of a:b,c", severity="warning")
    (line,) = github.lines(seen(Report((ModelReport("a,b:c%41.onnx", "TensorRT", (odd,)),))))
    command, properties, data = read_command(line)
    assert (command, properties["file"]) == ("warning", "a,b:c%41.onnx")
    assert "line" not in properties
    assert data.startswith("100% of a:b,c\nIn a,b:c%41.onnx at n7\n")


def test_github_gravest_first() -> None:
    commands = [read_command(line) for line in github.lines(seen(mixed()))]
    assert [command for command, _, _ in commands] == ["error", "error", "notice"]
    assert commands[0][1]["file"] == "broken.onnx"
    assert (commands[1][1]["file"], commands[1][1]["line"]) == ("net/attention.py", "57")


# GitLab, reviewdog.


def test_gitlab_entries_have_what_the_widget_needs() -> None:
    """See https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""
    twin = replace(mixed().models[0], path="models/vit16.onnx")
    entries = gitlab.to_gitlab(seen(Report((*mixed().models, twin))))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 5
    for entry in entries:
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        assert entry["description"]
        assert entry["check_name"]


def test_entries_name_the_command_that_settles_a_finding() -> None:
    report = mixed().models[0]
    first = replace(report.findings[0], fixes=(Rewrite("scale-on-query", "safe"),))
    fixed = replace(report, findings=(first, *report.findings[1:]))
    wanted = f"Help: trtlint fix MODEL --select {first.rule}"
    descriptions = [entry["description"] for entry in gitlab.to_gitlab(seen(Report((fixed,))))]
    assert [wanted in each.splitlines() for each in descriptions].count(True) == 1


def test_rdjson_lines() -> None:
    data = rdjson.to_rdjson(seen(mixed()))
    locations = [entry["location"] for entry in data["diagnostics"]]
    assert locations[0] == {"path": "broken.onnx"}
    assert locations[1] == {"path": "net/attention.py", "range": {"start": {"line": 57}}}


# JUnit.


@pytest.mark.parametrize("report", REPORTS[1:])
def test_junit_follows_the_schema_of_jenkins(report: Report) -> None:
    schema = xmlschema.XMLSchema(str(REPOSITORY / "tests/data/schemas/junit-10.xsd"))
    schema.validate(junit.dumps(seen(report), failing))


@pytest.mark.parametrize("report", REPORTS)
def test_junit_is_read_by_a_consumer(report: Report, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(junit.dumps(seen(report), failing), encoding="utf-8")
    suites = junitparser.JUnitXml.fromfile(str(file))
    assert len(suites) == len({model.path for model in report.models})
    total = {"tests": suites.tests, "failures": suites.failures, "errors": suites.errors}
    suites.update_statistics()  # type: ignore[no-untyped-call]
    assert total == {"tests": suites.tests, "failures": suites.failures, "errors": suites.errors}


def test_junit_counts() -> None:
    root = ElementTree.fromstring(junit.dumps(seen(mixed()), failing))
    assert {key: root.attrib[key] for key in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
    }
    (skipped,) = root.iter("skipped")
    assert skipped.attrib["message"] == "configuration: the caller clips"


# Markdown, read back by a parser of GitHub's dialect.

NAMES = st.text(
    st.one_of(st.sampled_from(list("`|<>&@#[]()*_\\\n\r!~:$-= abwh/.")), st.characters()), max_size=60
)
TAGS = re.compile(r"<(?!/?details>|/?summary>)")
KNOWN_LINKS = {f"<{url}>" for finding in (handmade.SCALE, handmade.CLIP) for url in finding.references}


def rendered(source: str) -> str:
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    result: str = parser.render(source)
    return result


def hostile_to_markdown(name: str) -> str:
    sites = tuple(
        replace(site, node=name, module=name, rows=tuple(replace(row, node=name) for row in site.rows))
        for site in handmade.SCALE.sites[:2]
    )
    nasty = replace(handmade.SCALE, rule="HOUSE102", message=name, sites=sites, advice=(name,), references=())
    return markdown.dumps(seen(Report((ModelReport(f"{name}.onnx", name, (nasty,)),))))


@pytest.mark.slow
@given(NAMES)
@settings(max_examples=150, deadline=None)
def test_names_are_no_markup(name: str) -> None:
    html = rendered(hostile_to_markdown(name))
    plain = rendered(hostile_to_markdown("name"))
    tag = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*)")
    # A name of blanks leaves no code span; nothing else may change the structure.
    allowed = {"code", "/code"}
    kept = [word for word in tag.findall(html) if word not in allowed]
    assert kept == [word for word in tag.findall(plain) if word not in allowed]


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)>",
        "</details><script>alert(1)</script>",
        "a | b",
        "`` ` ``",
        "```\n# heading",
        "[click](https://example.org)",
        "![x](https://example.org/x.png)",
        "https://example.org",
        "www.example.org",
        "@everyone",
        "#1",
        "a\n\n- list",
    ],
)
def test_known_attacks_on_markdown(name: str) -> None:
    source = hostile_to_markdown(name)
    html = rendered(source)
    assert "<a " not in html
    assert "<img" not in html
    assert "<script" not in html
    assert html.count("<td>") == rendered(hostile_to_markdown("name")).count("<td>")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", source, flags=re.DOTALL)
    assert not re.search(r"@\w|(?<!&)#\d|https?://|www\.", outside)


def test_own_references_are_links() -> None:
    assert 'href="https://github.com/NVIDIA/TensorRT/issues/4333"' in rendered(markdown.dumps(seen(mixed())))


def test_markdown_fits_a_comment() -> None:
    many = tuple(replace(handmade.SCALE, fingerprint=f"{i:016x}", message=f"message {i}") for i in range(300))
    text = markdown.dumps(seen(Report((ModelReport("m.onnx", "TensorRT", many),))))
    assert len(text) < 65_536
    assert "260 more are not in this table" in text
    assert "are omitted" in text


def test_a_problem_with_a_build_file_names_this_file() -> None:
    broken = Problem("layers.json", "not valid JSON", 13)
    model = replace(handmade.one_model().models[0], path="m.onnx", errors=(broken,))
    found = seen(Report((model,)))
    assert next(iter(github.lines(found))).startswith("::error file=layers.json,title=trtlint::layers.json: ")
    assert gitlab.to_gitlab(found)[0]["location"]["path"] == "layers.json"
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(junit.dumps(found, failing))}
    assert [suites[name].get("errors") for name in ("m.onnx", "layers.json")] == ["0", "1"]


# All of them.


def everything(report: Report) -> dict[str, str]:
    all_ = seen(report, show_conditional=True)
    return {
        "sarif": indented(sarif.to_sarif(all_, [])),
        "github": "\n".join(github.lines(all_)),
        "gitlab": indented(gitlab.to_gitlab(all_)),
        "rdjson": indented(rdjson.to_rdjson(all_)),
        "junit": junit.dumps(all_, failing),
        "markdown": markdown.dumps(all_),
    }


def test_all_formats_tell_of_the_same_findings() -> None:
    for name, text in everything(mixed()).items():
        for word in ("ACC102", "ACC104", "ACC101", "ACC199", "broken.onnx"):
            assert word in text, name


def test_control_characters_are_escaped() -> None:
    for name, text in everything(handmade.hostile()).items():
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text), name
        text.encode("utf-8")


def test_order_does_not_depend_on_the_order_of_findings() -> None:
    (model,) = handmade.one_model().models
    turned = replace(model, findings=model.findings[::-1], conditional=model.conditional[::-1])
    assert everything(Report((turned,))) == everything(handmade.one_model())


def test_details_beyond_the_room_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    overview = seen(mixed())
    blocks = ["\n".join(markdown._detail(spot)) for spot in overview.spots]
    order = list(markdown._details(overview.spots))
    assert sorted(order) == sorted(blocks)
    size = sum(map(len, blocks))
    monkeypatch.setattr(markdown, "_ROOM", size)
    assert list(markdown._details(overview.spots)) == order
    monkeypatch.setattr(markdown, "_ROOM", size - 1)
    assert list(markdown._details(overview.spots)) == [
        *order[:-1],
        "",
        "Details of 1 finding are omitted.",
    ]
