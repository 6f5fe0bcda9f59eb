"""Find matrix products with a weight, the origin of the weight, and the bounds of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact
from trtlint.facts.blocks.activations import Activation, activation_of, nodes_to_output
from trtlint.facts.blocks.weights import Weight, weight_of, weighted
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants

_OPERANDS: Mapping[str, tuple[int, int]] = {
    "MatMul": (0, 1),
    "Gemm": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearMatMul": (0, 3),
}
"""The input indexes of the two matrices, by operator."""


class Gemm(Fact, frozen=True):
    """A matrix product of data and a weight.  A product of two activations, as in attention, is left out.

    Attributes:
        op: ``MatMul``, ``Gemm``, ``MatMulInteger`` or ``QLinearMatMul``.
        dtype: element type of the input data; None if unknown.
        weight: the weight and its origin.
        activation: the first activation after the product. Only a few element-wise and layout operators may
            be in between. None if there is no such activation.
        to_output: number of nodes between the product and the nearest output of the model; None if no output
            depends on the product.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "weight": "a node that computes the weight",
        "gemm": "the matrix product",
        "activation": "a node of the activation after the product",
    }

    op: str
    dtype: ElementType | None
    weight: Weight
    activation: Activation | None
    to_output: int | None


def find(facts: Facts) -> Iterator[Gemm]:
    """Yield the matrix products with a weight, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    nodes = graph.of_onnx(*_OPERANDS)
    distances = nodes_to_output(graph) if nodes else {}
    for node in nodes:
        operands = _split(node, constants)
        if operands is None:
            continue
        data, weight = operands
        value = node.input(data)
        activation = activation_of(node.output, constants, distances)
        yield Gemm(
            node=node,
            chain=weighted(node, "gemm", weight, activation),
            op=node.op,
            dtype=None if value is None else value.dtype,
            weight=weight,
            activation=activation,
            to_output=distances.get(node),
        )


def _split(node: Node, constants: Constants) -> tuple[int, Weight] | None:
    """Return the input index of the data of a matrix product, and the weight of the product.

    The result is None if both operands of a ``MatMul`` are activations, or if both operands are constants.
    """
    left, right = _OPERANDS[node.op]
    weights = {port: weight_of(node, port, constants) for port in (left, right)}
    known = [port for port, weight in weights.items() if weight and weight.source != "runtime"]
    if len(known) == 1:
        weight = weights[known[0]]
        assert weight is not None
        return (left if known[0] == right else right), weight
    # Exporters write a linear layer as a Gemm. A MatMul of two computed tensors may be another operation.
    if not known and node.op == "Gemm" and (weight := weights[right]) is not None:
        return left, weight
    return None
