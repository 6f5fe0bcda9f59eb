"""Tests of known converter bugs, by operator and arguments."""

from __future__ import annotations

import pytest

from trtlint.torch_tensorrt.arguments import OperatorArgument, TensorType
from trtlint.torch_tensorrt.faults import ConverterFault, converter_faults, matches
from trtlint.torch_tensorrt.program import ProgramNode


def tensor(name: str, *types: str) -> OperatorArgument:
    """Return a tensor argument from texts such as ``float32 4 ?``; ``-`` is an empty entry."""
    read: list[TensorType | None] = []
    for text in types:
        element, *sizes = text.split()
        unbacked = "u" in sizes
        found = tuple(None if size in "?u" else int(size) for size in sizes)
        read.append(None if element == "-" else TensorType(element, found, unbacked))
    return OperatorArgument(name, tensors=tuple(read))


def node(op: str, *arguments: OperatorArgument) -> ProgramNode:
    return ProgramNode("n", op, "", "", "", arguments)


def found(minor: int, each: ProgramNode) -> list[str]:
    return [fault.name for fault in converter_faults() if fault.affects(minor) and matches(fault, each)]


X = tensor("self", "float32 4 8")
PUT = "aten.index_put_.default"
CACHE = tensor("self", "float32 1 4 16 8")
SYMBOL = OperatorArgument("split_sizes", symbolic=True)


@pytest.mark.parametrize(
    ("minor", "each", "name"),
    [
        (13, node("aten.sort.default", X), "sort-without-axis"),
        (13, node("aten.sort.default", X, OperatorArgument("dim", -1)), "sort-without-axis"),
        (
            7,
            node(
                "aten.grid_sampler.default",
                tensor("input", "float32 1 3 8 8"),
                OperatorArgument("interpolation_mode", 1),
            ),
            "grid-sample-modes",
        ),
        (7, node("aten.full_like.default", X, OperatorArgument("dtype", "bool")), "full-like-type"),
        (5, node("aten.layer_norm.default", tensor("input", "float16 4 8")), "layer-norm-half"),
        (
            6,
            node("aten.mul.Tensor", tensor("self", "bfloat16 4"), OperatorArgument("other", 0.5)),
            "bfloat16-with-number",
        ),
        (6, node("aten.conv2d.default", tensor("weight", "bfloat16 3 3 3 3")), "bfloat16-convolution"),
        (
            13,
            node("aten.where.self", tensor("self", "bfloat16 4"), tensor("other", "bfloat16 4")),
            "where-bfloat16",
        ),
        (10, node("aten.index_copy_.default", OperatorArgument("dim", 2)), "index-copy"),
        (
            10,
            node(PUT, CACHE, tensor("indices", "-", "-", "int64 2"), tensor("values", "float32 1 4 2 8")),
            "index-put-values",
        ),
        (
            11,
            node(PUT, tensor("self", "float32 2 ? 16"), tensor("indices", "-", "-", "int64 2")),
            "index-put-free-axis",
        ),
        (9, node(PUT, tensor("self", "float32 4 ?"), tensor("indices", "int64 2")), "index-put-free-axis"),
        (8, node(PUT, X, tensor("indices", "bool 4 8")), "static-index-put-mask"),
        (9, node(PUT, X, tensor("indices", "bool 4 8")), "index-put-mask"),
        (14, node("aten.split_with_sizes.default", X, SYMBOL), "split-at-runtime"),
        (14, node("aten.split.Tensor", tensor("self", "float32 ? 8")), "split-dynamic-axis"),
        (13, node("aten.arange.start", OperatorArgument("start", symbolic=True)), "arange-start-at-runtime"),
        (
            14,
            node("aten.scatter_add.default", tensor("src", "float32 u")),
            "scatter-add-of-data-dependent-size",
        ),
        (
            14,
            node("aten.scatter.src", tensor("index", "int64 1 3"), tensor("src", "float32 2 3")),
            "scatter-of-other-size",
        ),
        (14, node("aten.repeat.default", X, OperatorArgument("repeats", symbolic=True)), "repeat-at-runtime"),
        (
            13,
            node(
                "aten.repeat.default",
                tensor("self", "float32 1 1 1 2 2"),
                OperatorArgument("repeats", symbolic=True),
            ),
            "repeat-of-five-axes",
        ),
        (14, node("aten.mul.Tensor", tensor("self", "float32 1 1 1 1 1 1 1 1 2")), "nine-axes"),
    ],
)
def test_an_operator_meets_its_fault(minor: int, each: ProgramNode, name: str) -> None:
    assert found(minor, each) == [name]


