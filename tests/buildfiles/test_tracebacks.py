"""Tests of tracebacks without a message: complete, without indentation and truncated."""

from __future__ import annotations

import io

import pytest

from trtlint.buildfiles.diagnosis import diagnose
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.tracebacks import Ending, RaiseSite, Traceback

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


def raised(*lines: str) -> RaiseSite | None:
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
    expected = RaiseSite("torch2trt.py:97 in wrapper", "run.py:8 in main", "torch2trt", "converter(ctx)")
    assert raised(HEADING, *lines, "AttributeError: 'Tensor' object has no attribute '_trt'") == expected
    assert raised(HEADING, *lines, "TypeError") == expected
    own = RaiseSite("run.py:8 in main", "run.py:8 in main", "", "build(model)")
    assert raised(HEADING, *lines[:2], "TypeError: no engine") == own
    assert raised("TypeError: no engine") is None


FRAME = b'  File "/w/a.py", line 5, in f'


@pytest.mark.parametrize("before", [b"", b"x> "])
@pytest.mark.parametrize(
    ("line", "ending", "cut"),
    [
        (b"AssertionError", Ending(9, "AssertionError at a.py:5 in f"), False),
        (b"a.b.MyException  ", Ending(9, "a.b.MyException at a.py:5 in f"), False),
        (b"KeyboardInterrupt", Ending(9, "KeyboardInterrupt at a.py:5 in f"), False),
        (b"RuntimeError: why", None, False),
        (b"Asse", None, True),
        (b"a.b ", None, True),
        (b"some words", None, False),
        (b"5", None, False),
    ],
)
def test_the_end_of_a_traceback(before: bytes, line: bytes, ending: Ending | None, cut: bool) -> None:
    """The last line of a log can contain the start of an exception name."""
    found = Traceback()
    assert not found.takes(before + FRAME)
    assert not found.is_cut(0)
    found.begin(3, before + HEADING.encode())
    assert found.takes(before + FRAME)
    assert not found.takes(b"y" + FRAME)
    assert found.is_cut(8)
    assert found.end(9, before + line) == ending
    assert (found.open, found.is_cut(9), found.is_cut(10)) == (False, cut, False)
    assert found.raised(8) is None
    assert found.raised(9) == RaiseSite("a.py:5 in f", "a.py:5 in f", "", "")
    assert found.cut() == Ending(3, "a Python traceback that is cut off at a.py:5 in f")


def test_a_line_without_the_text_before_the_heading_ends_a_traceback() -> None:
    found = Traceback()
    found.begin(3, b"x> " + HEADING.encode())
    assert found.end(4, b"AssertionError") is None
    assert found.raised(4) is None
    assert found.cut() == Ending(3, "a Python traceback that is cut off")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([FRAME, b"    code()  ", b"    ^^^^^^"], RaiseSite("a.py:5 in f", "a.py:5 in f", "", "code()")),
        ([b'File "b.py", line 7', b"code", b"[...]"], RaiseSite("b.py:7", "b.py:7", "", "code")),
        ([FRAME, b"    " + b"c" * 201], RaiseSite("a.py:5 in f", "a.py:5 in f", "", "c" * 200)),
        (
            [FRAME, b"    own", b'  File "/v/site-packages/my_pkg/x.py", line 1, in g', b"    theirs"],
            RaiseSite("x.py:1 in g", "a.py:5 in f", "my_pkg", "theirs"),
        ),
        ([b'  File "/usr/lib/python3.11/json/x.py", line 1, in g'], RaiseSite("x.py:1 in g", "", "", "")),
        ([b'  File "<frozen runpy>", line 1, in g'], RaiseSite("<frozen runpy>:1 in g", "", "", "")),
        ([b'  File "C:\\Python311\\Lib\\x.py", line 1, in g'], RaiseSite("x.py:1 in g", "", "", "")),
        ([FRAME, b"    old", FRAME], RaiseSite("a.py:5 in f", "a.py:5 in f", "", "")),
    ],
)
def test_the_place_and_the_code_of_the_last_frame(lines: list[bytes], expected: RaiseSite) -> None:
    found = Traceback()
    found.begin(1, HEADING.encode())
    assert all(found.takes(line) for line in lines)
    found.end(20, b"RuntimeError: why")
    assert found.raised(20) == expected


def test_a_second_traceback_forgets_the_first() -> None:
    found = Traceback()
    found.begin(1, HEADING.encode())
    assert found.takes(FRAME)
    found.begin(5, HEADING.encode())
    assert not found.takes(b"TypeError")
    assert found.end(6, b"TypeError") == Ending(6, "TypeError")
