"""How a build, a load or a run ended, and the line of its log that says why.

What a line says of the outcome is a property of its entry in the pattern table:

- ``cause``: why something failed;
- ``skipped``: that something was passed over, which is why only if nothing was left;
- ``unusable``: that there is no GPU to use, which is why unless an engine was built before it;
- ``refused``: that something asked for was not given, which is why unless something is skipped after it;
- ``failed``: that there is no engine, and not why;
- ``died``: that the process ended;
- ``passed``: that there is an engine;
- ``harmless``: nothing, though builds that go on print it as an error.

An error of the library that no entry knows is taken for a cause: builds that go on print warnings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from trtlint.buildfiles.patterns import Outcome, table
from trtlint.buildfiles.records import Log, Record

_SUBJECTS = re.compile(r"engine|tensorrt|\btrt|onnx|plugin|nvinfer|\bplan\b", re.IGNORECASE)
_ORDER: tuple[Outcome, ...] = ("cause", "unusable", "refused", "skipped", "died", "failed")
_NEXT = _ORDER[2:]
"""What is taken for the reason where nothing states it, best first."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How a log ends.

    Attributes:
        failed: whether it shows that something failed, and no success after that.
        cause: the first record that an entry of its own says why by.
        line: the record that says best why; None where nothing failed, and where an entry of its own says
            why before any line does that nothing is known of.
    """

    failed: bool = False
    cause: Record | None = None
    line: Record | None = None


def diagnose(log: Log) -> Diagnosis:
    """Look for the failure that a log ends with."""
    says = {name: entry.says for name, entry in table().by_name.items() if entry.says}
    passed = _last_success(log, says)
    lines: dict[int, list[Record]] = defaultdict(list)
    for kept in log.records.values():
        for record in kept:
            if record.line > passed:
                lines[record.line].append(record)
    none: Outcome = ""
    first: dict[Outcome, Record] = {}
    hints: list[Record] = []
    for _, records in sorted(lines.items()):
        outcomes = {_outcome(record, says): record for record in records}
        if "harmless" in outcomes or (passed and "unusable" in outcomes):
            continue
        # An error with a name that says nothing of the outcome is known, and no reason by itself.
        if set(outcomes) == {""} and not all(map(_is_unknown_error, records)):
            if any(map(_is_about_engines, records)):
                hints.append(records[0])
            continue
        if "skipped" in outcomes:
            first.pop("refused", None)
        best = next((each for each in _ORDER if each in outcomes), none)
        if best in outcomes:
            first.setdefault(best, outcomes[best])
        if "died" in outcomes:
            first.setdefault("died", outcomes["died"])
    if not (set(first) - {"skipped", "passed"} or hints or log.settings.status == "failed"):
        return Diagnosis()
    stated = [first[outcome] for outcome in _ORDER[:2] if outcome in first]
    cause = min(stated, key=lambda record: record.line, default=None)
    unknown = first.get("")
    if cause is not None and (unknown is None or cause.line < unknown.line):
        return Diagnosis(failed=True, cause=cause)
    found = [first[outcome] for outcome in ("", *_NEXT) if outcome in first]
    return Diagnosis(failed=True, cause=cause, line=next(iter(found + hints), _verdict(log)))


def _outcome(record: Record, says: Mapping[str, Outcome]) -> Outcome:
    """What a record says of the outcome; a warning is no cause, apart from that there is no GPU."""
    outcome = says.get(record.pattern, "")
    return (
        "passed" if outcome in ("cause", "refused") and record.severity not in ("E", "F", None) else outcome
    )


def _last_success(log: Log, says: Mapping[str, Outcome]) -> int:
    """The last line that shows an engine; 0 without one."""
    names = (name for name, outcome in says.items() if outcome == "passed")
    done = [record.line for name in names for record in log.records.get(name, ())]
    done += (record.line for record in log.records.get("banner", ()) if record.groups["state"] == "PASSED")
    return max(done, default=0)


def _is_unknown_error(record: Record) -> bool:
    if record.severity not in ("E", "F", None) or (record.severity == "E" and _is_anyones(record)):
        return False
    # What a program asks in vain builds nothing and breaks nothing.
    asked = record.groups.get("code") == "3" and "::get" in record.groups.get("call", "")
    return _is_unexplained(record) and not asked


def _is_unexplained(record: Record) -> bool:
    """Whether an error is kept under an entry of which nothing more is known, or under none."""
    entry = table().named(record.pattern)
    if record.severity is None:
        return entry is not None and entry.bare and entry.tells == "unexplained"
    return entry is None or entry.tells == "unexplained"


def _is_anyones(record: Record) -> bool:
    """Whether any program may have printed it, of whatever it likes."""
    return record.pattern == "other" and record.common


def _is_about_engines(record: Record) -> bool:
    """Whether an error of any program is about what trtlint is about; the last that a failure is told by."""
    return record.severity == "E" and _is_anyones(record) and _SUBJECTS.search(record.message) is not None


def _verdict(log: Log) -> Record | None:
    """The banner with which a tool says that it failed."""
    banners = log.records.get("banner", ())
    return next((record for record in banners if record.groups["state"] == "FAILED"), None)
