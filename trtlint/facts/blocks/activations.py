"""Find the activation after a convolution or matrix product, its bounds and its distance to the outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import MOVING, QUANTIZE
from trtlint.model.values import Constants
from trtlint.model.walks import downstream

_SMOOTH: Mapping[str, tuple[float | None, float | None]] = {
    "Celu": (None, None),
    "Elu": (None, None),
    "Gelu": (None, None),
    "HardSigmoid": (0.0, 1.0),
    "HardSwish": (None, None),
    "LeakyRelu": (None, None),
    "Mish": (None, None),
    "PRelu": (None, None),
    "Selu": (None, None),
    "Sigmoid": (0.0, 1.0),
    "Softplus": (0.0, None),
    "Softsign": (-1.0, 1.0),
    "Swish": (None, None),
    "Tanh": (-1.0, 1.0),
    "ThresholdedRelu": (0.0, None),
}
"""Smooth activations, each with the range of its results.

No sequence of Clip, Max, Min and Relu can express such an activation.
"""
_GATED: Mapping[str, str] = {"Sigmoid": "Swish", "HardSigmoid": "HardSwish"}
"""The names of the activations x · Sigmoid(x) and x · HardSigmoid(x).  The keys are the sigmoid operators."""

_CLIPS = frozenset({"Clip", "Max", "Min", "Relu"})
_BETWEEN = MOVING | QUANTIZE | {"Add", "BatchNormalization", "Cast", "DepthToSpace", "Div", "Mul", "Sub"}
"""Operators that may be between a convolution or matrix product and its activation.

These operators add a bias, normalize, scale, shuffle pixels, or quantize and dequantize.  A tool that
quantizes a model to symmetric INT8 leaves Q/DQ pairs between Conv and Clip.
"""
_MAX_BETWEEN = 4
_UNBOUNDED = 3.4e38
"""Smallest magnitude of a Clip bound that means "no bound".

