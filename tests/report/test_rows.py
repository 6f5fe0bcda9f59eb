"""Tests of scan rows as JSON Lines and Parquet, and of the trend between two scans."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from tests import schemas
from tests.workspace import Workspace
from trtlint.cli import run
from trtlint.report.rows import NAMES, ReportRow
from trtlint.report.trend import RowsError, as_json, as_text, compare, read_rows

HOUSE = ("--rules", "house", "--trt", "10.8", "--quiet")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def scan(work: Workspace, name: str, *arguments: str) -> Path:
    assert work.run("models", *HOUSE, "--output", f"jsonl:{name}", *arguments) in (0, 1, 3)
    return work.path / name


def test_rows_of_a_scan(work: Workspace) -> None:
    (work.path / "models" / "broken.onnx").write_bytes(b"\x00")
    found = lines(scan(work, "rows.jsonl"))
    assert [(row["model"], row["status"], row["rule"], row["places"]) for row in found] == [
        ("models/a.onnx", "found", "XYZ901", 2),
        ("models/a.onnx", "found", "XYZ902", 1),
        ("models/b.onnx", "clean", "", 0),
        ("models/broken.onnx", "unreadable", "", 0),
    ]
    assert list(found[0]) == list(NAMES)
    assert len({row["revision"] for row in found}) == 3
    assert len({row["fingerprint"] for row in found}) == 3


@pytest.mark.slow
def test_revisions_are_those_of_the_content(work: Workspace) -> None:
    first = lines(scan(work, "one.jsonl"))
    assert lines(scan(work, "two.jsonl")) == first  # from the cache
    assert lines(scan(work, "three.jsonl", "--no-cache", "-j", "2")) == first
    work.save("models/b.onnx", [("Abs", "tail")])
    changed = lines(scan(work, "four.jsonl"))
    assert changed[0]["revision"] == first[0]["revision"]
    assert changed[-1]["revision"] != first[-1]["revision"]


def test_parquet_holds_the_same_rows(work: Workspace) -> None:
    pytest.importorskip("pyarrow")
    scan(work, "rows.jsonl", "--output", "parquet:rows.parquet")
    assert read_rows(work.path / "rows.parquet") == read_rows(work.path / "rows.jsonl")
    assert run(["trend", "rows.parquet", "rows.jsonl"]) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
def test_parquet_with_a_file_name_that_is_not_utf8(work: Workspace) -> None:
    pytest.importorskip("pyarrow")
    (work.path / "models" / "c\udcff.onnx").write_bytes(b"")
    scan(work, "rows.jsonl", "--output", "parquet:rows.parquet")
    names = [row.model for row in read_rows(work.path / "rows.parquet")]
    assert "models/c\\udcff.onnx" in names


def test_parquet_needs_a_file_and_its_package(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert work.run("models", *HOUSE, "--format", "parquet") == 2
    assert "parquet is binary; write it to a file: parquet:FILE" in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert work.run("models", *HOUSE, "--output", "parquet:x") == 2
    assert 'pip install "pyarrow>=15"' in capsys.readouterr().err


def test_a_trend(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    scan(work, "before.jsonl")
    work.save("models/a.onnx", [("Relu", "blocks.0"), ("Relu", "blocks.1")])
    work.save("models/b.onnx", [("Abs", "head"), ("Relu", "tail")])
    work.save("models/c.onnx", [("Sin", "head")])
    scan(work, "after.jsonl")
    capsys.readouterr()
    assert run(["trend", "before.jsonl", "after.jsonl"]) == 1
    out = capsys.readouterr().out
    assert "2 models in both scans; 2 changed, 1 added, 0 removed, 0 unreadable" in out
    assert "2 new, 1 gone, 1 still there" in out
    assert "new error[XYZ901] house-relu: models/b.onnx  (TensorRT 10.8)" in out
    assert run(["trend", "after.jsonl", "after.jsonl", "--fail-on", "note"]) == 0
    capsys.readouterr()
    assert run(["trend", "before.jsonl", "after.jsonl", "--format", "json", "--fail-on", "never"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schemas.load("trtlint.trend/1"))
    assert [(row["rule"], row["model"]) for row in document["new"]] == [("XYZ901", "models/b.onnx")]
    assert [(row["rule"], row["model"]) for row in document["gone"]] == [("XYZ902", "models/a.onnx")]
    assert [(row["rule"], row["model"]) for row in document["added"]] == [("XYZ902", "models/c.onnx")]


ROW = ReportRow("m.onnx", "1", "TensorRT 10.8", "found", "ACC101", "n", "error", "high", "f", 1, "text")


def test_what_could_not_be_read_says_nothing_of_its_findings() -> None:
    blind = ReportRow("m.onnx", "", "TensorRT 10.8", "unreadable")
    trend = compare([ROW], [blind])
    assert (trend.new, trend.gone, trend.models["unreadable"]) == ((), (), 1)
    back = compare([blind], [ROW])
    assert (back.new, back.added) == ((), (ROW,))


def test_only_models_that_became_unreadable_count_as_unreadable() -> None:
    blind = ReportRow("m.onnx", "", "TensorRT 10.8", "unreadable")
    skipped = replace(blind, model="s.onnx", status="skipped")
    broken = replace(blind, model="new.onnx")
    trend = compare([blind, replace(ROW, model="s.onnx")], [blind, skipped, broken])
    assert trend.models == {"both": 2, "added": 1, "removed": 0, "changed": 0, "unreadable": 1}


def test_what_is_accepted_is_gone() -> None:
    trend = compare([ROW], [replace(ROW, status="suppressed")])
    assert trend.gone == (ROW,)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x", "not JSON Lines of a scan"),
        (b"[1]", "not a row that trtlint lint"),
        (b'{"model": 1}', "not a row that trtlint lint"),
        (b"[" * 100_000, "not JSON Lines of a scan"),
        (b"\xff", "not JSON Lines of a scan"),
        (b"PAR1 and no more", "Parquet"),
    ],
)
def test_files_that_hold_no_rows(
    work: Workspace, content: bytes, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (work.path / "rows").write_bytes(content)
    assert run(["trend", "rows", "rows"]) == 3
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_a_row_with_a_field_of_another_type(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**asdict(ROW), "places": "1"}), encoding="utf-8")
    with pytest.raises(RowsError, match="not a row that trtlint lint"):
        read_rows(file)


ROWS = st.lists(
    st.builds(
        ReportRow,
        model=st.sampled_from("abc"),
        revision=st.sampled_from(["", "1", "2"]),
        target=st.just("t"),
        status=st.sampled_from(["found", "clean", "unreadable", "conditional"]),
        rule=st.sampled_from(["A", "B"]),
        fingerprint=st.sampled_from("xyz"),
    ),
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS)
def test_every_finding_of_the_later_scan_is_told_once(
    before: list[ReportRow], after: list[ReportRow]
) -> None:
    trend = compare(before, after)
    told = [*trend.new, *trend.still, *trend.added]
    keys = {(row.model, row.rule, row.fingerprint) for row in after if row.status == "found"}
    assert sorted((row.model, row.rule, row.fingerprint) for row in told) == sorted(keys)
    assert list(as_text(trend))
    assert json.loads(as_json(trend))["still"] == len(trend.still)
