"""What a function of the rule language is, and the types that functions are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from trtlint.language.fieldtypes import Kind, Kinds
from trtlint.lean import dataclass
from trtlint.model.graph import Value
from trtlint.target.truth import Unknown

UNKNOWN = Unknown()
MOST_VISITED = 500
"""Values that one call looks at upstream, so that no expression costs more than its model is long."""
VALUE: Kinds = (Kind("record", cls=Value),)
TUPLE: Kinds = (Kind("tuple"),)


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
