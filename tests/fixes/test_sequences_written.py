"""Tests of the tensors that replace a sequence, by operator."""

from __future__ import annotations

import pytest
from onnx import helper

from tests.fixes.proposing import outcome, small
from trtlint.fixes.patch import Draft, NotApplicable
from trtlint.fixes.rewrites import write_out_sequence

GRAPH = """(float[5,4] x, float[2,4] t, int64 k, float[N,4] v, int64[K] ks) => (float[A,B] y)
< int64 two = {2}, int64 zero = {0}, int64 last = {-1}, int64 five = {5}, int64 before = {-6},
  int64[2] sizes = {1, 4}, int64 three = {3}, int64 fourth = {-4} > { %s }"""
SPLIT = "s = SplitToSequence %s  y = SequenceAt (s, zero)"
THREE = "s = SequenceConstruct (x, t, v)  %s"
GIVEN = "the result of %s is known only at run time"
TAKEN = "the index of SequenceAt is out of range or known only at run time"


def parts(count: int) -> str:
    """Return the names of the parts of a split."""
    return ", ".join(f"part{f'_{index + 1}' if index else ''}" for index in range(count))


@pytest.mark.parametrize(
    ("split", "opset", "expected"),
    [
        ("<axis = 0> (x, two)", 17, f"{parts(3)} = Split <axis = 0> (x, [2, 2, 1])"),
        ("<axis = 0> (x, two)", 13, f"{parts(3)} = Split <axis = 0> (x, [2, 2, 1])"),
        ("<axis = 0> (x, two)", 12, f"{parts(3)} = Split <axis = 0, split = [2, 2, 1]> (x)"),
        ("<axis = 1> (x, two)", 17, f"{parts(2)} = Split <axis = 1> (x, [2, 2])"),
        ("(x, five)", 17, f"{parts(1)} = Identity (x)"),
        ("<axis = -2, keepdims = 0> (x, sizes)", 17, f"{parts(2)} = Split <axis = 0> (x, [1, 4])"),
        ("(x)", 17, f"{parts(5)} = Split <axis = 0> (x, [1, 1, 1, 1, 1])"),
        ("(x, zero)", 17, GIVEN % "SplitToSequence"),
        ("(v)", 17, GIVEN % "SplitToSequence"),
        ("(v, two)", 17, GIVEN % "SplitToSequence"),
        ("(x, ks)", 17, GIVEN % "SplitToSequence"),
        ("(x, k)", 17, GIVEN % "SplitToSequence"),
    ],
)
def test_parts_of_a_split(split: str, opset: int, expected: str) -> None:
    taken = "" if expected.startswith("the result") else "  y = Identity (part)"
    assert outcome("write-out-sequence", GRAPH % (SPLIT % split), "s", opset) == expected + taken


