"""A function of the rule language, and the types of its arguments.

A Python function becomes a function of the rule language by the decorator :func:`function`. The types of its
arguments and of its result are in its annotations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar

from trtlint.language.fieldtypes import NUMBER, TEXT, TRUTH, Kind, Kinds, kinds_of
from trtlint.model.protos import DTYPES

MOST_VISITED = 500
"""Maximum number of upstream values that a call visits, to bound the cost in large models."""
DTYPE: Kinds = (Kind("text", frozenset(DTYPES.values())),)
_TUPLE: Kinds = (Kind("tuple"),)

Number = Annotated[Any, NUMBER]
Text = Annotated[Any, TEXT]
Verdict = Annotated[Any, TRUTH]
TypeName = Annotated[Any, DTYPE]
Tuple = Annotated[Any, _TUPLE]
Numbers = Annotated[Any, (Kind("tuple", items=NUMBER),)]
Texts = Annotated[Any, (Kind("tuple", items=TEXT),)]
TypeNames = Annotated[Any, (Kind("tuple", items=DTYPE),)]
Several = Annotated[Any, (*NUMBER, *_TUPLE)]
Sized = Annotated[Any, (*_TUPLE, Kind("text"), Kind("mapping"))]

_Call = TypeVar("_Call", bound=Callable[..., object])


class Function:
    """A function that expressions in rules may call.

    Args:
        signature: an example of a call, such as ``close(a, b, rel=0.001)``.
        meaning: a description of the result, in one sentence.
        call: Python function that computes the result. Its first argument is the graph's constants. Its
            arguments with a default are keyword arguments, and its last argument may be repeated (``*xs``).
        sees_unknown: true to call the function with unknown arguments; false if an unknown argument makes the
            result unknown.
    """

    def __init__(
        self, signature: str, meaning: str, call: Callable[..., object], *, sees_unknown: bool
    ) -> None:
        self.signature, self.meaning = signature, meaning
        self.call, self.sees_unknown = call, sees_unknown

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.call, eval_str=True)

    @property
    def _arguments(self) -> list[inspect.Parameter]:
        return list(self._signature.parameters.values())[1:]

    @cached_property
    def parameters(self) -> tuple[Kinds, ...]:
        """The allowed types of each positional argument."""
        return tuple(kinds_of(each.annotation) for each in self._arguments if each.default is each.empty)

    @cached_property
    def optional(self) -> Mapping[str, Kinds]:
        """The allowed types of each keyword argument, by name."""
        given = (each for each in self._arguments if each.default is not each.empty)
        return {each.name: kinds_of(each.annotation) for each in given}

    @cached_property
    def result(self) -> Kinds:
        """The possible types of the result."""
        return kinds_of(self._signature.return_annotation)

    @property
    def variadic(self) -> bool:
        """True if the last argument may be repeated."""
        return any(each.kind is each.VAR_POSITIONAL for each in self._arguments)


DEFINED: dict[str, Function] = {}
"""The functions that were defined so far, by name."""


def function(signature: str, meaning: str, *, sees_unknown: bool = False) -> Callable[[_Call], _Call]:
    """Return a decorator that adds a Python function to the rule language; see :class:`Function`."""

    def add(call: _Call) -> _Call:
        name = signature.partition("(")[0]
        if name in DEFINED:
            raise ValueError(f"two functions of the rule language are called {name}")
        DEFINED[name] = Function(signature, meaning, call, sees_unknown=sees_unknown)
        return call

    return add
