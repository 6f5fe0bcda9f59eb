"""Functions of the rule language on control flow and on the outputs of operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtlint.language.fieldtypes import TRUTH
from trtlint.language.function import TUPLE, VALUE, Function
from trtlint.model.flow import flow_of
from trtlint.model.graph import Value
from trtlint.model.values import Constants


def _repeated(constants: Constants | None, value: Value) -> object:
    if constants is None or value.producer is None:
        return None
    return value.producer in flow_of(constants).repeated


def _reads_past_loop(constants: Constants | None, value: Value) -> object:
    if constants is None or value.producer is None:
        return None
    return value.producer in flow_of(constants).past_loops


def _nameless(_: object, values: tuple[Any, ...]) -> object:
    return any(isinstance(value, Value) and not value.name for value in values)


def _unread(_: object, values: tuple[Any, ...]) -> object:
    return any(isinstance(value, Value) and not value.is_needed for value in values)


FLOW_FUNCTIONS: Mapping[str, Function] = {
    "repeated_in_flow": Function(
        "repeated_in_flow(v)",
        "whether the operator that computes v works on the result of an If, a loop or a recurrence, or in"
        " the body of one, and either an operator of its type does so before it or its result goes into"
        " another If, loop or recurrence",
        (VALUE,),
        TRUTH,
        _repeated,
    ),
    "reads_past_loop": Function(
        "reads_past_loop(v)",
        "whether the operator that computes v lies in a Loop in a branch of an If, and reads, itself or in"
        " its bodies, what is computed outside of that Loop",
        (VALUE,),
        TRUTH,
        _reads_past_loop,
    ),
    "nameless": Function(
        "nameless(vs)", "whether one of several outputs has an empty name", (TUPLE,), TRUTH, _nameless
    ),
    "unread": Function(
        "unread(vs)",
        "whether one of several values is read by no operator and leaves no graph",
        (TUPLE,),
        TRUTH,
        _unread,
    ),
}
"""The functions by name."""
