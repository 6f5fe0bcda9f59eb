"""Tracebacks that end without a message, whole, without indentation and cut."""

from __future__ import annotations

import io

import pytest

from trtlint.buildfiles.diagnosis import diagnose
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.tracebacks import Raised, Traceback

HEADING = "Traceback (most recent call last):"
FRAMES = (
    '  File "/w/repro.py", line 129, in compile_model',
    "    torch_tensorrt.dynamo.compile(",
    '  File "/p/torch_tensorrt/dynamo/conversion/_TRTInterpreter.py", line 653, in run',
    "    assert cuda_engine",
    "           ^^^^^^^^^^^",
)


def reasons(*lines: str) -> tuple[bool, int | None, str]:
    found = diagnose(read_log(io.BytesIO("\n".join([*lines, ""]).encode())))
    record = found.line or found.cause
    return found.failed, None if record is None else record.line, "" if record is None else record.message


@pytest.mark.parametrize("before", ["", "[rank0]: ", "> "])
@pytest.mark.parametrize("left_out", [(), ("[...]",), ("...",)])
def test_bare_exception(before: str, left_out: tuple[str, ...]) -> None:
    lines = [HEADING, *FRAMES[:2], *left_out, *FRAMES[2:], "AssertionError"]
    expected = "AssertionError at _TRTInterpreter.py:653 in run"
    assert reasons(*(before + line for line in lines)) == (True, len(lines), expected)


def test_without_indentation() -> None:
    lines = [line.strip() for line in FRAMES[:4]]
    assert reasons(HEADING, *lines, "AssertionError")[2] == "AssertionError at _TRTInterpreter.py:653 in run"


def test_cut_off() -> None:
    lines = ("Loading TensorRT engine from a.engine", HEADING, *FRAMES[:2])
    message = "a Python traceback that is cut off at repro.py:129 in compile_model"
    assert reasons(*lines) == (True, 2, message)


def test_cut_off_of_another_program() -> None:
    assert not reasons("hello", HEADING, '  File "/w/a.py", line 1, in f')[0]


def test_exception_with_message_is_kept_as_it_is() -> None:
    assert reasons(HEADING, *FRAMES, "RuntimeError: no engine")[2] == "RuntimeError: no engine"


def test_windows_paths() -> None:
    found = Traceback()
    found.begin(3, HEADING.encode())
    assert found.takes(rb'File "F:\a\backend\src\RenderVideo.py", line 405, in upscale')
    assert found.takes(b"return Upscale(")
    assert not found.takes(b"return Upscale(")
    assert found.cut().message.endswith("cut off at RenderVideo.py:405 in upscale")
    assert not found.open


def raised(*lines: str) -> Raised | None:
    found = diagnose(read_log(io.BytesIO("\n".join([*lines, ""]).encode())))
    record = found.line or found.cause
    return None if record is None else record.raised


def test_place_of_an_exception() -> None:
    lines = (
        '  File "/w/run.py", line 8, in main',
        "    build(model)",
        '  File "/usr/lib/python3/dist-packages/torch2trt/torch2trt.py", line 97, in wrapper',
        "    converter(ctx)",
    )
    expected = Raised("torch2trt.py:97 in wrapper", "run.py:8 in main", "torch2trt", "converter(ctx)")
    assert raised(HEADING, *lines, "AttributeError: 'Tensor' object has no attribute '_trt'") == expected
    assert raised(HEADING, *lines, "TypeError") == expected
    own = Raised("run.py:8 in main", "run.py:8 in main", "", "build(model)")
    assert raised(HEADING, *lines[:2], "TypeError: no engine") == own
    assert raised("TypeError: no engine") is None
