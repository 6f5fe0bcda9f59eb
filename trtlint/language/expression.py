"""Expressions in rules: Python's syntax with three-valued logic, checked before use.

The language:
- ``and``, ``or``, ``not``, ``a if c else b``, parentheses
- ``== != < <= > >=``, also chained; ``in`` and ``not in`` with tuples, text and fields
- ``+ - * / // % **`` on numbers
- numbers, text, ``True``, ``False``, tuples; ``x[0]`` and ``x[-1]``; fields with a dot
- calls of :data:`~trtlint.language.functions.FUNCTIONS`

An expression is parsed with :mod:`ast`, checked against the annotations of its names and fields, and compiled
to closures once. Nothing is passed to ``eval``. Any syntax outside this list, such as names with underscores,
lambdas, comprehensions and f-strings, is rejected with an error that names the column. Length, depth and the
size of numbers are limited. So an untrusted rule file can neither run code nor hang.

A field that is None is unknown. Every result that depends on an unknown field is unknown, too. For example, a
comparison with the field is unknown: its result is neither False nor an error. The results of a division by
zero and of an index beyond the end are unknown, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trtlint.language.compiler import Compiler
from trtlint.language.functions import FUNCTIONS
from trtlint.language.operations import Code, truth
from trtlint.language.syntax import ExpressionError, parse
from trtlint.target.truth import Truth, Unknown

__all__ = ["Expression", "ExpressionError", "Scope", "compile_expression"]


_SEES_UNKNOWN = tuple(f"{name}(" for name, function in FUNCTIONS.items() if function.sees_unknown)
Scope = Mapping[str, Any]
"""The names that an expression may use, and the type of each name: a class or another annotation."""


class _CompiledExpression(Struct, frozen=True):
    names: frozenset[str]
    code: Code


class Expression:
    """An expression in a rule. The expression is compiled on first use.

    In most models, most rules find no facts, so trtlint never evaluates the conditions of these rules.
    Compiling and checking the conditions of all rules would cost more than linting a small model.
    :func:`compile_expression` checks and compiles an expression immediately.
    """

    __slots__ = ("_compiled", "_condition", "_scope", "text")

    def __init__(self, text: str, scope: Scope | None = None, *, condition: bool = False) -> None:
        """Store the expression, without compiling it.

        Args:
            text: the expression.
            scope: the names that the expression may use; None to skip the check of names, for an expression
                that was already checked.
            condition: true if the expression must be a condition.
        """
        self.text = text
        self._scope = scope
        self._condition = condition
        self._compiled: _CompiledExpression | None = None

    @property
    def sees_unknown(self) -> bool:
        """True if a function of the expression, such as ``known``, gives a result for an unknown value.

        With such a function, the argument of :meth:`truth` must contain the value of every name. If a value
        is missing, the result may be wrong instead of unknown.
        """
        return any(call in self.text for call in _SEES_UNKNOWN)

    @property
    def names(self) -> frozenset[str]:
        """Return the names that the expression reads."""
        return self._ready().names

    def truth(self, names: Mapping[str, object]) -> Truth:
        """Return whether the condition is true.

        Args:
            names: the value of each name in the scope.  The key ``constants`` has the
                :class:`~trtlint.model.values.Constants` of the graph; without this key, the result of the
                function ``const`` is unknown.

        Returns:
            The truth value. If the value of the expression is unknown, or is neither true nor false, the
            truth value is unknown. For example, a field without a declared type can hold a number.
        """
        return truth((self._compiled or self._ready()).code(names))

    def value(self, names: Mapping[str, object]) -> object:
        """Return the value of the expression, or None if the value is unknown.

        ``names`` has the same entries as for :meth:`truth`.
        """
        found = self._ready().code(names)
        return None if isinstance(found, Unknown) else found

    def _ready(self) -> _CompiledExpression:
        if self._compiled is None:
            tree = parse(self.text)
            compiler = Compiler(self.text, self._scope)
            _, code = compiler.condition(tree) if self._condition else compiler.visit(tree)
            self._compiled = _CompiledExpression(frozenset(compiler.used), code)
        return self._compiled


def compile_expression(text: str, scope: Scope, *, condition: bool = False) -> Expression:
    """Check and compile an expression immediately. The text may have several lines.

    Raises:
        ExpressionError: the syntax is wrong or unsupported, a name or field is unknown, or types do not
            match.
    """
    expression = Expression(text, scope, condition=condition)
    expression._ready()
    return expression
