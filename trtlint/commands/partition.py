"""Convert the options for an execution provider of ONNX Runtime to evidence."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.commands.tasks import FileSettings
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.policy.options import LintOptions


def partition_of(
    options: LintOptions, settings: FileSettings, before: Iterable[Evidence | PendingEvidence]
) -> Evidence | PendingEvidence | None:
    """Return evidence about the nodes that an execution provider runs; None if no provider is given.

    Args:
        options: the command line.
        settings: the settings of the model.
        before: evidence about the model from earlier readers.  If it contains a request for a dry build, the
            result is a request to compute the partition with NVIDIA's parser.
    """
    command, before = settings.command, tuple(before)
    provider = options.ep.provider or (None if command is None else command.provider)
    if provider is None and not before:
        return None
    from trtlint.runs.partitionjob import evidence_of, log_of

    log = log_of(before)
    if provider is None and log is not None and log.provider:
        provider = "nv-tensorrt-rtx" if log.provider.startswith("Nv") else "tensorrt"
    if provider is None:
        return None
    return evidence_of(provider, command, before, rtx_path=options.dry.rtx_path)
