"""Tests of the worker that converts Parquet rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trtlint.report import _parquetrows
from trtlint.report._parquetrows import work

pyarrow = pytest.importorskip("pyarrow")

LIMITS = {"rows": 5, "bytes": 1 << 20, "longest": 1 << 10}


def converted(folder: Path, table: dict[str, Any], **limits: int) -> tuple[list[Any], list[str]]:
    """Return the rows from the lines, and the errors."""
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(table), folder / "rows.parquet")
    said: list[str] = []
    request = {"path": folder / "rows.parquet", "lines": folder / "rows.jsonl", "names": ["a", "b", "n"]}
    work({**request, **LIMITS, **limits}, said.append)
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()], said


def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"n": [1, 2, 3], "other": ["x", "y", "z"], "a": ["é", None, "é"]}
    rows = [{"a": "é", "n": 1}, {"a": None, "n": 2}, {"a": "é", "n": 3}]
    assert converted(tmp_path, table) == (rows, [])
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(b'{"a": "\\u00e9", "n": 1}\n')
    monkeypatch.setattr(_parquetrows, "_AT_ONCE", 1)
    assert converted(tmp_path, table) == (rows, [])


@pytest.mark.parametrize(("rows", "more"), [(3, False), (2, True)])
def test_rows_beyond_the_limit(rows: int, more: bool, tmp_path: Path) -> None:
    found, said = converted(tmp_path, {"n": [1, 2, 3]}, rows=rows)
    assert (len(found), said) == ((0, ["more than 2 rows; scan fewer models at a time"]) if more else (3, []))


@pytest.mark.parametrize(("size", "more"), [(27, False), (26, True)])
def test_bytes_beyond_the_limit(size: int, more: bool, tmp_path: Path) -> None:
    found, said = converted(tmp_path, {"n": [1, 2, 3]}, bytes=size)
    reason = "the rows of the file, written as JSON Lines, exceed 0 MiB; scan fewer models at a time"
    assert (len(found), said) == ((2, [reason]) if more else (3, []))


@pytest.mark.parametrize(
    ("column", "limit", "reason"),
    [
        # A column of texts is a dictionary, whose texts may take 64 times the longest line.
        ("a", 1 << 14, "the strings in the file exceed 1 MiB"),
        ("n", 1, "a string in the file is longer than 0 MiB"),
    ],
)
def test_large_columns(
    column: str, limit: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parquetrows, "_AT_ONCE", 4)
    values: list[Any] = [7] if column == "n" else ["x" * (1 << 20)]
    found, said = converted(tmp_path, {column: values}, longest=limit, bytes=1 << 22)
    assert (found, said) == ([], [reason])


def test_the_limits_of_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import array

    texts = array(["x" * 124, "x" * 124]).dictionary_encode()
    assert texts.dictionary.nbytes == 128  # with the length of the text
    assert list(_parquetrows._values(texts, 2)) == ["x" * 124, "x" * 124]
    longer = array(["x" * 125]).dictionary_encode()
    with pytest.raises(_parquetrows._TooMuchError):
        list(_parquetrows._values(longer, 2))
    numbers = array([1, 2])
    monkeypatch.setattr(_parquetrows, "_AT_ONCE", numbers.nbytes)
    assert list(_parquetrows._values(numbers, 1)) == [1, 2]
    monkeypatch.setattr(_parquetrows, "_AT_ONCE", numbers.nbytes - 1)
    with pytest.raises(_parquetrows._TooMuchError):
        list(_parquetrows._values(numbers, 1))


def test_other_content(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and nothing else")
    said: list[str] = []
    request = {"path": tmp_path / "rows.parquet", "lines": tmp_path / "lines", "names": ["a"], **LIMITS}
    work(request, said.append)
    (reason,) = said
    assert reason.startswith("not readable Parquet: ")
    assert len(reason) <= 200 + len("not readable Parquet: ")
