"""The functions that an expression of a rule may call; there are no others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import onnx

from trtlint.engine.fieldtypes import ANYTHING, NUMBER, TEXT, TRUTH, Kind, Kinds
from trtlint.engine.truth import Unknown, both, either
from trtlint.model.graph import DTYPES, Value

if TYPE_CHECKING:
    from trtlint.model.values import Constants

UNKNOWN = Unknown()
_VALUE: Kinds = (Kind("record", cls=Value),)
_MANY: Kinds = (Kind("tuple"), Kind("text"), Kind("mapping"))
_TUPLE: Kinds = (Kind("tuple"),)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the rule language.

    Attributes:
        signature: how it is written, ``close(a, b, rel=0.001)``.
        meaning: what it gives, in one sentence.
        parameters: what each argument must be.
        result: what it gives.
        call: computes it from known arguments; the first argument is the constants of the graph.
        optional: what may be added by name, with what it must be.
        variadic: whether the last argument may be repeated.
        sees_unknown: whether it is called with unknown arguments too, which otherwise give unknown.
    """

    signature: str
    meaning: str
    parameters: tuple[Kinds, ...]
    result: Kinds
    call: Callable[..., object]
    optional: Mapping[str, Kinds] = field(default_factory=dict)
    variadic: bool = False
    sees_unknown: bool = False


def _const(constants: Constants | None, value: Value) -> object:
    return None if constants is None else constants.scalar(value)


def _dim(_: object, value: Value, index: int) -> object:
    shape = value.shape
    if shape is None or not isinstance(index, int) or not -len(shape) <= index < len(shape):
        return None
    return shape[index] if isinstance(shape[index], int) else None


def _size(_: object, value: Value) -> object:
    shape = value.shape
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    return math.prod(dim for dim in shape if isinstance(dim, int))


def _attribute(_: object, value: Value, name: str) -> object:
    found = None if value.producer is None else value.producer.attribute(name)
    return None if isinstance(found, onnx.TensorProto | onnx.GraphProto) else found


def _known(_: object, x: object) -> bool:
    return not isinstance(x, Unknown)


def _given(_: object, x: object) -> bool:
    return x is True


def _numbers(xs: tuple[Any, ...]) -> list[float] | None:
    flat = list(xs[0]) if len(xs) == 1 and isinstance(xs[0], tuple | list | frozenset) else list(xs)
    good = all(isinstance(x, int | float) and not isinstance(x, bool) for x in flat)
    return flat if flat and good else None


def _min(_: object, *xs: Any) -> object:
    numbers = _numbers(xs)
    return None if numbers is None else min(numbers)


def _max(_: object, *xs: Any) -> object:
    numbers = _numbers(xs)
    return None if numbers is None else max(numbers)


def _round(_: object, x: float, digits: int = 0) -> object:
    if not math.isfinite(x) or not isinstance(digits, int) or abs(digits) > 20:
        return None
    return round(x, digits) if digits else round(x)


def _close(_: object, a: float, b: float, rel: float = 1e-3) -> bool:
    return math.isclose(a, b, rel_tol=max(rel, 0.0), abs_tol=1e-12)


def _any(_: object, xs: Any) -> object:
    return either(*(x if isinstance(x, bool) else UNKNOWN for x in xs))


def _all(_: object, xs: Any) -> object:
    return both(*(x if isinstance(x, bool) else UNKNOWN for x in xs))


_DTYPE: Kinds = (Kind("text", frozenset(DTYPES.values())),)
_TRUTHS: Kinds = (Kind("tuple", items=TRUTH),)

FUNCTIONS: Mapping[str, Function] = {
    "const": Function(
        "const(v)",
        "the number that the value v holds whatever is fed, if it holds one number only",
        (_VALUE,),
        NUMBER,
        _const,
    ),
    "uses": Function(
        "uses(v)",
        "how many inputs of operators read v; being an output of the graph counts as one",
        (_VALUE,),
        NUMBER,
        lambda _, v: len(v.uses) + v.is_output,
    ),
    "dtype": Function(
        "dtype(v)", "the element type of v, such as 'f16'", (_VALUE,), _DTYPE, lambda _, v: v.dtype
    ),
    "rank": Function("rank(v)", "how many dimensions v has", (_VALUE,), NUMBER, lambda _, v: v.rank),
    "dim": Function(
        "dim(v, i)",
        "the size of dimension i of v; -1 is the last; unknown if it is dynamic",
        (_VALUE, NUMBER),
        NUMBER,
        _dim,
    ),
    "size": Function("size(v)", "how many elements v has", (_VALUE,), NUMBER, _size),
    "attribute": Function(
        "attribute(v, name)",
        "the attribute of that name of the operator that computes v; unknown if it is left out",
        (_VALUE, TEXT),
        ANYTHING,
        _attribute,
    ),
    "known": Function("known(x)", "whether x is known", (ANYTHING,), TRUTH, _known, sees_unknown=True),
    "given": Function(
        "given(x)",
        "whether x is known and true: false, not unknown, where x is unknown",
        (TRUTH,),
        TRUTH,
        _given,
        sees_unknown=True,
    ),
    "abs": Function("abs(x)", "x without its sign", (NUMBER,), NUMBER, lambda _, x: abs(x)),
    "min": Function(
        "min(a, b, ...)",
        "the least of numbers, or of a tuple",
        ((*NUMBER, *_TUPLE),),
        NUMBER,
        _min,
        variadic=True,
    ),
    "max": Function(
        "max(a, b, ...)",
        "the greatest of numbers, or of a tuple",
        ((*NUMBER, *_TUPLE),),
        NUMBER,
        _max,
        variadic=True,
    ),
    "len": Function("len(x)", "how many elements or letters x has", (_MANY,), NUMBER, lambda _, x: len(x)),
    "round": Function(
        "round(x, digits=0)", "x to that many decimals", (NUMBER,), NUMBER, _round, {"digits": NUMBER}
    ),
    "close": Function(
        "close(a, b, rel=0.001)",
        "whether two numbers agree to a relative tolerance (FP16 keeps about three digits)",
        (NUMBER, NUMBER),
        TRUTH,
        _close,
        {"rel": NUMBER},
    ),
    "any": Function("any(xs)", "whether one element of a tuple is true", (_TRUTHS,), TRUTH, _any),
    "all": Function("all(xs)", "whether every element of a tuple is true", (_TRUTHS,), TRUTH, _all),
}
"""Every function by name, in the order in which documentation lists them."""
