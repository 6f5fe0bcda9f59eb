"""The proof of one patch."""

from __future__ import annotations

from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Patch
from trtlint.fixes.proof import prove_all
from trtlint.model.load import Model


def prove(model: Model, patch: Patch) -> Proof:
    """Return the proof of a patch."""
    return prove_all(model, [patch])[0]
