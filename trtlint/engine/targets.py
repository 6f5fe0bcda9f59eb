"""Merge the findings of one model for several targets.

If the user gives a range of versions, trtlint lints the model once for each version of the range.  The report
lists each finding once, with its versions.  The report also lists the changes from one version to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport


class MergedFinding(Struct, frozen=True):
    """A finding, and the indexes of the targets that have the finding, ascending."""

    finding: Finding
    targets: tuple[int, ...]


class Change(Struct, frozen=True):
    """Findings that appear or disappear between a target and the previous target.

    Each finding is represented by the id and the name of its rule.
    """

    before: str
    after: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


def merge(findings: Sequence[Sequence[Finding]]) -> list[MergedFinding]:
    """Merge the findings of several targets.  Findings of one rule are adjacent.

    For one target, the rules have the order of their first findings. For several targets, rules with higher
    severities come first. A merged finding has the text for its first target, the highest severity, and all
    advice.

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
    return [MergedFinding(first[key], tuple(targets[key])) for key in keys]


def _joined(same: Sequence[Finding]) -> Finding:
    """Combine the same finding for several targets into one finding."""
    first = same[0]
    advice = tuple(dict.fromkeys(text for finding in same for text in finding.advice))
    severity = min(same, key=_rank).severity
    if (advice, severity) == (first.advice, first.severity):
        return first
    return replace(first, advice=advice, severity=severity)


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def labels(targets: Sequence[str]) -> list[str]:
    """Return the words in which the names of targets differ.

    Words that all targets have at the beginning or the end are left out.

    >>> labels(["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 8.9"])
    ['10.7', '10.8']
    """
    return _parts(targets)[1]


def span(targets: Sequence[str]) -> str:
    """Describe several targets in a few words, from the first to the last.

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
    """Split the names of targets into common first words, different words, and common last words."""
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
    """Return the number of first words that all rows share.

    The last word of the shortest row does not count.
    """
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False))
    return min(sum(1 for _ in alike), min(map(len, rows)) - 1)


def seen_for(seen: Sequence[int], names: Sequence[str]) -> str:
    """Describe the targets that have a finding.

    ``seen`` are the indexes of these targets in ``names``.

    >>> seen_for([1], ["10.6", "10.7", "10.8"])
    '10.7 (gone from 10.8)'
    """
    if any(" " in name for name in names):
        return ", ".join(names[i] for i in seen)  # several products, which have no order
    if len(seen) == len(names):
        return f"all {len(names)} targets, {names[0]} to {names[-1]}"
    parts = []
    for start, stop in runs(seen):
        if stop == len(names) - 1:
            parts.append(f"from {names[start]} on" if start < stop else names[start])
        else:
            run = names[start] if start == stop else f"{names[start]} to {names[stop]}"
            parts.append(f"{run} (gone from {names[stop + 1]})")
    return ", ".join(parts)


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each sequence of consecutive numbers."""
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]


def changes(models: Sequence[ModelReport]) -> list[Change]:
    """Return the changes of the findings from each target to the next.

    Targets without a change are left out.
    """
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
