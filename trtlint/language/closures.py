"""Build closures that compute the parts of an expression.

A closure is a function. Its argument is a mapping with the value of each name in the expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from trtlint.language.function import Function
from trtlint.language.operations import COMPARISONS, UNKNOWN, Code, Names, element, plain, truth, unknown
from trtlint.target.truth import Truth, negate

CONSTANTS = "constants"
"""Key for the graph's constants in the mapping of names to values.

No expression can use this key as a name.
"""


def joined(codes: list[Code], deciding: bool, join: Callable[..., Truth]) -> Code:
    """Return a closure that joins conditions with ``and`` or ``or``.

    Args:
        codes: the conditions.
        deciding: False for ``and``, True for ``or``. If one condition has this truth value, the result has
            this truth value.
        join: function that combines the unknown conditions. The closure calls this function if some
            conditions are unknown and no other condition decides the result.
    """
    other = not deciding

    def decided(names: Names) -> Truth:
        found: list[Truth] = []
        for code in codes:
            part = code(names)
            if part is deciding:
                return deciding
            if part is not other:
                found.append(truth(part))
        return join(*found) if found else other

    return decided


def negated(code: Code) -> Code:
    """Return a closure for ``not``: the opposite of a condition."""
    return lambda names: negate(truth(code(names)))


def element_of(many: Code, index: int | str, name: str | None = None) -> Code:
    """Return a closure that takes one element of a tuple or mapping, such as ``inputs[0]``.

    Args:
        many: closure that computes the tuple or mapping.
        index: the index or key.
        name: the name of the tuple, if ``many`` only reads this name; else None. The closure is faster if the
            name is given.
    """
    if name is None or type(index) is not int or index < 0:
        return lambda names: element(many(names), index)

    def found(names: Names) -> object:
        owner = names.get(name)
        if type(owner) is tuple and index < len(owner):
            return plain(owner[index])
        return element(plain(owner), index)

    return found


def among(item: Code, node: ast.Compare) -> Code | None:
    """Return a closure for ``x in ('a', 'b')`` or ``x not in ('a', 'b')``.

    The result is None if the comparison has another form, or if an element is not a literal text.
    """
    operation, (many,) = node.ops[0], node.comparators
    if not (isinstance(operation, ast.In | ast.NotIn) and isinstance(many, ast.Tuple)):
        return None
    texts = frozenset(part.value for part in many.elts if isinstance(part, ast.Constant))
    if len(texts) < len(many.elts) or not all(isinstance(text, str) for text in texts):
        return None
    compare, wanted = COMPARISONS[type(operation).__name__], isinstance(operation, ast.In)
    written = tuple(texts)

    def found(names: Names) -> object:
        one = item(names)
        return (one in texts) is wanted if type(one) is str else compare(one, written)

    return found


def calling(function: Function, codes: list[Code], named: Mapping[str, Code]) -> Code:
    """Return a closure that calls a function of the rule language.

    The result of the closure is unknown if an argument is unknown or has the wrong type.
    """
    compute, sees_unknown = function.call, function.sees_unknown

    def call(names: Names) -> object:
        arguments = [code(names) for code in codes]
        options = {name: code(names) for name, code in named.items()} if named else {}
        if not sees_unknown:
            missing = unknown(*arguments, *options.values())
            if missing is not None:
                return missing
        try:
            return plain(compute(names.get(CONSTANTS), *arguments, **options))
        except (TypeError, AttributeError):  # an argument without a declared type had a wrong type
            return UNKNOWN
        except (ArithmeticError, ValueError):  # an integer is too large to become a fraction
            return UNKNOWN

    return call
