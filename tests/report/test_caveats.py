"""Tests that no format shows a model as clean if its findings are hidden."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

from tests.report import handmade
from tests.workspace import Workspace
from trtlint.engine.caveats import caveats
from trtlint.engine.finding import SUPPRESS_KEY, IncompleteSearch, ModelReport, Report, Suppression
from trtlint.report.formats import BINARY, FORMATS, Run, Style
from trtlint.report.outputs import Outputs, ReportOutput
from trtlint.report.rows import rows
from trtlint.report.trend import compare

BY_MODEL = Suppression("model", "vit.onnx", "measured")
BY_TEAM = Suppression("configuration", "trtlint.toml: suppress[0]", "measured")


def hidden(*suppressions: Suppression) -> ModelReport:
    """Return the report of a model with only suppressed findings."""
    found = (handmade.SCALE, handmade.CLIP)
    suppressed = tuple(
        replace(finding, suppression=why) for finding, why in zip(found, suppressions, strict=False)
    )
    return replace(handmade.clean_model("vit.onnx"), suppressed=suppressed)


def written(format_: str, report: ModelReport, folder: Path, *, quiet: bool) -> str:
    """Return the output of a format as one line."""
    stdout = io.StringIO()
    file = folder / f"out.{format_}.json"
    output = ReportOutput(format_, file if format_ in BINARY else None)
    outputs = Outputs([output], Style(files=1, rules=(), root=None, quiet=quiet), stdout)
    outputs.add([report], lambda finding: finding.severity == "error")
    outputs.close()
    if format_ == "parquet":
        from pyarrow import parquet

        return str(parquet.read_table(file).to_pylist())
    # Some formats wrap their lines, one escapes punctuation.
    return re.sub(r"(\\n|\s)+", " ", stdout.getvalue())


@pytest.mark.parametrize("quiet", [False, True], ids=["loud", "quiet"])
@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_what_a_model_itself_suppresses(format_: str, quiet: bool, tmp_path: Path) -> None:
    one = written(format_, hidden(BY_MODEL), tmp_path, quiet=quiet)
    assert "1 finding is suppressed by metadata of the model (ACC102)" in one
    both = written(format_, hidden(BY_MODEL, BY_MODEL), tmp_path, quiet=quiet)
    assert "2 findings are suppressed by metadata of the model (ACC102, ACC104)" in both


@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_says_it_of_what_the_team_accepts(format_: str, tmp_path: Path) -> None:
    assert "by metadata of the model" not in written(format_, hidden(BY_TEAM, BY_TEAM), tmp_path, quiet=False)


def test_a_finding_is_counted_once_for_all_targets() -> None:
    report = hidden(BY_MODEL, BY_TEAM)
    (caveat,) = caveats([report, replace(report, target="TensorRT 10.8")])
    assert caveat.message == (
        "1 finding is suppressed by metadata of the model (ACC102); --isolated reports it"
    )


def test_of_many_rules_a_few_are_named() -> None:
    found = tuple(
        replace(handmade.SCALE, rule=f"ACC{number}", suppression=BY_MODEL) for number in range(101, 110)
    )
    (caveat,) = caveats([replace(handmade.clean_model(), suppressed=found)])
    assert caveat.message.startswith(
        "9 findings are suppressed by metadata of the model (ACC101, ACC102, ACC103, ACC104, ACC105, ...)"
    )


@pytest.fixture
def accepting(work: Workspace) -> Workspace:
    """Write ``own.onnx``, a model that suppresses its only finding."""
    work.save("relu.onnx", [("Relu", "blocks.0")])
    assert work.run("suppress", "relu.onnx", "XYZ901", "--reason", "fine", "-o", "own.onnx") == 0
    return work


def test_isolated_takes_no_suppression_from_a_model(accepting: Workspace) -> None:
    assert accepting.run("own.onnx", "-q") == 0
    assert accepting.out == (
        "note: own.onnx: 1 finding is suppressed by metadata of the model (XYZ901); --isolated reports it\n"
    )
    assert accepting.run("own.onnx", "-q", "--isolated", "--format", "concise") == 1
    assert "error[XYZ901]" in accepting.out
    notes = accepting.model("own.onnx", "--isolated")["notes"]
    assert notes == [f"the metadata {SUPPRESS_KEY} is ignored: --isolated is set"]


def test_the_json_report_counts_what_the_model_suppresses(accepting: Workspace) -> None:
    model = accepting.model("own.onnx")
    assert (model["suppressed_by_model"], len(model["caveats"])) == (1, 1)
    model = accepting.model("own.onnx", "--isolated")
    assert (model["suppressed_by_model"], model["caveats"]) == (0, [])


@pytest.mark.parametrize("format_", ["text", "json"])
def test_fix_says_it_and_isolated_counts_the_finding(accepting: Workspace, format_: str) -> None:
    options = ("fix", "own.onnx", "--dry-run", "--format", format_)
    assert accepting.run(*options) == 0
    assert "1 finding is suppressed by metadata of the model (XYZ901)" in accepting.out
    assert accepting.run(*options, "--isolated") == 1
    assert "by metadata of the model" not in accepting.out


def test_the_page_of_a_fix_says_it(accepting: Workspace) -> None:
    assert accepting.run("fix", "own.onnx", "--dry-run", "--html", "fix.html") == 0
    page = (accepting.path / "fix.html").read_text(encoding="utf-8")
    assert "1 finding is suppressed by metadata of the model (XYZ901)" in page


@pytest.mark.parametrize("options", [(), ("-q",), ("--format", "json")], ids=["text", "quiet", "json"])
def test_upgrade_says_it_and_isolated_counts_the_finding(
    accepting: Workspace, options: tuple[str, ...]
) -> None:
    words = ("upgrade", "own.onnx", "--from", "10.7", "--to", "10.9", "--fail-on", "error", *options)
    assert accepting.run(*words) == 0
    assert "1 finding is suppressed by metadata of the model (XYZ901)" in " ".join(accepting.out.split())
    assert accepting.run(*words, "--isolated") == 1
    assert "by metadata of the model" not in accepting.out


def test_the_python_interface_can_be_isolated(accepting: Workspace) -> None:
    import trtlint
    from trtlint.engine.rulebook import load_rules

    rules = list(load_rules([accepting.path / "house"]))
    assert not trtlint.lint("own.onnx", rules=rules).models[0].findings
    assert trtlint.lint("own.onnx", rules=rules, isolated=True).models[0].findings
    said = io.StringIO()
    trtlint.check("own.onnx", rules=rules, file=said)
    assert "1 finding is suppressed by metadata of the model (XYZ901)" in said.getvalue()
    with pytest.raises(trtlint.CheckError):
        trtlint.check("own.onnx", rules=rules, file=said, isolated=True)


def test_a_real_model_cannot_hide_its_findings_from_an_isolated_lint(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from trtlint.cli import run

    model = shared / "data" / "attack" / "suppressed.onnx"
    if not model.is_file():
        pytest.skip("no hostile models")
    options = (str(model), "--trt", "10.7", "-q", "--no-cache")
    assert run((*options, "--isolated")) == 1
    assert "error[ACC102]" in capsys.readouterr().out
    assert run(options) == 0
    assert "suppressed by metadata of the model (ACC102)" in capsys.readouterr().out


UNSEARCHED = IncompleteSearch("ACC130", "half-of-split", "error")


@pytest.mark.parametrize("quiet", [False, True], ids=["loud", "quiet"])
@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_says_which_rule_was_not_searched_to_the_end(
    format_: str, quiet: bool, tmp_path: Path
) -> None:
    report = replace(handmade.clean_model("vit.onnx"), unsearched=(UNSEARCHED,))
    said = written(format_, report, tmp_path, quiet=quiet)
    assert "ACC130 (half" in said
    assert "may be missing" in " ".join(said.replace("\\n", " ").split())
    assert "--ignore ACC130" in said.replace("--ignore\\nACC130", "--ignore ACC130")
    for clean in ('"status": "clean"', "'status': 'clean'", ": no findings", "Nothing found"):
        assert clean not in said or format_ == "markdown"


@pytest.mark.parametrize("format_", ["html", "markdown"])
def test_omitted_notes_are_counted(format_: str, tmp_path: Path) -> None:
    notes = tuple(f"note {number}" for number in range(47))
    report = replace(handmade.clean_model("vit.onnx"), notes=notes)
    shown = 20 if format_ == "html" else 40
    said = written(format_, report, tmp_path, quiet=False)
    assert f"note {shown - 1}" in said
    assert f"note {shown}" not in said
    assert f"and {47 - shown} more notes" in said


@pytest.mark.parametrize("cause", ["walk", "types"])
def test_a_search_that_did_not_finish_is_no_evidence_of_a_fix(cause: Any) -> None:
    unsearched = tuple(
        IncompleteSearch(rule, "name", "error", cause, "limit") for rule in ("ACC101", "ACC102")
    )
    report = replace(handmade.clean_model("vit.onnx"), unsearched=unsearched)
    later = list(rows(Run(Report((report,)), Style(1, (), None), {})))
    assert [(row.status, row.rule) for row in later] == [("caveat", "ACC101 ACC102")]
    found = replace(later[0], status="found", fingerprint="f")
    earlier = [replace(found, rule=f"ACC10{number}") for number in (1, 2, 3)]
    assert [row.rule for row in compare(earlier, later).gone] == ["ACC103"]


PAIR_RULE = """---
id: XYZ903
name: house-pair
severity: {severity}
since: 0.1.0
evidence: documented
find: pattern
match: |
  s = Sin(x)
  c = Cos(x)
