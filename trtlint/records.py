"""Frozen dataclasses that cost little to define.

The standard library writes and compiles six functions for each frozen dataclass, which takes most of a
millisecond (https://docs.python.org/3/library/dataclasses.html); a lint of a small model defines a
hundred of them and would spend a tenth of its time on that.  All but ``__init__`` are the same for all
classes, so that here they are shared.

To type checkers :func:`dataclass` is the one of the standard library; ``fields``, ``replace`` and the
like work on its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from dataclasses import FrozenInstanceError
    from functools import cache
    from operator import attrgetter

    def dataclass(*, frozen=False, slots=False, init=True, eq=True):
        """As :func:`dataclasses.dataclass`; a field of a frozen class, which has slots, is set just once."""
        if not frozen:
            return dataclasses.dataclass(init=init, eq=eq, slots=slots)

        def decorate(cls):
            own = vars(cls)
            assert slots or "__slots__" in own
            made = dataclasses.dataclass(init=init, eq=False, repr=False, slots=slots)(cls)
            made.__setattr__ = _set_once
            made.__delattr__ = _refuse
            if eq:
                made.__eq__ = _equal
                made.__hash__ = _hash
            if "__repr__" not in own:
                made.__repr__ = _repr
            return made

        return decorate

    def _set_once(self, name, value):
        if hasattr(self, name):
            _refuse(self, name)
        object.__setattr__(self, name, value)

    def _refuse(self, name):
        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = _values(self.__class__)
        return values(self) == values(other)

    def _hash(self):
        return hash(_values(self.__class__)(self))

    def _repr(self):
        shown = [field.name for field in dataclasses.fields(self) if field.repr]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @cache
    def _values(cls):
        """Reads from an instance of the class what is compared."""
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        return attrgetter(*names) if names else lambda _: ()
