"""The kinds of facts, and the ground (source) of each kind, which is the folder of its module.

This module imports no kind, so that unused kinds cost nothing.
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

Ground = Literal["model", "build", "command", "trial", "weights", "torch", "network"]
"""Sources of facts; ``trtlint/facts/of_<ground>/`` has the kinds of one ground.

``network`` is a network that Torch-TensorRT makes: a second source of some kinds of the model.
"""
NETWORK_KINDS = frozenset({"attention", "constant", "convolution", "normalization"})
"""Kinds of the model that a network of Torch-TensorRT can have, too."""


def grounds(
    *,
    model: bool,
    build: bool,
    command: bool,
    trial: bool = False,
    weights: bool = False,
    torch: bool = False,
    network: bool = False,
) -> frozenset[Ground]:
    """Return the available grounds, such as ``model``.

    ``weights`` is available only if all weights are read.
    """
    there: dict[Ground, bool] = {
        "model": model,
        "build": build,
        "command": command,
        "trial": trial,
        "weights": model and weights,
        "torch": torch,
        "network": network,
    }
    return frozenset(ground for ground, given in there.items() if given)


@cache
def _homes() -> Mapping[str, Ground]:
    """The ground (such as ``model``) of each kind of facts, sorted by kind."""
    found = {}
    for ground in get_args(Ground):
        folder = str(Path(__file__).parent / f"of_{ground}")
        found.update(dict.fromkeys((module.name for module in pkgutil.iter_modules([folder])), ground))
    return dict(sorted(found.items()))


def kinds() -> tuple[str, ...]:
    """Return all kinds of facts, sorted."""
    return tuple(_homes())


def ground_of(kind: str) -> Ground:
    """Return the ground of a kind.

    For other names, such as ``pattern`` in rules, the ground is the model.
    """
    return _homes().get(kind, "model")


def is_available(kind: str, there: frozenset[Ground]) -> bool:
    """Return whether the available grounds can give facts of a kind."""
    return ground_of(kind) in there or ("network" in there and kind in NETWORK_KINDS)


def module_of(kind: str) -> ModuleType:
    """Return the module of a kind.

    Raises:
        KeyError: no such kind.
    """
    return import_module(f"trtlint.facts.of_{_homes()[kind]}.{kind}")


@cache
def fact_class(kind: str) -> type[Fact]:
    """Return the class of a kind, which documents the fields.

    Raises:
        KeyError: no such kind.
    """
    from trtlint.facts.base import Fact

    for item in vars(module_of(kind)).values():
        if isinstance(item, type) and issubclass(item, Fact) and item.kind == kind:
            return item
    raise KeyError(kind)