message: "a Sin and a Cos"
advice:
  - do: "Take them out."
references:
  - https://example.org/XYZ903
---
"""


@pytest.fixture
def crowded(work: Workspace) -> Workspace:
    """Write ``pairs.onnx``, with more Sin and Cos pairs than the search limit, and a rule for them."""
    (work.path / "house" / "XYZ902-house-sin.md").unlink()
    rule = work.path / "house" / "XYZ903-house-pair.md"
    rule.write_text(PAIR_RULE.format(severity="warning"), encoding="utf-8")
    names = [f"{op}{number}" for number in range(110) for op in ("Sin", "Cos")]
    nodes = [onnx.helper.make_node(name[:3], ["x"], [name]) for name in names]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ["x", *names]]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:])
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), work.path / "pairs.onnx")
    return work


def test_a_rule_that_was_not_searched_to_the_end_is_not_clean(
    crowded: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("pairs.onnx", "-q", "--format", "concise")
    assert crowded.run(*options, "--fail-on", "warning") == 3
    assert "pairs.onnx: warning: findings of XYZ903 (house-pair) may be missing" in capsys.readouterr().out
    assert crowded.run(*options) == 0  # a warning does not fail this run, found or not
    assert crowded.run(*options, "--fail-on", "warning", "--ignore", "XYZ903") == 0
    assert "XYZ903" not in crowded.out


@pytest.mark.slow
def test_its_severity_is_the_one_that_the_team_gave_it(
    crowded: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    crowded.toml("trtlint.toml", '[severity]\nXYZ903 = "error"\n')
    assert crowded.run("pairs.onnx", "--format", "json") == 3
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert model["unsearched"] == [{"rule": "XYZ903", "name": "house-pair", "severity": "error"}]


@pytest.mark.slow
def test_upgrade_and_fix_and_the_python_interface_do_not_take_it_for_clean(
    crowded: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    import trtlint
    from trtlint.engine.rulebook import load_rules

    upgrade = ("upgrade", "pairs.onnx", "--from", "10.7", "--to", "10.9")
    assert crowded.run(*upgrade, "--fail-on", "error") == 0
    for command in (
        (*upgrade, "--fail-on", "warning"),
        ("fix", "pairs.onnx", "--dry-run", "--fail-on", "warning"),
    ):
        assert crowded.run(*command) == 3
        assert "findings of XYZ903 (house-pair) may be missing" in " ".join(capsys.readouterr().out.split())
    rules = list(load_rules([crowded.path / "house"]))
    with pytest.raises(trtlint.CheckError, match="the search for XYZ903 stopped at its limit"):
        trtlint.check("pairs.onnx", rules=rules, fail_on="warning", file=io.StringIO())


def test_a_baseline_does_not_take_for_gone_what_was_not_searched_for(crowded: Workspace) -> None:
    crowded.run("pairs.onnx", "--write-baseline", "known.json")
    file = crowded.path / "known.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    kept = {
        "model": "pairs.onnx",
        "rule": "XYZ903",
        "fingerprint": "0" * 16,
        "module": None,
        "node": "Sin999",
    }
    document["entries"].append(kept)
    file.write_text(json.dumps(document), encoding="utf-8")
    assert crowded.model("pairs.onnx", "--baseline", "known.json")["gone"] == []


def test_decoys_do_not_hide_a_finding(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from trtlint.cli import run

    folder = shared / "data" / "attack"
    if not (folder / "acc112_hidden.onnx").is_file():
        pytest.skip("no hostile models")
    warning = ("--trt", "11.4", "--fail-on", "warning", "-q", "--no-cache")
    assert run((str(folder / "acc112_hidden.onnx"), *warning)) == 1
    assert "ACC112" in capsys.readouterr().out
    assert run((str(folder / "acc130_hidden.onnx"), "--preview", "--trt", "11.2", "-q", "--no-cache")) == 1
    assert "ACC130" in capsys.readouterr().out
