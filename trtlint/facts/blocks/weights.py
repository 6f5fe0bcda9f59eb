"""Find the origin of the weight of a convolution or matrix product.

TensorRT stores a constant weight in the engine, in the layout of the chosen kernel. TensorRT can merge the
operators that follow the layer into this weight. A weight that another layer computes at run time remains an
input tensor of the layer. For such a layer, the layer information contains ``HasDynamicFilter``
(https://github.com/pytorch/TensorRT/issues/3561).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from trtlint.facts.base import Step
from trtlint.facts.blocks.activations import Activation
from trtlint.facts.blocks.quantizers import DEQUANTIZERS
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, MOVING
from trtlint.model.protos import Dimension, ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import behind

Source = Literal["initializer", "foldable", "quantized", "runtime"]

_INTEGERS = frozenset({"i8", "u8", "i4", "u4"})
_MAX_COMPUTATION = 6
"""Largest number of nodes in ``Weight.nodes``."""


class Weight(Struct, frozen=True):
    """A weight of an operator, and the origin of the weight.

    Attributes:
        source: the kind of origin. ``initializer``: the file stores the weight, and at most ``Identity``
            operators follow. ``quantized``: the weight is the output of a ``DequantizeLinear`` that depends
            only on stored tensors, or it is the stored integer operand of an integer operator. ``foldable``:
            the graph computes the weight only from constants. ``runtime``: the weight depends on an input of
            the model.
        dtype: element type that the operator reads, such as ``f32``; None if unknown.
        shape: dimensions in the operator's layout; None if unknown. The layout is ``[M, C/group, kH, kW]``
            for Conv, ``[C, M/group, kH, kW]`` for ConvTranspose, and ``[K, N]`` for MatMul.
        port: index of the weight among the inputs of the operator.
        operators: the last few operators that compute the weight, in data-flow order, without ``Identity``;
            empty for an initializer and for an input of the model.
        origin: name of the initializer or input at the start of the computation.
        how: ``operators`` as a text, such as ``ReduceMean → Sub → Mul``. If there are no operators, the text
            is the name in ``origin``, with the word ``input`` before the name of a model input.
        nodes: the nodes of ``operators``.
    """

    source: Source
    dtype: ElementType | None
    shape: tuple[Dimension, ...] | None
    port: int
    operators: tuple[str, ...]
    origin: str
    how: str
    nodes: tuple[Node, ...]


def weight_of(node: Node, port: int, constants: Constants) -> Weight | None:
    """Describe the weight that a node reads at input ``port``.

    Return None if the node omits this input.
    """
    value = node.input(port)
    if value is None:
        return None
    source = source_of(value, constants)
    computation, end = _computation(value, constants)
    stored = constants.stored(end)
    origin = stored.name or end.name if stored is not None else end.name
    operators = tuple(step.op for step in computation)
    how = " → ".join(operators) if operators else f"{'input ' if end.is_input else ''}{origin}"
    return Weight(source, value.dtype, value.shape, port, operators, origin, how, computation)


def source_of(value: Value, constants: Constants) -> Source:
    """Return the kind of origin of a weight (see :attr:`Weight.source`)."""
    if constants.stored(value) is not None or value.is_sparse:
        return "quantized" if value.dtype in _INTEGERS else "initializer"
    producer = behind(value, MOVING | CAST).producer
    if producer is not None and producer.op in DEQUANTIZERS:
        # A Q/DQ pair on a tensor that depends on the model's input quantizes an activation, not a weight.
        base = producer.input(0)
        return "quantized" if constants.foldable(base) else "runtime"
    return "foldable" if constants.foldable(value) else "runtime"


def _computation(value: Value, constants: Constants) -> tuple[tuple[Node, ...], Value]:
    """Return the last nodes that compute a weight, followed by the value at the start of the computation.

    The nodes are in data-flow order.  If a node has several inputs, the search follows only one input. The
    first choice is an input that is known only at run time, the second a computed constant, and the last a
    stored tensor.
    """
    nodes: list[Node] = []
    while constants.stored(value) is None and (node := value.producer) is not None:
        inputs = [before for before in node.inputs if before is not None]
        if not inputs or len(nodes) == _MAX_COMPUTATION:
            break
        if node.op != "Identity":
            nodes.append(node)
        value = min(inputs, key=lambda before: _constancy(before, constants))
    return tuple(reversed(nodes)), value


def _constancy(value: Value, constants: Constants) -> int:
    if not constants.foldable(value):
        return 0
    return 1 if constants.stored(value) is None else 2


def weighted(node: Node, role: str, weight: Weight, activation: Activation | None) -> tuple[Step, ...]:
    """Return the steps of an operator with a weight.

    The steps are, in this order:

    - the nodes that compute the weight
    - the operator ``node``, with the role ``role``
    - the nodes of the activation after ``node``
    """
    bounds = _bounds(activation)
    return (
        *(Step(step, "weight", label="computes the weight") for step in weight.nodes),
        Step(node, role, detail=f"weight: {weight.how}", label=f"weight: {weight.source}"),
        *(
            Step(step, "activation", detail=bounds, label=bounds)
            for step in (activation.nodes if activation else ())
        ),
    )


def _bounds(activation: Activation | None) -> str:
    """Format the bounds of an activation, such as ``0 to 6``.

    Return an empty string if the activation has no bounds.
    """
    if activation is None or (activation.low is None and activation.high is None):
        return ""
    if activation.low is None:
        return f"at most {activation.high:g}"
    if activation.high is None:
        return f"at least {activation.low:g}"
    return f"{activation.low:g} to {activation.high:g}"
