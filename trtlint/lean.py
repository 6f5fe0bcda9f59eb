"""Dataclasses that cost a third to make: a lint loads more than a hundred of them.

:func:`dataclasses.dataclass` compiles six methods of each class from text, which was a seventh of all that
a lint of a small model did.  Here one is compiled, ``__init__``; what compares, hashes and shows is shared.
That nothing is assigned to a field of a frozen one is left to the checker of types, for which this is the
original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter
    from reprlib import recursive_repr

    def dataclass(*, frozen=False, slots=False, init=True, eq=True):
        """Make a class a dataclass, as :func:`dataclasses.dataclass` does with the same arguments.

        Args:
            frozen: whether nothing may be assigned to its fields, so that those that are equal hash alike.
            slots: whether it has slots.
            init: whether it is made from its fields.
            eq: whether two with equal fields are equal.
        """

        def made(cls):
            own = dataclasses.dataclass(slots=slots, init=init, repr=False, eq=False)(cls)
            if "__repr__" not in vars(own):
                own.__repr__ = _shown
            if eq and "__eq__" not in vars(own):
                _compare(own, hashed=frozen)
            return own

        return made

    def _compare(cls, *, hashed):
        """Let two of a class be equal if all is that counts of them."""
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
