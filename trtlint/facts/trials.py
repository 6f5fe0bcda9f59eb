"""What was found out of one model by running it."""

from __future__ import annotations

from trtlint.dry_build.result import DryBuild
from trtlint.lean import dataclass
from trtlint.measure.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Trials:
    """What was tried, each None where it was not.

    Attributes:
        dry: what NVIDIA's parser and builder say of it.
        notes: what a person has to know of these trials: how they came about, or why there are none.
        measurement: the ranges of its tensors, and what a narrow type does to its outputs.
    """

    dry: DryBuild | None = None
    notes: tuple[str, ...] = ()
    measurement: Measurement | None = None
