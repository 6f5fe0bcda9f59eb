"""Functions of the rule language on control flow, outputs of operators and equations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtlint.language.fieldtypes import NUMBER, TEXT, TRUTH, Kind
from trtlint.language.function import TUPLE, VALUE, Function
from trtlint.model.equation import ELLIPSIS, ellipsis_ranks, terms_of
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


def _ellipsis_ranks(_: object, equation: str, values: tuple[Any, ...]) -> object:
    ranks = [value.rank if isinstance(value, Value) else None for value in values]
    found = ellipsis_ranks(equation, ranks) if isinstance(equation, str) else None
    if found is None:
        return None
    return tuple(rank for rank, term in zip(found, terms_of(equation)[0], strict=True) if ELLIPSIS in term)


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
    "ellipsis_ranks": Function(
        "ellipsis_ranks(equation, vs)",
        "how many dimensions the ellipsis in the equation of an Einsum stands for, by operand that has one",
        (TEXT, TUPLE),
        (Kind("tuple", items=NUMBER),),
        _ellipsis_ranks,
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
