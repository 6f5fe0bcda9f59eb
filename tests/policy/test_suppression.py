"""Tests of suppressions: findings accepted with a reason are hidden but counted."""

from __future__ import annotations

import json
import tracemalloc
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.files.special import needs_posix
from tests.workspace import Workspace
from trtlint import lint
from trtlint.engine.finding import SUPPRESS_KEY, Finding, ModelReport, Site
from trtlint.files.globs import matches_name, matches_path
from trtlint.model.metadata import copy_with
from trtlint.policy import suppression
from trtlint.policy.review import ApplicableRules, Policy, Review
from trtlint.policy.selection import RuleName

TODAY = date(2026, 6, 15)


def having_run(rules: tuple[RuleName, ...]) -> ApplicableRules:
    """Return substitutes for rules that ran, where no rules are loaded."""
    ran = ApplicableRules()
    ran.names = rules
    return ran


def finding(rule: str, *sites: tuple[str, str | None]) -> Finding:
    """Return a finding at nodes in modules."""
    return Finding(
        rule=rule,
        name=f"name-of-{rule.lower()}",
        severity="error",
        confidence="high",
        evidence_level="documented",
        message="m",
        sites=tuple(
            Site(node, "Op", module, None, (), f"{i:016x}") for i, (node, module) in enumerate(sites)
        ),
        applies="",
        advice=(),
        references=(),
        fingerprint="f",
    )


FOUND = finding("ACC102", ("/a/0", "blocks.0.attn"), ("/a[1]", "blocks.1.attn"), ("/b", None))
RAN = (RuleName("ACC102", "name-of-acc102", "accuracy"), RuleName("ACC103", "name-of-acc103"))


def entry(where: str = "c.toml: suppress[0]", **table: object) -> suppression.Acceptance:
    return suppression.Acceptance.of({"rule": "ACC102", "reason": "r", **table}, "configuration", where)


def nodes(findings: tuple[Finding, ...]) -> list[str]:
    return [site.node for found in findings for site in found.sites]


@pytest.mark.parametrize(
    ("table", "left"),
    [
        ({}, ""),
        ({"rule": "ACC"}, ""),
        ({"rule": ["PERF", "name-of-acc102"]}, ""),
        ({"rule": "ACC103"}, "/a/0 /a[1] /b"),
        ({"node": "/a*"}, "/b"),
        ({"node": "/a[1]"}, "/a/0 /b"),
        ({"node": "/?"}, "/a/0 /a[1]"),
        ({"module": "blocks.*"}, "/b"),
        ({"module": "*"}, "/b"),
        ({"module": "blocks.1.*", "node": "/a/0"}, "/a/0 /a[1] /b"),
        ({"expires": "2026-06-15"}, ""),
        ({"expires": "2026-06-14"}, "/a/0 /a[1] /b"),
    ],
)
def test_what_an_entry_covers(table: dict[str, Any], left: str) -> None:
    report = ModelReport("m.onnx", "t", findings=(FOUND,))
    changed, _ = suppression.apply(report, [entry(**table)], TODAY)
    assert " ".join(nodes(changed.findings)) == left
    assert sorted(nodes(changed.findings) + nodes(changed.suppressed)) == sorted(nodes((FOUND,)))
    assert all(found.fingerprint == "f" for found in (*changed.findings, *changed.suppressed))
    assert all(found.suppression and found.suppression.reason == "r" for found in changed.suppressed)


def test_sites_that_different_entries_cover_are_told_apart() -> None:
    report = ModelReport("m.onnx", "t", findings=(FOUND,), conditional=(FOUND,))
    entries = [
        entry(node="/b", reason="one"),
        entry(node="/a*", reason="two"),
        entry(node="/b", reason="three"),
    ]
    changed, _ = suppression.apply(report, entries, TODAY)
    assert changed.findings == changed.conditional == ()
    reasons = [found.suppression.reason for found in changed.suppressed if found.suppression]
    assert reasons == ["two", "one"] * 2


