"""A fast dataclass decorator: making a class takes a third of the time.

A lint loads more than a hundred dataclasses.  :func:`dataclasses.dataclass` compiles six methods of each
from text, which took a seventh of the time for a small model.  Here only ``__init__`` is compiled;
comparison, hash and representation are shared functions.  Assignment to a field of a frozen dataclass is not
prevented at run time.  The type checker prevents it, because it sees the original decorator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["fast_dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:
    import dataclasses
    from operator import attrgetter
    from reprlib import recursive_repr

    def fast_dataclass(*, frozen=False, slots=False, init=True, eq=True):
        """Make a class a dataclass, like :func:`dataclasses.dataclass` with the same arguments.

        Args:
            frozen: whether fields are constant, so that equal instances have equal hashes.
            slots: whether to add ``__slots__``.
            init: whether to add ``__init__``.
            eq: whether instances with equal fields are equal.
        """

        def decorate(cls):
            own = dataclasses.dataclass(slots=slots, init=init, repr=False, eq=False)(cls)
            if "__repr__" not in vars(own):
                own.__repr__ = _shown
            if eq and "__eq__" not in vars(own):
                _compare(own, hashed=frozen)
            return own

        return decorate

    def _compare(cls, *, hashed):
        """Add ``__eq__`` and ``__hash__`` over the fields that take part in comparison."""
        names = [each.name for each in dataclasses.fields(cls) if each.compare]
        compared = attrgetter(*names) if names else lambda _: ()

        def equal(self, other):
            return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

        cls.__eq__ = equal
        if "__hash__" not in vars(cls):
            cls.__hash__ = (lambda self: hash(compared(self))) if hashed else None

    @recursive_repr()
    def _shown(self):
        shown = (
            f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr
        )
        return f"{type(self).__qualname__}({', '.join(shown)})"
