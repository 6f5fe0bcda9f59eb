"""The partition of a model by NVIDIA's parser, as a job that can go to another process."""

from __future__ import annotations

from pathlib import Path

from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.wheels import find
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.partition import PartitionEvidence
from trtlint.facts.kinds import Ground
from trtlint.knowledge.providers import Provider
from trtlint.lean import dataclass
from trtlint.model.errors import ModelError
from trtlint.partition.result import Settings
from trtlint.partition.simulate import simulate
from trtlint.process.spawn import Limits
from trtlint.target.target import Target


@dataclass(frozen=True, slots=True)
class PartitionJob:
    """What is to be asked of the parser.

    Attributes:
        provider: the provider that asks.
        settings: its options.
        version: release of TensorRT-RTX.
        folder: where its wheels are, None for the packages of this Python.
        limits: what the process may take.
    """

    provider: Provider
    settings: Settings
    version: str
    folder: str | None
    limits: Limits

    @property
    def grounds(self) -> frozenset[Ground]:
        """No grounds: a partition follows from findings."""
        return frozenset()

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:  # noqa: ARG002
        """Ask the parser.

        Raises:
            WheelError: the wheels are not there.
        """
        wheels = find(self.version, None if self.folder is None else Path(self.folder))
        try:
            found = simulate(model, self.provider, wheels, self.settings, limits=self.limits)
        except (DryBuildError, ModelError, OSError) as error:
            why = f"no partition by the parser: {error}"
            return (PartitionEvidence(self.provider, self.settings, about=(why,)),)
        about = (
            () if found.partition is not None else (f"partition by the parser: the process {found.ended}",)
        )
        return (PartitionEvidence(self.provider, self.settings, found, about),)

    def elsewhere(self) -> PartitionJob:
        """Return the job for another machine, which can do the same."""
        return self
