"""Profiles, timings, metadata and engine headers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.files import read_build_file
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import PlanHeader, plan_header, read_plan
from trtlint.buildfiles.profile import LayerTime, Profile, Times, profile_from_json


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_exported_profile(tmp_path: Path) -> None:
    entry = {"name": "a", "timeMs": 4.0, "averageMs": 2.0, "medianMs": 1.9, "percentage": 80}
    old = {"name": "b", "timeMs": 1.0, "averageMs": 0.5, "percentage": 20}
    profile = read_build_file(write(tmp_path / "p.json", [{"count": 2}, entry, old]))
    assert profile == Profile(2, (LayerTime("a", 4.0, 2.0, 1.9, 0.8), LayerTime("b", 1.0, 0.5, None, 0.2)))
    assert isinstance(profile, Profile)
    assert profile.milliseconds == 2.5
    with pytest.raises(BuildFileError):
        profile_from_json([1])


def test_exported_times(tmp_path: Path) -> None:
    runs = [{"latencyMs": value, "computeMs": value - 1, "h2dMs": 0.5, "d2hMs": 0.5} for value in (3, 5, 4)]
    assert read_build_file(write(tmp_path / "t.json", runs)) == Times(3, 4, 3, 0.5, 0.5)


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
        LayerTime("Conv_0 + Relu_1 2.0", 193.5, 0.0105, 0.0098, 0.75),
        LayerTime("Pool", 64.5, 0.0035, 0.0034, 0.25),
    )
    for lines, iterations in ((new, 18362), (old, 11)):
        text = "".join(f"{stamp}{line}\n" for line in lines)
        log = read_log(io.BytesIO(text.encode()))
        assert log.profiles == (Profile(iterations, expected, 1),)


HEADER = bytes([0] * 12) + bytes(8)


@pytest.mark.parametrize(
    ("magic", "version", "expected"),
    [
        (b"ftrt", (10, 13, 3, 9), PlanHeader("tensorrt", "10.13.3", 9)),
        (b"vtrt", (1, 7, 1, 116), PlanHeader("tensorrt-rtx", "1.7.1", 116)),
        (b"ftrt", (0, 0, 0, 0), PlanHeader("tensorrt", None, None)),
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
