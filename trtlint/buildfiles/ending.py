"""Recognize a log of trtexec that ends before the result of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.records import Record

_TOOLS = ("trtexec", "tensorrt_rtx")
"""Tools that print a banner at the beginning and at the end, and a line after each build."""
_TIMED = (
    "Tactic: ",
    "Tactic Name: ",
    "--------------- Timing Runner: ",
    "*************** Autotuning ",
    "=============== Computing ",
    "Fastest Tactic: ",
    ">>>>>>>>>>>>>>> Chose Runner",
)
"""Beginnings of lines that the builder prints while it times tactics."""
_AVERAGE = b"] Average o"
"""Part of trtexec's lines about the time of some runs.  A log can have thousands of these lines."""
_ENDS = frozenset({"cause", "unusable", "refused", "skipped", "failed", "died", "passed"})
"""Outcomes that make a missing result unimportant: the log shows an engine or a problem."""


def is_beginning(line: bytes, message: str) -> bool:
    """Return whether the last line of a log may be the first part of a line about tactics.

    Args:
        line: the line without the log prefix, or the whole line if it has no complete prefix.
        message: the message of the line; empty if the line has no complete prefix.
    """
    return any(begun.startswith(message) for begun in _TIMED) and (bool(message) or line[:1] in (b"[", b""))


def is_running(records: Mapping[str, Sequence[Record]]) -> bool:
    """Return whether the last banner of a log announces a run."""
    banners = records.get("banner", ())
    return bool(banners) and banners[-1].groups["state"] == "RUNNING"


def is_cut(records: Mapping[str, Sequence[Record]], last: bytes) -> bool:
    """Return whether a log ends in a run of trtexec that shows no result, no engine and no problem.

    ``last`` is the last line of the log.

    trtexec prints a banner at the end of each run, also after an error:
    https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logger.h
    """
    if not is_running(records) or _AVERAGE in last:
        return False
    banner = records["banner"][-1]
    if not banner.groups["tool"].endswith(_TOOLS):
        return False
    by_name = table().by_name
    for name, found in records.items():
        pattern = by_name.get(name)
        ends = pattern is not None and (pattern.says in _ENDS or pattern.bare)
        if any(record.line > banner.line and (ends or record.severity in ("E", "F")) for record in found):
            return False
    return True
