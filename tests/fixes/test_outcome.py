"""What was done to a model, in words."""

from __future__ import annotations

from trtlint.fixes.outcome import AppliedFix, Proof, proofs


def test_what_was_not_proven_is_not_hidden_behind_what_was() -> None:
    told = [Proof(True, "4 sets", {}), Proof(None, "no shape", {}), Proof(True, "8 sets", {}), None]
    members = [AppliedFix("ACC102", "error", "scale-on-query", "safe", "n", "does", proof) for proof in told]
    assert list(proofs(members)) == ["4 sets (+1 more)", "no shape"]
    assert not list(proofs(members[-1:]))
