"""Tests of upgrades of several models: the decision, rules and models, then exceptions."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace
from onnx import parser

from tests.inprocess import printed
from tests.report.handmade import SCALE
from tests.report.test_upgradesummary import line, listed, upgrade
from trtlint.engine.finding import Finding
from trtlint.engine.rule import Concern
from trtlint.engine.upgrade import Upgrade
from trtlint.knowledge.releases import minors
from trtlint.report.upgradedecision import (
    Decision,
    changed_code,
    changed_commands,
    convertible,
    decide,
    exceptions,
    fix_all,
    risks_at,
    rule_rows,
)

_SAFE = """< ir_version: 8, opset_import: ["" : 13] >
safe (float[1,8] x) => (float[1,8] y) { y = Relu (x) }"""
_FIXABLE = """< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
gelu (float[1,64] x, float[64] b) => (float[1,64] y) { y = com.microsoft.BiasGelu (x, b) }"""
_OPEN = """< ir_version: 8, opset_import: ["" : 17] >
draw (float[2,4] x) => (float[2,4] y) { y = Bernoulli (x) }"""

_NORM = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float[N,8,64] x) => (float[N,8,64] o)
< float two = {2}, float epsilon = {1e-6} >
{
  m = ReduceMean <axes = [-1], keepdims = 1> (x)
  d = Sub (x, m)
  s = Pow (d, two)
  v = ReduceMean <axes = [-1], keepdims = 1> (s)
  e = Add (v, epsilon)
  r = Sqrt (e)
  o = Div (d, r)
}
"""


NEWEST = minors("tensorrt")[-1]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name, text in {"safe": _SAFE, "gelu": _FIXABLE, "draw": _OPEN}.items():
        onnx.save(parser.parse_model(text), tmp_path / f"{name}.onnx")
    return tmp_path


def _upgrade(models: Path, *options: str) -> list[str]:
    words = ("upgrade", ".", "--from", "10.9", "--to", NEWEST, "--isolated", *options)
    return printed(models, *words).out.splitlines()


def test_the_decision_comes_first(models: Path) -> None:
    lines = [line.strip() for line in _upgrade(models)]
    assert lines[0] == f"upgrade: 3 models from TensorRT 10.9 to {NEWEST}"
    assert lines[1].startswith(f"version: TensorRT {NEWEST} (the newest)")
    assert "unchanged: 1 of 3 models" in lines
    assert "after trtlint fix: 2 of 3 models (gelu.onnx)" in lines
    assert lines.index("Rules and models") < lines.index("Exceptions") < lines.index("In short")
    assert "draw.onnx: error[BLD201] (already on 10.9)" in lines


def test_what_a_flag_causes_is_said_once_and_colours_no_model(models: Path) -> None:
    out = _upgrade(models, "--fp16")
    assert sum("PORT101" in line for line in out) == 1
    lines = [line.strip() for line in out]
    # Without a conversion, TensorRT 11 builds these models in FP32.
    assert "unchanged: 0 of 3 models" in lines
    assert "after trtlint fix and convert: 2 of 3 models (gelu.onnx)" in lines
    (line,) = [line for line in lines if line.startswith("trtlint convert is needed to keep FP16: ")]
    assert line.startswith("trtlint convert is needed to keep FP16: 3 of 3 models (")
    assert not [line for line in _upgrade(models) if "convert" in line]


def test_a_command_at_which_trtexec_stops_is_in_the_decision(models: Path) -> None:
    out = [line.strip() for line in _upgrade(models, "--build", "trtexec --onnx=m.onnx --fp16")]
    (line,) = [line for line in out if line.startswith("the build command must change: ")]
    assert line.startswith("the build command must change: PORT106: TensorRT 11 removed --fp16")
    kept = "trtlint convert is needed to keep FP16: 3 of 3 models (draw.onnx, gelu.onnx, safe.onnx)"
    assert f"{kept}; otherwise, these models run in FP32" in out
    (advice,) = [line for line in out if line.startswith("do: Remove --fp16, and use")]
    assert "trtlint convert --to fp16" in advice