def test_parts_without_their_axis() -> None:
    found = outcome("write-out-sequence", GRAPH % (SPLIT % "<axis = -1, keepdims = 0> (x)"), "s")
    split, *squeezed, taken = found.split("  ")
    assert split == f"{parts(4)} = Split <axis = 1> (x, [1, 1, 1, 1])"
    assert squeezed[1] == "squeeze_2 = Squeeze (part_2, [1])"
    assert len(squeezed) == 4
    assert taken == "y = Identity (squeeze)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = SequenceAt (s, zero)", "y = Identity (x)"),
        ("y = SequenceAt (s, two)", "y = Identity (v)"),
        ("y = SequenceAt (s, last)", "y = Identity (v)"),
        ("y = SequenceAt (s, three)", TAKEN),
        ("y = SequenceAt (s, fourth)", TAKEN),
        ("y = SequenceAt (s, k)", TAKEN),
        ("i = Identity (s)  y = SequenceAt (i, zero)", "y = Identity (x)"),
        ("e = SequenceErase (s)  y = ConcatFromSequence <axis = 1> (e)", "y = Concat <axis = 1> (x, t)"),
        (
            "e = SequenceErase (s, last)  y = ConcatFromSequence <axis = 0> (e)",
            "y = Concat <axis = 0> (x, t)",
        ),
        (
            "e = SequenceErase (s, zero)  y = ConcatFromSequence <axis = 0> (e)",
            "y = Concat <axis = 0> (t, v)",
        ),
        ("e = SequenceErase (s, two)  y = ConcatFromSequence <axis = 0> (e)", "y = Concat <axis = 0> (x, t)"),
        ("e = SequenceErase (s, three)  y = ConcatFromSequence (e)", GIVEN % "SequenceErase"),
        ("e = SequenceErase (s, fourth)  y = ConcatFromSequence (e)", GIVEN % "SequenceErase"),
        ("e = SequenceErase (s, k)  y = ConcatFromSequence (e)", GIVEN % "SequenceErase"),
        (
            "e = SequenceInsert (s, x)  y = ConcatFromSequence <axis = 0> (e)",
            "y = Concat <axis = 0> (x, t, v, x)",
        ),
        (
            "e = SequenceInsert (s, x, last)  y = ConcatFromSequence <axis = 0> (e)",
            "y = Concat <axis = 0> (x, t, x, v)",
        ),
        (
            "e = SequenceInsert (s, t, zero)  y = ConcatFromSequence <axis = 0> (e)",
            "y = Concat <axis = 0> (t, x, t, v)",
        ),
        ("e = SequenceInsert (s, x, k)  y = ConcatFromSequence (e)", GIVEN % "SequenceInsert"),
        ("y = SequenceLength (s)", "y = Identity (3)"),
        (
            "e = SequenceErase (s)  y = ConcatFromSequence <axis = 1, new_axis = 1> (e)",
            "unsqueeze = Unsqueeze (x, [1])"
            "  unsqueeze_2 = Unsqueeze (t, [1])"
            "  y = Concat <axis = 1> (unsqueeze, unsqueeze_2)",
        ),
    ],
)
def test_tensors_of_a_sequence_of_three(body: str, expected: str) -> None:
    assert outcome("write-out-sequence", GRAPH % (THREE % body), "y") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = SequenceEmpty ()  y = SequenceLength (s)", "y = Identity (0)"),
        ("s = SequenceEmpty ()  y = ConcatFromSequence (s)", "the sequence or optional tensor is empty"),
        ("o = Optional (x)  y = OptionalHasElement (o)", "y = Identity (True)"),
        ("o = Optional ()  y = OptionalHasElement (o)", "y = Identity (False)"),
        ("o = Optional (x)  y = OptionalGetElement (o)", "y = Identity (x)"),
        ("o = Optional ()  y = OptionalGetElement (o)", "the sequence or optional tensor is empty"),
        (
            "y = SequenceConstruct (x, t)",
            "a sequence is an output of the model, or of the body of an If or a loop",
        ),
        ("y = Neg (x)", "there is no sequence at this place"),
        ("y = com.microsoft.SequenceConstruct (x)", "there is no sequence at this place"),
        ("y = OptionalGetElement (x)", GIVEN % "OptionalGetElement"),
    ],
)
def test_other_sequences(body: str, expected: str) -> None:
    assert outcome("write-out-sequence", GRAPH % body, "y") == expected


@pytest.mark.parametrize(("size", "fits"), [(256, True), (257, False)])
def test_a_sequence_is_bounded(size: int, fits: bool) -> None:
    text = f"(float[{size},4] x) => (float[A,B] y) < int64 zero = {{0}} > {{ %s }}"
    found = outcome("write-out-sequence", text % (SPLIT % "(x)"), "y")
    assert found == GIVEN % "SplitToSequence" if not fits else found.endswith("part)")
    body = "s = SplitToSequence (x)  i = SequenceInsert (s, x)  y = SequenceAt (i, zero)"
    found = outcome("write-out-sequence", f"(float[{size - 1},4] x)" + text.partition("x)")[2] % body, "y")
    assert (found == "the sequence has more than 256 tensors") is not fits


def test_the_nodes_that_a_sequence_connects_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_out_sequence._MOST_NODES == 500
    text = GRAPH % (THREE % "e = SequenceErase (s)  y = SequenceLength (e)")
    for most, fits in ((3, True), (2, False)):
        monkeypatch.setattr(write_out_sequence, "_MOST_NODES", most)
        assert (outcome("write-out-sequence", text, "y") == "y = Identity (2)") is fits


LOOPED = """(float[2] x, seq(float[2]) g) => (seq(float[2]) y, float[2] z)
< int64 n = {2}, bool yes = {1} > { e = %s  y, z = %s (n, yes, %s, x) <body = b
    (int64 i, bool go, seq(float[2]) s, float[2] t) => (bool on, seq(float[2]) more, float[2] u%s)
    { on = Identity (go)  more = %s  u = %s (t) }>  l = SequenceLength (y)  f = Neg (z) }"""
