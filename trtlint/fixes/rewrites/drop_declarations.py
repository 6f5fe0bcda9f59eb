"""Remove each declared type that contradicts the operator that computes the value."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.retype import contradictions


def propose(_fact: Fact, model: Model) -> Patch:
    """Create a patch that removes all declared types that contradict an operator of the model."""
    names = tuple(value.name for value, _ in contradictions(model.graph))
    if not names:
        raise NotApplicable("no declared type differs from the type that the operator returns")
    count = f"{len(names)} declared types" if len(names) > 1 else "a declared type"
    return Patch(f"removes {count}", (), (), retyped=names)
