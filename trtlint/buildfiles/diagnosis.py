"""How a build, a load or a run ended, and the line of its log that says why.

What a line says of the outcome is a property of its entry in the pattern table:

- ``cause``: why something failed;
- ``skipped``: that something was passed over, which is why only if nothing was left;
- ``unusable``: that there is no GPU to use, which is why unless an engine was built before it;
- ``refused``: that something asked for was not given, which is why unless something is skipped after it;
- ``failed``: that there is no engine, and not why;
- ``died``: that the process ended;
- ``passed``: that there is an engine;
- ``anew``: that what failed before it is tried in another way;
- ``harmless``: nothing, though builds that go on print it as an error.

An error of the library that no entry knows is taken for a cause: builds that go on print warnings.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping

from trtlint.buildfiles.patterns import Outcome, table
from trtlint.buildfiles.records import Log, Record
from trtlint.lean import dataclass

_GETTER = re.compile(r"::get\w*(?:: |::\d)")
_SETTER = re.compile(r"[bB]uilderConfig(?:\.cpp)?::set\w*(?:: |::\d)")
_SUBJECTS = re.compile(r"engine|calib|tensorrt|\btrt|onnx|plugin|nvinfer|\bplan\b", re.IGNORECASE)
_ORDER: tuple[Outcome, ...] = ("cause", "unusable", "refused", "skipped", "died", "failed")
_GIVEN_UP = "run_failed"
"""The entry with which trtexec says that a run has come to nothing."""
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


@dataclass(frozen=True, slots=True)
class Successes:
    """Where a log shows that an engine was built or loaded, that one ran, or that a program tries again.

    Attributes:
        lines: numbers of the lines that show it, in order.
        engine: whether one of them shows an engine.
        ends: numbers of the lines in which a tool announces a run or gives one up, in order.
    """

    lines: tuple[int, ...]
    engine: bool
    ends: tuple[int, ...]

    def follow(self, line: int) -> bool:
        """Whether the run that a line belongs to comes to an engine after it."""
        after = bisect_right(self.lines, line)
        if after == len(self.lines):
            return False
        end = bisect_left(self.ends, line)
        return end == len(self.ends) or self.lines[after] < self.ends[end]


def successes(log: Log) -> Successes:
    """Look for the lines that show an engine; what is said before them in a run was overcome."""
    banners = log.records.get("banner", ())
    lines = [
        *_lines(log, "passed"),
        *(record.line for record in banners if record.groups["state"] == "PASSED"),
    ]
    engine = bool(lines)
    lines += _lines(log, "anew")
    ends = [record.line for record in banners if record.groups["state"] in ("RUNNING", "FAILED")]
    ends += (record.line for record in log.records.get(_GIVEN_UP, ()))
    return Successes(tuple(sorted(lines)), engine, tuple(sorted(ends)))


def _lines(log: Log, outcome: Outcome) -> Iterator[int]:
    """The numbers of the lines that say an outcome."""
    names = (entry.name for entry in table().patterns if entry.says == outcome)
    return (record.line for name in names for record in log.records.get(name, ()))


def diagnose(log: Log) -> Diagnosis:
    """Look for the failure that a log ends with."""
    says = {name: entry.says for name, entry in table().by_name.items() if entry.says}
    done = successes(log)
    lines: dict[int, list[Record]] = defaultdict(list)
    for kept in log.records.values():
        for record in kept:
            if not done.follow(record.line):
                lines[record.line].append(record)
    none: Outcome = ""
    first: dict[Outcome, Record] = {}
    hints: list[Record] = []
    settings: list[Record] = []
    for _, records in sorted(lines.items()):
        outcomes = {_outcome(record, says): record for record in records}
        if "harmless" in outcomes or (done.engine and "unusable" in outcomes):
            continue
        # An error with a name that says nothing of the outcome is known, and no reason by itself.
        if set(outcomes) == {""} and not all(map(_is_unknown_error, records)):
            if any(map(_is_about_engines, records)):
                hints.append(records[0])
            continue
        if set(outcomes) == {""} and any(map(_is_of_settings, records)):
            settings.append(records[0])
            continue
        if "skipped" in outcomes:
            first.pop("refused", None)
        best = next((each for each in _ORDER if each in outcomes), none)
        if best in outcomes:
            first.setdefault(best, outcomes[best])
        if "died" in outcomes:
            first.setdefault("died", outcomes["died"])
    if not (
        set(first) - {"skipped", "passed", "anew"} or hints or settings or log.settings.status == "failed"
    ):
        return Diagnosis()
    stated = [first[outcome] for outcome in _ORDER[:2] if outcome in first]
    cause = min(stated, key=lambda record: record.line, default=None)
    unknown = first.get("")
    if cause is not None and (unknown is None or cause.line < unknown.line):
        return Diagnosis(failed=True, cause=cause)
    found = [first[""]] if "" in first else settings
    found += [first[outcome] for outcome in _NEXT if outcome in first] + hints
    return Diagnosis(failed=True, cause=cause, line=next(iter(found), _verdict(log)))


def _outcome(record: Record, says: Mapping[str, Outcome]) -> Outcome:
    """What a record says of the outcome; a warning is no cause, apart from that there is no GPU."""
    outcome = says.get(record.pattern, "")
    return (
        "passed" if outcome in ("cause", "refused") and record.severity not in ("E", "F", None) else outcome
    )


def _is_unknown_error(record: Record) -> bool:
    if record.severity not in ("E", "F", None) or (record.severity == "E" and _is_anyones(record)):
        return False
    return _is_unexplained(record) and not _is_asked_in_vain(record)


def _is_asked_in_vain(record: Record) -> bool:
    """Whether a program asked for something that there is not, which builds nothing and breaks nothing."""
    return record.groups.get("code") == "3" and _GETTER.search(record.message) is not None


def _is_of_settings(record: Record) -> bool:
    """Whether a setting of the builder was refused: the build goes on without it, if it is not that."""
    return record.groups.get("code") == "3" and _SETTER.search(record.message) is not None


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
    entry = table().named(record.pattern)
    if entry is not None and entry.tells == "hint":
        return True
    said = record.message.partition("\n")[0]
    return record.severity == "E" and _is_anyones(record) and _SUBJECTS.search(said) is not None


def _verdict(log: Log) -> Record | None:
    """The banner with which a tool says that it failed."""
    banners = log.records.get("banner", ())
    return next((record for record in banners if record.groups["state"] == "FAILED"), None)
