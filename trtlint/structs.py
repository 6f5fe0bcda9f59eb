"""Base class of structs with fields that comparison ignores."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct


class PartlyCompared(Struct, frozen=True):
    """A struct with fields that comparison, hash and ``repr`` ignore."""

    _ignored: ClassVar[frozenset[str]]

    def _compared(self) -> dict[str, Any]:
        """Return the fields that comparison uses."""
        names = (name for name in self.__struct_fields__ if name not in self._ignored)
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(tuple(self._compared().values()))

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self._compared().items())
        return f"{type(self).__name__}({', '.join(fields)})"
