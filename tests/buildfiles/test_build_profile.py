"""Tests of profiles, timings, metadata and engine headers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.kinds import GivenAs
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import PlanHeader, plan_header, read_plan
from trtlint.buildfiles.profile import LayerTime, Profile, TableReader, from_json, profile_from_json
from trtlint.buildfiles.record import read_build_file, read_file

ONLY_TIMES = (
    "this file has only end-to-end times (--exportTimes), which trtlint does not use; "
    "for layer times, give the file that trtexec --exportProfile writes"
)


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_exported_profile(tmp_path: Path) -> None:
    entry = {"name": "a", "timeMs": 4.0, "averageMs": 2.0, "medianMs": 1.9, "percentage": 80}
    old = {"name": "b", "timeMs": 1.0, "averageMs": 0.5, "percentage": 20}
    profile = read_build_file(write(tmp_path / "p.json", [{"count": 2}, entry, old]))
    assert profile == Profile((LayerTime("a", 2.0, 0.8), LayerTime("b", 0.5, 0.2)))


def test_exported_times(tmp_path: Path) -> None:
    runs = [{"latencyMs": value, "computeMs": value - 1, "h2dMs": 0.5, "d2hMs": 0.5} for value in (3, 5, 4)]
    path = write(tmp_path / "t.json", runs)
    roles: tuple[GivenAs, ...] = ("profile", "layers", "any")
    for role in roles:
        with pytest.raises(BuildFileError) as caught:
            read_file(str(path), role)
        assert str(caught.value) == f"{path}: {ONLY_TIMES}"


def test_metadata(tmp_path: Path) -> None:
    root = {
        "build_options": {"Precision": "FP32+FP16"},
        "device_information": {"Selected Device": "NVIDIA A100", "Compute Capability": 8.0},
    }
    settings = read_build_file(write(tmp_path / "m.json", root))
    assert (settings.gpu, settings.sm, settings.precision) == ("NVIDIA A100", 80, {"fp32", "fp16"})  # type: ignore[union-attr]


def test_both_forms_of_the_table() -> None:
    # From 8.6 on the name is last: https://github.com/NVIDIA/TensorRT/blob/main/samples/common/sampleReporting.cpp
    stamp = "[07/07/2026-02:11:43] [I] "
    new = (
        "=== Profile (18362 iterations ) ===",
        "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer",
        "     193.50       0.0105       0.0098      75.0   Conv_0 + Relu_1 2.0",
        "      64.50       0.0035       0.0034      25.0   Pool",
        "     258.00       0.0140       0.0132     100.0   Total",
        "",
        "Average on 10 runs - GPU latency: 1 ms",
    )
    old = (
        "=== Profile (11 iterations ) ===",
        "               Layer   Time (ms)   Avg. Time (ms)   Median Time (ms)   Time %",
        "  Conv_0 + Relu_1 2.0      193.50           0.0105             0.0098     75.0",
        "                Pool       64.50           0.0035             0.0034     25.0",
        "               Total      258.00           0.0140             0.0132    100.0",
    )
    expected = (
        LayerTime("Conv_0 + Relu_1 2.0", 0.0105, 0.75),
        LayerTime("Pool", 0.0035, 0.25),
    )
    for lines in (new, old):
        text = "".join(f"{stamp}{line}\n" for line in lines)
        log = read_log(io.BytesIO(text.encode()))
        assert log.profiles == (Profile(expected),)


HEADER = bytes([0] * 12) + bytes(8)


@pytest.mark.parametrize(
    ("magic", "version", "expected"),
    [
        (b"ftrt", (10, 13, 3, 9), PlanHeader("tensorrt", "10.13.3")),
        (b"vtrt", (1, 7, 1, 116), PlanHeader("tensorrt-rtx", "1.7.1")),
        (b"ftrt", (0, 0, 0, 0), PlanHeader("tensorrt", None)),
    ],
)
def test_plan_header(tmp_path: Path, magic: bytes, version: tuple[int, ...], expected: PlanHeader) -> None:
    path = tmp_path / "model.plan"
    data = magic + HEADER + bytes(version) + bytes(100)
    path.write_bytes(data)
    assert read_plan(path) == read_build_file(path) == expected
    for end in range(28):
        with pytest.raises(BuildFileError):
            plan_header(data[:end])
    with pytest.raises(BuildFileError, match="not a TensorRT engine"):
        plan_header(b"\x08\x07" + data)


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ([{"count": 3}, {"name": "a"}], Profile((LayerTime("a", 0, 0),))),
        ([{"timeMs": 1}, {"name": 2}, {"count": 1.5}], Profile(())),
        ([{"averageMs": 1, "name": "a", "timeMs": True, "medianMs": "1", "percentage": 50}],
         Profile((LayerTime("a", 1, 0.5),))),
        ([{"count": 1, "name": "a", "averageMs": 10**400, "timeMs": 2}],
         Profile((LayerTime("a", 0, 0),))),
        *(([{"name": "a", "averageMs": number, "timeMs": 1, "medianMs": number, "percentage": number}],
           Profile((LayerTime("a", 0, 0),)))
          for number in (float("nan"), float("inf"), -1e300, 1.1e12)),
        ([], None), ({}, None), ({"count": 1}, None), ([1], None), ([{"name": "a"}], None), (["count"], None),
        (["latencyMs"], None), (None, None),
    ],
)  # fmt: skip
def test_times_in_json(root: object, expected: Profile | None) -> None:
    assert from_json(root) == expected


@pytest.mark.parametrize("root", [[1], [{"count": 1}, 1], {}, [{}, []]])
def test_json_that_is_no_list_of_objects(root: object) -> None:
    with pytest.raises(BuildFileError) as caught:
        profile_from_json(root)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("  4.0  2.0  1.0  50.0   a  b ", LayerTime("a  b", 2, 0.5)),
        ("4.0 2.0 1.0 50.0  a", LayerTime("a", 2, 0.5)),
        ("a 4.0 2.0 50.0", LayerTime("a", 2, 0.5)),
        ("a 1e-3 -2.0 1.0 5e+1", LayerTime("a", -2, 0.5)),
        ("a b 4.0 2.0 1.0 50.0", LayerTime("a b", 2, 0.5)),
        ("4.0 1e999 1.0 1e999  a", LayerTime("a", 0, 0)),
        ("a 4.0 1e13 50.0", LayerTime("a", 0, 0.5)),
        ("a 2.0 50.0", None),
        ("4.0 2.0 50.0", None),
        ("a 4.0.1 2.0 50.0", None),
        ("4.0.1 2.0 1.0 50.0  a", None),
        ("Layer Time (ms) Avg. Time (ms) Time %", None),
        ("x" * 19_987 + " 4.0 2.0 50.", LayerTime("x" * 19_987, 2, 0.5)),
        ("x" * 19_988 + " 4.0 2.0 50.", None),
    ],
)
def test_a_row_of_the_table(message: str, expected: LayerTime | None) -> None:
    reader = TableReader()
    reader.feed(" ")
    assert not reader.done
    reader.feed(message)
    assert reader.profile() == Profile(() if expected is None else (expected,))
    assert not reader.done
    reader.feed("")
    assert reader.done is (expected is not None)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("=== Profile (18 iterations ) ===", True),
        ("=== Profile (18 iterations) ===", True),
        ("=== Profile (99999999999 iterations) ===", True),
        ("=== Profile (999999999999 iterations) ===", False),
        (" === Profile (18 iterations) ===", False),
        ("=== Profile", False),
    ],
)
def test_the_heading_of_the_table(message: str, found: bool) -> None:
    reader = TableReader.begin(message)
    assert (None if reader is None else reader.profile()) == (Profile(()) if found else None)


def test_the_last_row_is_no_layer() -> None:
    reader = TableReader()
    reader.feed("Total 4.0 2.0 50.0")
    assert (reader.done, reader.profile().layers) == (True, ())
