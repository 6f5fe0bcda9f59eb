"""Model rewrites, and the proof that each rewrite preserves the results of the model.

Each module of :mod:`trtlint.fixes.rewrites` is one rewrite, and has a function ``propose(fact, model)``.
This function returns a :class:`~trtlint.fixes.patch.Patch` for the nodes that ``fact`` describes. If the
rewrite does not apply to these nodes, the function raises
:class:`~trtlint.fixes.patch.NotApplicable` with the reason. Rule files name a rewrite by its module, with
dashes instead of underscores: ``fuse-norm`` is ``fuse_norm.py``. To add a rewrite, add a module. There is no
registry.
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
    """Return the names of all rewrites, sorted."""
    return tuple(
        sorted(
            module.name.replace("_", "-")
            for module in pkgutil.iter_modules(rewrites.__path__)
            if not module.name.startswith("_")
        )
    )


def proposer(name: str) -> Propose:
    """Return the ``propose`` function of the rewrite ``name``, such as ``fuse-norm``.

    Raises:
        KeyError: there is no such rewrite.
    """
    if name not in names():
        raise KeyError(name)
    propose: Propose = import_module(f"{rewrites.__name__}.{name.replace('-', '_')}").propose
    return propose