@pytest.mark.parametrize(
    ("minor", "each"),
    [
        (14, node("aten.sort.default", X)),
        (13, node("aten.sort.default", X, OperatorArgument("dim", 1))),
        (13, node("aten.sort.default")),
        (8, node("aten.grid_sampler.default", OperatorArgument("interpolation_mode", 1))),
        (7, node("aten.grid_sampler.default", OperatorArgument("interpolation_mode", 2))),
        (7, node("aten.full_like.default", X, OperatorArgument("dtype", "float32"))),
        (5, node("aten.layer_norm.default", tensor("input", "float32 4 8"))),
        (6, node("aten.add.Tensor", tensor("self", "bfloat16 4"), tensor("other", "bfloat16 4"))),
        (6, node("aten.mul.Tensor", tensor("self", "float32 4"), OperatorArgument("other", 0.5))),
        (13, node("aten.where.self", tensor("self", "bfloat16 4"), tensor("other", "float32 4"))),
        (10, node("aten.index_copy_.default", OperatorArgument("dim", 0))),
        (12, node("aten.index_copy_.default", OperatorArgument("dim", 2))),
        (10, node(PUT, CACHE, tensor("indices", "int64 1"), tensor("values", "float32 1 4 16 8"))),
        (10, node(PUT, CACHE, tensor("indices", "-", "-", "int64"), tensor("values", "float32 1 4 8"))),
        (10, node(PUT, tensor("self", "float32 ? 4"), tensor("indices", "int64 2"))),
        (8, node(PUT, X, tensor("indices", "bool 4"))),
        (14, node("aten.split_with_sizes.default", X, OperatorArgument("split_sizes", (4, 4)))),
        (13, node("aten.arange.start", OperatorArgument("start", 2), OperatorArgument("end", symbolic=True))),
        (14, node("aten.scatter_add.default", tensor("src", "float32 ?"))),
        (14, node("aten.scatter.src", tensor("index", "int64 2 3"), tensor("src", "float32 2 3"))),
        (14, node("aten.repeat.default", X, OperatorArgument("repeats", (2, 1)))),
        (13, node("aten.repeat.default", X, OperatorArgument("repeats", symbolic=True))),
        (14, node("aten.mul.Tensor", tensor("self", "float32 1 1 1 1 1 1 1 2"))),
    ],
)
def test_other_operators_are_silent(minor: int, each: ProgramNode) -> None:
    assert found(minor, each) == []


def test_each_fault_has_a_source_conditions_and_releases() -> None:
    for fault in converter_faults():
        assert fault.source.startswith("https://github.com/pytorch/TensorRT/")
        assert fault.when
        assert 5 <= fault.since < (fault.fixed or 15)


def test_grid_sample_of_volumes_has_no_converter() -> None:
    mode = OperatorArgument("interpolation_mode", 0)
    assert found(7, node("aten.grid_sampler.default", tensor("input", "float32 1 3 4 8 8"), mode)) == []


@pytest.mark.parametrize(
    ("minor", "sizes", "dim", "fails"),
    [
        # The dry runs of 2.7.0, 2.8.0 and 2.9.0 with TensorRT-RTX 1.7.1 end in this way.
        (7, "4 2 8", 1, True),
        (7, "1 1 16 8", 1, False),
        (7, "1 4 2 8", 2, True),
        (8, "4 2 8", 1, False),
        (8, "4 6 2", 2, False),
        (8, "1 4 2 8", 2, False),
        (8, "2 4 2 8", 2, True),
        (9, "4 2 8", 1, True),
        (9, "4 2", 1, True),
        (9, "4 6 2", 2, False),
        (9, "2 6 1", 2, False),
        (9, "2 6 2", 2, True),
        (9, "2 4 16 2", 3, True),
        (9, "1 4 1 8", 2, True),
        (9, "1 1 16 8", 1, False),
        # The values and the expected values have the same sizes by chance: wrong results.
        (9, "2 2 8", 1, True),
        (9, "2 8", 0, False),
        (9, "4 2 8", -2, True),
        (8, "4 ? 8", 1, False),
        (12, "4 2 8", 1, False),
        (7, "? 2 8", 1, False),
        (9, "? 2 8", 1, True),
    ],
)
def test_index_copy_fails_by_its_sizes(minor: int, sizes: str, dim: int, fails: bool) -> None:
    source = tensor("source", f"float32 {sizes}")
    each = node("aten.index_copy.default", OperatorArgument("dim", dim), source)
    assert bool(found(minor, each)) is fails


