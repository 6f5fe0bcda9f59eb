"""Diagnose a log: how a build, load or run ended, and which line states the reason.

Each entry of the pattern table (``patterns.yaml``) can give an outcome to the lines that it matches:

- ``cause``: the line states the reason for a failure.
- ``skipped``: the builder skipped a tactic or another alternative. This is the reason for a failure only if
  no alternative was left.
- ``unusable``: there is no usable GPU. This is the reason for a failure if the log shows no working engine.
  But if the parser rejects the model or a call is wrong, this error is the reason, because it does not depend
  on the GPU.
- ``refused``: a request was rejected. This is the reason for a failure if no ``skipped`` line follows.
- ``failed``: there is no engine, and the line gives no reason.
- ``died``: the process ended.
- ``passed``: there is an engine.
- ``anew``: a program tries the failed step in another way.
- ``harmless``: an error that successful builds also print.

An error of the TensorRT library that matches no entry counts as a cause, because successful builds print no
errors.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from trtlint.buildfiles.patterns import Outcome, table
from trtlint.buildfiles.records import Log, Record

_GETTER = re.compile(r"::get\w*(?:: |::\d)")
_SETTER = re.compile(r"[bB]uilderConfig(?:\.cpp)?::set\w*(?:: |::\d)")
_SUBJECTS = re.compile(r"engine|calib|tensorrt|\btrt|onnx|plugin|nvinfer|\bplan\b", re.IGNORECASE)
_ORDER: tuple[Outcome, ...] = ("cause", "unusable", "refused", "skipped", "died", "failed")
CACHE_LINES = 2
"""Largest distance in lines from an error to the statement that TensorRT does not use the timing cache."""
OF_FILES = ("engine_damaged", "engine_version")
"""Patterns of errors about an engine. TensorRT prints the same errors about a timing cache."""
_MISUSED = frozenset({"3", "4"})
"""Error codes of wrong calls.  TensorRT-RTX prints an error of CUDA below each of them if there is no GPU."""
_MISSING_LINES = 3
"""Largest distance in lines between a request for a missing object and the resulting crash."""
_RUN_FAILED = "run_failed"
"""Name of the pattern for trtexec's message that a run failed."""
_NEXT = _ORDER[2:]
"""Outcomes of the lines that explain a failure if no line states the reason, best first."""


class Diagnosis(Struct, frozen=True):
    """How the build, load or run in a log ended.

    Attributes:
        failed: True if a build, load or run failed and no later attempt succeeded.
        cause: the first record that states the reason, as classified by the pattern table.
        line: the record to report in place of ``cause``, or in addition to ``cause``. None if nothing failed,
            or if ``cause`` comes before all unknown errors. An unknown error matches no specific entry of the
            table.
    """

    failed: bool = False
    cause: Record | None = None
    line: Record | None = None


class Successes(Struct, frozen=True):
    """Lines of a log that show a working engine or a new attempt.

    Attributes:
        lines: numbers of these lines, in order.
        engine: whether at least one of these lines shows a working engine.
        ends: line numbers where a tool starts or abandons a run, in order.
    """

    lines: tuple[int, ...]
    engine: bool
    ends: tuple[int, ...]

    def follow(self, line: int) -> bool:
        """Return whether an engine or a new attempt follows ``line`` in the same run.

        ``line`` is a line number.
        """
        return self.has_below(line, self.lines)

    def has_below(self, line: int, lines: Sequence[int]) -> bool:
        """Return whether one of ``lines`` is below ``line`` in the same run.

        ``lines`` has line numbers, in order.
        """
        after = bisect_right(lines, line)
        if after == len(lines):
            return False
        end = bisect_left(self.ends, line)
        return end == len(self.ends) or lines[after] < self.ends[end]


def successes(log: Log) -> Successes:
    """Find the log lines that show a working engine or a new attempt.

    If such a line follows an error in the same run, the error is not the reason for a failure.
    """
    banners = log.records.get("banner", ())
    # trtexec prints its lines about a new engine, even if the build failed and the engine is empty.
    empty = {record.line + below for record in log.records.get("engine_empty", ()) for below in (-1, 0, 1)}
    lines = [
        *(line for line in _lines(log, "passed") if line not in empty),
        *(record.line for record in banners if record.groups["state"] == "PASSED"),
    ]
    engine = bool(lines)
    lines += _lines(log, "anew")
    ends = [record.line for record in banners if record.groups["state"] in ("RUNNING", "FAILED")]
    ends += (record.line for record in log.records.get(_RUN_FAILED, ()))
    return Successes(tuple(sorted(lines)), engine, tuple(sorted(ends)))


def _lines(log: Log, outcome: Outcome) -> Iterator[int]:
    """Yield the numbers of the log lines to which the pattern table gives ``outcome``."""
    names = (entry.name for entry in table().patterns if entry.says == outcome)
    return (record.line for name in names for record in log.records.get(name, ()))


