"""What is to be asked of NVIDIA's parser and builder, as data that can go to another process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.dry_build.result import Level
from trtlint.engine.evidence.base import Evidence
from trtlint.facts.kinds import Ground
from trtlint.lean import dataclass
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.dry_build.shapes import Given
    from trtlint.network.compare import CompareRequest
    from trtlint.process.spawn import Limits


@dataclass(frozen=True, slots=True)
class DryJob:
    """What is to be asked of NVIDIA's parser and builder about one model.

    Attributes:
        version: the release of TensorRT-RTX.
        folder: where its wheels are, None for the packages of the Python that does it.
        level: how far to go.
        shapes: what inputs are to be built for.
        limits: what one process may take.
        kept: the folder of the cache, None to keep nothing.
        logs: the folder that the user wants logs in, None for none.
        compare: what to compare the parsed network with the model on, None for no comparison.
    """

    version: str
    folder: str | None
    level: Level
    shapes: tuple[Given, ...]
    limits: Limits
    kept: Path | None = None
    logs: Path | None = None
    compare: CompareRequest | None = None

    @property
    def grounds(self) -> frozenset[Ground]:
        """The grounds that the dry builds will let facts be found in."""
        return frozenset({"build", "trial"})

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Make the dry builds, one for each GPU among the targets.

        Raises:
            WheelError: the wheels are not there.
            InputsError: the inputs for a comparison do not fit the model.
        """
        from trtlint.runs.dry import gathered

        return gathered(self, model, targets)

    def elsewhere(self) -> DryJob:
        """The job as a machine can do it that reaches neither the cache nor the folder for logs."""
        return replace(self, kept=None, logs=None)