EMPTY, INSERT, KEEP = "SequenceEmpty ()", "SequenceInsert (s, t)", "Identity (s)"


@pytest.mark.parametrize(
    ("settings", "ports", "beside"),
    [
        ((EMPTY, "Loop", "e", "", INSERT, "Neg"), [2], ["SequenceEmpty", "SequenceLength"]),
        ((EMPTY, "Loop", "e", "", KEEP, "Neg"), [2], ["SequenceEmpty", "SequenceLength"]),
        ((EMPTY, "Loop", "g", "", INSERT, "Neg"), [2], ["SequenceLength"]),
        ((EMPTY, "Loop", "g", "", KEEP, "Neg"), [], []),
        (
            (EMPTY, "Loop", "e", "", INSERT, "SequenceInsert"),
            [2, 3],
            ["SequenceEmpty", "SequenceLength", "Neg"],
        ),
        ((EMPTY, "Loop", "e", ", float[2] u", INSERT, "Neg"), [2], ["SequenceEmpty", "SequenceLength"]),
        (("Identity (g)", "Loop", "e", "", KEEP, "Neg"), [], []),
        (("other.SequenceEmpty ()", "Loop", "e", "", "other.SequenceInsert (s, t)", "Neg"), [], []),
        ((EMPTY, "other.Loop", "e", "", INSERT, "Neg"), [], []),
        ((EMPTY, "Scan", "e", "", INSERT, "Neg"), [], []),
    ],
)
def test_sequences_that_a_loop_carries(
    settings: tuple[str, ...], ports: list[int], beside: list[str]
) -> None:
    graph = small(LOOPED % settings).graph
    (loop,) = (node for node in graph.nodes if node.op in ("Loop", "Scan"))
    assert write_out_sequence._carried(loop, graph) == ports
    assert [node.op for node in write_out_sequence._near_loop(loop, graph)] == beside
    inside = next(node for node in graph.nodes if graph.owner(node) is loop)
    assert write_out_sequence._outermost(inside, graph) is (loop if ports else inside)
    assert write_out_sequence._outermost(loop, graph) is loop


def test_a_sequence_that_the_body_returns_unchanged_is_found_by_its_start() -> None:
    text = """(seq(float[2]) g, float[2] x) => (seq(float[2]) y) < int64 n = {2}, bool yes = {1} > { e = %s
    y = Loop (n, yes, %s) <body = b (int64 i, bool go, seq(float[2]) s) => (bool on, seq(float[2]) s)
    { on = Identity (go) }> }"""
    for start, given, ports in ((EMPTY, "e", [2]), (EMPTY, "g", []), ("Identity (g)", "e", [])):
        graph = small(text % (start, given)).graph
        (loop,) = graph.by_op("Loop")
        assert write_out_sequence._carried(loop, graph) == ports


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        ("SequenceEmpty", [], []),
        ("SequenceConstruct", ["x", "t"], ["x", "t"]),
        ("Identity", ["s"], ["a", "b"]),
        ("Identity", ["x"], None),
        ("SequenceInsert", ["s", "x"], ["a", "b", "x"]),
        ("SequenceInsert", ["s", "x", "at"], "SequenceInsert in the body of a Loop reads a sequence"),
        ("other.SequenceInsert", ["s", "x"], "SequenceInsert in the body of a Loop reads a sequence"),
        ("other.SequenceConstruct", ["x", "t"], None),
        ("SequenceAt", ["s", "at"], "SequenceAt in the body of a Loop reads a sequence"),
        ("Odd", ["x", "s"], "Odd in the body of a Loop reads a sequence"),
        ("Add", ["x", "t"], None),
        ("RandomNormal", [], None),
    ],
)
def test_operators_on_sequences_in_an_unrolled_body(
    op: str, inputs: list[str], expected: list[str] | str | None
) -> None:
    model = small("(float[2] x) => (float[2] y) { y = Neg (x) }")
    draft, held = Draft(model, model.graph.nodes[0]), {"s": ["a", "b"]}
    domain, _, name = op.rpartition(".")
    node = helper.make_node(name, inputs, ["r", "other"], domain=domain)
    if isinstance(expected, str):
        with pytest.raises(NotApplicable, match=expected):
            write_out_sequence._write_inner(draft, node, held)
        return
    write_out_sequence._write_inner(draft, node, held)
    assert held == {"s": ["a", "b"], **({} if expected is None else {"r": expected})}
    assert draft.patch("", []).insert == (() if expected is not None else (node,))