def test_a_result_of_nine_axes() -> None:
    each = ProgramNode("n", "aten.reshape.default", "", "", f"float32[{', '.join('123456789')}]", (X,))
    assert found(14, each) == ["nine-axes"]


def meets(condition: str, expected: object, each: ProgramNode) -> bool:
    """Return whether an operator meets one condition."""
    return matches(ConverterFault("n", {condition: expected}, "w", "d", "s"), each)


def value(name: str, given: object) -> OperatorArgument:
    return OperatorArgument(name, given)


def op(*arguments: OperatorArgument) -> ProgramNode:
    return node("aten.op.default", *arguments)


@pytest.mark.parametrize(
    ("condition", "expected", "each", "result"),
    [
        ("default", {"a": 1, "b": 2}, op(value("c", 3)), True),
        ("default", {"a": 1, "b": 2}, op(value("a", 1), value("b", 2)), True),
        ("default", {"a": 1, "b": 2}, op(value("a", 1), value("b", 3)), False),
        ("default", {"a": 1, "b": 2}, op(value("a", 0)), False),
        ("default", {"a": 1}, op(), False),
        ("values", {"a": [1, 2], "b": [3]}, op(value("a", 2), value("b", 3)), True),
        ("values", {"a": [1, 2], "b": [3]}, op(value("a", 2), value("b", 4)), False),
        ("values", {"a": [1, 2], "b": [3]}, op(value("a", 3), value("b", 3)), False),
        ("values", {"a": [None]}, op(value("b", 1)), False),
        ("symbolic", ["a", "b"], op(OperatorArgument("a", symbolic=True), value("b", 1)), False),
        ("symbolic", ["a"], op(OperatorArgument("a", symbolic=True), value("b", 1)), True),
        ("symbolic", ["a"], op(value("b", 1)), False),
        ("elements", {"a": ["bool", "int8"]}, op(tensor("a", "bool 1", "int8 2")), True),
        ("elements", {"a": ["bool", "int8"]}, op(tensor("a", "bool 1", "int32 2")), False),
        ("elements", {"a": ["bool"]}, op(tensor("a", "bool 1", "-")), False),
        ("elements", {"a": ["bool"]}, op(value("a", 1)), False),
        ("elements", {"a": ["bool"], "b": ["int8"]}, op(tensor("a", "bool"), tensor("b", "bool")), False),
        ("any_element", ["bool"], op(tensor("a", "int8", "-"), tensor("b", "-", "bool")), True),
        ("any_element", ["bool"], op(tensor("a", "int8", "-"), value("b", "bool")), False),
        ("differs", ["t", "x"], op(value("t", "bool"), tensor("x", "int8 1")), True),
        ("differs", ["t", "x"], op(value("t", "bool"), tensor("x", "bool 1")), False),
        ("differs", ["t", "x"], op(value("t", "bool"), tensor("x", "? 1")), False),
        ("differs", ["t", "x"], op(value("t", "bool"), tensor("x", "-")), False),
        ("differs", ["t", "x"], op(value("t", 3), tensor("x", "bool 1")), False),
        ("differs", ["t", "x"], op(tensor("x", "bool 1")), False),
        ("rank", 2, op(tensor("a", "bool 1"), tensor("b", "bool 1 2")), True),
        ("rank", 2, op(tensor("a", "bool 1 2 3")), True),
        ("rank", 2, op(tensor("a", "bool 1")), False),
        ("rank", 2, ProgramNode("n", "aten.x", "", "", "float32[1, 2]"), True),
        ("rank", 2, ProgramNode("n", "aten.x", "", "", "float32[1]"), False),
        ("rank", 1, ProgramNode("n", "aten.x", "", "", "float32[1]"), True),
        ("rank", 1, ProgramNode("n", "aten.x", "", "", ""), False),
        ("unbacked", ["a", "b"], op(tensor("a", "bool 1", "bool u"), tensor("b", "bool u")), True),
        ("unbacked", ["a", "b"], op(tensor("a", "bool u"), tensor("b", "bool 1", "-")), False),
        ("unbacked", ["a"], op(value("a", 1)), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? 2")), True),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool 2 ?")), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool 2 ?"), value("d", 1)), True),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? ?"), value("d", 2)), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? 2"), value("d", -2)), True),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? 2"), value("d", -1)), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? ?"), value("d", -3)), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool ? ?"), value("d", None)), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "bool")), False),
        ("dynamic_axis", ["x", "d"], op(tensor("x", "-")), False),
        ("free_dynamic", ["x", "i"], op(tensor("x", "bool ? 2"), tensor("i", "-", "int64 3")), True),
        ("free_dynamic", ["x", "i"], op(tensor("x", "bool ? 2"), tensor("i", "int64 3", "-")), False),
        ("free_dynamic", ["x", "i"], op(tensor("x", "bool 2 3 ?"), tensor("i", "-", "int64 3")), True),
        ("free_dynamic", ["x", "i"], op(tensor("x", "bool ? 3 2"), tensor("i", "int64 3")), False),
        ("free_dynamic", ["x", "i"], op(tensor("x", "bool ? 2")), False),
        ("free_dynamic", ["x", "i"], op(tensor("x", "-"), tensor("i", "int64 3")), False),
        ("sizes_differ", ["a", "b"], op(tensor("a", "bool 1 2"), tensor("b", "bool 1 3")), True),
        ("sizes_differ", ["a", "b"], op(tensor("a", "bool 1 2"), tensor("b", "int8 1 2")), False),
        ("sizes_differ", ["a", "b"], op(tensor("a", "bool 1 ?"), tensor("b", "bool 1 3")), False),
        ("sizes_differ", ["a", "b"], op(tensor("a", "bool 1 2"), tensor("b", "bool ? 3")), False),
        ("sizes_differ", ["a", "b"], op(tensor("a", "bool 1 2")), False),
        ("sizes_differ", ["a", "b"], op(tensor("b", "bool 1 2")), False),
        ("static", True, op(tensor("a", "bool 1", "-"), tensor("b", "bool 2")), True),
        ("static", True, op(tensor("a", "bool 1"), tensor("b", "bool 2 ?")), False),
        ("static", False, op(tensor("a", "bool 1"), tensor("b", "bool 2 ?")), True),
        ("axes", {"a": 2, "b": 1}, op(tensor("a", "bool 1 2"), tensor("b", "bool 2")), True),
        ("axes", {"a": 2, "b": 1}, op(tensor("a", "bool 1 2"), tensor("b", "bool 2 3")), False),
        ("axes", {"a": 2}, op(tensor("a", "bool 1")), False),
        ("axes", {"a": 2}, op(tensor("b", "bool 1 2")), False),
        ("mask_rank", {"i": 2}, op(tensor("i", "-", "int64 1 2", "bool 3 4")), True),
        ("mask_rank", {"i": 2}, op(tensor("i", "-", "int64 1 2", "bool 3")), False),
        ("mask_rank", {"i": 2}, op(tensor("i", "bool 3", "bool 3 4 5")), True),
        ("mask_rank", {"i": 1, "j": 1}, op(tensor("i", "bool 3")), False),
        ("mask_rank", {"i": 1, "j": 1}, op(tensor("i", "bool 3"), tensor("j", "bool 3")), True),
        ("mask_rank", {"i": 1}, op(tensor("i", "bfloat16 3")), False),
        ("mask_rank", {"i": 1}, op(tensor("i", "float32 3")), False),
        ("number", "a", op(value("a", 2)), True),
        ("number", "a", op(value("a", 0.5)), True),
        ("number", "a", op(value("a", True)), False),
        ("number", "a", op(value("a", "2")), False),
        ("number", "a", op(value("b", 2)), False),
    ],
)  # fmt: skip
def test_conditions(condition: str, expected: object, each: ProgramNode, result: bool) -> None:
    assert meets(condition, expected, each) is result


