"""Base class of facts about Torch-TensorRT scripts and exported programs."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.knowledge.torchreleases import torch_release
from trtlint.model.origin import Origin
from trtlint.model.source import Source


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


def line_of(origin: Origin) -> str:
    """Return the path and the line of a script, or an empty text if ``origin`` has no line."""
    return "" if origin.source is None else f"{origin.source.path}:{origin.source.line}"


def origin_at(source: str, line: int) -> Origin:
    """Return the origin of a fact: the line ``line`` of the script ``source``.

    If ``source`` is empty, because the user gave a call as text, the origin has no line.
    """
    return Origin(source=Source(source, line, found=True)) if source else Origin()
