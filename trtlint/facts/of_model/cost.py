"""Count the operations and the memory traffic of operators, at the largest shapes of the profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.geometry import geometry
from trtlint.facts.blocks.sizes import Sizes, ratio, total
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_OPERATORS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


class Cost(Fact, frozen=True):
    """The operations and the memory traffic of a convolution or matrix product.

    Static sizes come from the file, and dynamic sizes from the largest shapes in the build command.  Without
    a build command, numbers that depend on dynamic sizes are unknown.

    Attributes:
        op: ``Conv``, ``ConvTranspose``, ``Gemm`` or ``MatMul``.
        dtype: element type of the result.
        flops: number of floating-point operations. A multiplication with its addition counts as two
            operations. None if a size is unknown.
        elements: number of elements of the result; None if a size is unknown.
        read: bytes of the input data without weights; None if a size is unknown.
        written: bytes of the result; None if a size is unknown.
        weights: bytes of the operands that the file stores, or that the graph computes from stored tensors;
            None if a size is unknown.
        intensity: operations per byte of memory traffic; None if ``flops``, ``read``, ``written`` or
            ``weights`` is None.
    """

    roles: ClassVar[Mapping[str, str]] = {"operator": "the operator"}

    op: str
    dtype: ElementType | None
    flops: int | None
    elements: int | None
    read: int | None
    written: int | None
    weights: int | None
    intensity: float | None


def find(facts: Facts) -> Iterator[Cost]:
    """Yield the convolutions and matrix products, in graph order."""
    for node in facts.model.graph.of_onnx(*_OPERATORS):
        yield _fact(node, facts.sizes, facts.model.constants)


def _fact(node: Node, sizes: Sizes, constants: Constants) -> Cost:
    values = [value for value in node.inputs if value is not None]
    constant = [value for value in values if constants.foldable(value)]
    read = total(sizes.bytes(value) for value in values if not constants.foldable(value))
    weights = total(sizes.bytes(value) for value in constant)
    written = sizes.bytes(node.output)
    flops = _flops(node, sizes)
    moved = total((read, weights, written))
    return Cost(
        node=node,
        chain=(Step(node, "operator"),),
        op=node.op,
        dtype=node.output.dtype,
        flops=flops,
        elements=sizes.elements(node.output),
        read=read,
        written=written,
        weights=weights,
        intensity=ratio(flops, moved) if flops is not None and moved else None,
    )


def _flops(node: Node, sizes: Sizes) -> int | None:
    if node.op in _CONVOLUTIONS:
        weight = node.input(1)
        size = geometry(node, None if weight is None else weight.shape)
        # A Conv computes each element of its result from one product for each kernel element and each input
        # channel of the group. In a ConvTranspose, each element of the input takes part in one product for
        # each kernel element and each output channel of the group.
        outer = node.input(0) if node.op == "ConvTranspose" else node.output
        count = None if outer is None else sizes.elements(outer)
        inner = size.filters if node.op == "ConvTranspose" else size.channels
        if count is None or inner is None or size.kernel is None:
            return None
        return 2 * count * (inner // size.groups) * prod(size.kernel)
    left = node.input(0)
    shape = None if left is None else sizes.shape(left)
    count = sizes.elements(node.output)
    if not shape or count is None:
        return None
    depth = shape[0] if node.op == "Gemm" and bool(node.number("transA", 0)) else shape[-1]
    return None if depth is None else 2 * count * depth
