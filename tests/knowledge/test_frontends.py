"""Tests of remedies in the terms of each build program."""

from __future__ import annotations

import io

import pytest

from trtlint.buildfiles.log import read_log
from trtlint.knowledge.frontends import UNKNOWN, front_end, front_ends


def test_every_program_has_a_source_and_words() -> None:
    for row in front_ends().values():
        assert all((row.verbose, row.plugin, row.memory))


def test_unknown_program() -> None:
    assert front_end(None) is UNKNOWN
    assert front_end("nobody") is UNKNOWN


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("TensorRT: starting export with TensorRT 10.7.0...", "ultralytics"),
        ("I0101 10:00:00.000000 1 tensorrt_backend.cc:64] Failed to load engine", "triton"),
        (
            "0:00:05.1  1845 0x56206e548360 ERROR  nvinfer gstnvinfer.cpp:632:gst_nvinfer_logger:<primary> "
            "NvDsInferContext[UID 1]: Error in NvDsInferContextImpl::initialize()",
            "deepstream",
        ),
        ("[01/15/2025-17:13:04] [TRT] [W] hello", "python"),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/36
        ("[!] Invalid Engine. Please ensure the engine was built correctly", "polygraphy"),
        # https://github.com/AmusementClub/vs-mlrt/issues/35
        ("Failed to evaluate the script: error in vsmlrt", "vs-mlrt"),
    ],
)
def test_program_of_a_log(line: str, tool: str) -> None:
    assert read_log(io.BytesIO(line.encode() + b"\n")).settings.tool == tool
