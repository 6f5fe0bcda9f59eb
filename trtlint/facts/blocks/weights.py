"""Where the weight of a convolution or matrix product comes from.

TensorRT takes a weight that is a constant of the network into the engine, where it is laid out for
the chosen kernel and merged with what follows; a weight that a layer computes stays a tensor, with
``HasDynamicFilter`` set in the layer information (https://github.com/pytorch/TensorRT/issues/3561).
"""

from __future__ import annotations

from typing import Literal

from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, MOVING
from trtlint.model.protos import Dimension, ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import behind

Source = Literal["initializer", "foldable", "quantized", "runtime"]

_DEQUANTIZE = frozenset({"DequantizeLinear", "TRT_FP8DequantizeLinear", "TRT_INT4DequantizeLinear"})
_INTEGERS = frozenset({"i8", "u8", "i4", "u4"})
_MAX_COMPUTATION = 6
"""How many of the nodes that compute a weight are named; the head of the list explains enough."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight and where it comes from.

    Attributes:
        source: ``initializer``: stored in the file, directly or through ``Identity``;
            ``quantized``: behind ``DequantizeLinear``, from stored integers or from a float weight
            through Q and DQ, or the integer operand of an integer operator; ``foldable``: computed,
            but from constants alone; ``runtime``: depends on an input of the model.
        dtype: element type as the operator reads it (``f32``), None where unknown.
        shape: dimensions in the operator's layout (``[M, C/group, kH, kW]`` for Conv, ``[C, M/group,
            kH, kW]`` for ConvTranspose, ``[K, N]`` for MatMul), None where unknown.
        port: which input of the operator it is.
        operators: what computes it, in data-flow order, ``Identity`` left out, the last few only;
            empty for an initializer and for a graph input.
        origin: name of the initializer or graph input where following the computation ended.
        how: ``operators`` as text, ``ReduceMean → Sub → Mul``; without any, ``origin``, as
            ``input w`` where that is a graph input.
        nodes: the nodes behind ``operators``.
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
    """What is known of the weight at an input port, None where the port is empty."""
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
    """Where a weight comes from."""
    if constants.stored(value) is not None or value.is_sparse:
        return "quantized" if value.dtype in _INTEGERS else "initializer"
    producer = behind(value, MOVING | CAST).producer
    if producer is not None and producer.op in _DEQUANTIZE:
        # Q/DQ on a tensor that is computed from the model's input quantizes an activation.
        base = producer.input(0)
        return "quantized" if constants.foldable(base) else "runtime"
    return "foldable" if constants.foldable(value) else "runtime"


def _computation(value: Value, constants: Constants) -> tuple[tuple[Node, ...], Value]:
    """The last nodes that compute a weight, in data-flow order, and the value they start from.

    At each node the input is followed that makes the result what it is: one known only at run time
    before one that is computed, before one that is stored.
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
