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
    from dataclasses import MISSING, FrozenInstanceError
    from functools import cache
    from operator import attrgetter

    def dataclass(*, frozen=False, slots=False, init=True, eq=True):
        """As :func:`dataclasses.dataclass`; a frozen class must have slots."""
        if not frozen:
            return dataclasses.dataclass(init=init, eq=eq, slots=slots)

        def decorate(cls):
            own = vars(cls)
            assert slots or "__slots__" in own
            made = dataclasses.dataclass(init=False, eq=False, repr=False, slots=slots)(cls)
            if init:
                made.__init__ = _init(made)
            made.__setattr__ = made.__delattr__ = _refuse
            made.__getstate__, made.__setstate__ = _state, _restore
            if eq:
                made.__eq__ = _equal
                made.__hash__ = _hash
            if "__repr__" not in own:
                made.__repr__ = _repr
            return made

        return decorate

    def _init(cls):
        """An ``__init__`` that sets the fields past ``__setattr__``, which refuses to."""
        names = {"_set": object.__setattr__, "_missing": MISSING}
        parameters, lines = ["self"], []
        for field in dataclasses.fields(cls):
            name = value = field.name
            if not field.init:
                continue
            if field.default_factory is not MISSING:
                names[f"_{name}"] = field.default_factory
                parameters.append(f"{name}=_missing")
                value = f"_{name}() if {name} is _missing else {name}"
            elif field.default is not MISSING:
                names[f"_{name}"] = field.default
                parameters.append(f"{name}=_{name}")
            else:
                parameters.append(name)
            lines.append(f" _set(self, {name!r}, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines, " pass"]), names)
        made = names["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _refuse(self, name, *_):
        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _restore(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

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
