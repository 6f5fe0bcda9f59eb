"""Known faults of converters are matched with operators and their arguments."""

from __future__ import annotations

import pytest

from trtlint.torch_tensorrt.arguments import OperatorArgument, TensorType
from trtlint.torch_tensorrt.faults import converter_faults, matches
from trtlint.torch_tensorrt.program import ProgramNode


def tensor(name: str, *types: str) -> OperatorArgument:
    """An argument of tensors, each such as ``float32 4 ?``; ``-`` for an empty entry."""
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
