"""Tests of out-of-range tensors, and of the nodes where overflows begin, from given ranges."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.measurement.analysis import Findings, findings, origins, overflowing_inputs, regions, sites
from trtlint.measurement.folding import Affine, Folding
from trtlint.measurement.formats import BF16, FP16, Range
from trtlint.measurement.measurement import InternalValue, MeasuredTensor
from trtlint.measurement.narrowing import Probe
from trtlint.measurement.trial import RangeRun
from trtlint.model.graph import Node

INF, NAN = np.inf, np.nan
NONE: frozenset[str] = frozenset()


def ranged(*rows: tuple[str, str, str, float, float], inside: str = "", wide: str = "") -> RangeRun:
    """Return ranges of probes: node, operator, tensor, largest and smallest number.

    Tensors named in ``inside`` are internal numbers, and tensors in ``wide`` stay in FP32.
    """
    probes = tuple(
        Probe(
            node,
            op,
            tensor,
            column,
            narrow=tensor not in wide.split(),
            inside=tensor if tensor in inside.split() else "",
        )
        for column, (node, op, tensor, _, _) in enumerate(rows)
    )
    figures = np.array([[high, low, abs(high) + abs(low)] for *_, high, low in rows])
    return RangeRun(probes, figures, ())


def found(beyond: str = "", constants: str = "", inside: str = "") -> Findings:
    return Findings(frozenset(beyond.split()), frozenset(constants.split()), frozenset(inside.split()))


def test_numbers_from_the_infinite_on_are_beyond_the_range() -> None:
    given = ranged(
        ("", "Input", "x", 65519.0, -1.0),
        ("a", "Mul", "positive", 65520.0, 0.0),
        ("b", "Mul", "negative", 0.0, -65520.0),
        ("b", "Mul", "square", 1e6, 0.0),
        ("c", "Mul", "small", 1.0, 0.0),
        ("c", "Mul", "sum", 65519.0, 0.0),
        ("d", "Mul", "infinite", INF, 0.0),
        ("d", "Mul", "nan", NAN, 0.0),
        ("e", "Cast", "fp32", 1e6, 0.0),
        ("", "Constant", "weight", 1e5, 0.0),
        inside="square sum",
        wide="fp32",
    )
    assert findings(given, FP16) == found("positive negative", "weight", "b")
    assert findings(given, BF16) == found()


CHAIN = """< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x) => (float[2] y, float[2] z)
{ [one] a = Mul (x, x) [two] b = Mul (a, a) [three] c = Sqrt (b) [four] y = Abs (c) [five] z = Neg (x) }"""


def nodes() -> list[Node]:
    return list(model_of(CHAIN).graph.nodes)


FINITE = ranged(*((name, "Mul", tensor, 1.0, 0.0) for name, tensor in zip("12345", "abcyz", strict=True)))


@pytest.mark.parametrize(
    ("findings_", "given", "unsound", "begun"),
    [
        (found("b c"), FINITE, None, ["two"]),
        (found("a z"), FINITE, None, ["one", "five"]),
        (found(inside="three five"), FINITE, None, ["three", "five"]),
        (found("b", inside="three"), FINITE, None, ["two"]),
        (found("b c", inside="five"), FINITE, frozenset("c"), ["three"]),
        (found("b c"), FINITE, NONE, []),
        (found("c"), ranged(("two", "Mul", "b", INF, 0.0)), None, []),
        (found("c"), ranged(("two", "Mul", "b", INF, 0.0), inside="b"), None, ["three"]),
        (found(), ranged(("two", "Mul", "b", INF, 0.0)), frozenset("bc"), []),
        (found(), ranged(("two", "Mul", "b", INF, 0.0)), frozenset("bz"), ["five"]),
    ],
)
def test_overflows_begin_where_no_input_overflows(
    findings_: Findings, given: RangeRun, unsound: frozenset[str] | None, begun: list[str]
) -> None:
    assert [node.path for node in origins(nodes(), findings_, given, unsound)] == begun


def test_an_overflow_begins_at_the_input_that_overflows() -> None:
    inputs = model_of(CHAIN).graph.inputs
    assert overflowing_inputs(inputs, found("x a")) == {"x"}
    assert overflowing_inputs(inputs, found("a")) == NONE
    shape = CHAIN.replace("[one] a = Mul (x, x)", "[one] s = Shape (x) a = Cast <to = 1> (s)")
    assert overflowing_inputs(model_of(shape).graph.inputs, found("x")) == {"x"}  # Neg reads it, too
    shape = shape.replace("Neg (x)", "Neg (a)")
    assert overflowing_inputs(model_of(shape).graph.inputs, found("x")) == NONE
    lost = frozenset("abz")
    assert [node.path for node in origins(nodes(), found("x"), FINITE, lost)] == ["one", "five"]
    assert origins(nodes(), found("x"), FINITE, lost, inputs=frozenset("x")) == []
    given = ranged(("", "Input", "x", 70000.0, 0.0), ("one", "Mul", "a", 1.0, 0.0))
    assert sites(given, [], NONE, FP16, frozenset("x")) == [
        site("", "Input", "x", 70000.0, 0.0, "overflow", origin=True),
        site("one", "Mul", "a", 1.0, 0.0),
    ]


def test_an_overflow_before_a_folded_pair_begins_there() -> None:
    one, two, three, *_ = chain = nodes()
    one_number = np.ones(1, np.float32)
    joined = Folding({"three": Affine(one_number, one_number, two)})
    alone = Folding({"three": Affine(one_number, one_number)})
    lost = frozenset("ac")
    assert origins(chain, found(), FINITE, lost, joined) == [one]
    assert origins(chain, found(), FINITE, lost, alone) == [one, three]
    assert origins(chain, found(), FINITE, lost) == [one, three]


@pytest.mark.parametrize(
    ("findings_", "constants", "groups"),
    [
        (found(), True, []),
        (found("a"), False, [{"one", "two"}]),
        (found("a b c"), False, [{"one", "two", "three", "four"}]),
        (found("a c"), False, [{"one", "two"}, {"three", "four"}]),
        (found("z c"), False, [{"three", "four"}, {"five"}]),
        (found(inside="two five"), False, [{"two"}, {"five"}]),
        (found("a", inside="five two"), False, [{"one", "two"}, {"five"}]),
        (found(constants="a c"), False, []),
        (found(constants="a c"), True, [{"one"}, {"two"}, {"three"}, {"four"}]),
        (found("x"), False, [{"one", "five"}]),
    ],
)
def test_nodes_that_share_a_tensor_beyond_the_range_are_together(
    findings_: Findings, constants: bool, groups: list[set[str]]
) -> None:
    assert regions(nodes(), findings_, constants=constants) == groups


def test_folded_nodes_are_together() -> None:
    partner = {"three": "two", "two": "three", "five": "four", "four": "five"}
    folding = Folding(partner=partner, constants=frozenset({"one"}))
    assert regions(nodes(), found("c"), constants=False, folding=folding) == [
        {"two", "three", "four", "five"}
    ]
    assert regions(nodes(), found("a z"), constants=False, folding=folding) == [
        {"two", "three"},
        {"four", "five"},
    ]


@pytest.mark.parametrize("op", ["Shape", "Size"])
def test_operators_that_read_only_shapes_are_in_no_group(op: str) -> None:
    model = model_of(CHAIN.replace("[five] z = Neg (x)", f"[shape] s = {op} (x) [five] z = Neg (x)"))
    assert regions(list(model.graph.nodes), found("x"), constants=False) == [{"one", "five"}]


def test_constants_connect_no_nodes() -> None:
    text = CHAIN.replace("[one] a = Mul (x, x)", "[one] a = Constant <value = float[2] {1e6, 1}> ()")
    model = model_of(text)
    assert regions(model.graph.nodes, found("a"), constants=False) == [{"two"}]
    own = text.replace('"" : 17', '"" : 17, "own" : 1').replace("= Constant", "= own.Constant")
    model = model_of(own)
    assert regions(model.graph.nodes, found("a"), constants=False) == [{"one", "two"}]


def site(
    node: str,
    op: str,
    tensor: str,
    high: float | None,
    low: float | None,
    fits: Range = "ok",
    *,
    origin: bool = False,
    narrow: bool = True,
    inside: tuple[InternalValue, ...] = (),
) -> MeasuredTensor:
    """Return the expected range of a tensor."""
    greatest = None if high is None or low is None else max(abs(high), abs(low))
    return MeasuredTensor(node, op, tensor, greatest, low, high, fits, origin, narrow, inside)


def test_the_range_of_each_tensor() -> None:
    tiny = 2.0**-25
    given = ranged(
        ("", "Input", "x", 1.0, -2.0),
        ("", "Constant", "fine", 1.0, 0.0),
        ("", "Constant", "weight", 1e5, 0.0),
        ("one", "Mul", "square", 1e6, 0.0),
        ("one", "Mul", "root", INF, 0.0),
        ("one", "Mul", "a", 3.0, -1.0),
        ("one", "Mul", "second", 3.0, -1.0),
        ("two", "Mul", "b", 65520.0, 0.0),
        ("three", "Sqrt", "c", 0.0, -tiny),
        ("four", "Abs", "y", 0.0, 0.0),
        ("five", "Neg", "z", INF, 0.0),
        ("six", "Cast", "wide", 1e6, 0.0),
        ("seven", "Abs", "above", tiny * 1.5, 0.0),
        inside="square root",
        wide="wide",
    )
    inner = (InternalValue("square", 1e6), InternalValue("root", None))
    assert sites(given, [], NONE, FP16) == [
        site("", "Input", "x", 1.0, -2.0),
        site("", "Constant", "weight", 1e5, 0.0, "overflow"),
        site("one", "Mul", "a", 3.0, -1.0, "overflow", inside=inner),
        site("one", "Mul", "second", 3.0, -1.0),
        site("two", "Mul", "b", 65520.0, 0.0, "overflow"),
        site("three", "Sqrt", "c", 0.0, -tiny, "underflow"),
        site("four", "Abs", "y", 0.0, 0.0),
        site("five", "Neg", "z", None, None),
        site("six", "Cast", "wide", 1e6, 0.0, narrow=False),
        site("seven", "Abs", "above", tiny * 1.5, 0.0),
    ]


def test_the_tensors_where_an_overflow_begins() -> None:
    one, two, three, *_ = nodes()
    given = ranged(
        ("one", "Mul", "a", 1.0, 0.0),
        ("one", "Mul", "second", 1.0, 0.0),
        ("two", "Mul", "b", 1e5, 0.0),
        ("three", "Sqrt", "c", 1.0, 0.0),
        ("four", "Abs", "y", 1e5, 0.0),
    )
    assert sites(given, [one, two, three], frozenset("ay"), FP16) == [
        site("one", "Mul", "a", 1.0, 0.0, "overflow", origin=True),
        site("one", "Mul", "second", 1.0, 0.0),
        site("two", "Mul", "b", 1e5, 0.0, "overflow", origin=True),
        site("three", "Sqrt", "c", 1.0, 0.0),
        site("four", "Abs", "y", 1e5, 0.0, "overflow"),
    ]
