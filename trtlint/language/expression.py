"""The expressions of a rule: Python's syntax, three-valued, checked before they are used.

An expression is parsed with :mod:`ast`, every name and field in it is checked against the
annotations of what it may read, and it is turned into closures once.  Nothing is ever handed to
``eval``: what is not listed here (calls of anything but :data:`~trtlint.language.functions.FUNCTIONS`,
names with underscores, lambdas, comprehensions, f-strings) is refused with its column, and length,
depth and the size of numbers are bounded, so a rule file from a stranger can neither run code nor
hang.  The language:

- ``and``, ``or``, ``not``, ``a if c else b``, parentheses
- ``== != < <= > >=``, chained as well; ``in`` and ``not in`` with tuples, text and fields
- ``+ - * / // % **`` on numbers
- numbers, text, ``True``, ``False``, tuples; ``x[0]`` and ``x[-1]``; fields with a dot; functions

A field that is None is unknown, and what depends on it is unknown too: comparing it is no error and
no False.  Division by zero and an index beyond the end give unknown as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtlint.language.compiler import Compiler
from trtlint.language.operations import Code, truth
from trtlint.language.syntax import ExpressionError, parse
from trtlint.lean import dataclass
from trtlint.target.truth import Truth, Unknown

__all__ = ["Expression", "ExpressionError", "Scope", "compile_expression"]


Scope = Mapping[str, Any]
"""The names that an expression may use, each with its type: a class or another annotation."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    names: frozenset[str]
    code: Code


class Expression:
    """An expression, compiled when it is first needed.

    Most rules have nothing to look at in a given model, and compiling all their conditions, not to
    speak of checking what they read against the facts, would cost more than the lint of a small one.
    :func:`compile_expression` checks, and compiles at once.
    """

    __slots__ = ("_compiled", "_condition", "_scope", "text")

    def __init__(self, text: str, scope: Scope | None = None, *, condition: bool = False) -> None:
        """Take the text as it was written.

        Args:
            text: the expression.
            scope: the names that it may use; None where it has been checked before.
            condition: whether it must be true or false.
        """
        self.text = text
        self._scope = scope
        self._condition = condition
        self._compiled: _Compiled | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names that it reads."""
        return self._ready().names

    def truth(self, names: Mapping[str, object]) -> Truth:
        """Whether the condition holds.

        ``names`` gives each name of the scope its value, and under ``constants`` the
        :class:`~trtlint.model.values.Constants` of the graph, without which ``const`` is unknown.
        A value that is no truth value, as a field of no declared type can be, is unknown.
        """
        return truth((self._compiled or self._ready()).code(names))

    def value(self, names: Mapping[str, object]) -> object:
        """The value, None where it is unknown; ``names`` as for :meth:`truth`."""
        found = self._ready().code(names)
        return None if isinstance(found, Unknown) else found

    def _ready(self) -> _Compiled:
        if self._compiled is None:
            tree = parse(self.text)
            compiler = Compiler(self.text, self._scope)
            _, code = compiler.condition(tree) if self._condition else compiler.visit(tree)
            self._compiled = _Compiled(frozenset(compiler.used), code)
        return self._compiled


def compile_expression(text: str, scope: Scope, *, condition: bool = False) -> Expression:
    """Check and compile an expression; it may span several lines.

    Raises:
        ExpressionError: a syntax error, something that the language does not have, a name or field
            that does not exist, or types that do not go together.
    """
    expression = Expression(text, scope, condition=condition)
    expression._ready()
    return expression
