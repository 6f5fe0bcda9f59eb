"""The names of nodes, layers and tensors in the messages of a log."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from trtlint.buildfiles.names import layer_names
from trtlint.buildfiles.records import Log, Record

_LAYERS = ("node", "layer")
_ANNOUNCED: Mapping[str, str] = {
    "norm_fp16": "norm_node",
    "norm_overflow": "norm_node",
    "attention_done": "attention_node",
    "norm_done": "norm_node",
}
"""Messages that name nothing, and those that the same pass of the builder prints before them with names."""
_NEAR: Mapping[str, tuple[str, int]] = {
    "parser_error": ("failed_node", -40),
    "plugin_not_found": ("failed_node", -40),
    "api_error": ("no_implementation", 0),
    "weights_count": ("weights_names", 60),
    "weights_overflow": ("weights_one", -12),
}
"""Messages that name nothing, those that name it for them, and how many lines away they may be: below
them where positive, above them where negative, 0 for the same line."""
_FAILURES = ("no_implementation", "api_error", "run_failed")
_CAUSES = ("island_exception", "tactic_exception", "tactic_memory", "attention_kernel")
_IN_ISLANDS = ("no_implementation", "island_exception", "attention_kernel", "api_error")
_ISLAND = re.compile(r"\{ForeignNode\[.*\]\}")
_FAR = 2000
"""Lines above an error in which its cause is looked for: a verbose build prints its search between them."""


def named_in(record: Record, log: Log) -> tuple[bool, tuple[str, ...]]:
    """Whether a message names anything itself, and the names: its own, else those announced for it."""
    own = _own(record)
    if own:
        return True, own
    if record.pattern in _NEAR:
        pattern, far = _NEAR[record.pattern]
        near = [other for other in log.records.get(pattern, ()) if _within(record, other, far)]
        return False, _own(near[0] if far > 0 else near[-1]) if near else ()
    announced = log.records.get(_ANNOUNCED.get(record.pattern, ""), ())
    found = (name for other in announced if other.line <= record.line for name in _own(other))
    return False, tuple(dict.fromkeys(found))


def island_of(record: Record) -> str | None:
    """The island of Myelin that a failure is about: the one it names, else the one that was being timed."""
    if record.pattern not in _IN_ISLANDS:
        return None
    found = _ISLAND.search(record.groups.get("node") or record.context or "")
    return found[0] if found else None


def op_of(record: Record, log: Log) -> str | None:
    """The operator type that a message names or that the parser had stopped at."""
    return record.groups.get("op") or _of_failure(record, log, "op")


def output_of(record: Record, log: Log) -> str | None:
    """The first output of the node that a message of the parser is about, by which it names nodes too."""
    return record.groups.get("output") or _of_failure(record, log, "output")


def _of_failure(record: Record, log: Log, group: str) -> str | None:
    if record.pattern not in _NEAR or _NEAR[record.pattern][1] >= 0:
        return None
    far = _NEAR[record.pattern][1]
    near = [other for other in log.records.get("parsing_failed", ()) if _within(record, other, far)]
    return near[-1].groups.get(group) or None if near else None


def _within(record: Record, other: Record, far: int) -> bool:
    low, high = sorted((record.line, record.line + far))
    return low <= other.line <= high


def cause_of(record: Record, log: Log) -> str | None:
    """What the builder had said last that explains its failure, None where it said nothing."""
    if record.pattern not in _FAILURES:
        return None
    above = (
        other
        for pattern in _CAUSES
        for other in log.records.get(pattern, ())
        if record.line - _FAR <= other.line <= record.line
        and other.message != record.message
        and other.context == record.context
    )
    last = max(above, key=lambda other: other.line, default=None)
    if last is None:
        return None
    groups = last.groups
    return groups.get("why") or groups.get("what") or last.message.split("\n", 1)[0]


def _own(record: Record) -> tuple[str, ...]:
    reader = _READERS.get(record.pattern)
    if reader is not None:
        return reader(record.groups)
    names: dict[str, None] = {}
    for key in _LAYERS:
        text = record.groups.get(key)
        if text:
            found = layer_names(text)
            names |= dict.fromkeys(found.nodes or (() if found.ranges else (text,)))
            names |= dict.fromkeys(part for range_ in found.ranges for part in (*range_.first, *range_.last))
    return tuple(names)


def _listed(key: str) -> Callable[[Mapping[str, str]], tuple[str, ...]]:
    """Reads names that are joined with commas; the list may end with a full stop."""

    def read(groups: Mapping[str, str]) -> tuple[str, ...]:
        parts = groups.get(key, "").strip().removesuffix(".").split(", ")
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))

    return read


def _single(*keys: str) -> Callable[[Mapping[str, str]], tuple[str, ...]]:
    def read(groups: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(groups[key] for key in keys if groups.get(key)))

    return read


_READERS: Mapping[str, Callable[[Mapping[str, str]], tuple[str, ...]]] = {
    "norm_fp16": _listed("nodes"),
    "weights_names": _listed("names"),
    "weights_one": _single("name"),
    "type_mix": _single("first", "second"),
    "failed_node": _single("name"),
    "int64_binding": _single("name"),
    "network_input": _single("name"),
    "mark_output": _single("name"),
    "unused_input": _single("tensor", "input"),
    "no_scale": _single("tensor"),
}
