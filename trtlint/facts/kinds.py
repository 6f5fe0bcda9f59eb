"""The kinds of facts there are, and what each is found in: the folder that its module lies in.

Nothing of a model is imported here, so that what is not looked for costs nothing.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from trtlint.facts.base import Fact

Ground = Literal["model", "build", "command", "trial", "weights", "torch"]
"""What facts are found in; those of one ground are the modules of ``trtlint/facts/of_<ground>/``."""


def grounds(
    *,
    model: bool,
    build: bool,
    command: bool,
    trial: bool = False,
    weights: bool = False,
    torch: bool = False,
) -> frozenset[Ground]:
    """What there is to find facts in; in weights only where all of them are to be read."""
    there: dict[Ground, bool] = {
        "model": model,
        "build": build,
        "command": command,
        "trial": trial,
        "weights": model and weights,
        "torch": torch,
    }
    return frozenset(ground for ground, given in there.items() if given)


@cache
def _homes() -> Mapping[str, Ground]:
    """The ground of each kind, kinds sorted."""
    found = {}
    for ground in get_args(Ground):
        folder = str(Path(__file__).parent / f"of_{ground}")
        found.update(dict.fromkeys((module.name for module in pkgutil.iter_modules([folder])), ground))
    return dict(sorted(found.items()))


def kinds() -> tuple[str, ...]:
    """The kinds of facts there are, sorted."""
    return tuple(_homes())


def ground_of(kind: str) -> Ground:
    """What facts of a kind are found in.

    What is no kind, such as the patterns of rules, is found in the model.
    """
    return _homes().get(kind, "model")


def module_of(kind: str) -> ModuleType:
    """The module that states the facts of a kind.

    Raises:
        KeyError: no such kind.
    """
    return import_module(f"trtlint.facts.of_{_homes()[kind]}.{kind}")


@cache
def fact_class(kind: str) -> type[Fact]:
    """The class that documents the fields of a kind of fact.

    Raises:
        KeyError: no such kind.
    """
    from trtlint.facts.base import Fact

    for item in vars(module_of(kind)).values():
        if isinstance(item, type) and issubclass(item, Fact) and item.kind == kind:
            return item
    raise KeyError(kind)
