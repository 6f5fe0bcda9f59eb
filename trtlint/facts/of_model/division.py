"""Find divisions by a square root or a norm, and the epsilon that prevents a division by zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, cast

from msgspec import Struct

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.model import ModelFact
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, MOVING
from trtlint.model.origin import dropped_before
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import behind, cut_short

_NORMS = frozenset({"ReduceL1", "ReduceL2", "ReduceSumSquare"})
"""Reductions whose result is never negative, and is zero only if all elements are zero."""
_REDUCTIONS = frozenset({"ReduceMax", "ReduceMean", "ReduceSum", "GlobalAveragePool"})
"""Reductions that compute a norm if they reduce squares or magnitudes.

The result is then never negative, and is zero only if all elements are zero.
"""
_MAX_STEPS = 12


class Division(Fact, frozen=True):
    """A division (``Div``, ``Reciprocal``, or ``Pow`` with a negative exponent) by a root or a norm.

    The divisor is computed from a reduction of squares or magnitudes, as in ``Sqrt(ReduceSum(x²))``. If all
    elements are 0, the divisor is 0.  Divisions by sums of exponentials, by counts, and by square roots of
    tensor sizes are left out.

    Attributes:
        op: the operator that divides.
        divisor: ``root`` if the divisor is a square root, else ``norm``.
        reduction: the operator that reduces, such as ``ReduceL2``.
        spelling: the operators that compute the divisor, such as ``ReduceMean → Sqrt``.
        epsilon: the form of the epsilon. ``added``: an ``Add`` adds a positive constant. ``clipped``:
            ``Clip``, ``Max`` or ``Where`` applies a lower bound. ``zero``: the constant is 0, or its type
            rounds it to 0, such as 1e-8 in FP16. ``absent``: there is no epsilon. ``runtime``: the value is
            known only at run time.
        value: the epsilon constant; None for ``absent`` and ``runtime``.
        exporter_dropped: whether the exporter removed an addition between the reduction and the division.
            ``yes``: according to the metadata of PyTorch's exporter, an addition is missing in the file.
            ``no``: the metadata show no missing addition, or the exporter is TorchScript, which keeps
            additions. ``unknown``: the file does not show whether an addition is missing, or the divisor has
            an epsilon.
        dtype: element type of the divisor; None if unknown.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "reduction": "the reduction that computes the divisor",
        "root": "the square root",
        "epsilon": "the epsilon constant that should prevent a zero divisor",
        "division": "the dividing operator",
    }

    op: str
    divisor: Literal["root", "norm"]
    reduction: str
    spelling: str
    epsilon: Literal["added", "clipped", "zero", "absent", "runtime"]
    value: float | None
    dtype: ElementType | None
    exporter_dropped: Literal["yes", "no", "unknown"]


class _Walk(Struct):
    """The nodes between a divisor and the reduction that computes it, and the epsilon on this path.

    ``steps`` contains the nodes to report.  ``path`` contains each node with its input on this path.  Both
    lists begin at the divisor.  ``roots`` is the number of square roots.
    """

    steps: list[Step]
    path: list[tuple[Node, Value]]
    roots: int = 0
    epsilon: Literal["added", "clipped", "zero", "absent", "runtime"] = "absent"
    value: float | None = None

    def guard(self, how: Literal["added", "clipped"], constant: float | None, node: Node) -> bool:
        """Record the operand of a node as the epsilon, and return True.

        ``constant`` is the value of the operand, or None if it is known only at run time.  A negative number
        is not an epsilon: for a negative number, the function records nothing and returns False.
        """
        if constant is None:
            self.epsilon, self.value = "runtime", None
        elif constant < 0:
            return False
        elif constant > 0:
            self.epsilon, self.value = how, constant
        elif self.epsilon == "absent":
            self.epsilon, self.value = "zero", 0.0
        label = "epsilon is 0" if constant == 0 else ""
        self.steps.append(Step(node, "epsilon", _epsilon_text(node, constant), label))
        return True


def _epsilon_text(node: Node, constant: float | None) -> str:
    return node.op if constant is None else f"{'+' if node.op == 'Add' else '≥'} {constant:.4g}"


