"""Find normalizations that an exporter decomposed into several operators, such as mean and square root.

All exporters write a mean of squares, then a square root, and then a division by the root. The division is a
``Div``, or a ``Mul`` by the reciprocal of the root. A ``Reciprocal`` or ``Div(1, .)`` computes this
reciprocal. Casts, views, a correction factor (``n/(n-1)``) and the multiplication by the weight of the
normalization may be between these operators.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.facts.base import Step
from trtlint.facts.blocks.walk import scaling
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import CAST, MOVING
from trtlint.model.values import Constants
from trtlint.model.walks import MAX_STEPS, behind, cut_short

_MEANS = ("ReduceMean", "GlobalAveragePool")


class Decomposed(Struct, frozen=True):
    """A normalization that consists of several operators.

    Attributes:
        tensor: the input of the normalization.
        mean, centre: the node that computes the mean, and the node that subtracts it; None for an RMS norm.
        square: the node that computes the squares.
        variance: the node that computes the mean of the squares.
        epsilon_node: the node that adds the epsilon or uses it as a lower bound; None if there is no epsilon.
        epsilon: the value of the epsilon; 0 if there is no epsilon, None if the value is unknown.
        root: the square root.
        divide: the division by the root, or the multiplication by the reciprocal of the root.
        axes: the reduced axes, counted from the end if the rank is known.
        centred: True if the norm squares ``x - mean(x)``; False if it squares ``x``.
        standard: whether the formula equals LayerNormalization or RMSNormalization.  The epsilon must be
            added before the square root, and the variance must have no correction such as Bessel's
            n / (n - 1). https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
    """

    tensor: Value
    mean: Node | None
    centre: Node | None
    centred: bool
    square: Node
    variance: Node
    epsilon_node: Node | None
    epsilon: float | None
    root: Node
    divide: Node
    axes: tuple[int, ...] | None
    standard: bool

    @property
    def family(self) -> Literal["layer", "rms"]:
        """The kind of normalization: ``layer`` if the mean is subtracted, otherwise ``rms``."""
        return "rms" if self.centre is None else "layer"

    def steps(self) -> tuple[Step, ...]:
        """The nodes of the normalization with their roles, in data-flow order."""
        steps = []
        if self.mean is not None:
            steps.append(Step(self.mean, "mean", "mean", "mean"))
        if self.centre is not None:
            steps.append(Step(self.centre, "centre", "x - mean", "centre"))
        steps.append(Step(self.square, "square", "squares", "squares"))
        steps.append(Step(self.variance, "variance", "mean of squares", "mean of squares"))
        if self.epsilon_node is not None:
            detail = "+ epsilon" if self.epsilon is None else f"epsilon {self.epsilon:.3g}"
            steps.append(Step(self.epsilon_node, "epsilon", detail, "epsilon"))
        steps.append(Step(self.root, "root", "", "root"))
        steps.append(Step(self.divide, "divide", "normalized", "division by the root"))
        return tuple(steps)


def decomposed_norms(graph: Graph, constants: Constants) -> Iterator[Decomposed]:
    """Yield the normalizations of a graph that consist of several operators."""
    for variance in graph.by_op(*_MEANS):
        squared = variance.input(0)
        square = _square(squared, constants) if squared is not None else None
        if square is None or constants.data_free(squared):
            continue
        tail = _tail(variance, constants)
        if tail is None:
            continue
        node, source = square
        mean, centre, tensor = _centre(source)
        if centre is None and tail.numerator is source:
            # TorchScript exports torch.nn.LayerNorm in FP16 before opset 17 with a cast of x - mean.
            mean, centre, x = _centre(behind(source, CAST))
            tensor = tensor if centre is None else x
        centred = centre is not None
        if not centred:  # the variance may be E[x²] - E[x]²
            mean, centre, x = _centre(tail.numerator)
            tensor = tensor if centre is None else x
        yield Decomposed(
            tensor,
            mean,
            centre,
            centred,
            node,
            variance,
            tail.epsilon_node,
            tail.epsilon,
            tail.root,
            tail.divide,
            _axes(variance, constants),
            tail.standard,
        )


def _square(value: Value, constants: Constants) -> tuple[Node, Value] | None:
    """Return the node ``Pow(x, 2)`` or ``Mul(x, x)`` that computes a square, and the operand ``x``.

    The result is None if ``value`` is not such a square.
    """
    node = behind(value, CAST).producer
    if node is None or node.domain or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    if first is None or second is None:
        return None
    if node.op == "Pow" and constants.scalar(second) == 2.0:
        return node, first
    if node.op == "Mul" and (first is second or _same_difference(first, second)):
        return node, first
    return None


def _same_difference(first: Value, second: Value) -> bool:
    """Return whether two values are differences ``x - mean`` of the same tensor ``x``.

    TorchScript may compute ``x - mean`` twice.
    """
    a, b = first.producer, second.producer
    if a is None or b is None or a.domain or b.domain:
        return False
    return a.op == b.op == "Sub" and a.inputs[0] is b.inputs[0]


def _centre(value: Value) -> tuple[Node | None, Node | None, Value]:
    """Split ``x - mean(x)`` into the mean node, the Sub and ``x``.

    If ``value`` is not such a difference, the result is None, None and ``value``.
    """
    node = value.producer
    if node is None or node.op != "Sub" or node.domain:
        return None, None, value
    tensor, mean = node.input(0), node.input(1)
    if tensor is None or mean is None:
        return None, None, value
    producer = behind(mean, MOVING | CAST).producer
    if producer is None or producer.op not in _MEANS:
        return None, None, value
    return producer, node, tensor


class _Tail(Struct, frozen=True):
    epsilon_node: Node | None
    epsilon: float | None
    root: Node
    divide: Node
    numerator: Value
    standard: bool


class _State(Struct, frozen=True):
    value: Value
    root: Node | None = None
    inverted: bool = False
    epsilon_node: Node | None = None
    epsilon: float | None = 0.0
    standard: bool = True


def _tail(variance: Node, constants: Constants) -> _Tail | None:
    """Return the nodes from the mean of squares to the division by the square root.

    The result is None if no such division is found.
    """
    pending, seen = deque([_State(variance.output)]), {variance.output}
    while pending and len(seen) < MAX_STEPS:
        state = pending.popleft()
        for node, port in state.value.uses:
            if node.domain or node.output in seen:
                continue
            step = _advance(state, node, port, constants)
            if isinstance(step, _Tail):
                return step
            if step is not None:
                seen.add(step.value)
                pending.append(step)
    if pending:
        cut_short()
    return None


def _advance(state: _State, node: Node, port: int, constants: Constants) -> _State | _Tail | None:
    """Advance by one node on the path from the mean of squares to the division.

    Returns:
        The end of the path if ``node`` is the division, else the new position on the path.  The result is
        None if the path does not belong to a normalization.
    """
    kept = replace(state, value=node.output)
    if node.op in CAST or (node.op in MOVING and port == 0):
        return kept
    if state.root is None:
        exponent = constants.scalar(node.input(1)) if node.op == "Pow" and port == 0 else None
        if node.op == "Sqrt" or exponent in (0.5, -0.5):
            return replace(kept, root=node, inverted=exponent == -0.5)
        scaled = scaling(node, constants)
        if node.op == "Sub" or scaled is not None:
            return replace(kept, standard=state.standard and (scaled is None or scaled.factor == 1.0))
        return _with_epsilon(state, node, port, constants)
    if node.op == "Reciprocal":
        return replace(kept, inverted=not state.inverted)
    other = node.inputs[1 - port] if len(node.inputs) == 2 else None
    if other is None or node.op not in ("Mul", "Div"):
        return None if state.inverted else _with_epsilon(state, node, port, constants)
    divides = node.op == "Div" and port == 1
    if constants.data_free(other):  # 1 / root, or a multiplication by the weight before the division
        return replace(kept, inverted=state.inverted ^ divides)
    if divides if not state.inverted else node.op == "Mul":
        return _Tail(state.epsilon_node, state.epsilon, state.root, node, other, state.standard)
    return None


def _with_epsilon(state: _State, node: Node, port: int, constants: Constants) -> _State | None:
    if node.op not in ("Add", "Max", "Clip"):
        return None
    other = node.input(1) if node.op == "Clip" else node.input(1 - port)
    if other is None or not constants.data_free(other):
        return None
    standard = state.standard and node.op == "Add" and state.root is None
    epsilon = constants.scalar(other)
    return replace(state, value=node.output, epsilon_node=node, epsilon=epsilon, standard=standard)


def _axes(reduce: Node, constants: Constants) -> tuple[int, ...] | None:
    """Return the axes of a ``Reduce...`` operator, counted from the end, or None if they are unknown."""
    tensor = reduce.input(0)
    rank = tensor.rank if tensor is not None else None
    if reduce.op == "GlobalAveragePool":
        return None if rank is None else tuple(range(2 - rank, 0))
    axes = constants.axes(reduce)
    if not axes:
        return None
    if rank is None:
        return axes if all(axis < 0 for axis in axes) else None
    return tuple(sorted(axis if axis < 0 else axis - rank for axis in axes))
