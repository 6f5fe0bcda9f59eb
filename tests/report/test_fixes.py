"""Tests of fix reports as text, Markdown and HTML, line by line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import Finding, ModelReport
from trtlint.files.problem import Problem
from trtlint.fixes.outcome import AppliedFix, Proof, RefusedFix
from trtlint.report import fixpage, modeldiff
from trtlint.report.fixes import FixResult, casts_note
from trtlint.report.fixoutputs import FixOutputs
from trtlint.report.outputs import ReportOutput

AFTER = handmade.CHAIN.replace("Neg", "Relu")


def state(*findings: Finding, proto: str = handmade.CHAIN, dtype: str = "f32", **more: Any) -> Any:
    """Return a model with its findings."""
    report = ModelReport("m.onnx", more.pop("target", "TensorRT 10.7"), findings, **more)
    values = {"x": [SimpleNamespace(dtype="f32"), SimpleNamespace(dtype=dtype)]}
    return SimpleNamespace(
        findings=list(findings),
        reports=(report,),
        proto=onnx.parser.parse_model(proto),
        model=SimpleNamespace(graph=SimpleNamespace(values=values)),
    )


def applied(fix: str, place: str, rule: str = "ACC102", **more: Any) -> AppliedFix:
    """Return an applied rewrite."""
    given = {"severity": "error", "safety": "safe", "title": f"does {fix}", **more}
    return AppliedFix(rule=rule, fix=fix, place=place, **given)


def refused(fix: str | None, place: str, rule: str = "ACC104") -> RefusedFix:
    """Return a refused rewrite."""
    return RefusedFix(rule, "note", fix, place, f"{fix or 'it'} is not possible")


def fixed(before: Any, after: Any, *made: AppliedFix, path: str = "dir/m.onnx", **more: Any) -> Any:
    """Return the result of fixing a model."""
    outcome = SimpleNamespace(
        before=before, after=after, applied=list(made), refused=more.pop("refused", []), rounds=[]
    )
    given = {"fault": "", "changed": True, "source": "digest", **more}
    return SimpleNamespace(
        path=Path(path), model=SimpleNamespace(files=[Path(path)]), outcome=outcome, **given
    )


LATER = replace(handmade.FLAG, depends=(), name="later")
MADE = (
    applied("move-scale", "blocks.0.attn", proof=Proof(True, "equal for all numbers", {})),
    applied("move-scale", "blocks.1.attn"),
    applied("widen-norm", "n7", rule="ACC101", severity="warning"),
    applied("keep-fp32", "", rule="", severity="note"),
)
REFUSED = [refused("move-clip", "a"), refused("move-clip", "b"), refused(None, "c")]
FULL = fixed(state(handmade.SCALE), state(LATER, handmade.CLIP), *MADE, refused=REFUSED)
CHECKS: Any = [
    SimpleNamespace(check="outputs", judgement="equal", words="the same", document={"check": "outputs"})
]
NO_COSTS: Any = SimpleNamespace(words=())
EMPTY = Problem("b.onnx", "is empty")
COSTS: Any = SimpleNamespace(words=("the file grows",), document={"bytes": 1})


def report(
    format: str,
    results: Sequence[FixResult],
    problems: Sequence[Problem] = (),
    *,
    diff: bool = False,
    selected: Sequence[str] = (),
) -> str:
    """Return a report in one format."""
    with redirect_stdout(io.StringIO()) as out:
        outputs = FixOutputs([ReportOutput(format)], diff=diff, selected=selected)
        for problem in problems:
            outputs.problem(problem)
        for result in results:
            outputs.add(result)
        outputs.close(())
        return out.getvalue()


def shown(
    result: Any, written: Path | None = None, checks: Any = (), costs: Any = None, **options: Any
) -> list[str]:
    """Return the lines of a report as text."""
    return report("text", [FixResult(result, written, checks, costs or NO_COSTS)], **options).splitlines()


def test_a_report() -> None:
    assert shown(FULL, Path("out.onnx"), CHECKS, COSTS) == [
        "dir/m.onnx -> out.onnx",
        "  fixed    error[ACC102] move-scale: does move-scale at blocks.*.attn",
        "           proof: equal for all numbers",
        "  fixed    warning[ACC101] widen-norm: does widen-norm at n7 (this finding appeared after the first "
        "rewrite)",
        "  fixed    keep-fp32: does keep-fp32",
        "  refused  note[ACC104] move-clip: move-clip is not possible at a, b",
        "  refused  note[ACC104]: it is not possible at c",
        f"  left     warning[ACC101] later: {LATER.message} at n7",
        "  outputs: equal: the same",
        f"  note:    {casts_note(FULL.outcome)}",
        "  costs:   the file grows",
        "  4 places rewritten, 3 refused; 1 error before, 1 warning, 1 note after",
    ]


def test_a_report_without_rewrites() -> None:
    same = state()
    assert shown(fixed(same, same)) == [
        "dir/m.onnx",
        "  0 places rewritten, 0 refused; no findings before, no findings after",
    ]


@pytest.mark.parametrize(
    ("after", "selected", "last"),
    [
        ((), (), "no findings after"),
        ((), ("ACC102",), "no ACC102 after"),
        ((), ("ACC102", "BLD"), "no ACC102 or BLD after"),
        ((handmade.CLIP,), ("ACC102",), "1 note after"),
    ],
)
def test_the_last_line_names_the_selected_rules(
    after: Sequence[Finding], selected: Sequence[str], last: str
) -> None:
    line = shown(fixed(state(handmade.SCALE), state(*after), *MADE[:1]), selected=selected)[-1]
    assert line == f"  1 place rewritten, 0 refused; 1 error before, {last}"


def test_an_invalid_model_is_not_written() -> None:
    lines = shown(fixed(state(handmade.SCALE), state(), *MADE[1:2], fault="a cycle"))
    assert lines == [
        "dir/m.onnx",
        "  unsaved  error[ACC102] move-scale: does move-scale at blocks.1.attn",
        "  no model was written, because the fixed model is invalid; still 1 error",
    ]


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (("",), ""),
        (("a", "b", "a"), " at a, b"),
        (("a", "b", "c"), " at a, b, c"),
        (("a", "b", "c", "d"), " at a, b, c, ..."),
    ],
)
def test_places_of_a_rewrite(places: Sequence[str], words: str) -> None:
    made = [applied("move-scale", place) for place in places]
    assert shown(fixed(state(handmade.SCALE), state(), *made))[1] == (
        f"  fixed    error[ACC102] move-scale: does move-scale{words}"
    )


HALF = (
    "  note:    on a CPU, ONNX Runtime computes most FP16 operators in FP32; to measure the FP16 error: "
    "trtlint measure 'out 1.onnx' --inputs FILE.npz"
)


@pytest.mark.parametrize(
    ("after", "written", "check", "hint"),
    [
        (state(dtype="f16"), True, "outputs", True),
        (state(target="TensorRT 10.7, FP16"), True, "outputs", True),
        (state(target="TensorRT 10.7 FP16"), True, "outputs", False),
        (state(), True, "outputs", False),
        (state(dtype="f16"), False, "outputs", False),
        (state(dtype="f16"), True, "checker", False),
    ],
)
def test_a_comparison_on_a_cpu_is_explained(after: Any, written: bool, check: str, hint: bool) -> None:
    verdict = SimpleNamespace(check=check, judgement="equal", words="the same")
    lines = shown(fixed(state(), after), Path("out 1.onnx") if written else None, [verdict])
    assert (HALF in lines) is hint


@pytest.mark.parametrize(
    ("fix", "target", "weak"),
    [
        ("widen-norm", "TensorRT 10.7", True),
        ("keep-fp32", "TensorRT 8.6, FP16", True),
        ("widen-norm", "TensorRT 9.3, no strongly typed", True),
        ("widen-norm", "TensorRT 10.7, strongly typed", False),
        ("widen-norm", "TensorRT 11.0", False),
        ("widen-norm", "TensorRT-RTX 1.4", False),
        ("move-scale", "TensorRT 10.7", False),
    ],
)
def test_casts_may_be_ignored_in_a_weakly_typed_build(fix: str, target: str, weak: bool) -> None:
    result = fixed(state(), state(target=target), applied("move", "n"), applied(fix, "n"))
    note = casts_note(result.outcome)
    assert bool(note) is weak
    assert any(line == f"  note:    {note}" for line in shown(result)) is weak


DIFF = [
    "--- a/m.onnx",
    "+++ b/m.onnx",
    "@@ -7,3 +7,3 @@",
    " d = Cos (c)",
    " e = Abs (d)",
    "-y = Neg (e)",
    "+y = Relu (e)",
]


def test_a_diff() -> None:
    changed = fixed(state(), state(proto=AFTER), *MADE[1:2])
    assert shown(changed, diff=True)[3:] == DIFF
    assert len(shown(changed)) == 3
    assert len(shown(fixed(state(), state(proto=AFTER), changed=False), diff=True)) == 2


def test_json() -> None:
    result = FixResult(replace_outcome(FULL), Path("out.onnx"), CHECKS, COSTS)
    document = json.loads(report("json", [result], [EMPTY], diff=True))
    (model,) = document["models"]
    assert (document["schema"], len(document["errors"])) == ("trtlint.fix/1", 1)
    assert model["applied"][0] == {
        "rule": "ACC102",
        "severity": "error",
        "fix": "move-scale",
        "safety": "safe",
        "place": "blocks.0.attn",
        "does": "does move-scale",
        "proof": {"equal": True, "says": "equal for all numbers", "figures": {}, "bounds": []},
    }
    assert model["applied"][1]["proof"] is None
    assert model["refused"][2] == {
        "rule": "ACC104",
        "severity": "note",
        "fix": None,
        "place": "c",
        "reason": "it is not possible",
    }
    assert [each["rule"] for each in model["left"]] == ["ACC101", "ACC104"]
    others = ("path", "output", "source", "targets", "verified", "costs", "caveats", "diff")
    assert [model[name] for name in others] == [
        "dir/m.onnx",
        "out.onnx",
        "digest",
        ["TensorRT 10.7"],
        [{"check": "outputs"}],
        {"bytes": 1},
        [],
        DIFF,
    ]
    assert "partitions" not in model


def replace_outcome(result: Any) -> Any:
    """Return a copy whose fixed model has another operator."""
    after = SimpleNamespace(**{**vars(result.outcome.after), "proto": onnx.parser.parse_model(AFTER)})
    outcome = SimpleNamespace(**{**vars(result.outcome), "after": after})
    return SimpleNamespace(**{**vars(result), "outcome": outcome})


def test_a_problem() -> None:
    assert report("text", [], [EMPTY]) == "error: b.onnx: is empty\n"


def markdown(
    *results: Any, written: Path | None = None, checks: Any = (), costs: Any = None, diff: bool = False
) -> list[str]:
    """Return the lines of a report as Markdown, without the escapes of characters."""
    text = report(
        "markdown",
        [FixResult(each, written, checks, costs or NO_COSTS) for each in results],
        [EMPTY],
        diff=diff,
    )
    text = re.sub(r"&#(\d+);(?:&#8203;)?", lambda match: chr(int(match[1])), text)
    return [line for line in text.splitlines() if line]


def test_markdown() -> None:
    assert markdown(FULL, written=Path("out.onnx"), checks=CHECKS, costs=COSTS) == [
        "## 4 places rewritten in 1 model",
        "### Errors",
        "* b.onnx: is empty",
        "### `dir/m.onnx`",
        "written to `out.onnx`; 1 finding before, 2 findings after",
        "| Rule | Rewrite | Location | Proof |",
        "|---|---|---|---|",
        "| error ACC102 | move-scale: does move-scale | `blocks.*.attn` | equal for all numbers |",
        "| warning ACC101 | widen-norm: does widen-norm | `n7` |  |",
        "|  | keep-fp32: does keep-fp32 |  |  |",
        "Refused:",
        "* note ACC104 move-clip: move-clip is not possible: `a, b`",
        "* note ACC104: it is not possible: `c`",
        "Remaining findings:",
        f"* warning ACC101 later: {LATER.message}",
        "* outputs: equal: the same",
        f"* note: {casts_note(FULL.outcome)}",
        "* costs: the file grows",
    ]


def test_markdown_of_several_models_with_diffs(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = fixed(state(), state(proto=AFTER), *(applied("move", place) for place in "abcd"))
    part = [
        "### `dir/m.onnx`",
        "not written; 0 findings before, 0 findings after",
        "| Rule | Rewrite | Location | Proof |",
        "|---|---|---|---|",
        "| error ACC102 | move: does move | `a, b, c, ...` |  |",
    ]
    assert markdown(changed, changed)[3:] == [*part, *part]
    assert markdown(changed, diff=True)[8:] == ["```diff", *DIFF, "```"]
    monkeypatch.setattr(modeldiff, "MOST_LINES", 6)
    assert markdown(changed, diff=True)[8:] == ["```diff", *DIFF[:6], "and 1 more line", "```"]


def page(*results: Any, written: Path | None = None, checks: Any = (), costs: Any = None) -> list[str]:
    """Return the lines of text of a page."""
    text = report("html", [FixResult(each, written, checks, costs or NO_COSTS) for each in results], [EMPTY])
    html = re.sub(r".*</style>|<footer>.*", "", text, flags=re.DOTALL)
    html = re.sub(r"</(?:h\d|p|li|a)>", "\n", html)
    texts = (re.sub(r"<[^>]+>", "", line).strip() for line in html.splitlines())
    return [text for text in texts if text][2:]


def test_a_page() -> None:
    assert page(FULL, written=Path("out.onnx"), checks=CHECKS, costs=COSTS) == [
        "4 places rewritten in dir/m.onnx",
        "1 → 0 errors",
        "0 → 1 warnings",
        "0 → 1 notes",
        "b.onnx: is empty",
        "dir/m.onnx",
        "written to out.onnx; 1 error before, 1 warning, 1 note after",
        "outputs: equal: the same",
        f"note: {casts_note(FULL.outcome)}",
        "costs: the file grows",
        "error ACC102 move-scale",
        "does move-scale",
        "at blocks.*.attn (2 places)",
        "Proof: equal for all numbers",
        "warning ACC101 widen-norm",
        "does widen-norm",
        "at n7",
        "keep-fp32",
        "does keep-fp32",
        "Refused",
        "note ACC104 move-clip: move-clip is not possible at a, b (2 places)",
        "note ACC104 it is not possible at c",
        "Remaining findings",
        f"warning ACC101 {LATER.message}",
    ]


def test_the_limits_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    many = fixed(
        state(handmade.SCALE),
        state(LATER, handmade.SCALE),
        *(applied("one", place) for place in "abc"),
        applied("two", ""),
        refused=[refused("x", ""), refused("y", "")],
    )
    assert page(many)[7:] == [
        "error ACC102 one",
        "does one",
        "at a, b, c (3 places)",
        "error ACC102 two",
        "does two",
        "Refused",
        "note ACC104 x: x is not possible",
        "note ACC104 y: y is not possible",
        "Remaining findings",
        f"warning ACC101 {LATER.message}",
        f"error ACC102 {handmade.SCALE.message}",
    ]
    monkeypatch.setattr(fixpage, "_REWRITES", 1)
    monkeypatch.setattr(fixpage, "_LISTED", 1)
    monkeypatch.setattr(fixpage, "_PLACES", 2)
    assert page(many)[7:] == [
        "error ACC102 one",
        "does one",
        "at a, b, … (3 places)",
        "not shown: 1 more rewrite",
        "Refused",
        "note ACC104 x: x is not possible",
        "and 1 more",
        "Remaining findings",
        f"warning ACC101 {LATER.message}",
        "and 1 more",
    ]


def test_a_page_of_several_models() -> None:
    other = fixed(state(handmade.CLIP), state(), path="n.onnx")
    assert page(fixed(state(handmade.SCALE), state(), *MADE[1:2]), other) == [
        "1 place rewritten in 2 models",
        "1 → 0 errors",
        "0 → 0 warnings",
        "1 → 0 notes",
        "b.onnx: is empty",
        "dir/m.onnx",
        "not written; 1 error before, no findings after",
        "error ACC102 move-scale",
        "does move-scale",
        "at blocks.1.attn",
        "n.onnx",
        "not written; 1 note before, no findings after",
    ]
    assert page()[0] == "0 places rewritten in 0 models"