def find(facts: Facts) -> Iterator[Division]:
    """Yield the divisions by a root or norm, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    for node in graph.of_onnx("Div", "Reciprocal", "Pow"):
        divisor = _divisor(node, constants)
        if divisor is None or constants.foldable(divisor):
            continue
        walk = _Walk([], [(node, divisor)])
        reduction = _reduction(divisor, walk, constants)
        if reduction is None:
            continue
        steps = tuple(reversed(walk.steps))
        yield Division(
            node=node,
            chain=(*steps, Step(node, "division", label="0 / 0 is NaN")),
            op=node.op,
            divisor="root" if walk.roots else "norm",
            reduction=reduction.op,
            spelling=" → ".join(step.node.op for step in steps),
            epsilon=walk.epsilon,
            value=walk.value,
            dtype=divisor.dtype,
            exporter_dropped=_dropped(walk, facts) if walk.epsilon == "absent" else "unknown",
        )


def _divisor(node: Node, constants: Constants) -> Value | None:
    if node.op == "Div":
        return node.input(1)
    if node.op == "Reciprocal":
        return node.input(0)
    exponent = constants.scalar(node.input(1))
    return node.input(0) if exponent is not None and exponent < 0 else None


def _reduction(value: Value, walk: _Walk, constants: Constants) -> Node | None:
    """Return the reduction that computes a divisor, and record the path to the reduction in ``walk``.

    The result is None if the divisor is not a root or norm, or if zeros in the input do not make the divisor
    zero.
    """
    for _ in range(_MAX_STEPS):
        node = value.producer
        if node is None or node.domain:
            return None
        before: Value | None = node.input(0)
        exponent = constants.scalar(node.input(1)) if node.op == "Pow" else None
        if node.op == "Sqrt" or (exponent is not None and exponent > 0):
            walk.roots += node.op == "Sqrt" or exponent == 0.5
            walk.steps.append(Step(node, "root", label="root"))
        elif node.op in ("Add", "Max", "Min", "Mul", "Div", "Clip"):
            before = _through_arithmetic(node, walk, constants)
        elif node.op in _NORMS:
            walk.steps.append(Step(node, "reduction", label="the result is 0 if all elements are 0"))
            return node
        elif node.op in _REDUCTIONS:
            walk.steps.append(Step(node, "reduction", label="the result is 0 if all elements are 0"))
            return node if _never_negative(before, constants) else None
        elif node.op == "Where":
            before = _through_where(node, walk, constants)
        elif node.op not in MOVING and node.op not in CAST and node.op != "Abs":
            return None
        if before is None:
            return None
        walk.path.append((node, before))
        value = before
    if value.producer is not None and not value.producer.domain:
        cut_short()
    return None


def _dropped(walk: _Walk, facts: Facts) -> Literal["yes", "no", "unknown"]:
    found = [dropped_before(node, value, facts.model.graph) for node, value in walk.path]
    if any(found):
        return "yes"
    exporter = cast("ModelFact", facts.of("model")[0]).exporter
    return "no" if None not in found or exporter == "torchscript" else "unknown"


def _through_arithmetic(node: Node, walk: _Walk, constants: Constants) -> Value | None:
    """Return the operand that determines the divisor, for an ``Add``, ``Max``, ``Clip`` or similar node.

    If one operand is an epsilon, the function records this operand in ``walk``.  The result is None if the
    divisor cannot be zero, or if the node has an unknown form.
    """
    if node.op == "Clip":
        low = node.attribute("min")
        bound = float(low) if low is not None else constants.scalar(node.input(1))
        if bound is None and node.input(1) is None:
            return node.input(0)  # only an upper bound
        return node.input(0) if walk.guard("clipped", bound, node) else None
    if len(node.inputs) != 2:
        return None
    left, right = node.inputs
    ports = (1, 0) if node.op != "Div" else (1,)
    port = next((port for port in ports if constants.data_free(node.inputs[port])), None)
    if port is None:
        # The other operand is known only at run time, such as a running statistic or another norm.
        if node.op not in ("Add", "Max"):
            return None
        return left if walk.guard("added", None, node) else None
    data = right if port == 0 else left
    constant = constants.scalar(node.inputs[port])
    if node.op in ("Add", "Max"):
        return data if walk.guard("added" if node.op == "Add" else "clipped", constant, node) else None
    if node.op == "Min":
        return data
    # The constant is a scale, such as n / (n - 1) of an unbiased variance, or one number for each channel.
    return data if constant is None or constant > 0 else None


def _through_where(node: Node, walk: _Walk, constants: Constants) -> Value | None:
    """Return the norm in a ``Where`` that replaces zero norms, as in ``Where(norm == 0, 1, norm)``.

    The function records the replacement (1 in this example) as the epsilon.  The result is None for other
    uses of ``Where``.
    """
    for port in (1, 2):
        constant = constants.scalar(node.input(port))
        if constant is not None and constant > 0:
            walk.guard("clipped", constant, node)
            return node.input(3 - port)
    return None


def _never_negative(value: Value | None, constants: Constants) -> bool:
    """Return True if a value is never negative, because it is an even power or an absolute value."""
    node = None if value is None else behind(value, MOVING | CAST).producer
    if node is None or node.domain:
        return False
    if node.op == "Pow":
        exponent = constants.scalar(node.input(1))
        return exponent is not None and exponent > 0 and exponent % 2 == 0
    if node.op == "Mul" and len(node.inputs) == 2:
        return node.inputs[0] is node.inputs[1]
    return node.op == "Abs"
