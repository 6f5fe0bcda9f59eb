"""Base class of facts about Torch-TensorRT scripts and exported programs."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.knowledge.torchreleases import torch_release


class TorchFact(Fact, frozen=True):
    """A fact that is true for one release of Torch-TensorRT.

    Attributes:
        release: the release of Torch-TensorRT, such as ``2.13.0``.
    """

    release: str

    @property
    def scope(self) -> str:
        """The release of Torch-TensorRT for which the fact is true, as a text for reports."""
        return torch_release(self.release).product
