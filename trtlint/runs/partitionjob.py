"""Request the partition of a model by NVIDIA's parser, as data that another process can receive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from trtlint.buildcommand import BuildCommand
from trtlint.buildfiles.ortlog import OrtLog, ort_log
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.wheels import find
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.evidence.partition import PartitionEvidence
from trtlint.facts.kinds import Ground
from trtlint.files.problem import reason_of
from trtlint.knowledge.providers import Provider
from trtlint.model.errors import ModelError
from trtlint.partition.result import ProviderSettings
from trtlint.partition.simulate import simulate
from trtlint.process.spawn import Limits
from trtlint.runs.dryjob import DryJob
from trtlint.target.target import Target


class PartitionJob(Struct, frozen=True):
    """Request to find, with NVIDIA's parser, the nodes that an execution provider runs.

    Attributes:
        provider: the execution provider that uses TensorRT.
        settings: the options of this provider.
        version: the release of TensorRT-RTX.
        folder: the folder of the wheels; None for the packages of this Python.
        limits: the time and memory limits of the process.
    """

    provider: Provider
    settings: ProviderSettings
    version: str
    folder: str | None
    limits: Limits

    @property
    def grounds(self) -> frozenset[Ground]:
        """Return an empty set, because no facts come from a partition."""
        return frozenset()

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:  # noqa: ARG002
        """Compute the partition with NVIDIA's parser.

        Raises:
            WheelError: the wheels are not installed.
        """
        wheels = find(self.version, None if self.folder is None else Path(self.folder))
        try:
            found = simulate(model, self.provider, wheels, self.settings, limits=self.limits)
        except (DryBuildError, ModelError, OSError) as error:
            why = f"could not compute the partition with NVIDIA's parser: {reason_of(error)}"
            return (PartitionEvidence(self.provider, self.settings, notes=(why,)),)
        about = (
            ()
            if found.partition is not None
            else (f"the process for NVIDIA's parser computed no partition: it {found.ended}",)
        )
        return (PartitionEvidence(self.provider, self.settings, found, notes=about),)

    def elsewhere(self) -> PartitionJob:
        """Return this job itself. Any machine can run the job, because the job writes to no folder."""
        return self


def evidence_of(
    provider: Provider,
    command: BuildCommand | None,
    before: Iterable[Evidence | PendingEvidence],
) -> Evidence | PendingEvidence:
    """Return the partition of a model by an execution provider, as evidence.

    If ``before`` contains a request for a dry build, return a request to compute the partition with NVIDIA's
    parser. Otherwise, trtlint predicts the partition.

    Args:
        provider: the execution provider.
        command: the build command with the provider options.
        before: further evidence about the model, such as a build log or the request for a dry build.
    """
    wanted = partition_settings(command)
    dry = next((each for each in before if isinstance(each, DryJob)), None)
    if dry is None:
        return PartitionEvidence(provider, wanted, log=log_of(before))
    return PartitionJob(provider, wanted, dry.version, dry.folder, dry.limits)


def partition_settings(command: BuildCommand | None) -> ProviderSettings:
    """Return the partition settings of a build command.  Unset options get defaults."""
    usual = ProviderSettings()
    if command is None or command.provider is None:
        return usual
    excluded = _value(command, "trt_op_types_to_exclude") or _value(command, "nv_op_types_to_exclude")
    return ProviderSettings(
        min_nodes=_number(_value(command, "trt_min_subgraph_size"), usual.min_nodes),
        max_rounds=_number(_value(command, "trt_max_partition_iterations"), usual.max_rounds),
        exclude=frozenset(word.strip() for word in excluded.split(",") if word.strip()),
        profile=bool(_value(command, "nv_profile_min_shapes")),
    )


def _value(command: BuildCommand, name: str) -> str:
    option = command.option(name)
    return "" if option is None or option.value is None else option.value


def _number(text: str, usual: int) -> int:
    """Parse a positive number, up to one million.

    For other text, return ``usual``, as the execution providers do.
    """
    return max(1, min(int(text), 1_000_000)) if text.isdecimal() and len(text) < 10 and int(text) else usual


def log_of(before: Iterable[Evidence | PendingEvidence]) -> OrtLog | None:
    """Return the partition in the log of a build, or None if no log shows a partition."""
    build = next((each for each in before if isinstance(each, BuildEvidence)), None)
    if build is None or build.data.log is None:
        return None
    name = build.data.log_name
    return ort_log(build.data.log, Path(name) if name and name != "-" else None)