def test_the_decision_names_all_options_to_change(models: Path) -> None:
    command = "trtexec --onnx=m.onnx --fp16 --int8 --calib=c --workspace=64 --buildOnly --explicitBatch"
    words = (
        "upgrade",
        ".",
        "--from",
        "8.6",
        "--isolated",
        "--build",
        f"{command} --precisionConstraints=obey",
    )
    out = [line.strip() for line in printed(models, *words).out.splitlines()]
    (line,) = [line for line in out if line.startswith("the build command must change: ")]
    options = {"--fp16", "--int8", "--calib", "--workspace", "--buildOnly", "--explicitBatch"}
    assert options | {"--precisionConstraints"} == set(re.findall(r"--\w+", line))
    assert len(re.findall(r"--\w+", line)) == 7
    assert "removed --workspace from trtexec, which stops at an unknown option (also --buildOnly, " in line


def test_only_the_last_known_version_is_the_newest(models: Path) -> None:
    words = ("upgrade", ".", "--from", "10.9", "--to", "11.2", "--isolated")
    out = printed(models, *words).out
    assert "version: TensorRT 11.2 (the newest of the range)" in out
    assert "(the newest)" not in out


def test_one_model_keeps_its_own_report(models: Path) -> None:
    (models / "safe.onnx").unlink()
    (models / "draw.onnx").unlink()
    out = "\n".join(_upgrade(models))
    assert "safest version: " in out
    assert "Rules and models" not in out


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_pages_have_the_decision(models: Path, format_: str) -> None:
    out = "\n".join(_upgrade(models, "--format", format_))
    assert out.index("unchanged") < out.index("Rules and models") < out.rindex("Exceptions")
    assert "1 of 3 models" in out


@pytest.mark.slow
def test_many_models_are_few_lines(models: Path) -> None:
    for number in range(40):
        (models / f"copy{number}.onnx").write_bytes((models / "gelu.onnx").read_bytes())
    out = _upgrade(models)
    assert len(out) < 60
    assert [line for line in out if "models: copy0.onnx, ..." in line], out[-12:]


def test_findings_of_the_current_release_are_marked(models: Path) -> None:
    lines = [line.strip() for line in _upgrade(models)]
    assert "draw.onnx: error[BLD201] (already on 10.9)" in lines
    assert "the code must change: PORT127 weak-typing-api-removed" in lines
    assert any("already on 10.9; trtlint fix: gelu.onnx" in line for line in lines)
    (line,) = [line for line in lines if line.startswith("needs changes: ")]
    assert line == "needs changes: 1 model (1 of them already has these findings on 10.9): see Exceptions"


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_one_model_marks_what_is_wrong_already(models: Path, format_: str) -> None:
    words = ("upgrade", "gelu.onnx", "--from", "10.9", "--to", "11.4", "--isolated", "--format", format_)
    assert "all versions, already on 10.9" in printed(models, *words).out


def test_json_marks_what_is_wrong_already(models: Path) -> None:
    words = ("upgrade", "gelu.onnx", "--from", "10.9", "--to", "11.4", "--isolated", "--format", "json")
    (model,) = json.loads(printed(models, *words).out)["models"]
    marks = {each["finding"]["rule"]: each["already"] for each in model["findings"]}
    assert marks["BLD217"] is True
    assert marks["PORT127"] is False


def test_the_command_of_a_fix_can_be_pasted(models: Path) -> None:
    (models / "gelu.onnx").rename(models / "my gelu.onnx")
    target = ("--gpu", "RTX 4090", "--fp16")
    words = ("upgrade", "my gelu.onnx", "--from", "10.9", "--to", "10.16", "--isolated", *target)
    text = printed(models, *words).out
    asked = "trtlint fix 'my gelu.onnx' --select BLD217 --trt 10.16 --gpu 'RTX 4090' --fp16"
    assert f"fix: {asked}" in text
    assert asked in printed(models, *words, "--format", "markdown").out
    (model,) = json.loads(printed(models, *words, "--format", "json").out)["models"]
    assert asked in [each.get("fix") for each in model["findings"]]
    command = shlex.split(asked)[1:]
    assert printed(models, *command, "--dry-run", "--isolated").code == 0


def test_the_decision_names_the_command_that_fixes_the_models(models: Path) -> None:
    (line,) = [line.strip() for line in _upgrade(models, "--gpu", "L4") if "fix them with" in line]
    assert line == "fix them with: trtlint fix gelu.onnx --trt 11.4 --gpu L4"