In opset 6 to 10, the default bounds of a Clip are the lowest and the largest finite float.
"""


class Activation(Struct, frozen=True):
    """An activation operator and the bounds of its results.

    Attributes:
        op: the operator type. If several operators form one clip, all their types, such as ``Max → Min``.
        low: lower bound of the results; None if there is no bound, or if it is known only at run time.
        high: upper bound of the results; None if there is no bound, or if it is known only at run time.
        clip_like: whether a ``Clip`` or ``Min`` limits the results from above. A plain ``Relu`` and a smooth
            function do not. The field is also False if a second operator preserves the values that the
            first one cuts off, as in a PRelu that is written with ``Max`` and ``Min``.
        to_output: number of nodes between the activation and the nearest output of the model. It is 0 if the
            activation itself computes an output, and None if no output depends on the activation.
        nodes: the nodes of the activation.
    """

    op: str
    low: float | None
    high: float | None
    clip_like: bool
    to_output: int | None
    nodes: tuple[Node, ...]


def nodes_to_output(graph: Graph) -> Mapping[Node, int]:
    """Return the number of nodes between each node and the nearest model output.

    The number is 0 if the node itself computes an output.  Nodes without a path to an output are left out.
    The function visits the nodes once, in reverse topological order, so its time is linear in the number of
    edges.
    """
    distances: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if any(value.is_output for value in node.outputs):
            distances[node] = 0
            continue
        # For a node in a body, the operator that owns the body is also a successor, because it reads the
        # results of the body.
        behind = [distances[after] for after in graph.successors(node) if after in distances]
        if behind:
            distances[node] = 1 + min(behind)
    return distances


def activation_of(value: Value, constants: Constants, distances: Mapping[Node, int]) -> Activation | None:
    """Return the nearest activation within a few nodes after a value, or None if there is none.

    ``distances`` is the result of :func:`nodes_to_output`.
    """

    def through(node: Node, port: int) -> bool:
        return node.op in _BETWEEN and port in _data_ports(node)

    found = (
        _activation(node, port, read, constants, distances)
        for node, port, read in downstream(value, through, _MAX_BETWEEN)
    )
    return next((activation for activation in found if activation is not None), None)


def _data_ports(node: Node) -> range:
    return range(2) if node.op in ("Add", "Mul", "Sub") else range(1)


def _activation(
    node: Node, port: int, value: Value, constants: Constants, distances: Mapping[Node, int]
) -> Activation | None:
    if node.op in _SMOOTH and port == 0:
        gate = _gate(node, value) if node.op in _GATED else None
        if gate is not None:
            return Activation(_GATED[node.op], None, None, False, distances.get(gate), (node, gate))
        low, high = _SMOOTH[node.op]
        return Activation(node.op, low, high, False, distances.get(node), (node,))
    clip = _clip(node, port, constants)
    if clip is None:
        return None
    if _is_half(node, clip, value, constants):
        return Activation(node.op, None, None, False, distances.get(node), (node,))
    nodes = [node]
    while len(node.output.uses) == 1:  # Relu -> Min, Max -> Min, ... together are one clip
        node, port = node.output.uses[0]
        following = _clip(node, port, constants)
        if following is None:
            break
        clip = clip.then(following)
        nodes.append(node)
    op = " → ".join(step.op for step in nodes)
    return Activation(op, clip.low, clip.high, clip.above, distances.get(nodes[-1]), tuple(nodes))


def _is_half(node: Node, clip: _Clip, value: Value, constants: Constants) -> bool:
    """Return whether a second operator keeps the part of ``value`` that the clip ``node`` cuts off.

    An example is a written-out PRelu, ``Max(x, 0) + slope · Min(x, 0)``, in which nothing limits the results.
    """
    if (clip.low is None) == (clip.high is None):
        return False
    opposite = (clip.high, clip.low)
    for other, port in value.uses:
        rest = None if other is node else _clip(other, port, constants)
        if rest is not None and (rest.low, rest.high) == opposite:
            return True
    return False


def _gate(sigmoid: Node, value: Value) -> Node | None:
    """Return the ``Mul`` in ``value · Sigmoid(value)``, or None if there is no such ``Mul``."""
    for node, _ in sigmoid.output.uses:
        if node.op == "Mul" and not node.domain and value in node.inputs:
            return node
    return None


class _Clip(Struct, frozen=True):
    """Bounds of an operator that clips values, or of several such operators in a row.

    ``low`` and ``high`` are None if missing or unknown.  ``above`` is True if there is an upper bound.
    """

    low: float | None
    high: float | None
    above: bool

    def then(self, other: _Clip) -> _Clip:
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return _Clip(max(lows) if lows else None, min(highs) if highs else None, self.above or other.above)


def _clip(node: Node, port: int, constants: Constants) -> _Clip | None:
    if node.op not in _CLIPS or node.domain:
        return None
    if node.op == "Relu":
        return _Clip(0.0, None, False)
    if node.op == "Clip":
        if port != 0:
            return None
        low, high = clip_bounds(node, constants)
        runtime = node.input(2) is not None and constants.scalar(node.input(2)) is None
        return _Clip(low, high, high is not None or runtime)
    if len(node.inputs) != 2:
        return None
    bound = constants.scalar(node.inputs[1 - port])
    if bound is None:
        return None
    return _Clip(bound, None, False) if node.op == "Max" else _Clip(None, bound, True)


def clip_bounds(clip: Node, constants: Constants) -> tuple[float | None, float | None]:
    """Return the lower and the upper bound of a Clip.

    A bound is None if it is missing or known only at run time.
    """
    return _bound(clip, "min", 1, constants), _bound(clip, "max", 2, constants)


def _bound(node: Node, attribute: str, port: int, constants: Constants) -> float | None:
    """Return one bound of a Clip, or None if the bound is missing or known only at run time.

    Up to opset 10, the bound is the attribute named ``attribute``.  Since opset 11, the bound is the input
    with the index ``port``.
    """
    written = node.attribute(attribute)
    bound = float(written) if written is not None else constants.scalar(node.input(port))
    if bound is None or not math.isfinite(bound) or abs(bound) >= _UNBOUNDED:
        return None
    return bound
