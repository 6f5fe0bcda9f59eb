"""The expressions of a rule: Python's syntax, three-valued, checked when the rule is loaded.

An expression is parsed with :mod:`ast`, every name and field in it is checked against the
annotations of what it may read, and it is turned into closures once.  Nothing is ever handed to
``eval``: what is not listed here (calls of anything but :data:`~trtlint.engine.functions.FUNCTIONS`,
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
from dataclasses import dataclass
from typing import Any

from trtlint.engine.compiler import Compiler
from trtlint.engine.fieldtypes import Kinds
from trtlint.engine.operations import Code
from trtlint.engine.syntax import ExpressionError, parse
from trtlint.engine.truth import Truth, Unknown

__all__ = ["Expression", "ExpressionError", "compile_expression"]


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A compiled expression.

    Attributes:
        text: as it was written.
        kinds: the types its value can have.
        names: the names it reads.
    """

    text: str
    kinds: Kinds
    names: frozenset[str]
    code: Code

    def truth(self, names: Mapping[str, object]) -> Truth:
        """Whether the condition holds.

        ``names`` gives each name of the scope its value, and under ``constants`` the
        :class:`~trtlint.model.values.Constants` of the graph, without which ``const`` is unknown.
        A value that is no truth value, as a field of no declared type can be, is unknown.
        """
        found = self.code(names)
        return found if isinstance(found, bool | Unknown) else Unknown()

    def value(self, names: Mapping[str, object]) -> object:
        """The value, None where it is unknown; ``names`` as for :meth:`truth`."""
        found = self.code(names)
        return None if isinstance(found, Unknown) else found


def compile_expression(text: str, scope: Mapping[str, Any], *, condition: bool = False) -> Expression:
    """Check and compile an expression.

    Args:
        text: the expression; it may span several lines.
        scope: the names it may use, each with its type: a class or another annotation.
        condition: whether the result must be true or false.

    Raises:
        ExpressionError: a syntax error, something that the language does not have, a name or field
            that does not exist, or types that do not go together.
    """
    tree = parse(text)
    compiler = Compiler(text, scope)
    kinds, code = compiler.condition(tree) if condition else compiler.visit(tree)
    return Expression(text, kinds, frozenset(compiler.used), code)