def test_an_expired_entry_does_not_hide_a_valid_one() -> None:
    report = ModelReport("m.onnx", "t", findings=(FOUND,))
    entries = [
        entry(node="/b", reason="old", expires="2026-06-14"),
        entry(node="/b", reason="valid", expires="2026-06-15"),
        entry(node="/b", reason="later"),
    ]
    changed, _ = suppression.apply(report, entries, TODAY)
    assert nodes(changed.findings) == ["/a/0", "/a[1]"]
    (taken,) = changed.suppressed
    assert taken.suppression is not None
    assert taken.suppression.reason == "valid"


def notes(*entries: suppression.Acceptance, ran: tuple[RuleName, ...] = RAN) -> tuple[str, ...]:
    review = Review(TODAY)
    report = ModelReport("m.onnx", "t", findings=(FOUND,))
    review.apply(Path("m.onnx"), [report], Policy(suppress=entries, known=RAN), having_run(ran))
    return review.notes()


def test_unused_and_expired_ones_are_reported_each_once() -> None:
    assert notes(
        entry(),
        entry("c: suppress[10]", node="/b", expires="2026-01-31"),
        entry("c: suppress[2]", rule="ACC103"),
    ) == (
        "c: suppress[2]: the suppression of ACC103 is unused",
        "c: suppress[10]: the suppression of ACC102 at node /b expired on 2026-01-31",
    )
    assert notes(entry(module="no.*"), entry(module="no.*")) == (
        "c.toml: suppress[0]: the suppression of ACC102 at module no.* is unused",
    )


def test_the_day_is_that_of_the_run_unless_it_is_given() -> None:
    days = [(date.today() + timedelta(days)).isoformat() for days in (-1, 1)]
    entries = tuple(entry(f"c: suppress[{number}]", expires=day) for number, day in enumerate(days))
    review = Review()
    report = ModelReport("m.onnx", "t", findings=(FOUND,))
    (reviewed,) = review.apply(Path("m.onnx"), [report], Policy(suppress=entries, known=RAN), having_run(RAN))
    assert review.notes() == (f"c: suppress[0]: the suppression of ACC102 expired on {days[0]}",)
    (suppressed,) = reviewed.suppressed
    assert suppressed.suppression is not None
    assert (suppressed.suppression.kind, suppressed.suppression.expires) == ("configuration", days[1])


def test_what_was_not_run_is_not_unused() -> None:
    assert notes(entry(rule="ACC103"), ran=RAN[:1]) == ()
    review = Review(TODAY)
    problem = ModelReport("m.onnx", "t")
    policy = Policy(suppress=(entry(path="m.onnx"),), known=RAN)
    review.apply(Path("m.onnx"), [problem], policy, having_run(RAN))
    assert len(review.notes()) == 1


def test_one_that_any_model_needs_is_used() -> None:
    review = Review(TODAY)
    policy = Policy(suppress=(entry(),), known=RAN)
    review.apply(Path("a.onnx"), [ModelReport("a.onnx", "t")], policy, having_run(RAN))
    review.apply(Path("b.onnx"), [ModelReport("b.onnx", "t", findings=(FOUND,))], policy, having_run(RAN))
    assert review.notes() == ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nonsense", "the value is not JSON"),
        ("[" * 100_000, "the value is not JSON"),
        ('{"rule": "ACC102"}', "the value is not a list"),
        ('[{"rule": "ACC102"}]', "entry 0: the key 'reason' is missing"),
        (
            '[{"rule": "ACC102", "reason": "r", "nodes": "*"}]',
            "entry 0: nodes: no such key; did you mean 'node'?",
        ),
        ('[{"rule": "ACC102", "reason": "r", "path": "*"}]', "entry 0: path: an entry in a model's metadata"),
        ("[" + "0," * 600_000 + "0]", "longer than"),
    ],
)
def test_what_cannot_be_read_suppresses_nothing_and_says_so(value: str, said: str) -> None:
    report = ModelReport("m.onnx", "t", findings=(FOUND,), suppress=value)
    (reviewed,) = Review(TODAY).apply(Path("m.onnx"), [report], Policy(known=RAN), having_run(RAN))
    assert reviewed.findings == (FOUND,)
    (note,) = reviewed.notes
    assert note.startswith(f"the metadata {SUPPRESS_KEY} is ignored: ")
    assert said in note


