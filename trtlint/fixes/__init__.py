"""Rewrites of a model, and the proof that each leaves it what it was.

Each module of :mod:`trtlint.fixes.rewrites` is one rewrite: ``propose(fact, model)`` returns a
:class:`~trtlint.fixes.patch.Patch` for the place that a fact is about, or raises
:class:`~trtlint.fixes.patch.NotApplicable` with the reason.  A rule names it in its advice by the module's
name with dashes; adding a rewrite means adding a module, nothing is registered anywhere else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from trtlint.fixes import rewrites

if TYPE_CHECKING:
    from trtlint.facts.base import Fact
    from trtlint.fixes.patch import Patch
    from trtlint.model.load import Model

Propose: TypeAlias = "Callable[[Fact, Model], Patch]"


@cache
def names() -> tuple[str, ...]:
    """The names of the rewrites there are, sorted."""
    return tuple(
        sorted(
            module.name.replace("_", "-")
            for module in pkgutil.iter_modules(rewrites.__path__)
            if not module.name.startswith("_")
        )
    )


def proposer(name: str) -> Propose:
    """What proposes the patches of a rewrite.

    Raises:
        KeyError: no such rewrite.
    """
    if name not in names():
        raise KeyError(name)
    propose: Propose = import_module(f"{rewrites.__name__}.{name.replace('-', '_')}").propose
    return propose
