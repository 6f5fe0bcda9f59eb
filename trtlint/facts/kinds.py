"""List the kinds of facts, and the source of each kind.

The source of a kind of facts, such as ``model`` or ``build``, is called its ground.  For example, the folder
``of_model`` contains the modules of the kinds with the ground ``model``.

This module imports the module of a kind only on request.  Unused kinds therefore cost no time.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from trtlint.facts.base import Fact

Ground = Literal["model", "build", "command", "trial", "weights", "torch", "network"]
"""Sources of facts.  The folder ``trtlint/facts/of_<ground>/`` contains the kinds of facts from this source.

The source ``network`` is a network that Torch-TensorRT makes.  In such a network, trtlint finds some kinds of
facts that it also finds in models (see :data:`NETWORK_KINDS`).  The source ``network`` therefore has no
folder.
"""
NETWORK_KINDS = frozenset({"attention", "constant", "convolution", "normalization"})
"""The kinds of facts that trtlint finds in ONNX models and in networks of Torch-TensorRT."""


@cache
def _homes() -> Mapping[str, Ground]:
    """Return the source of each kind of facts, such as ``model``, sorted by kind."""
    found = {}
    for ground in get_args(Ground):
        folder = str(Path(__file__).parent / f"of_{ground}")
        found.update(dict.fromkeys((module.name for module in pkgutil.iter_modules([folder])), ground))
    return dict(sorted(found.items()))


def kinds() -> tuple[str, ...]:
    """Return the names of all kinds of facts, sorted."""
    return tuple(_homes())


def ground_of(kind: str) -> Ground:
    """Return the source of a kind of facts, such as ``model``.

    For a name that is not a kind of facts, such as ``pattern``, the function returns ``model``.
    """
    return _homes().get(kind, "model")


def available_grounds(
    evidence: Iterable[frozenset[Ground]], *, model: bool, command: bool, weights: bool
) -> frozenset[Ground]:
    """Return the available sources of facts.

    Args:
        evidence: the sources that each piece of evidence provides.
        model: whether there is a model.
        command: whether there is a build command.
        weights: whether to read the weights of the model.
    """
    given: dict[Ground, bool] = {"model": model, "command": command, "weights": model and weights}
    return frozenset(ground for ground, there in given.items() if there).union(*evidence)


def is_available(kind: str, there: frozenset[Ground]) -> bool:
    """Return whether trtlint can search for the facts of a kind.

    ``there`` contains the available sources of facts.  The result is True if at least one of these sources
    provides the facts of this kind.
    """
    return ground_of(kind) in there or ("network" in there and kind in NETWORK_KINDS)


def module_of(kind: str) -> ModuleType:
    """Import and return the module that finds the facts of a kind.

    Raises:
        KeyError: no such kind.
    """
    return import_module(f"trtlint.facts.of_{_homes()[kind]}.{kind}")


@cache
def fact_class(kind: str) -> type[Fact]:
    """Return the class of a kind of facts.  The docstring of the class documents the fields.

    Raises:
        KeyError: no such kind.
    """
    from trtlint.facts.base import Fact

    for item in vars(module_of(kind)).values():
        if isinstance(item, type) and issubclass(item, Fact) and item.kind == kind:
            return item
    raise KeyError(kind)
