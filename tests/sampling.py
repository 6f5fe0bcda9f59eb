"""Samples of test inputs, mostly real models (``TRTLINT_ALL_MODELS=1`` selects all)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

EVERY = bool(os.environ.get("TRTLINT_ALL_MODELS"))
_ONE_OF = 7
"""Prime to the number of variants in a family of similar models, so that samples include all variants."""


def sample(items: Sequence[_Item], one_of: int = _ONE_OF) -> Sequence[_Item]:
    """Return all items, or one in every ``one_of``."""
    return items if EVERY else items[::one_of]
