"""Find integers, such as lengths and positions, that are computed in a float type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.operators import REARRANGING
from trtlint.model.protos import ElementType
from trtlint.model.walks import downstream

_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div"})
_THROUGH = (
    _ARITHMETIC
    | REARRANGING
    | {"Floor", "Ceil", "Round", "Neg", "Abs", "Min", "Max", "Clip", "Concat", "Slice", "Gather"}
)
_INTEGERS = frozenset({"i32", "i64"})
_EXACT: Mapping[str, int] = {"f16": 2**11, "bf16": 2**8, "f32": 2**24}
"""For each float type, the largest N so that the type represents all integers from 0 to N exactly."""
_DEEPEST = 12


class RoundedInteger(Fact, frozen=True):
    """Integers that are cast to floats, used in arithmetic, and cast back to integers.

    ``node`` is the ``Cast`` to a float type.

    Attributes:
        dtype: the float type: ``f16``, ``bf16`` or ``f32``.
        exact: the largest N so that the float type represents all integers from 0 to N. N is 2,048 for
            ``f16``, 256 for ``bf16``, and 16,777,216 for ``f32``.
        source: ``shape`` if the integers come from sizes, including dynamic sizes; ``data`` if the integers
            depend on the values of model inputs.
        operators: the operator types of the arithmetic between the two casts, with repeats, in data-flow
            order.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "cast": "converts whole numbers to floats",
        "arithmetic": "computes with these floats",
        "back": "converts the results to whole numbers",
    }

    dtype: ElementType
    exact: int
    source: Literal["shape", "data"]
    operators: tuple[str, ...]


def find(facts: Facts) -> Iterator[RoundedInteger]:
    """Yield the Casts of integers to floats that a later Cast converts back.

    The facts are in graph order. A pair of Casts counts only if there is arithmetic between them.
    """
    constants = facts.model.constants
    for cast in facts.model.graph.by_op("Cast"):
        before, dtype = cast.input(0), cast.output.dtype
        if cast.domain or before is None or before.dtype not in _INTEGERS:
            continue
        if dtype is None or dtype not in _EXACT:
            continue
        path = _path_back(cast)
        if path is None or constants.foldable(before):
            continue
        *computing, back = path
        arithmetic = [node for node in computing if node.op in _ARITHMETIC]
        yield RoundedInteger(
            node=cast,
            chain=(
                Step(cast, "cast", label=f"exact only for whole numbers up to {_EXACT[dtype]:,}"),
                *(Step(node, "arithmetic") for node in arithmetic),
                Step(back, "back"),
            ),
            dtype=dtype,
            exact=_EXACT[dtype],
            source="shape" if constants.data_free(before) else "data",
            operators=tuple(node.op for node in arithmetic),
        )


def _path_back(cast: Node) -> list[Node] | None:
    """Return the nodes from ``cast`` to the Cast back to integers.

    The result is None if there is no Cast back, or no arithmetic between the casts.
    """
    steps: dict[Value, tuple[Node, Value]] = {}
    for node, _, value in downstream(cast.output, lambda node, _: node.op in _THROUGH, _DEEPEST):
        steps.setdefault(node.output, (node, value))
        if node.op != "Cast" or node.output.dtype not in _INTEGERS:
            continue
        path = [node]
        while value is not cast.output:
            step, value = steps[value]
            path.append(step)
        if any(step.op in _ARITHMETIC for step in path):
            return path[::-1]
    return None