def test_a_model_names_a_rule_that_does_not_exist() -> None:
    own = '[{"rule": "ACC999", "reason": "r"}]'
    report = ModelReport("m.onnx", "t", findings=(FOUND,), suppress=own)
    (reviewed,) = Review(TODAY).apply(Path("m.onnx"), [report], Policy(known=RAN), having_run(RAN))
    assert reviewed.notes == ("the suppression of ACC999 is unused",)


def test_a_glob_from_a_stranger_costs_no_time() -> None:
    assert not matches_name("*a" * 40 + "b", "a" * 20_000)


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("*.onnx", "a/b.onnx", True),
        ("#1/*.onnx", "#1/b.onnx", True),
        ("#1/*.onnx", "#2/b.onnx", False),
        ("a/*.onnx", "a/b.onnx", True),
        ("a/*.onnx", "a/b/c.onnx", False),
        ("a/**/c.onnx", "a/c.onnx", True),
        ("a/**/c.onnx", "a/b/b/c.onnx", True),
        ("**/c.onnx", "c.onnx", True),
        ("a/", "a/b/c.onnx", True),
        ("./a/b.onnx", "a/b.onnx", True),
        ("../a/?.onnx", "../a/b.onnx", True),
        ("[ab].onnx", "a.onnx", False),
        ("a.onnx", "aXonnx", False),
    ],
)
def test_path_globs(glob: str, path: str, covered: bool) -> None:
    assert matches_path(glob, path) is covered


def test_suppressed_findings_do_not_fail_and_stay_in_sight(
    work: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    work.toml(
        "trtlint.toml",
        """
        [[suppress]]
        rule = "XYZ901"
        module = "blocks.*"
        reason = "measured"

        [[suppress]]
        rule = "XYZ902"
        path = "b.onnx"
        reason = "not there"
        """,
    )
    report = work.report("models")
    assert work.code == 0
    first = report["models"][0]
    assert [found["rule"] for found in first["findings"]] == ["XYZ902"]
    (accepted,) = first["suppressed"]
    assert len(accepted["sites"]) == 2
    assert accepted["suppression"]["reason"] == "measured"
    assert report["notes"] == [
        "trtlint.toml: suppress[1]: the suppression of XYZ902 in b.onnx is unused",
    ]
    for format_ in ("full", "concise"):
        assert work.run("models", "--format", format_) == 0
        assert "suppressed" in work.out
        assert "the suppression of XYZ902 in b.onnx is unused" in work.out
    work.run("models", "--ignore", "XYZ902", "--format", "concise")
    assert "unused" not in work.out


def test_the_command_writes_a_copy_that_is_the_model_and_an_entry(work: Workspace) -> None:
    before = onnx.load("models/a.onnx")
    args = ["suppress", "models/a.onnx", "XYZ901", "--reason", " measured:\n no loss "]
    assert work.run(*args, "--module", "blocks.0", "-o", "copy.onnx") == 0
    assert work.out == "copy.onnx: XYZ901 at module blocks.0 is suppressed\n"
    assert work.run("suppress", "copy.onnx", "house-sin", "--reason", "r", "-o", "again.onnx") == 0
    after = onnx.load("again.onnx")
    onnx.checker.check_model(after)
    (written,) = after.metadata_props
    assert written.key == SUPPRESS_KEY
    assert json.loads(written.value) == [
        {"rule": "XYZ901", "module": "blocks.0", "reason": "measured: no loss"},
        {"rule": "house-sin", "reason": "r"},
    ]
    del after.metadata_props[:]
    assert after == before
    model = work.model("again.onnx")
    assert [len(found["sites"]) for found in model["findings"]] == [1]
    assert {found["suppression"]["kind"] for found in model["suppressed"]} == {"model"}
    assert work.run("suppress", "again.onnx", "house-sin", "--reason", "r", "-o", "same.onnx") == 0
    assert Path("same.onnx").read_bytes() == Path("again.onnx").read_bytes()


def test_lint_from_python_heeds_the_model(work: Workspace) -> None:
    from trtlint.engine.rulebook import load_rules

    assert work.run("suppress", "models/a.onnx", "XYZ901", "--reason", "r", "-o", "copy.onnx") == 0
    (model,) = lint("copy.onnx", rules=load_rules([Path("house")])).models
    assert [found.rule for found in model.findings] == ["XYZ902"]
    assert [found.rule for found in model.suppressed] == ["XYZ901"]
    assert model.notes == ()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["models/a.onnx", "XYZ99", "--reason", "r"], "no rule has the id, id prefix, name or group 'XYZ99'"),
        (["models/a.onnx", "XYZ901"], "--reason"),
        (["models/a.onnx", "XYZ901", "--reason", " "], "--reason: is empty"),
        (
            ["models/a.onnx", "XYZ901", "--reason", "r", "--expires", "soon"],
            "--expires: 'soon' is not a date",
        ),
        (
            ["models/a.onnx", "XYZ901", "--reason", "r", "--expires", "2020-01-31"],
            "--expires: 2020-01-31 is in the past",
        ),
        (["models/a.onnx", "XYZ901", "--reason", "r", "--node", "/haed/Sin"], "did you mean '/head/Sin'?"),
        (["models/a.onnx", "XYZ901", "--reason", "r", "--module", "block.0"], "did you mean 'blocks.0'?"),
        (
            ["models/a.onnx", "XYZ901", "--reason", "r", "-o", "models/a.onnx"],
            "a.onnx is read in this run",
        ),
    ],
)
def test_the_command_refuses(
    work: Workspace, capsys: pytest.CaptureFixture[str], args: list[str], said: str
) -> None:
    output = [] if "-o" in args else ["-o", "copy.onnx"]
    before = Path("models/a.onnx").read_bytes()
    assert work.run("suppress", *args, *output) == 2
    assert said in capsys.readouterr().err
    assert not Path("copy.onnx").exists()
    assert Path("models/a.onnx").read_bytes() == before


