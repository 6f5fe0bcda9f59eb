"""Facts: what is true of a model, in the words of the field.

Each module of this package whose name does not start with an underscore, ``base`` apart, states
the facts of one kind: it defines one frozen subclass of :class:`~trtlint.facts.base.Fact` with
``kind`` equal to the module's name, and ``find(facts)`` that yields them in graph order.  Adding a
kind of fact means adding a module; nothing is registered anywhere else.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from trtlint.facts.base import Fact
from trtlint.model.load import Model


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of facts there are, sorted."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if name != "base" and not name.startswith("_")))


@cache
def fact_class(kind: str) -> type[Fact]:
    """The class that documents the fields of a kind of fact.

    Raises:
        KeyError: no such kind.
    """
    module = _module(kind)
    for item in vars(module).values():
        if isinstance(item, type) and issubclass(item, Fact) and item.kind == kind:
            return item
    raise KeyError(kind)


def _module(kind: str) -> ModuleType:
    if kind not in kinds():
        raise KeyError(kind)
    return import_module(f"{__name__}.{kind}")


class Facts:
    """The facts of one model, each kind found once and only when asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._found: dict[str, tuple[Fact, ...]] = {}

    def of(self, kind: str) -> tuple[Fact, ...]:
        """All facts of a kind, in graph order.

        Raises:
            KeyError: no such kind.
        """
        if kind not in self._found:
            self._found[kind] = tuple(_module(kind).find(self))
        return self._found[kind]
