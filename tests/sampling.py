"""Which of many real models a test looks at: ``TRTLINT_ALL_MODELS=1`` takes every one instead of a sample."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

_Model = TypeVar("_Model")

EVERY = bool(os.environ.get("TRTLINT_ALL_MODELS"))
_ONE_OF = 7
"""They are families of much the same; a number prime to the variants of one meets all of them."""


def sample(models: Sequence[_Model]) -> Sequence[_Model]:
    """All models, or one of so many."""
    return models if EVERY else models[::_ONE_OF]
