"""Replace the calls of model-local functions by the operators of the functions."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.load import Model


def propose(_fact: Fact, model: Model) -> Patch:
    """Create a patch without changes.

    trtlint inlines all functions before it applies patches. So writing the model is enough.
    """
    if not model.calls:
        raise NotApplicable("the model calls no model-local function")
    count = f"{len(model.calls)} functions" if len(model.calls) > 1 else f"the function {model.calls[0].name}"
    return Patch(f"replaces each call of {count} by the operators of the called function", (), ())
