"""Three-valued logic: a condition is true, false, or unknown.

This is Kleene's strong logic (https://plato.stanford.edu/entries/logic-manyvalued/#KleSys): an unknown
operand makes the result unknown only if the operand can change the result.  Each unknown value has two sets
of command-line options.  Options in the first set could make the value true.  Options in the second set could
make the value false.  Reports name these options.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import force_setattr


class Unknown(Struct, frozen=True):
    """A value that is neither true nor false.

    Attributes:
        needs: command-line options that could make the value true; empty if there are no such options.
        refutes: command-line options that could make the value false; by default, the options in ``needs``.
    """

    needs: frozenset[str] = frozenset()
    refutes: frozenset[str] = None  # type: ignore[assignment]  # __post_init__ sets it

    def __post_init__(self) -> None:
        if self.refutes is None:
            force_setattr(self, "refutes", self.needs)

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; compare with `is True` or `is False`")


Truth = bool | Unknown


def negate(truth: Truth) -> Truth:
    """Return the opposite of a truth value. The opposite of unknown is unknown."""
    if isinstance(truth, Unknown):
        return truth if truth.needs == truth.refutes else Unknown(truth.refutes, truth.needs)
    return not truth


def both(*truths: Truth) -> Truth:
    """Combine truth values with "and".

    The result is False if one value is False, True if all are True, else unknown.  If there are no values,
    the result is True.
    """
    unknown = []
    for truth in truths:
        if truth is False:
            return False
        if isinstance(truth, Unknown):
            unknown.append(truth)
    if not unknown:
        return True
    first = unknown[0]
    if all(part is first for part in unknown):
        return first
    # All values must become true. This is impossible if one of them cannot become true.
    reachable = all(part.needs for part in unknown)
    needs: frozenset[str] = frozenset().union(*(part.needs for part in unknown))
    refutes: frozenset[str] = frozenset().union(*(part.refutes for part in unknown))
    return Unknown(needs if reachable else frozenset(), refutes)


def either(*truths: Truth) -> Truth:
    """Combine truth values with "or".

    The result is True if one value is True, False if all are False, else unknown.  If there are no values,
    the result is False.
    """
    return negate(both(*map(negate, truths)))
