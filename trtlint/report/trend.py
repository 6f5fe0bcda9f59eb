"""Comparison of two scans of many models: new findings and removed findings, in all formats."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import asdict

from trtlint.engine.finding import SEVERITIES
from trtlint.files.problem import UnreadableError
from trtlint.files.regular import open_regular
from trtlint.knowledge.extras import how_to_install
from trtlint.process.spawn import Limits, run
from trtlint.report.counts import left_out, plural
from trtlint.report.document import Code, Document, DocumentTable, Part, Words
from trtlint.report.escape import clean
from trtlint.report.rows import NAMES, ReportRow

SCHEMA = "trtlint.trend/1"
"""Name and version of the format; incompatible changes raise the version."""
MOST_BYTES = 512 << 20
"""Largest size of a scan as JSON Lines, in bytes; Parquet is converted to JSON Lines."""
MOST_ROWS = 1_000_000
"""Largest number of rows: 100 for each of 10,000 models. A row takes half a kilobyte of memory."""
LONGEST_LINE = 1 << 20
"""Largest size of one row as JSON, in bytes."""
_MOST_TEXT = 256 << 20
"""Largest number of characters in the distinct texts of a scan."""
_LIMITS = Limits(seconds=120.0, memory=1 << 30)
"""Limits of the process that reads Parquet."""
_LONGEST_REASON = 300
_MAGIC = b"PAR1"
_SHOWN = 40
"""Largest number of listed new findings."""


class RowsError(UnreadableError):
    """Error: a file does not contain the findings of a scan (:class:`~trtlint.report.rows.ReportRow`)."""


class Trend(Struct, frozen=True):
    """The differences between an earlier and a later scan.

    Attributes:
        new: findings that are only in the later scan. The earlier scan contains the model and could read it.
        gone: findings that are only in the earlier scan. Both scans could read the model.
        still: findings in both scans.
        added: findings of models that the earlier scan lacks or could not read.
        models: the number of models by kind: ``both`` (in both scans), ``added``, ``removed``, ``changed``,
            and ``unreadable`` (in both scans, but only the earlier scan could read the model).
    """

    new: tuple[ReportRow, ...]
    gone: tuple[ReportRow, ...]
    still: tuple[ReportRow, ...]
    added: tuple[ReportRow, ...]
    models: Mapping[str, int]

    def counts(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield each rule with three numbers: its new findings, removed findings and remaining findings.

        Findings of added models count as new.
        """
        new = Counter(row.rule for row in (*self.new, *self.added))
        gone, still = (Counter(row.rule for row in listed) for listed in (self.gone, self.still))
        for rule in sorted(new | gone | still):
            yield rule, new[rule], gone[rule], still[rule]