def test_hidden_findings_of_several_models_are_counted(models: Path) -> None:
    onnx.save(parser.parse_model(_NORM), models / "norm.onnx")
    (line,) = [line for line in _upgrade(models) if "hidden" in line]
    assert "conditional finding hidden: give --fp16 or --no-fp16 (1)" in line
    shown = _upgrade(models, "--show-conditional")
    assert "  warning[ACC101] fp16-decomposed-norm (--fp16): 1 model" in shown
    assert not [line for line in shown if "hidden" in line]


ERROR = replace(SCALE, rule="ERR1", name="an-error", message="the norm overflows", advice=())
WARNING = replace(ERROR, rule="WRN1", name="a-warning", severity="warning")
NOTE = replace(ERROR, rule="NTE1", name="a-note", severity="note")
FIX = replace(ERROR, rule="FIX1", fixes=("a-fix",))
LOW = replace(ERROR, rule="LOW1", confidence="low")
REFUTED = replace(ERROR, rule="REF1", standing="refuted")


def model(path: str, *found: tuple[Finding, tuple[int, ...], Concern]) -> Upgrade:
    """Return the upgrade of a model from 10.6 to 10.8, with findings and their release lines."""
    lines = tuple(
        replace(
            line(name, error=sum(f.severity == "error" and at in lines for f, lines, _ in found)),
            found=tuple(number for number, (_, lines, _) in enumerate(found) if at in lines),
        )
        for at, name in enumerate(("10.6", "10.7", "10.8"))
    )
    return upgrade(path, lines, *(listed(finding, lines, concern) for finding, lines, concern in found))


@pytest.mark.parametrize("concern", ["graph", "command", "code"])
@pytest.mark.parametrize("finding", [ERROR, WARNING, NOTE], ids=["error", "warning", "note"])
@pytest.mark.parametrize("lines", [(1,), (1, 2), (0, 1), (0, 2)])
def test_changes_since_the_first_release(finding: Finding, lines: tuple[int, ...], concern: Concern) -> None:
    found = [model("a.onnx", (finding, lines, concern))]
    new = 0 not in lines
    command = new and (concern, finding) == ("command", ERROR)
    assert changed_commands(found, 1) == ((f"{finding.rule}: the norm overflows",) if command else ())
    code = new and concern == "code" and finding is not NOTE
    assert changed_code(found, 1) == ((f"{finding.rule} {finding.name}",) if code else ())