def test_the_command_says_what_is_no_model(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.onnx").write_text("hello")
    assert work.run("suppress", "text.onnx", "XYZ901", "--reason", "r", "-o", "copy.onnx") == 3
    assert "trtlint: text.onnx: text, not a binary ONNX model" in capsys.readouterr().err
    assert [file.name for file in Path().iterdir() if "copy" in file.name] == []


def test_external_data_go_with_the_copy(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    weights = onnx.numpy_helper.from_array(np.arange(4096, dtype=np.float32), "w")
    proto = onnx.load("models/a.onnx")
    proto.graph.initializer.append(weights)
    onnx.save(proto, "models/big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    args = ["suppress", "models/big.onnx", "XYZ901", "--reason", "r", "-o"]
    assert work.run(*args, "models/copy.onnx") == 0
    assert work.run(*args, "out/copy.onnx") == 2  # there is no folder "out"
    Path("out").mkdir()
    assert work.run(*args, "out/copy.onnx") == 0
    for copy in ("models/copy.onnx", "out/copy.onnx"):
        (tensor,) = onnx.load(copy).graph.initializer
        assert np.array_equal(onnx.numpy_helper.to_array(tensor), np.arange(4096, dtype=np.float32))
    Path("out/big.data").write_bytes(b"other")
    capsys.readouterr()
    assert work.run(*args, "out/copy.onnx") == 2
    assert "out/big.data exists, but is not the weights file of this model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "location",
    [
        "conftest.py",
        "Makefile",
        ".bashrc",
        ".git/x.data",
        "../x.data",
        "a/../../x.data",
        "x.data\n.py",
        "d\0/x.data",
    ],
)
def test_a_model_chooses_no_file_of_another_folder(
    work: Workspace, capsys: pytest.CaptureFixture[str], location: str
) -> None:
    """Otherwise a user's tool could read or run a planted file by its name."""
    weights_in(location)
    place = Path("models", location.replace("\0", ""))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(bytes(16))
    Path("out").mkdir()
    before = set(work.path.rglob("*"))
    assert work.run("suppress", "models/m.onnx", "XYZ901", "--reason", "r", "-o", "out/m.onnx") == 2
    assert "cannot be copied to another folder" in capsys.readouterr().err
    assert set(work.path.rglob("*")) == before


@needs_posix
@pytest.mark.parametrize("linked", ["models/w", "models/w/x.data", "out/w"])
def test_external_data_neither_come_from_nor_go_through_a_link(work: Workspace, linked: str) -> None:
    weights_in("w/x.data")
    for file in ("models/w/x.data", "outside/w/y" if linked == "out/w" else "outside/y"):
        Path(file).parent.mkdir(parents=True)
        Path(file).write_bytes(bytes(16))
    Path("out").mkdir()
    if Path(linked).exists():
        Path(linked).rename(Path("outside", Path(linked).name))
    Path(linked).symlink_to(work.path / "outside" / Path(linked).name)
    before = set(work.path.rglob("*"))
    assert work.run("suppress", "models/m.onnx", "XYZ901", "--reason", "r", "-o", "out/m.onnx") == 2
    assert set(work.path.rglob("*")) == before


def weights_in(location: str) -> None:
    """Return a model that stores its only weights in a file of this name."""
    proto = onnx.load("models/a.onnx")
    weights = proto.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[4])
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    Path("models/m.onnx").write_bytes(proto.SerializeToString())


@pytest.mark.slow
def test_a_copy_costs_no_memory_whatever_the_weights_take(tmp_path: Path) -> None:
    size = 64 << 20
    weights = onnx.helper.make_tensor("w", onnx.TensorProto.UINT8, [size], b"\x05" * size, raw=True)
    value = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, [size])
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    proto = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [value], [weights]))
    onnx.save(proto, tmp_path / "big.onnx")
    del proto, weights
    tracemalloc.start()
    copy_with(tmp_path / "big.onnx", tmp_path / "copy.onnx", "key", lambda old: old + "value")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    original, copy = (tmp_path / "big.onnx").read_bytes(), (tmp_path / "copy.onnx").read_bytes()
    assert copy.startswith(original)
    assert copy[len(original) :] == b"\x72\x0c\x0a\x03key\x12\x05value"