@pytest.mark.parametrize(
    ("x", "indexes", "values", "result"),
    [
        ("bool 2 3 4", ["-", "-", "int64 2"], "bool 2 3 2", True),
        ("bool 2 3 4", ["-", "int64 3"], "bool 2 3 4", True),
        ("bool 2 3 4", ["int64 2", "-"], "bool 2 3 4", False),
        ("bool 2 3 4", ["int64 2", "-", "int64 2"], "bool 2 3 4", True),
        ("bool 2 3 4", ["-", "int64"], "bool 2 3 4", False),
        ("bool 2 3 4", ["-", "-"], "bool 2 3 4", False),
        ("bool 2 3 4", ["-", "int64 3"], "bool 2 3", False),
        ("bool 2 3 4", ["-", "int64 3"], "bool 1 2 3 4", False),
        ("-", ["-", "int64 3"], "bool 2 3 4", False),
        ("bool 2 3 4", ["-", "int64 3"], "-", False),
    ],
)
def test_values_with_all_axes(x: str, indexes: list[str], values: str, result: bool) -> None:
    each = op(tensor("x", x), tensor("i", *indexes), tensor("v", values))
    assert meets("full_values", ["x", "i", "v"], each) is result


@pytest.mark.parametrize(
    ("moves", "sizes", "axis", "result"),
    [
        ("never", "2 3 4", 0, False),
        ("never", "2 3 4", 1, True),
        ("never", "1 1 4", 1, False),
        ("never", "1 3 4", 1, True),
        ("never", "2 1 4", 1, True),
        ("never", "1 1 4", 2, True),
        ("never", "1 1 4", -1, True),
        ("never", "2 3 4", -3, False),
        ("never", "2 3 4", -4, False),
        # An axis beyond the values, whose number of axes is unknown or too small.
        ("never", "1 1", 2, True),
        ("last", "1 1", 2, True),
        ("always", "1 1", 2, False),
        # The first axis with as many elements as there are indexes moves.
        ("always", "4 2 8", 1, False),
        ("always", "2 2 8", 1, True),
        ("always", "1 1 8", 1, False),
        ("always", "2 1 2", 2, True),
        ("always", "4 2 2", 2, True),
        ("always", "1 4 1", 2, True),
        ("always", "? 2 8", 1, False),
        ("always", "2 ? 8", 1, False),
        ("last", "2 4 2", 2, True),
        ("last", "2 4 8", 2, False),
        ("last", "2 4 ?", 2, False),
        ("last", "1 1 1", 2, False),
        ("last", "3 4 2 1", 2, True),
        # Two axes: nothing moves.
        ("last", "4 2", 1, True),
        ("last", "1 1", 1, False),
    ],
)
def test_values_along_another_axis(moves: str, sizes: str, axis: int, result: bool) -> None:
    each = op(value("dim", axis), tensor("v", f"bool {sizes}"))
    assert meets("misaligned", {"values": "v", "axis": "dim", "moves": moves}, each) is result


