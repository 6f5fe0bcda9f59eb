"""The reader of partitions: which provider divides a model, and whether NVIDIA's parser is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildcommand import BuildCommand
from trtlint.commands.tasks import Settings
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.knowledge.providers import Provider
from trtlint.policy.options import LintOptions

if TYPE_CHECKING:
    from trtlint.partition.result import Settings as PartitionSettings


def partition_of(
    options: LintOptions, settings: Settings, before: Iterable[Evidence | PendingEvidence]
) -> Evidence | PendingEvidence | None:
    """Return the partition of a model, None where no provider is named.

    Args:
        options: the command line.
        settings: what counts for the model.
        before: evidence about the model; with a dry build among it, the parser is asked.
    """
    command = settings.command
    provider = options.ep.provider or (None if command is None else command.provider)
    if provider is None:
        return None
    return evidence_of(provider, command, before, rtx_path=options.dry.rtx_path)


def evidence_of(
    provider: Provider,
    command: BuildCommand | None,
    before: Iterable[Evidence | PendingEvidence],
    *,
    rtx_path: str | None = None,
) -> Evidence | PendingEvidence:
    """Return the partition by a provider, with the options of a command."""
    from trtlint.engine.evidence.partition import PartitionEvidence
    from trtlint.runs.dryjob import DryJob

    wanted = partition_settings(command)
    dry = next((each for each in before if isinstance(each, DryJob)), None)
    if dry is None:
        return PartitionEvidence(provider, wanted)
    from trtlint.runs.partitionjob import PartitionJob

    return PartitionJob(provider, wanted, dry.version, rtx_path or dry.folder, dry.limits)


def partition_settings(command: BuildCommand | None) -> PartitionSettings:
    """Return the options of a command that shape a partition; the defaults for those that it leaves out."""
    from trtlint.partition.result import Settings as PartitionSettings

    usual = PartitionSettings()
    if command is None or command.provider is None:
        return usual
    excluded = _value(command, "trt_op_types_to_exclude") or _value(command, "nv_op_types_to_exclude")
    return PartitionSettings(
        min_nodes=_number(_value(command, "trt_min_subgraph_size"), usual.min_nodes),
        max_rounds=_number(_value(command, "trt_max_partition_iterations"), usual.max_rounds),
        exclude=frozenset(word.strip() for word in excluded.split(",") if word.strip()),
    )


def _value(command: BuildCommand, name: str) -> str:
    option = command.option(name)
    return "" if option is None or option.value is None else option.value


def _number(text: str, usual: int) -> int:
    """Return a positive number; the providers take their default in place of any other."""
    return max(1, min(int(text), 1_000_000)) if text.isdecimal() and len(text) < 10 and int(text) else usual


class PartitionReader:
    """Reads which models get a partition."""

    def __init__(self, options: LintOptions, models: Sequence[Path], files: object) -> None:  # noqa: ARG002
        self._options = options

    def evidence(
        self, settings: Settings, before: Iterable[Evidence | PendingEvidence]
    ) -> tuple[Evidence | PendingEvidence, ...]:
        """Return the partition of a model, if one is wanted."""
        found = partition_of(self._options, settings, before)
        return () if found is None else (found,)