@pytest.mark.parametrize(
    ("folders", "folder"),
    [
        (("", "", "", ""), "."),
        (("a", "a/b", "a", "a/c"), "a"),
        (("../x", "y", "y", "y"), ".."),
        (("/w/x", "y", "y", "y"), "/w"),
        (("/x", "/x/y", "/x", "/x"), "/x"),
    ],
)
def test_many_models_are_fixed_in_their_folder(
    folders: Sequence[str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/w/here")
    found = [model(str(Path(each, f"{at}.onnx"))) for at, each in enumerate(folders)]
    decision = Decision(1, (), tuple(each.path for each in found), ())
    assert fix_all(found, decision) == f"trtlint fix {folder} --trt 10.7"


def test_changes_of_several_models() -> None:
    other = replace(ERROR, rule="ERR0", message="another")
    cases: tuple[tuple[Concern, tuple[str, ...], tuple[str, ...]], ...] = (
        ("command", ("ERR1: the norm overflows", "ERR0: another"), ()),
        ("code", (), ("ERR0 an-error", "ERR1 an-error")),
    )
    for concern, commands, code in cases:
        found = [model("a.onnx", (ERROR, (1,), concern), (other, (1,), concern))]
        assert (changed_commands(found * 2, 1), changed_code(found * 2, 1)) == (commands, code)
        assert (changed_commands(found, 2), changed_code(found, 2)) == ((), ())


def test_errors_and_warnings_about_the_graph() -> None:
    each: list[tuple[Finding, tuple[int, ...], Concern]] = [
        (finding, (1,), "graph") for finding in (ERROR, WARNING, NOTE, LOW, REFUTED)
    ]
    found = model("a.onnx", *each, (ERROR, (1,), "command"), (ERROR, (1,), "code"), (FIX, (2,), "graph"))
    assert [item.finding for item in risks_at(found, 1)] == [ERROR, WARNING]
    assert [item.finding for item in risks_at(found, 2)] == [FIX]
    assert risks_at(found, 0) == ()


@pytest.mark.parametrize(
    ("advice", "concern", "type_"),
    [
        ("Run trtlint convert m.onnx --to fp16 first.", "command", "FP16"),
        ("Run trtlint convert m.onnx --to bf16.", "code", "BF16"),
        ("Run trtlint convert m.onnx --to fp16.", "graph", None),
        ("See trtlint convert --to fp16.", "command", None),
        ("Change it.", "command", None),
    ],
)
def test_models_to_convert(advice: str, concern: Concern, type_: str | None) -> None:
    finding = replace(ERROR, advice=("First.", advice))
    found = [model("a.onnx", (finding, (1,), concern)), model("b.onnx")]
    assert convertible(found, 1) == ({"a.onnx": type_} if type_ else {})
    assert convertible(found, 2) == {}


def test_the_first_type_of_a_model_to_convert() -> None:
    first, second = (
        replace(ERROR, advice=(f"Run trtlint convert m.onnx --to {type_}.",)) for type_ in ("bf16", "fp16")
    )
    found = model("a.onnx", (first, (1,), "command"), (second, (1,), "command"))
    assert convertible([found], 1) == {"a.onnx": "BF16"}


@pytest.mark.parametrize(
    ("risks", "best"),
    [
        ([{}, {}, {}], 2),
        ([{}, {"error": 1}, {"warning": 1}], 0),
        ([{"error": 1}, {"warning": 9}, {"error": 1}], 1),
        ([{"error": 1, "warning": 2}, {"error": 1, "warning": 1}, {"error": 1, "warning": 3}], 1),
        ([{"note": 1}, {"note": 0}, {"note": 5}], 2),
    ],
)
def test_the_best_version(risks: list[dict[str, Any]], best: int) -> None:
    lines = tuple(line(name, **each) for name, each in zip(("10.6", "10.7", "10.8"), risks, strict=True))
    assert decide([upgrade("a.onnx", lines)]) == Decision(best, ("a.onnx",), (), ())


def test_the_best_version_of_several_models() -> None:
    first = upgrade("a.onnx", (line("10.6", error=2), line("10.7", error=1), line("10.8", error=0)))
    second = upgrade("b.onnx", (line("10.6", error=0), line("10.7", error=0), line("10.8", error=3)))
    assert decide([first, second]).line == 1
    unsupported = replace(second, lines=(second.lines[0], line("10.7", supported=False), second.lines[2]))
    assert decide([first, unsupported]).line == 0
    none = replace(second, lines=tuple(replace(each, supported=False) for each in second.lines))
    assert decide([first, none]) == Decision(None, (), (), ())


def test_models_by_the_work_that_they_need() -> None:
    models = [
        model("safe.onnx", (NOTE, (0, 1, 2), "graph")),
        model("fix.onnx", (FIX, (0, 1, 2), "graph"), (FIX, (0, 1, 2), "graph")),
        model("open.onnx", (FIX, (0, 1, 2), "graph"), (ERROR, (0, 1, 2), "graph"), (WARNING, (2,), "graph")),
    ]
    assert decide(models) == Decision(2, ("safe.onnx",), ("fix.onnx",), (("open.onnx", models[2].findings),))
    assert list(exceptions(models)) == [
        ("open.onnx", "error[FIX1] (already on 10.6), error[ERR1] (already on 10.6), warning[WRN1]")
    ]


def test_the_rows_of_rules() -> None:
    models = [
        model("a.onnx", (WARNING, (1, 2), "graph"), (FIX, (2,), "graph"), (ERROR, (1,), "command")),
        model("b.onnx", (replace(WARNING, fixes=("a-fix",)), (0, 1), "graph"), (NOTE, (0, 1, 2), "graph")),
        model("c.onnx", (replace(WARNING, severity="error"), (1,), "graph"), (NOTE, (0, 1, 2), "graph")),
    ]
    assert [
        (row.severity, row.rule, row.name, row.released, row.models, row.fixes) for row in rule_rows(models)
    ] == [
        (
            "error",
            "WRN1",
            "a-warning",
            "from 10.7; in 1 model already on 10.6",
            ["a.onnx", "b.onnx", "c.onnx"],
            False,
        ),
        ("error", "FIX1", "an-error", "10.8", ["a.onnx"], True),
        ("note", "NTE1", "a-note", "all versions, already on 10.6", ["b.onnx", "c.onnx"], False),
    ]
