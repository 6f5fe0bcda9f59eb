"""What has become of findings between two scans of many models, by the rows of both."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from trtlint.engine.finding import SEVERITIES
from trtlint.files.problem import UnreadableError
from trtlint.files.regular import open_regular
from trtlint.lean import dataclass
from trtlint.process.spawn import Limits, run
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.report.rows import NAMES, Row, as_dict

SCHEMA = "trtlint.trend/1"
"""Name and version of the format; the number grows when a reader of the old one would break."""
MOST_BYTES = 512 << 20
"""Bytes of a scan as JSON Lines; Parquet is turned into these."""
MOST_ROWS = 1_000_000
"""Rows of a scan: a hundred for each of 10,000 models.  Each takes half a kilobyte of memory."""
LONGEST_LINE = 1 << 20
"""Bytes of one row as JSON."""
_MOST_TEXT = 256 << 20
"""Characters of the different texts in a scan: names of models, targets, messages."""
_LIMITS = Limits(seconds=120.0, memory=1 << 30)
"""What the process that reads Parquet may take."""
_LONGEST_REASON = 300
_MAGIC = b"PAR1"
_SHOWN = 40
"""New findings that are listed."""
_Key = tuple[str, str, str, str]


class RowsError(UnreadableError):
    """A file that holds no rows of a scan."""


@dataclass(frozen=True, slots=True)
class Trend:
    """What is different in the later of two scans.

    Attributes:
        new: findings that only the later one has, of models that both have.
        gone: findings that only the earlier one has, of models that both have and could read.
        still: findings that both have.
        added: findings of models that only the later one has, or that the earlier one could not read.
        models: models of both, of the later one only, of the earlier one only, with another revision, and
            those that only the later one could not read.
    """

    new: tuple[Row, ...]
    gone: tuple[Row, ...]
    still: tuple[Row, ...]
    added: tuple[Row, ...]
    models: Mapping[str, int]

    def counts(self) -> Iterator[tuple[str, int, int, int]]:
        """By rule how many are new, of added models included, gone, and still there."""
        new = Counter(row.rule for row in (*self.new, *self.added))
        gone, still = (Counter(row.rule for row in listed) for listed in (self.gone, self.still))
        for rule in sorted(new | gone | still):
            yield rule, new[rule], gone[rule], still[rule]


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a scan, as JSON Lines or Parquet.

    Raises:
        RowsError: the file cannot be read, is beyond a limit, or holds something else; with the line where
            that shows.
    """
    try:
        with open_regular(path) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                file.seek(0)
                return _rows(file)
        with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
            lines = Path(folder, "rows.jsonl")
            _write_lines(path, lines)
            with lines.open("rb") as file:
                return _rows(file)
    except OSError as error:
        raise RowsError(f"cannot be read: {error.strerror or error}") from error


def _rows(file: BinaryIO) -> tuple[Row, ...]:
    """The rows of JSON Lines; equal texts are one object."""
    found: list[Row] = []
    texts: dict[str, str] = {}
    length = read = number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        read += len(line)
        if len(line) > LONGEST_LINE:
            raise RowsError(f"the line is longer than {LONGEST_LINE >> 20} MiB", line=number)
        if read > MOST_BYTES:
            raise RowsError(f"longer than {MOST_BYTES >> 20} MiB, the most that is read of a scan")
        if not line.strip():
            continue
        if len(found) == MOST_ROWS:
            raise RowsError(f"more than {MOST_ROWS:,} rows: scan fewer models at a time")
        fields = _fields(line, number)
        for name, value in fields.items():
            if isinstance(value, str):
                if value not in texts:
                    texts[value] = value
                    length += len(value)
                fields[name] = texts[value]
        if length > _MOST_TEXT:
            raise RowsError(f"its texts take more than {_MOST_TEXT >> 20} MiB: scan fewer models at a time")
        found.append(Row(**fields))
    if not found:
        # A scan has at least one row for each model: this one was not written to its end.
        raise RowsError("no rows in it: write the scan again with --output jsonl:FILE or parquet:FILE")
    return tuple(found)


