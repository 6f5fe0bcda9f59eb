"""Facts: what is true of a model, in the words of the field.

Each module of this package whose name does not start with an underscore, ``base`` apart, states
the facts of one kind: it defines one frozen subclass of :class:`~trtlint.facts.base.Fact` with
``kind`` equal to the module's name, and ``find(facts)`` that yields them in graph order.  Adding a
kind of fact means adding a module; nothing is registered anywhere else.
"""

from __future__ import annotations

import pkgutil
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from trtlint.facts._absent import absent
from trtlint.facts.base import Fact
from trtlint.model.load import Model

if TYPE_CHECKING:
    from trtlint.build.build import Build
    from trtlint.build.join import Join, NodeNames
    from trtlint.buildcommand import BuildCommand


BUILD_KINDS = frozenset({"build", "engine", "engine_attention", "layer", "log_message", "placement"})
"""The kinds that state what a build left behind."""
COMMAND_KINDS = frozenset({"build_command", "flag", "input_shape"})
"""The kinds that state what the build command says.

All other kinds state what the model is.  These are named here, and nowhere else, so that a lint of a
model alone need not import them.
"""

Ground = Literal["model", "build", "command"]
"""What facts are found in."""


def grounds(*, model: bool, build: bool, command: bool) -> frozenset[Ground]:
    """What there is to find facts in."""
    there: dict[Ground, bool] = {"model": model, "build": build, "command": command}
    return frozenset(ground for ground, given in there.items() if given)


def ground_of(kind: str) -> Ground:
    """What facts of a kind are found in."""
    if kind in BUILD_KINDS:
        return "build"
    return "command" if kind in COMMAND_KINDS else "model"


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
    """The facts of one model, each kind found once and only when asked for.

    Args:
        model: the model, None where only what a build of it left behind is known.
        command: the command line that it is built with, None where it is not known.
        build: what a build of it has left behind, None where there is nothing.
    """

    def __init__(
        self, model: Model | None, *, command: BuildCommand | None = None, build: Build | None = None
    ) -> None:
        self.has_model = model is not None
        self.model = absent(Path(build.files[0] if build and build.files else "")) if model is None else model
        self.command = command
        self.build = build
        self._found: dict[str, tuple[Fact, ...]] = {}

    @property
    def grounds(self) -> frozenset[Ground]:
        """What there is to find facts in."""
        return grounds(model=self.has_model, build=self.build is not None, command=self.command is not None)

    def of(self, kind: str) -> tuple[Fact, ...]:
        """All facts of a kind, in graph order.

        Raises:
            KeyError: no such kind.
        """
        if kind not in self._found:
            missing = {"build", "command"} - self.grounds
            self._found[kind] = () if ground_of(kind) in missing else tuple(_module(kind).find(self))
        return self._found[kind]

    @cached_property
    def names(self) -> NodeNames:
        """Finds nodes by the names that the build prints."""
        from trtlint.build.join import NodeNames

        return NodeNames(self.model.graph, None if self.build is None else self.build.log)

    @cached_property
    def joined(self) -> Join | None:
        """The engine's layers and the nodes that are in them; None where no layers are known."""
        from trtlint.build.join import join

        if self.build is None or self.build.layers is None:
            return None
        return join(self.build.layers, self.names, self.build.log)