def diagnose(log: Log) -> Diagnosis:
    """Find out how a log ended, and which line explains a failure best."""
    of_cache = _lines_about_timing_cache(log)
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
    missing: Record | None = None
    unparsed = sorted(record.line for record in log.telling("unparsed"))
    misused = -1
    for line, records in sorted(lines.items()):
        if line in of_cache:
            continue
        outcomes = {_outcome(record, says): record for record in records}
        if any(record.groups.get("code") in _MISUSED for record in records):
            misused = line
        apart = done.engine or line == misused + 1 or done.has_below(line, unparsed)
        if "harmless" in outcomes or ("unusable" in outcomes and apart):
            continue
        # An error that matches an entry without an outcome does not explain a failure by itself.
        if set(outcomes) == {""} and not all(map(_is_unknown_error, records)):
            if any(map(_is_about_engines, records)):
                hints.append(records[0])
            if any(map(_requests_missing_object, records)):
                missing = records[0]
            continue
        if set(outcomes) == {""} and any(map(_rejects_setting, records)):
            settings.append(records[0])
            continue
        if "skipped" in outcomes:
            first.pop("refused", None)
        if "died" in outcomes and missing is not None and line - missing.line <= _MISSING_LINES:
            first.setdefault(none, missing)  # the program used the missing object
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
    found = settings if unknown is None else [unknown]
    found += [first[outcome] for outcome in _NEXT if outcome in first] + hints
    return Diagnosis(failed=True, cause=cause, line=next(iter(found), _verdict(log)))


def _lines_about_timing_cache(log: Log) -> frozenset[int]:
    """Return the line numbers of errors that are about the timing cache, not about an engine.

    TensorRT reports an unreadable timing cache like an unreadable engine. But for a timing cache, a further
    message states that TensorRT does not use the cache, and the build continues.
    """
    stated = log.records.get("timing_cache_unused", ())
    return frozenset(record.line - above for record in stated for above in range(1, CACHE_LINES + 1)) & {
        record.line for name in OF_FILES for record in log.records.get(name, ())
    }


def _outcome(record: Record, says: Mapping[str, Outcome]) -> Outcome:
    """Return the outcome that the pattern table gives for a record of the log.

    For ``cause`` and ``refused``, the result is ``passed`` if the log does not print the line as an error.

    Args:
        record: a record of the log.
        says: the outcomes in the pattern table, by name of the entry.
    """
    outcome = says.get(record.pattern, "")
    return (
        "passed" if outcome in ("cause", "refused") and record.severity not in ("E", "F", None) else outcome
    )


def _is_unknown_error(record: Record) -> bool:
    if record.severity not in ("E", "F", None) or _is_of_any_program(record):
        return False
    return _is_unexplained(record) and not _requests_missing_object(record)


def _requests_missing_object(record: Record) -> bool:
    """Return whether a program requested an object that does not exist.

    Such a request does not affect a build, but a program can crash when it uses the missing object.
    """
    return record.groups.get("code") == "3" and _GETTER.search(record.message) is not None


def _rejects_setting(record: Record) -> bool:
    """Return whether TensorRT rejected a builder setting. The build then continues without that setting."""
    return record.groups.get("code") == "3" and _SETTER.search(record.message) is not None


def _is_unexplained(record: Record) -> bool:
    """Return whether an error matches no specific entry of the pattern table."""
    entry = table().named(record.pattern)
    if record.severity is None:
        return entry is not None and entry.bare and entry.tells == "unexplained"
    return entry is None or entry.tells == "unexplained"


def _is_of_any_program(record: Record) -> bool:
    """Return whether a record is an error that a program other than TensorRT may have printed.

    The result is True if the record matches no entry of the pattern table, and other programs print the same
    log prefix.
    """
    return record.severity == "E" and record.pattern == "other" and record.common


def _is_about_engines(record: Record) -> bool:
    """Return whether an error mentions TensorRT, or a related word such as *engine* or *plugin*.

    :func:`diagnose` calls this function for errors that match no specific pattern.
    """
    entry = table().named(record.pattern)
    if entry is not None and entry.tells == "hint":
        return True
    first_line = record.message.partition("\n")[0]
    return _is_of_any_program(record) and _SUBJECTS.search(first_line) is not None


def _verdict(log: Log) -> Record | None:
    """Return the record in which a tool reports its own failure, such as ``&&&& FAILED``, or None."""
    banners = log.records.get("banner", ())
    return next((record for record in banners if record.groups["state"] == "FAILED"), None)


_BEFORE_THE_END = frozenset({"start", "parse", "any"})
"""Phases of a build before the parser finishes."""
_PARSED = frozenset({"parsed", "unparsed"})
"""Roles of messages that are printed after the parser has finished."""


def cut_in_parsing(log: Log) -> str:
    """Return a sentence if the log ends while the parser reads the model, else an empty string.

    The parser prints a header of the ONNX file first. The phases after parsing print their own messages:
    https://github.com/onnx/onnx-tensorrt/blob/main/ModelImporter.cpp
    """
    header = min((record.line for record in log.records.get("onnx_header", ())), default=0)
    if not header or log.settings.status or log.dumps or log.severities.keys() & {"E", "F"}:
        return ""
    by_name = table().by_name
    for name, records in log.records.items():
        pattern = by_name.get(name)
        if pattern is None:
            continue
        ended = pattern.phase not in _BEFORE_THE_END or pattern.tells in _PARSED or pattern.duration
        if ended and any(record.line >= header for record in records):
            return ""
    return (
        f"the log ends in line {log.lines}, while the parser reads the model; trtlint needs the whole log "
        "to find the result of the build"
    )