def compare(earlier: Iterable[Row], later: Iterable[Row]) -> Trend:
    """What is different in the later scan.

    A finding is the same where model, target, rule and fingerprint are. What is accepted counts as not
    found, and a model that could not be read says nothing of its findings.
    """
    before, after = list(earlier), list(later)
    old, new = {row.model for row in before}, {row.model for row in after}
    blind_before, blind = _unread(before), _unread(after)
    had = {_key(row): row for row in before if row.status == "found"}
    has = {_key(row): row for row in after if row.status == "found"}
    first, second = ({row.model: row.revision for row in listed} for listed in (before, after))
    both = old & new
    changed = sum(1 for model in both if first[model] and second[model] and first[model] != second[model])
    known, seen = old - blind_before, new - blind
    # A rule that was not searched to the end says nothing of what was found earlier.
    partly = {(row.model, row.rule) for row in after if row.status == "caveat" and row.rule}
    fresh = [row for key, row in has.items() if key not in had]
    return Trend(
        new=tuple(row for row in fresh if row.model in known),
        gone=tuple(
            row
            for key, row in had.items()
            if key not in has and row.model in seen and (row.model, row.rule) not in partly
        ),
        still=tuple(row for key, row in has.items() if key in had),
        added=tuple(row for row in fresh if row.model not in known),
        models={
            "both": len(both),
            "added": len(new - old),
            "removed": len(old - new),
            "changed": changed,
            "unreadable": len((blind - blind_before) & both),
        },
    )


def as_json(trend: Trend) -> str:
    """A trend as a JSON document."""
    listed = {name: [as_dict(row) for row in getattr(trend, name)] for name in ("new", "gone", "added")}
    rules = [{"rule": r, "new": n, "gone": g, "still": s} for r, n, g, s in trend.counts()]
    return json.dumps(
        {
            "schema": SCHEMA,
            "models": dict(trend.models),
            "rules": rules,
            "still": len(trend.still),
            **listed,
        },
        indent=2,
    )


def as_text(trend: Trend) -> Iterator[str]:
    """A trend as lines for people."""
    models = trend.models
    words = ", ".join(f"{models[name]} {name}" for name in ("changed", "added", "removed", "unreadable"))
    yield f"{plural(models['both'], 'model')} in both scans; {words}"
    totals = len(trend.new) + len(trend.added), len(trend.gone), len(trend.still)
    yield "{} new, {} gone, {} still there".format(*totals)
    listed = list(trend.counts())
    if listed:
        yield ""
        yield f"{'rule':<10}{'new':>8}{'gone':>8}{'still':>8}"
        for rule, new, gone, still in listed:
            yield f"{clean(rule):<10}{new:>8}{gone:>8}{still:>8}"
    fresh = sorted((*trend.new, *trend.added), key=_rank)
    if fresh:
        yield ""
    for row in fresh[:_SHOWN]:
        yield clean(f"new {row.severity}[{row.rule}] {row.name}: {row.model}  ({row.target})")
    if len(fresh) > _SHOWN:
        yield f"and {len(fresh) - _SHOWN} more new ones"


def _rank(row: Row) -> tuple[int, str, str]:
    order: tuple[str, ...] = SEVERITIES
    return order.index(row.severity) if row.severity in order else len(order), row.rule, row.model


def _unread(listed: Sequence[Row]) -> set[str]:
    return {row.model for row in listed if row.status in ("unreadable", "skipped")}


def _key(row: Row) -> _Key:
    return row.model, row.target, row.rule, row.fingerprint


def _fields(line: bytes, number: int) -> dict[str, Any]:
    """The fields of a row, each of the type that it has."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise RowsError("no JSON Lines of a scan (--output jsonl:FILE)", line=number) from None
    names = {name: int if name == "places" else str for name in NAMES}
    if not isinstance(entry, dict) or any(type(entry.get(name)) is not kind for name, kind in names.items()):
        raise RowsError("no row of a scan (--output jsonl:FILE or parquet:FILE)", line=number)
    return {name: entry[name] for name in names}


def _write_lines(path: Path, lines: Path) -> None:
    """Turn Parquet into JSON Lines, in a process of its own: a page of a few bytes can become gigabytes."""
    if find_spec("pyarrow") is None:
        raise RowsError("Parquet needs the package pyarrow: pip install 'trtlint[parquet]'")
    request = {
        "path": str(path.absolute()),
        "lines": str(lines),
        "names": list(NAMES),
        "bytes": MOST_BYTES,
        "rows": MOST_ROWS,
        "longest": LONGEST_LINE,
    }
    ended = run("trtlint.report._parquetrows", request, _LIMITS)
    if ended.answers:
        raise RowsError(str(ended.answers[0])[:_LONGEST_REASON])
    if ended.cause != "done":
        raise RowsError(f"not Parquet that can be read: the process that read it {ended.words}")
