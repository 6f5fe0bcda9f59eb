"""Base class of evidence for Torch-TensorRT: scripts and exported programs."""

from __future__ import annotations

from msgspec import Struct

from trtlint.engine.evidence.base import Evidence, Question, Verdict
from trtlint.facts.kinds import ground_of


class TorchEvidence(Evidence, Struct, frozen=True):
    """A script or exported program for Torch-TensorRT, as evidence.

    There is no other evidence about this script or program.
    """

    kind = "torch_tensorrt"
    grounds = frozenset({"torch"})

    def states(self, fact: str) -> bool:
        """Return whether facts of this kind come from this file."""
        return ground_of(fact) == "torch"

    def judge(self, question: Question) -> Verdict | None:  # noqa: ARG002
        """Return None. All facts come from this file, so the file cannot confirm or refute a finding."""
        return None