def test_a_key_written_twice_is_one_afterwards(work: Workspace) -> None:
    proto = onnx.load("models/a.onnx")
    for value in ("one", "two"):
        proto.metadata_props.add(key="k", value=value)
        proto.metadata_props.add(key="other", value=value)
    onnx.save(proto, "twice.onnx")
    copy_with(Path("twice.onnx"), Path("copy.onnx"), "k", str.upper)
    entries = [(entry.key, entry.value) for entry in onnx.load("copy.onnx").metadata_props]
    assert entries == [("other", "one"), ("other", "two"), ("k", "TWO")]


def test_what_is_not_about_the_version_is_neither_unused_nor_gone(work: Workspace) -> None:
    rule = work.path / "house" / "XYZ901-house-relu.md"
    rule.write_text(
        rule.read_text().replace("find: node", 'applies:\n  tensorrt: ">=10.7,<10.8"\nfind: node')
    )
    work.toml("trtlint.toml", "suppress = [{rule = 'XYZ901', module = 'blocks.0', reason = 'r'}]")
    assert work.run("models/a.onnx", "--trt", "10.7", "--write-baseline", "base.json") == 0
    later = work.report("models/a.onnx", "--trt", "10.8", "--baseline", "base.json")
    assert later["notes"] == []
    assert later["models"][0]["gone"] == []


def test_what_looks_at_a_build_or_a_command_is_not_unused_without_one(work: Workspace) -> None:
    for id_, name, find, op in (
        ("XYZ905", "house-message", "log_message", "level"),
        ("XYZ906", "house-flag", "flag", "name"),
    ):
        work.rule("house", id_, name, op="none")
        rule = work.path / "house" / f"{id_}-{name}.md"
        text = rule.read_text().replace("find: node", f"find: {find}").replace('op == "none"', f'{op} == "x"')
        rule.write_text(text.replace("{op}", f"{{{op}}}"))
    text = "suppress = [{rule = 'XYZ905', reason = 'r'}, {rule = 'XYZ906', reason = 'r'}]"
    work.toml("trtlint.toml", text)
    assert work.report("models/a.onnx")["notes"] == []
    notes = work.report("models/a.onnx", "--build", "trtexec --onnx=a.onnx")["notes"]
    assert notes == ["trtlint.toml: suppress[1]: the suppression of XYZ906 is unused"]


