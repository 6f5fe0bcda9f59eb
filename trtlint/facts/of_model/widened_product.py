"""Find convolutions and matrix products in FP32 whose input a Cast converts from a 16-bit type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import TRANSPARENT
from trtlint.model.protos import ElementType

_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_KEEPING = TRANSPARENT | {
    *("Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Neg", "Abs", "Reciprocal", "Where", "Clip", "Max", "Min"),
    *("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Tanh", "Erf", "Gelu", "HardSwish", "HardSigmoid", "Softplus"),
    *("LayerNormalization", "InstanceNormalization", "GroupNormalization", "BatchNormalization"),
    *("RMSNormalization", "Softmax", "Concat", "Slice", "Split", "Gather", "Pad", "Resize"),
    *("ReduceMean", "MaxPool", "AveragePool", "GlobalAveragePool"),
}
"""Operators that may be between the Cast to FP32 and the product.

For accuracy, exporters often place such operators between a Cast to FP32 and a Cast back.
"""
_FARTHEST = 24
"""Largest number of operators between the Cast and the product.  A longer FP32 path is probably intended."""
CONVERTED = "trtlint.convert"
"""The metadata key in which ``trtlint convert`` lists the operators that it keeps in FP32."""
_MOST_TEXT = 1 << 20
"""Largest length, in characters, of the metadata value for ``CONVERTED``. trtlint ignores a longer value."""


class WidenedProduct(Fact, frozen=True):
    """A convolution or matrix product that runs in FP32 because of an upstream Cast from 16 bits to FP32.

    Attributes:
        op: ``Conv``, ``ConvTranspose``, ``Gemm`` or ``MatMul``.
        narrow: the 16-bit type of the data before the Cast: ``f16`` or ``bf16``.
        between: the operator types of the nodes between the Cast and the product, in data-flow order.
        weight: whether the operand without the Cast is stored in the file, or computed from stored tensors.
        narrowed: whether every reader of the result is a Cast to 16 bits.
        kept: True if ``trtlint convert`` kept the product in FP32, according to the metadata of the model.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "cast": "casts a 16-bit tensor to FP32",
        "between": "computes in FP32 because of the Cast",
        "product": "the convolution or product",
    }

    op: str
    narrow: ElementType
    between: tuple[str, ...]
    weight: bool
    narrowed: bool
    kept: bool = False


def find(facts: Facts) -> Iterator[WidenedProduct]:
    """Yield, in graph order, convolutions and matrix products that follow a Cast to FP32.

    Only a few nodes may be between the Cast and the product.
    """
    graph, constants = facts.model.graph, facts.model.constants
    ways = _widened(graph)
    if not ways:
        return
    kept = _kept(facts.model.metadata)
    for node in graph.nodes:
        if node.op not in _PRODUCTS or node.domain:
            continue
        first, second = node.input(0), node.input(1)
        data = first if first in ways else second if second in ways else None
        if data is None or data.dtype != "f32":
            continue
        path = _path(data, ways)
        source = path[0].input(0)
        other = second if data is first else first
        if source is None or source.dtype is None or other is None or constants.foldable(data):
            continue
        if other.dtype != "f32":  # the fact mixed_types reports operands with different types
            continue
        yield WidenedProduct(
            node=node,
            chain=(
                Step(path[0], "cast", label=f"{source.dtype} until here"),
                *(Step(step, "between") for step in path[1:]),
                Step(node, "product"),
            ),
            op=node.op,
            narrow=source.dtype,
            between=tuple(step.op for step in path[1:]),
            weight=constants.foldable(other),
            narrowed=bool(node.output.uses) and all(_narrows(reader) for reader, _ in node.output.uses),
            kept=node.path in kept,
        )


def _kept(metadata: Mapping[str, str]) -> frozenset[str]:
    """Read from the model's metadata the paths of the nodes that ``trtlint convert`` kept in FP32.

    The result is empty if such metadata are missing, or if trtlint cannot parse the metadata.
    """
    text = metadata.get(CONVERTED, "")
    if not text or len(text) > _MOST_TEXT:
        return frozenset()
    try:
        listed = json.loads(text)["kept"]
        return frozenset(str(node) for node, _ in listed)
    except (ValueError, TypeError, KeyError, RecursionError):
        return frozenset()


def _widened(graph: Graph) -> Mapping[Value, Node]:
    """Return the FP32 values that follow a Cast from a 16-bit type within a few nodes.

    Each value is returned with the node that computes it.
    """
    found: dict[Value, Node] = {}
    depths: dict[Value, int] = {}
    starts = [node for node in graph.of_onnx("Cast") if _widens(node)]
    if not starts:
        return found
    beginning = set(starts)
    for node in graph.nodes:
        if node in beginning:
            depth = 0
        elif node.domain or node.op not in _KEEPING:
            continue
        else:
            depth = 1 + next((depths[v] for v in node.inputs if v is not None and v in depths), _FARTHEST)
        if depth <= _FARTHEST:
            for value in node.outputs:
                if value.dtype == "f32":
                    found[value], depths[value] = node, depth
    return found


def _path(value: Value, ways: Mapping[Value, Node]) -> list[Node]:
    """Return the nodes from a Cast to a value, in data-flow order.

    ``ways`` contains the FP32 values after a Cast, each with the node that computes it.
    """
    path: list[Node] = []
    while True:
        node = ways[value]
        path.append(node)
        before = (
            None if _widens(node) else next((v for v in node.inputs if v is not None and v in ways), None)
        )
        if before is None:
            return path[::-1]
        value = before


def _widens(node: Node) -> bool:
    before = node.input(0)
    return (
        node.op == "Cast"
        and before is not None
        and before.dtype in ("f16", "bf16")
        and node.output.dtype == "f32"
    )


def _narrows(node: Node) -> bool:
    return node.op == "Cast" and node.output.dtype in ("f16", "bf16")
