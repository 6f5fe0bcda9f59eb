"""What the parts of an expression become: functions of the values that its names have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from trtlint.language.function import Function
from trtlint.language.operations import COMPARISONS, UNKNOWN, Code, Names, element, plain, truth, unknown
from trtlint.target.truth import Truth, negate

CONSTANTS = "constants"
"""Under this name, which is in no scope, expressions find the constants of the graph."""


def joined(codes: list[Code], deciding: bool, join: Callable[..., Truth]) -> Code:
    """Conditions joined by a word: the first that has the deciding value decides."""
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
    """The opposite of a condition."""
    return lambda names: negate(truth(code(names)))


def element_of(many: Code, index: int | str, name: str | None = None) -> Code:
    """The element of what a part gives: mostly the first or second input of an operator.

    Args:
        many: gives the elements.
        index: which one.
        name: the name that the part is, where it is one.
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
    """Whether an item is one of written texts, or none of them; None for another comparison."""
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
    """What a function gives; unknown where what it takes is, or is of the wrong type."""
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
        except (TypeError, AttributeError):  # an argument of no declared type was of the wrong one
            return UNKNOWN
        except (ArithmeticError, ValueError):  # a whole number that is too large to become a fraction
            return UNKNOWN

    return call