def test_a_baseline_keeps_what_only_a_command_shows(work: Workspace) -> None:
    work.rule("house", "XYZ906", "house-flag", op="none")
    rule = work.path / "house" / "XYZ906-house-flag.md"
    text = (
        rule.read_text()
        .replace("find: node", "find: flag")
        .replace('op == "none"', 'name == "--fp16" and state == "given"')
    )
    rule.write_text(text.replace("{op}", "{name}").replace("mark: [node]\n", ""))
    command = ("--build", "trtexec --onnx=a.onnx --fp16")
    assert "XYZ906" in work.ids("models/a.onnx", *command)
    assert work.run("models/a.onnx", *command, "--write-baseline", "base.json") == 0
    without = work.report("models/a.onnx", "--baseline", "base.json")
    assert without["models"][0]["gone"] == []
    assert work.report("models/a.onnx", *command, "--baseline", "base.json")["models"][0]["findings"] == []


@pytest.mark.parametrize(("limit", "least"), [("_MOST_COMPARED", 50), ("_MOST_CHECKED", 2)])
def test_entries_of_a_model_that_take_too_long_are_ignored(
    limit: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = json.dumps([{"rule": "ACC102", "node": "/a*", "reason": "r"}])
    report = ModelReport("m.onnx", "t", findings=(FOUND,), suppress=carried)
    policy = Policy(known=RAN)
    (kept,) = Review(TODAY).apply(Path("m.onnx"), [report], policy, having_run(RAN))
    assert nodes(kept.suppressed) == ["/a/0", "/a[1]"]
    monkeypatch.setattr(suppression, limit, least)
    (kept,) = Review(TODAY).apply(Path("m.onnx"), [report], policy, having_run(RAN))
    assert not kept.suppressed
    assert kept.notes == (
        f"the metadata {SUPPRESS_KEY} is ignored: there are too many suppressions, or a glob is too long",
    )


def sites(*lengths: int) -> ModelReport:
    """Return a report with a site for each length of a node's name."""
    names = {length: "n" * length for length in set(lengths)}
    found = finding("ACC102", *((names[length], None) for length in lengths))
    return ModelReport("m.onnx", "t", findings=(found,))


@pytest.mark.parametrize(
    ("entries", "reports", "expected"),
    [
        ([], [], True),
        ([entry()] * 1000, [sites(*[1] * 1000)], True),
        ([entry()] * 1001, [sites(*[1] * 1000)], False),
        ([entry()] * 1000, [sites(*[1] * 500), sites(*[1] * 501)], False),
        ([entry(node="a" * 20_000)], [sites(*[10_000] * 10)], True),
        ([entry(node="a" * 20_000)], [sites(*[10_000] * 10, 1)], False),
        ([entry(module="a" * 20_001)], [sites(*[10_000] * 10)], False),
        ([entry(node="a" * 10_000, module="b" * 10_000)], [sites(*[10_000] * 10)], True),
        ([entry(node="a" * 10_000), entry(module="b" * 10_001)], [sites(*[10_000] * 10)], False),
        ([entry(node="abc")], [sites(*[66_666] * 10_000, 6_667)], False),
    ],
)
def test_suppressions_that_take_long_to_compare(
    entries: list[suppression.Acceptance], reports: list[ModelReport], expected: bool
) -> None:
    assert suppression.comparable(entries, reports) is expected


def test_conditional_findings_and_modules_count_in_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding("ACC102", ("abc", "de"), ("f", None))
    report = ModelReport("m.onnx", "t", findings=(found,), conditional=(found,))
    for name, least in (("_MOST_CHECKED", 4), ("_MOST_COMPARED", 2 * 12)):
        for most, expected in ((least, True), (least - 1, False)):
            monkeypatch.setattr(suppression, name, most)
            assert suppression.comparable([entry(node="xy")], [report]) is expected
        monkeypatch.undo()
