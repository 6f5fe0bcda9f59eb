"""Three-valued operations on values, for the closures of expressions.

A value is plain Python data or :class:`~trtlint.target.truth.Unknown`.  No operation raises, and
the size of every result is bounded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trtlint.target.truth import Truth, Unknown, both, either, negate

Names = Mapping[str, object]
Code = Callable[[Names], object]

UNKNOWN = Unknown()
_MAX_BITS = 4_096
_PLAIN = frozenset({bool, int, float, str, tuple, Unknown})
# These are tuples, because a union would be built again at every check.
_NUMBERS = (int, float)
_TRUTHS = (bool, Unknown)
_SEQUENCES = (tuple, list)
_CONTAINERS = (*_SEQUENCES, frozenset, set, Mapping)
_ATOMS = frozenset({str, bool, int})
"""Types whose values are compared with Python's operators directly. Most conditions use these types."""


def plain(value: Any) -> Any:
    """Convert the value of a field for operations.

    None becomes unknown, and a NumPy number becomes a Python number.
    """
    cls = type(value)
    if cls in _PLAIN:
        return value
    if value is None:
        return UNKNOWN
    return value.item() if cls.__module__ == "numpy" and value.shape == () else value


def unknown(*values: object) -> Unknown | None:
    """Combine the unknown values among ``values``. Return None if all are known."""
    missing = [value for value in values if isinstance(value, Unknown)]
    if not missing:
        return None
    found = both(*missing)
    return found if isinstance(found, Unknown) else None


def undecided(*values: object) -> Unknown:
    """Return the unknown result of an operation whose operands do not determine the result."""
    found = unknown(*values)
    return UNKNOWN if found is None else found


def truth(value: object) -> Truth:
    """Convert a value to a truth value.  A value that is neither True nor False becomes unknown."""
    return value if isinstance(value, _TRUTHS) else UNKNOWN


def is_number(value: object) -> bool:
    """Return whether a value is a number.  True and False are not numbers."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def equal(left: object, right: object) -> Truth:
    """Return whether two values are equal. The result for values of different types is unknown.

    For example, the size 64 and the dimension name ``N`` may be equal at run time.
    """
    if type(left) is type(right) and type(left) in _ATOMS:
        return left == right
    missing = unknown(left, right)
    if missing is not None:
        return missing
    if isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
        if len(left) != len(right):
            return False
        return both(*(equal(plain(a), plain(b)) for a, b in zip(left, right, strict=True)))
    alike = is_number(left) and is_number(right)
    for cls in (bool, str, frozenset | set):
        alike = alike or (isinstance(left, cls) and isinstance(right, cls))
    if alike or (isinstance(left, Struct) and type(left) is type(right)):
        return bool(left == right)
    return True if left is right else _apart(left, right)


def _apart(left: object, right: object) -> Truth:
    """Return False for two different nodes or graph values, and unknown for other values."""
    return False if type(left) is type(right) and type(left).__hash__ is object.__hash__ else UNKNOWN


def unequal(left: object, right: object) -> Truth:
    """Return the opposite of :func:`equal`."""
    return negate(equal(left, right))


def contained(item: object, many: object) -> Truth:
    """Return whether a tuple, set, mapping or text contains an item."""
    if isinstance(many, Unknown):
        return many
    if isinstance(many, str):
        return item in many if isinstance(item, str) else undecided(item)
    if type(item) in _ATOMS and type(many) is tuple and {type(item)}.issuperset(map(type, many)):
        return item in many
    if isinstance(many, _CONTAINERS):
        return either(*(equal(item, plain(other)) for other in many))
    return UNKNOWN


def not_contained(item: object, many: object) -> Truth:
    """Return the opposite of :func:`contained`."""
    return negate(contained(item, many))


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], Truth]:
    def ordered(left: object, right: object) -> Truth:
        if type(left) is int and type(right) is int:
            return compare(left, right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return undecided(left, right)
        if is_number(left) and is_number(right):
            return compare(left, right)
        if _numbers(left) and _numbers(right):
            return compare(left, right)
        return undecided(left, right)

    return ordered


def _numbers(value: object) -> bool:
    """Return whether a value is a tuple of numbers, such as a release number."""
    return isinstance(value, tuple) and all(is_number(item) for item in value)


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[object, object], object]:
    def computed(left: object, right: object) -> object:
        if not (is_number(left) and is_number(right)):
            return undecided(left, right)
        try:
            found = compute(left, right)
        except (ArithmeticError, ValueError):
            return UNKNOWN
        if isinstance(found, int) and found.bit_length() > _MAX_BITS:
            return UNKNOWN
        return found if is_number(found) else UNKNOWN  # the root of a negative number is complex

    return computed


def _power(base: float, exponent: float) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent <= _MAX_BITS:
        if base.bit_length() * exponent <= _MAX_BITS:
            return base**exponent
        raise OverflowError
    return float(base) ** float(exponent)


COMPARISONS: Mapping[str, Callable[[object, object], Truth]] = {
    "Eq": equal,
    "NotEq": unequal,
    "Lt": _ordering(operator.lt),
    "LtE": _ordering(operator.le),
    "Gt": _ordering(operator.gt),
    "GtE": _ordering(operator.ge),
    "In": contained,
    "NotIn": not_contained,
}
"""Functions for comparisons, by the class name of the operator in :mod:`ast`."""

ARITHMETIC: Mapping[str, Callable[[object, object], object]] = {
    "Add": _arithmetic(operator.add),
    "Sub": _arithmetic(operator.sub),
    "Mult": _arithmetic(operator.mul),
    "Div": _arithmetic(operator.truediv),
    "FloorDiv": _arithmetic(operator.floordiv),
    "Mod": _arithmetic(operator.mod),
    "Pow": _arithmetic(_power),
}
"""Functions for arithmetic, by the class name of the operator in :mod:`ast`."""


def element(many: object, index: object) -> object:
    """Return an element of a tuple or mapping, or unknown if no element has this index or key."""
    if isinstance(many, _SEQUENCES):
        inside = isinstance(index, int) and -len(many) <= index < len(many)
        return plain(many[index]) if inside else UNKNOWN  # type: ignore[call-overload]
    if isinstance(many, Unknown):
        return many
    if isinstance(many, Mapping) and isinstance(index, str):
        return plain(many.get(index))
    return UNKNOWN


def negative(value: object) -> object:
    """Return a number with the opposite sign."""
    return -value if is_number(value) else undecided(value)  # type: ignore[operator]
