"""A function of the rule language, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from trtlint.language.fieldtypes import Kind, Kinds
from trtlint.model.graph import Value
from trtlint.model.protos import DTYPES

MOST_VISITED = 500
"""Maximum number of upstream values that a call visits, to bound the cost in large models."""
VALUE: Kinds = (Kind("record", cls=Value),)
TUPLE: Kinds = (Kind("tuple"),)
DTYPE: Kinds = (Kind("text", frozenset(DTYPES.values())),)


class Function(Struct, frozen=True):
    """A function that expressions in rules may call.

    Attributes:
        signature: an example of a call, such as ``close(a, b, rel=0.001)``.
        meaning: a description of the result, in one sentence.
        parameters: the allowed types of each positional argument.
        result: the possible types of the result.
        call: Python function that computes the result. Its first argument is the graph's constants.
        optional: the allowed types of each keyword argument, by name.
        variadic: true if the last argument may be repeated.
        sees_unknown: true to call the function with unknown arguments; false if an unknown argument makes the
            result unknown.
    """

    signature: str
    meaning: str
    parameters: tuple[Kinds, ...]
    result: Kinds
    call: Callable[..., object]
    optional: Mapping[str, Kinds] = field(default_factory=dict)
    variadic: bool = False
    sees_unknown: bool = False
