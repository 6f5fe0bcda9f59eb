"""What has become of findings between two scans of many models, by the rows of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trtlint.engine.finding import SEVERITIES
from trtlint.files.problem import UnreadableError
from trtlint.files.regular import read_bytes
from trtlint.lean import dataclass
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.report.rows import NAMES, Row, as_dict

SCHEMA = "trtlint.trend/1"
"""Name and version of the format; the number grows when a reader of the old one would break."""
MOST_BYTES = 1 << 30
_MOST_ROWS = 20_000_000
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
        RowsError: the file cannot be read, or holds something else; with the line where that shows.
    """
    try:
        data = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise RowsError(f"cannot be read: {error.strerror or error}") from error
    found: list[Row] = []
    for number, entry in enumerate(_parquet(data) if data[:4] == _MAGIC else _lines(data), 1):
        if number > _MOST_ROWS:
            raise RowsError(f"more than {_MOST_ROWS:,} rows")
        found.append(_row(entry, number))
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
    fresh = [row for key, row in has.items() if key not in had]
    return Trend(
        new=tuple(row for row in fresh if row.model in known),
        gone=tuple(row for key, row in had.items() if key not in has and row.model in seen),
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


def _lines(data: bytes) -> Iterator[Any]:
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise RowsError("no JSON Lines of a scan (--output jsonl:FILE)", line=number) from None


def _parquet(data: bytes) -> Iterator[Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RowsError("Parquet needs the package pyarrow: pip install 'trtlint[parquet]'") from None
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        for batch in file.iter_batches():
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise RowsError(f"not Parquet that can be read: {' '.join(str(error).split())[:200]}") from error


def _row(entry: Any, number: int) -> Row:
    """A row, each of its fields of the type that it has."""
    names = {name: int if name == "places" else str for name in NAMES}
    if not isinstance(entry, dict) or any(type(entry.get(name)) is not kind for name, kind in names.items()):
        raise RowsError("no row of a scan (--output jsonl:FILE or parquet:FILE)", line=number)
    return Row(**{name: entry[name] for name in names})
