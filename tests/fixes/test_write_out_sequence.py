"""Tests of sequences and optional tensors rewritten as tensors, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import Feeds, assert_same, fixed, ops

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
X: Feeds = {"x": np.arange(20, dtype=np.float32).reshape(5, 4), "t": np.ones((2, 4), np.float32)}
NUMBERS = "int64 two = {2}, int64 zero = {0}, int64 last = {-1}, int64[2] sizes = {1, 4}"
STACKED = """s = SplitToSequence <axis = 0, keepdims = 0> (x)
    y = ConcatFromSequence <axis = 0, new_axis = 1> (s)"""

WRITTEN = {
    "chunks": "s = SplitToSequence <axis = 0> (x, two)  y = SequenceAt (s, last)",
    "parts": "s = SplitToSequence <axis = -2> (x, sizes)  y = SequenceAt (s, zero)",
    "unbound": STACKED.replace("axis = 0", "axis = 1"),
    "single": "s = SplitToSequence <axis = 1> (x)  y = ConcatFromSequence <axis = 0> (s)",
    "inserted": """e = SequenceEmpty ()  s = SequenceInsert (e, x)  i = SequenceInsert (s, t, zero)
        y = ConcatFromSequence <axis = 0> (i)""",
    "inserted from behind": """s = SequenceConstruct (x, t, x)  i = SequenceInsert (s, t, last)
        y = ConcatFromSequence <axis = 0> (i)""",
    "erased": """s = SequenceConstruct (x, t, x)  r = SequenceErase (s, last)  q = SequenceErase (r)
        y = ConcatFromSequence <axis = 0> (q)""",
    "counted": """s = SplitToSequence <axis = 0> (x, two)  i = Identity (s)  n = SequenceLength (i)
        f = Cast <to = 1> (n)  y = Mul (x, f)""",
    "the number alone": "s = SequenceConstruct (x, x, x)  y = SequenceLength (s)",
    "optional": "o = Optional (x)  y = OptionalGetElement (o)",
    "whether there is one": "o = Optional (x)  y = OptionalHasElement (o)",
}


def model(body: str, opset: int = 17) -> onnx.ModelProto:
    kind = "int64 y" if "y = SequenceLength" in body else "bool y" if "HasElement" in body else "float[A,B] y"
    kind = "float[A,B] y" if "new_axis" in body else kind
    return onnx.parser.parse_model(
        f"""< ir_version: 8, opset_import: ["" : {opset}] > g (float[5,4] x, float[2,4] t) => ({kind})
        < {NUMBERS} > {{ {body} }}"""
    )


@pytest.mark.parametrize("body", WRITTEN.values(), ids=WRITTEN)
def test_what_is_known_of_a_sequence(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, after = fixed(tmp_path, model(body), *RTX)
    assert not [op for op in ops(after) if "Sequence" in op or "Optional" in op]
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert "outputs: equal within tolerance" in capsys.readouterr().out


def test_sizes_that_an_older_opset_has_as_an_attribute(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model(STACKED, 11), *RTX[:-1])
    assert "Split" in ops(after)
    assert_same(before, after, X)


LEFT = {
    "known only at run time": "s = SplitToSequence <axis = 0> (x, two)  p = Shape (n)  y = SequenceAt (s, k)",
    "result of SplitToSequence is known": "s = SplitToSequence <axis = 0> (x, k)  y = SequenceAt (s, zero)",
    "reads or writes a sequence": """s = SequenceConstruct (x, x)
        m = SequenceMap (s) <body = b (float[5,4] e) => (float[5,4] f) { f = Neg (e) }>
        y = SequenceAt (m, zero)""",
}


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left(reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = LEFT[reason].replace("p = Shape (n)", "")
    text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[5,4] x, int64 k) => (float[A,B] y)
        < {NUMBERS} > {{ {body} }}"""
    _, after = fixed(tmp_path, text, *RTX[:-1])
    assert after is None
    assert reason in " ".join(capsys.readouterr().out.split())


UNFOLDED = """e = SequenceEmpty ()
    last, all = Loop ({0}, {1}, start, e)
      <body = b (int64 i, bool go, int64[1] from, seq(float[2,4]) s)
        => (bool again, int64[1] next, seq(float[2,4]) more)
        {{ to = Add (from, width) part = Slice (x, from, to, rows) more = SequenceInsert (s, part)
           next = Add (from, rise) less = Less (next, stop) {2} }}>
    y = ConcatFromSequence <axis = 1, new_axis = 1> (all)"""
COUNTED = UNFOLDED.format("times", "true", "again = Identity (go)")
WHILE = UNFOLDED.format('""', "true", "again = Squeeze (less)")
PLACES = """int64[1] start = {0}, int64[1] width = {2}, int64[1] rise = {1}, int64[1] stop = {4},
    int64[1] rows = {0}, int64 times = {4}, bool true = {1}"""


def unfolding(body: str, more: str = "") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""< ir_version: 8, opset_import: ["" : 17] > g (float[5,4] x{more}) => (float[A,B,C] y)
        < {PLACES} > {{ {body} }}"""
    )


@pytest.mark.parametrize("body", [COUNTED, WHILE], ids=["counted", "while"])
def test_a_loop_that_fills_a_sequence(body: str, tmp_path: Path) -> None:
    """PyTorch's exporter writes this model for ``unfold``."""
    before, after = fixed(tmp_path, unfolding(body), *RTX)
    assert not [op for op in ops(after) if "Sequence" in op or op == "Loop"]
    assert_same(before, after, {"x": X["x"]}, rtol=0)


def test_a_loop_that_fills_a_sequence_as_often_as_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = COUNTED.replace("(times,", "(often,")
    assert fixed(tmp_path, unfolding(body, ", int64 often"), *RTX)[1] is None
    printed = capsys.readouterr().out
    assert (
        "the Loop that fills the sequence cannot be unrolled: the number of iterations is known only at"
        in printed
    )