def test_values_along_an_unknown_axis() -> None:
    expected = {"values": "v", "axis": "dim", "moves": "never"}
    assert not meets("misaligned", expected, op(tensor("v", "bool 2 3")))
    assert not meets(
        "misaligned", expected, op(OperatorArgument("dim", symbolic=True), tensor("v", "bool 2"))
    )
    assert meets("misaligned", expected, op(value("dim", 1)))


def test_a_fault_is_about_its_operators_in_its_releases() -> None:
    some = ConverterFault("n", {}, "w", "d", "s", ops=("aten.a", "b"), since=7, fixed=9)
    every = ConverterFault("n", {}, "w", "d", "s", since=7)
    ops = ("aten.a", "b", "aten.c", "c")
    assert [matches(some, node(each)) for each in ops] == [True, True, False, False]
    assert [matches(every, node(each)) for each in ops] == [True, False, True, False]
    assert [some.affects(minor) for minor in (6, 7, 8, 9)] == [False, True, True, False]
    assert [every.affects(minor) for minor in (6, 7, 8, 14)] == [False, True, True, True]


def test_all_conditions_must_hold() -> None:
    fault = ConverterFault("n", {"static": True, "number": "a"}, "w", "d", "s")
    each = (op(value("a", 1)), op(value("b", 1)), op(value("a", 1), tensor("x", "bool ?")))
    assert [matches(fault, one) for one in each] == [True, False, False]
