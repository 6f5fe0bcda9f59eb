"""Functions of the rule language for control flow, outputs of operators and Einsum equations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from trtlint.language.function import MOST_VISITED, Numbers, Text, Tuple, Verdict, function
from trtlint.model.equation import ELLIPSIS, ellipsis_ranks, terms_of
from trtlint.model.flow import Flow, flow_of
from trtlint.model.graph import Node, Value
from trtlint.model.values import Constants
from trtlint.model.walks import search

_KEEP_LENGTH = frozenset(
    {"Concat", "Identity", "Cast", "Neg", "Abs", "Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"}
)
"""Operators that keep the length of one-dimensional tensors.

The result is as long as one of the operands. For Concat, it is as long as all operands together.
"""


def _is_in(
    nodes: Callable[[Flow], Collection[Node]], constants: Constants | None, value: Value
) -> bool | None:
    """Return whether the operator that computes a value is in ``nodes``."""
    if constants is None or value.producer is None:
        return None
    return value.producer in nodes(flow_of(constants))


@function("nameless(vs)", "whether one of several outputs has an empty name")
def _nameless(_: object, values: Tuple) -> Verdict:
    return any(isinstance(value, Value) and not value.name for value in values)


@function(
    "unread(vs)",
    "whether one of several values is unused: no operator reads this value, and it is not an output of the "
    "graph or of a body",
)
def _unread(_: object, values: Tuple) -> Verdict:
    return any(isinstance(value, Value) and not value.is_needed for value in values)


@function(
    "partial_shapes(vs)",
    "whether one of several values is the result of a Shape with start or end, or is computed from such a "
    "result by element-wise operators or Concat",
)
def _partial_shapes(_: object, values: Tuple) -> Verdict:
    return _made_by(values, _is_partial)


@function(
    "empty_lists(vs)",
    "whether one of several values is the value_ints of a Constant, or is computed from such a value by "
    "element-wise operators or Concat",
)
def _empty_lists(_: object, values: Tuple) -> Verdict:
    return _made_by(values, lambda node: node.op == "Constant" and bool(node.attribute("value_ints")))


@function(
    "refused_if_empty(vs)",
    "whether parsers would reject all uses of several values if the values were empty tensors: every use is "
    "a parameter (not the data) of Slice, Pad or NonMaxSuppression, or the axes of a Squeeze whose data has "
    "a dynamic shape",
)
def _refused_if_empty(_: object, values: Tuple) -> Verdict:
    readers = [use for value in values if isinstance(value, Value) for use in value.uses]
    outside = any(value.is_output or value.leaves_body for value in values if isinstance(value, Value))
    return bool(readers) and not outside and all(_refuses_empty(node, port) for node, port in readers)


def _refuses_empty(node: Node, port: int) -> bool:
    """Return whether the parser rejects an empty tensor as the input ``port`` of an operator."""
    if node.op == "Squeeze":
        data = node.inputs[0]
        return port == 1 and (data is None or not data.is_static)
    return port > 0 and node.op in ("Slice", "Pad", "NonMaxSuppression")


def _made_by(values: tuple[Any, ...], good: Callable[[Node], bool]) -> bool:
    """Return whether one of the values is computed by an operator for which ``good`` is true.

    The search continues upstream through the operators in ``_KEEP_LENGTH``.
    """
    return any(
        made.producer is not None and not made.producer.domain and good(made.producer)
        for value in values
        if isinstance(value, Value)
        for made, _ in search(value, _operands, MOST_VISITED)
    )


def _operands(node: Node) -> Sequence[Value | None]:
    return node.inputs if node.op in _KEEP_LENGTH and not node.domain else ()


def _is_partial(node: Node) -> bool:
    """Return whether a node is a ``Shape`` whose attributes ``start`` or ``end`` omit dimensions."""
    shape = node.inputs[0] if node.op == "Shape" and node.inputs else None
    start, end = node.number("start", 0), node.number("end", None)
    if shape is None or shape.rank is None or isinstance(start, float) or isinstance(end, float):
        return False
    return len(range(shape.rank)[start:end]) < shape.rank


@function(
    "ellipsis_ranks(equation, vs)",
    "the number of dimensions that the ellipsis of an Einsum equation covers, for each operand with an "
    "ellipsis",
)
def _ellipsis_ranks(_: object, equation: Text, values: Tuple) -> Numbers:
    ranks = [value.rank if isinstance(value, Value) else None for value in values]
    found = ellipsis_ranks(equation, ranks) if isinstance(equation, str) else None
    if found is None:
        return None
    return tuple(rank for rank, term in zip(found, terms_of(equation)[0], strict=True) if ELLIPSIS in term)


@function(
    "repeated_in_flow(v)",
    "whether the operator that computes v meets two conditions: (1) it is in a branch of an If, or it "
    "depends on an input of a loop body or on the result of an If, loop or recurrence; (2) an earlier "
    "operator of the same type also meets condition 1, or another If, loop or recurrence depends on v",
)
def _repeated_in_flow(constants: Constants | None, value: Value) -> Verdict:
    return _is_in(lambda flow: flow.repeated, constants, value)


@function(
    "reads_past_loop(v)",
    "whether the operator X that computes v meets three conditions: (1) X is an If, loop or recurrence; (2) "
    "X is inside a Loop, and this Loop is in a branch of an If; (3) X, or a body of X, reads values from "
    "outside this Loop",
)
def _reads_past_loop(constants: Constants | None, value: Value) -> Verdict:
    return _is_in(lambda flow: flow.past_loops, constants, value)


@function(
    "packed_state(v)",
    "whether the recurrence that computes v meets two conditions: (1) an earlier operator of the graph is a "
    "Loop, a Scan or a recurrence; (2) an initial state is selected along the last dimension of a four-"
    "dimensional tensor",
)
def _packed_state(constants: Constants | None, value: Value) -> Verdict:
    return _is_in(lambda flow: flow.packed, constants, value)