def read_rows(path: Path) -> tuple[ReportRow, ...]:
    """Read the rows of a scan from JSON Lines or Parquet.

    Raises:
        RowsError: the file cannot be read, exceeds a limit, or is not a scan.  The message has the line
            number.
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


def _rows(file: BinaryIO) -> tuple[ReportRow, ...]:
    """Read rows from JSON Lines. Equal texts of different rows are one object, to save memory."""
    found: list[ReportRow] = []
    texts: dict[str, str] = {}
    length = read = number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        read += len(line)
        if len(line) > LONGEST_LINE:
            raise RowsError(f"the line is longer than {LONGEST_LINE >> 20} MiB", line=number)
        if read > MOST_BYTES:
            raise RowsError(f"exceeds the limit of {MOST_BYTES >> 20} MiB; scan fewer models at a time")
        if not line.strip():
            continue
        if len(found) == MOST_ROWS:
            raise RowsError(f"more than {MOST_ROWS:,} rows; scan fewer models at a time")
        fields = _fields(line, number)
        for name, value in fields.items():
            if isinstance(value, str):
                if value not in texts:
                    texts[value] = value
                    length += len(value)
                fields[name] = texts[value]
        if length > _MOST_TEXT:
            raise RowsError(
                f"the strings in the file exceed {_MOST_TEXT >> 20} MiB; scan fewer models at a time"
            )
        found.append(ReportRow(**fields))
    if not found:
        # A complete scan has at least one row for each model.
        raise RowsError("holds no rows; write the scan again with --output jsonl:FILE or parquet:FILE")
    return tuple(found)


def compare(earlier: Iterable[ReportRow], later: Iterable[ReportRow]) -> Trend:
    """Return the differences between two scans.

    Findings are equal if model, target, rule and fingerprint are equal. Suppressed findings are ignored.
    Models that one scan could not read have no new or removed findings.
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
    # An incomplete search of a rule does not show that earlier findings are gone.
    partly = {(row.model, rule) for row in after if row.status == "caveat" for rule in row.rule.split()}
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
    """Convert the result of a comparison to a JSON document."""
    listed = {name: [asdict(row) for row in getattr(trend, name)] for name in ("new", "gone", "added")}
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
    """Yield the result of a comparison as lines of text."""
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
    fresh = sorted((*trend.new, *trend.added), key=rank)
    if fresh:
        yield ""
    for row in fresh[:_SHOWN]:
        yield clean(f"new {row.severity}[{row.rule}] {row.name}: {row.model}  ({row.target})")
    yield from left_out(len(fresh), _SHOWN, "new finding")


def rank(row: ReportRow) -> tuple[int, str, str]:
    """Return a sort key for rows: by severity (the most severe first), then by rule and model."""
    order: tuple[str, ...] = SEVERITIES
    return order.index(row.severity) if row.severity in order else len(order), row.rule, row.model


def _unread(listed: Sequence[ReportRow]) -> set[str]:
    return {row.model for row in listed if row.status in ("unreadable", "skipped")}


def _key(row: ReportRow) -> tuple[str, str, str, str]:
    return row.model, row.target, row.rule, row.fingerprint


def _fields(line: bytes, number: int) -> dict[str, Any]:
    """Parse the fields of a row, and check the type of each field."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise RowsError("not JSON Lines of a scan (--output jsonl:FILE)", line=number) from None
    names = {name: int if name == "places" else str for name in NAMES}
    if not isinstance(entry, dict) or any(type(entry.get(name)) is not kind for name, kind in names.items()):
        raise RowsError("not a row that trtlint lint --output jsonl:FILE or parquet:FILE writes", line=number)
    return {name: entry[name] for name in names}


def _write_lines(path: Path, lines: Path) -> None:
    """Convert a Parquet file to JSON Lines.

    A separate process with limits does this, because a small Parquet file can decode to gigabytes.
    """
    if find_spec("pyarrow") is None:
        raise RowsError(f"Parquet needs the package pyarrow: {how_to_install('parquet')}")
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
        raise RowsError(f"not readable Parquet: the process that reads the file failed: it {ended.words}")


def page(trend: Trend) -> Document:
    """Return the document about a comparison of two scans."""
    models = trend.models
    fresh = (*trend.new, *trend.added)
    counts = ", ".join(f"{models[name]:,} {name}" for name in ("changed", "added", "removed", "unreadable"))
    rules: list[list[Words]] = [[Code(rule), *numbers] for rule, *numbers in trend.counts()]
    return Document(
        "trend",
        f"{len(fresh):,} new, {len(trend.gone):,} gone, {len(trend.still):,} remaining",
        [
            Part("Rules", [DocumentTable(["Rule", "New", "Gone", "Remaining"], rules)]),
            Part("New findings", [_listed(fresh)]),
            Part("Gone findings", [_listed(trend.gone)]),
        ],
        [f"{plural(models['both'], 'model')} in both scans; {counts}"],
    )


def _listed(rows: Iterable[ReportRow]) -> DocumentTable:
    return DocumentTable(
        ["Severity", "Rule", "Name", "Model", "Target"],
        [
            [row.severity, Code(row.rule), row.name, Code(row.model), row.target]
            for row in sorted(rows, key=rank)
        ],
    )
