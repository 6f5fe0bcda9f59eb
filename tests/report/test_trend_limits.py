"""Tests of untrusted scans: one error line for each exceeded limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from trtlint.cli import run
from trtlint.process.spawn import Limits
from trtlint.report import trend
from trtlint.report.rows import NAMES, ReportRow
from trtlint.report.trend import RowsError, compare, read_rows

ROW = ReportRow("m.onnx", "r", "TensorRT 10.8", "found", "ACC102", "n", "error", "high", "f", 1, "message")


def written(folder: Path, *rows: ReportRow) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows), encoding="utf-8")
    return file


def table(folder: Path, rows: int, **columns: str) -> Path:
    """Return a Parquet scan of equal rows, except some columns."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    values: dict[str, Any] = {**asdict(ROW), **columns}
    # Dictionary columns: long texts in plain columns would need gigabytes.
    data = {
        name: [values[name]] * rows
        if name == "places"
        else pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows, pyarrow.int32()), [values[name]])
        for name in NAMES
    }
    file = folder / "rows.parquet"
    parquet.write_table(pyarrow.table(data), file, compression="zstd")
    return file


def test_lines_and_tables_give_the_same_rows(tmp_path: Path) -> None:
    assert read_rows(written(tmp_path, ROW, ROW)) == read_rows(table(tmp_path, 2)) == (ROW, ROW)


def test_equal_texts_are_kept_once(tmp_path: Path) -> None:
    first, second = read_rows(written(tmp_path, ROW, ROW))
    assert all(getattr(first, name) is getattr(second, name) for name in NAMES)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_rows_beyond_the_limit(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend, "MOST_ROWS", 3)
    file = table(tmp_path, 4) if kind == "parquet" else written(tmp_path, ROW, ROW, ROW, ROW)
    with pytest.raises(RowsError, match=r"^more than 3 rows; scan fewer models at a time$"):
        read_rows(file)


def test_a_line_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, ROW, replace(ROW, message="x" * (1 << 20)))
    with pytest.raises(RowsError, match=r"^the line is longer than 1 MiB$") as caught:
        read_rows(file)
    assert caught.value.line == 2


def test_texts_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend, "_MOST_TEXT", 3 << 20)
    monkeypatch.setattr(trend, "LONGEST_LINE", 4 << 20)
    with pytest.raises(
        RowsError, match=r"^the strings in the file exceed 3 MiB; scan fewer models at a time$"
    ):
        read_rows(written(tmp_path, replace(ROW, message="x" * (3 << 20))))


def test_bytes_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, *[replace(ROW, message="x" * (1 << 19))] * 4)
    monkeypatch.setattr(trend, "MOST_BYTES", file.stat().st_size)
    assert len(read_rows(file)) == 4
    monkeypatch.setattr(trend, "MOST_BYTES", 2 << 20)
    with pytest.raises(RowsError, match=r"^exceeds the limit of 2 MiB; scan fewer models at a time$"):
        read_rows(file)


def test_a_long_text_in_every_row_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trend, "MOST_BYTES", 16 << 20)
    monkeypatch.setattr(trend, "_LIMITS", Limits(seconds=60.0, memory=500 << 20))
    file = table(tmp_path, 100_000, message="x" * 200_000)
    assert file.stat().st_size < 20_000
    assert run(["trend", str(file), str(file)]) == 3
    assert (
        f"error: {file}: the rows of the file, written as JSON Lines, exceed 16 MiB"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_an_empty_file_is_no_scan(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.touch()
    with pytest.raises(RowsError, match="no rows"):
        read_rows(file)


def test_what_is_no_parquet_behind_its_first_bytes(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(RowsError, match=r"^not readable Parquet"):
        read_rows(file)


def test_a_process_that_dies_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend, "_LIMITS", Limits(seconds=0.001))
    with pytest.raises(RowsError, match=r"the process that reads the file failed: it was stopped after"):
        read_rows(table(tmp_path, 2))


def test_a_rule_that_was_not_searched_to_the_end_has_no_finding_gone() -> None:
    caveat = ReportRow("m.onnx", "r", "TensorRT 10.8", "caveat", "ACC102", message="not searched to the end")
    assert not compare([ROW], [caveat]).gone
    assert compare([ROW], [ReportRow("m.onnx", "r", "TensorRT 10.8", "clean")]).gone == (ROW,)


@pytest.mark.slow
def test_real_bombs(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    folder = shared / "data" / "attack"
    if not (folder / "c.parquet").is_file():
        pytest.skip("no hostile scans")
    assert run(["trend", str(folder / "c.parquet"), str(folder / "b.parquet")]) == 3
    assert "exceed 512 MiB; scan fewer models at a time" in capsys.readouterr().err


def test_limits_are_met_exactly_and_empty_lines_are_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, ROW, ROW)
    longest = max(map(len, file.read_bytes().splitlines(keepends=True)))
    texts = sum(len(value) for value in {v for v in asdict(ROW).values() if isinstance(v, str)})
    file.write_text(file.read_text(encoding="utf-8") + "\n \n", encoding="utf-8")
    monkeypatch.setattr(trend, "LONGEST_LINE", longest)
    monkeypatch.setattr(trend, "_MOST_TEXT", texts)
    monkeypatch.setattr(trend, "MOST_ROWS", 2)
    assert read_rows(file) == (ROW, ROW)
    monkeypatch.setattr(trend, "LONGEST_LINE", longest - 1)
    with pytest.raises(RowsError, match="the line is longer"):
        read_rows(file)
