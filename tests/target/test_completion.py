"""Tests of targets completed from build files, and of contradicting options."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.record import BuildRecord, FileContents, together
from trtlint.buildfiles.settings import BuildSettings
from trtlint.target.completion import complete
from trtlint.target.target import Target

BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec --onnx=a.onnx"
DEVICE = """
[01/02/2026-10:00:00] [I] === Device Information ===
[01/02/2026-10:00:00] [I] Selected Device: NVIDIA L4
[01/02/2026-10:00:00] [I] Compute Capability: 8.9
"""


def build(text: str) -> BuildRecord:
    return together([FileContents("build.log", read_log(BytesIO(text.encode())))])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BANNER, Target(version="10.13.3", refused=frozenset({"fp16", "bf16", "int8", "fp8"}))),
        (
            f"{BANNER} --fp16 --noTF32{DEVICE}",
            Target(
                version="10.13.3",
                gpu="L4",
                asked=frozenset({"fp16"}),
                refused=frozenset({"bf16", "int8", "fp8", "tf32"}),
            ),
        ),
        (f"{BANNER} --best", Target(version="10.13.3", asked=frozenset({"best"}))),
        (f"{BANNER} --stronglyTyped", Target(version="10.13.3", asked=frozenset({"strongly-typed"}))),
        ("[V] Number of target compute capabilities: 1\n", Target("tensorrt-rtx")),
        ("[W] no word of the target\n", Target()),
    ],
)
def test_what_a_log_settles(text: str, expected: Target) -> None:
    settled = complete(Target(), build(text))
    assert settled.target == expected
    assert settled.notes == ()


def test_releases_that_are_unknown_are_no_version() -> None:
    settled = complete(Target(), build(BANNER.replace("101303", "8252")))
    assert settled.target.version is None
    assert settled.notes == (
        "build.log:1 reports TensorRT 8.2.52, but trtlint does not know this version and ignores it",
    )


@pytest.mark.parametrize(
    ("printed", "version"),
    [("10.13.9", "10.13"), ("10.13.3.9", "10.13.3.9"), ("10.13.3.9.1", "10.13.3.9"), ("10.99.1", None)],
)
def test_a_release_that_is_unknown_stands_for_its_line(printed: str, version: str | None) -> None:
    found = together([FileContents("f.json", BuildSettings(product="tensorrt", version=printed))])
    assert complete(Target(), found).target.version == version


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (
            Target(version="10.7"),
            "build.log:1 reports TensorRT 10.13.3, but the target is TensorRT 10.7; using TensorRT 10.7",
        ),
        (
            Target("tensorrt-rtx", "1.4"),
            "build.log:1 reports TensorRT 10.13.3, but the target is TensorRT-RTX 1.4; "
            "using TensorRT-RTX 1.4",
        ),
        (
            Target(version="10.13", gpu="T4"),
            "build.log:4 reports SM 8.9 (NVIDIA L4), but the target is SM 7.5; using SM 7.5",
        ),
        (
            Target(asked=frozenset({"int8"})),
            "build.log:1 reports int8 as off, but the target is --int8; using --int8",
        ),
        (
            Target(refused=frozenset({"fp16"})),
            "build.log:1 reports fp16 as on, but the target is --no-fp16; using --no-fp16",
        ),
    ],
)
def test_what_was_given_wins_and_the_difference_is_named(given: Target, note: str) -> None:
    settled = complete(given, build(f"{BANNER} --fp16{DEVICE}"))
    assert settled.notes == (note,)
    assert settled.target.asked >= given.asked
    assert settled.target.refused >= given.refused
    assert given.version is None or settled.target.version == given.version
    assert given.sm is None or settled.target.sm == given.sm


@pytest.mark.parametrize("version", ["10.13", "10.13.3", "10.13.3.9"])
def test_a_version_that_agrees_is_no_conflict(version: str) -> None:
    settled = complete(Target(version=version), build(BANNER))
    assert settled.notes == ()
    assert settled.target.version == version


def test_settling_twice_changes_nothing() -> None:
    found = build(f"{BANNER} --fp16{DEVICE}")
    once = complete(Target(version="10.7"), found)
    assert complete(once.target, found) == once


def test_real_logs(shared: Path) -> None:
    logs = shared / "data" / "logs"

    def target(name: str) -> Target:
        return complete(Target(), together([FileContents(name, read_log(logs / name))])).target

    default = target("cookbook-trt10.16.1-mnist-trtexec-default.log")
    assert (default.version, default.gpu, default.fp16, default.tf32) == ("10.16.1", "H100", False, True)
    half = target("cookbook-trt10.16.1-mnist-trtexec-fp16-verbose.log")
    assert (half.version, half.fp16, half.int8, half.tf32) == ("10.16.1", True, False, False)
    best = target("lix19937-trt8.5.10-mnist-best-verbose.log.gz")
    assert (best.sm, best.fp16, best.int8) == (87, True, True)
    rtx = target("rtx-1.7.1-ln-fp16-op17.log")
    assert (rtx.product, rtx.strongly_typed, rtx.fp16) == ("tensorrt-rtx", True, False)
