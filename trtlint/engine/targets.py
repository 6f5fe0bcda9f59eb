"""One model, several targets: which finding holds for which of them.

The versions of a range are linted one by one; a reader wants each finding once, with the versions
it is there for, and what changes from one version to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding and the indexes of the targets, ascending, that it holds for."""

    finding: Finding
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between a target and the one before it: rule and name of each finding."""

    before: str
    after: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


def merge(findings: Sequence[Sequence[Finding]]) -> list[Seen]:
    """Every finding once, findings of one rule next to each other.

    For one target the order is that of the findings; for several, graver rules come first.  The
    text of a finding is that of the first target it holds for, its severity the gravest, its advice
    that of all targets.

    Args:
        findings: the findings for each target.
    """
    same: dict[tuple[str, str], list[Finding]] = {}
    targets: dict[tuple[str, str], dict[int, None]] = {}
    for index, found in enumerate(findings):
        for finding in found:
            key = _key(finding)
            same.setdefault(key, []).append(finding)
            targets.setdefault(key, {})[index] = None
    first = {key: _joined(those) for key, those in same.items()}
    order: dict[str, int] = {}
    for finding in first.values():
        order.setdefault(finding.rule, len(order))
    gravest = dict.fromkeys(order, 0)
    if len(findings) > 1:
        for finding in sorted(first.values(), key=_rank, reverse=True):
            gravest[finding.rule] = _rank(finding)
    keys = sorted(first, key=lambda key: (gravest[key[0]], order[key[0]]))
    return [Seen(first[key], tuple(targets[key])) for key in keys]


def _joined(same: Sequence[Finding]) -> Finding:
    """One finding of those that are the same for several targets, made once for all of them."""
    first = same[0]
    advice = tuple(dict.fromkeys(text for finding in same for text in finding.advice))
    severity = min(same, key=_rank).severity
    if (advice, severity) == (first.advice, first.severity):
        return first
    return replace(first, advice=advice, severity=severity)


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def labels(targets: Sequence[str]) -> list[str]:
    """Targets in words without the words that they share at the beginning and the end.

    >>> labels(["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 8.9"])
    ['10.7', '10.8']
    """
    return _parts(targets)[1]


def span(targets: Sequence[str]) -> str:
    """Several targets in a few words.

    >>> span(["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 8.9", "TensorRT 10.9, SM 8.9"])
    'TensorRT 10.7 to 10.9, SM 8.9'
    """
    if len(set(targets)) < 2:
        return targets[0]
    head, names, tail = _parts(targets)
    if any(" " in name for name in names):
        return f"{len(targets)} targets"
    return f"{head}{names[0]} to {names[-1]}{tail}"


def _parts(targets: Sequence[str]) -> tuple[str, list[str], str]:
    """What all targets begin with, what tells each apart, and what all end with."""
    if len(set(targets)) < 2:
        return "", list(targets), ""
    words = [target.split(" ") for target in targets]
    head = _shared(words)
    tail = _shared([list(reversed(row[head:])) for row in words])
    names = [" ".join(row[head : len(row) - tail]) for row in words]
    comma = "," if all(name.endswith(",") for name in names) else ""
    end = " ".join(words[0][len(words[0]) - tail :])
    begin = "".join(f"{word} " for word in words[0][:head])
    return begin, [name.rstrip(",") for name in names], f"{comma} {end}" if end else ""


def _shared(rows: Sequence[Sequence[str]]) -> int:
    """How many words at the beginning are the same in all rows, one of each row left over."""
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False))
    return min(sum(1 for _ in alike), min(map(len, rows)) - 1)


def seen_for(seen: Sequence[int], names: Sequence[str]) -> str:
    """The targets a finding holds for, in words.

    >>> seen_for([1], ["10.6", "10.7", "10.8"])
    '10.7 (gone from 10.8)'
    """
    if any(" " in name for name in names):
        return ", ".join(names[i] for i in seen)  # products differ, which have no order
    if len(seen) == len(names):
        return f"all {len(names)} targets, {names[0]} to {names[-1]}"
    parts = []
    for start, stop in _runs(seen):
        if stop == len(names) - 1:
            parts.append(f"from {names[start]} on" if start < stop else names[start])
        else:
            run = names[start] if start == stop else f"{names[start]} to {names[stop]}"
            parts.append(f"{run} (gone from {names[stop + 1]})")
    return ", ".join(parts)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    start = previous = numbers[0]
    for number in numbers[1:]:
        if number != previous + 1:
            yield start, previous
            start = number
        previous = number
    yield start, previous


def changes(models: Sequence[ModelReport]) -> list[Change]:
    """What appears and disappears from each target to the next, unchanged steps left out."""
    names = labels([model.target for model in models])
    steps = []
    for i in range(1, len(models)):
        before, after = ({_key(f): f for f in model.findings} for model in (models[i - 1], models[i]))
        gone = tuple(dict.fromkeys(_title(f) for key, f in before.items() if key not in after))
        new = tuple(dict.fromkeys(_title(f) for key, f in after.items() if key not in before))
        if gone or new:
            steps.append(Change(names[i - 1], names[i], gone, new))
    return steps


def _key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.fingerprint


def _title(finding: Finding) -> str:
    return f"{finding.severity}[{finding.rule}] {finding.name}"
