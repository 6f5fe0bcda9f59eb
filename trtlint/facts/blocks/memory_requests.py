"""Find the requested memory and the free memory in messages of a build log.

TensorRT reports the requested size in the error itself, or in a warning near the error
(https://github.com/NVIDIA/TensorRT/issues/1661). PyTorch and ONNX Runtime report the size in their
exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from trtlint.buildfiles.records import Record

_ABOUT = ("out_of_memory", "allocation_refused", "tactic_memory", "tactic_device_request")
"""Names of the patterns for messages about memory."""
_NEAR = 3
"""Largest distance, in lines of the log, from a message about memory to the message with its size."""
_UNITS = {"": 1 / 2**20, "K": 1 / 2**10, "M": 1.0, "G": 2.0**10}
_UNIT = r"[ ]?(?:(?P<{0}>[KMG])i?B|bytes?\b|B\b)?"
_NUMBER = r"(?P<{0}>\d{{1,20}}(?:\.\d{{1,6}})?)"
_WANTED = re.compile(
    r"(?:memory \(|[Rr]equested size (?:was|of) |buffer of size |Tried to allocate |Tactic Device request: "
    r"|[Ff]ailed to allocate )" + _NUMBER.format("size") + _UNIT.format("unit")
)
_FREE = re.compile(
    r"(?:Available: " + _NUMBER.format("size") + _UNIT.format("unit")
    + r"|(?<=[;(] )" + _NUMBER.format("left") + _UNIT.format("of") + r" free"
    + r"|of which " + _NUMBER.format("which") + _UNIT.format("whose") + r" is free)"
)  # fmt: skip


class Request(Struct, frozen=True):
    """A request for memory.  Each size is a text such as ``1024 MiB``, or empty if unknown.

    Attributes:
        size: the requested memory.
        free: the memory that was free at the time of the request.
        largest: if ``free`` is known, the largest request with known free memory, and the memory that was
            free at this request. If ``free`` is unknown, the largest request with unknown free memory.
    """

    size: str = ""
    free: str = ""
    largest: str = ""


UNKNOWN = Request()


def memory_requests(records: Sequence[Record]) -> Mapping[int, Request]:
    """Return the memory request of each message about memory, by ``id()`` of the message.

    If a message has no size, the size comes from the nearest message with a size, at most a few lines away.

    Args:
        records: the messages of a log, in the order of their lines.
    """
    about = [record for record in records if record.pattern in _ABOUT]
    own = [(_mebibytes(_WANTED, record.message), _mebibytes(_FREE, record.message)) for record in about]
    found: list[tuple[float, float]] = []
    for at, record in enumerate(about):
        others = range(max(at - _NEAR, 0), min(at + _NEAR + 1, len(about)))
        far = {other: abs(about[other].line - record.line) for other in (at, *others)}
        near = [own[other] for other in sorted(far, key=far.__getitem__) if far[other] <= _NEAR]
        wanted, free = (next((sizes[each] for sizes in near if sizes[each]), 0.0) for each in (0, 1))
        found.append((wanted, free))
    largest = {
        known: max((each for each in found if (each[1] > 0) is known), default=(0.0, 0.0))
        for known in (False, True)
    }
    return {
        id(record): Request(_text(wanted), _text(free), _both(largest[free > 0]))
        for record, (wanted, free) in zip(about, found, strict=True)
    }


def _both(sizes: tuple[float, float]) -> str:
    """Format a requested size and the free memory, both in MiB, as one text."""
    wanted, free = map(_text, sizes)
    return f"{wanted}, but only {free} of GPU memory were free" if free else wanted


def _mebibytes(pattern: re.Pattern[str], text: str) -> float:
    """Return the size in MiB that a pattern finds in a text, or 0 if it finds none."""
    found = pattern.search(text)
    if found is None:
        return 0.0
    pairs = zip(found.groups()[::2], found.groups()[1::2], strict=True)
    number, unit = next((number, unit or "") for number, unit in pairs if number)
    return float(number) * _UNITS[unit]


def _text(size: float) -> str:
    """Format a size in MiB, such as ``1024 MiB``.  Return an empty string for the size 0."""
    if not size:
        return ""
    return f"{size:.0f} MiB" if size >= 1 else f"{size * 2**20:.0f} bytes"
