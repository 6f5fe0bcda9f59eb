"""Tests of shape inference in a child process, and of the child's answers."""

from __future__ import annotations

import os
from typing import Any

import pytest

from trtlint.model import infer as module
from trtlint.model.infer import InferenceError, infer, isolated


class FakeChild:
    """A fake child process with a fixed answer; records the limit and the number of read bytes."""

    answer: bytes | None = b"\0result"
    signal = ""
    code: int | None = 0
    calls: list[int]

    def __init__(self, work: Any, memory: int) -> None:
        FakeChild.calls = [memory]

    def __enter__(self) -> FakeChild:
        return self

    def __exit__(self, *_: object) -> None:
        FakeChild.calls.append(-1)

    def read(self, size: int, deadline: float) -> bytes:
        FakeChild.calls.append(size)
        if self.answer is None:
            raise TimeoutError
        return self.answer[:size]

    def wait(self) -> None:
        FakeChild.calls.append(0)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Child", FakeChild)
    monkeypatch.setattr(module, "_MOST_ANSWER", 2 << 20)
    monkeypatch.setattr(module, "_ANSWER_PER_BYTE", 1 << 19)
    monkeypatch.setattr(os, "fork", None, raising=False)


MOST = 3 << 20
"""Bytes of the longest answer to two bytes."""


def work(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize(
    ("answer", "result"),
    [(b"\0result", b"result"), (b"\0", b""), (b"\0" + bytes(MOST - 1), bytes(MOST - 1))],
)
@pytest.mark.isolated
@pytest.mark.usefixtures("child")
def test_an_answer(monkeypatch: pytest.MonkeyPatch, answer: bytes, result: bytes) -> None:
    monkeypatch.setattr(FakeChild, "answer", answer)
    assert isolated(work, b"ab", memory=5) == result
    assert FakeChild.calls == [5, MOST + 1, 0, -1]


@pytest.mark.parametrize(
    ("answer", "signal", "code", "message", "refused"),
    [
        (b"\1failed \xff", "", 0, "failed \ufffd", False),
        (b"\2refused", "", 0, "refused", True),
        (b"", "", 0, "the ONNX library crashed", False),
        (b"\0result", "", 1, "the ONNX library crashed", False),
        (b"\0result", "", None, "the ONNX library crashed", False),
        (b"\0result", "SIGSEGV", None, "the ONNX library crashed (SIGSEGV)", False),
        (b"", "SIGXCPU", None, "the ONNX library exceeded the limit of 7 s of processor time", False),
        (b"\0" + bytes(MOST), "", 0, "the result of shape inference exceeded the limit of 3 MiB", False),
        (None, "", 0, "the ONNX library exceeded the limit of 20 s", False),
    ],
)
@pytest.mark.isolated
@pytest.mark.usefixtures("child")
def test_no_answer(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | None, signal: str, code: int | None, message: str,
    refused: bool,
) -> None:  # fmt: skip
    for name, value in (("answer", answer), ("signal", signal), ("code", code)):
        monkeypatch.setattr(FakeChild, name, value)
    with pytest.raises(InferenceError) as caught:
        isolated(work, b"ab", processor=7)
    assert (str(caught.value), caught.value.refused) == (message, refused)
    assert FakeChild.calls[-1] == -1


@pytest.mark.parametrize(
    ("size", "memory"), [(0, 640 << 20), (1 << 20, 656 << 20), (216 << 20, 4 << 30), (217 << 20, 4 << 30)]
)
def test_the_memory_grows_with_the_model(monkeypatch: pytest.MonkeyPatch, size: int, memory: int) -> None:
    """The limit starts at 640 MiB and grows by 16 bytes per byte, up to 4 GiB."""
    calls: list[object] = []

    def isolate(*given: object, **limits: object) -> bytes:
        calls.append((given[0], limits))
        return b"types"

    monkeypatch.setattr(module, "isolated", isolate)
    assert infer(bytes(size)) == b"types"
    assert calls == [(module._infer, {"processor": 3, "memory": memory})]


@pytest.mark.parametrize(
    ("error", "message", "refused"),
    [
        (MemoryError(), "the ONNX library exceeded the memory limit", False),
        (RuntimeError("  first\nsecond"), "first", True),
        (ValueError(""), "ValueError", True),
    ],
)
def test_errors_of_the_library(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, refused: bool
) -> None:
    def fail(*arguments: object) -> bytes:
        assert arguments == (b"model", False, False, True)
        raise error

    monkeypatch.setattr("trtlint.model.infer.library.infer_shapes", fail)
    monkeypatch.delattr(os, "fork", raising=False)
    with pytest.raises(InferenceError) as caught:
        infer(b"model")
    assert (str(caught.value), caught.value.refused) == (message, refused)


@pytest.mark.parametrize(
    ("error", "written"),
    [
        (None, b"\0data"),
        (InferenceError("bad"), b"\1bad"),
        (InferenceError("bad", refused=True), b"\2bad"),
    ],
)
def test_what_the_child_writes(
    monkeypatch: pytest.MonkeyPatch, error: InferenceError | None, written: bytes
) -> None:
    pieces: list[bytes] = []

    def write(writer: int, data: bytes) -> None:
        assert writer == 9
        pieces.append(data)

    def answer(data: bytes) -> bytes:
        if error is not None:
            raise error
        return data

    limits: list[int] = []
    monkeypatch.setattr(module, "write_all", write)
    monkeypatch.setattr(module, "limit_time", limits.append)
    module._work(answer, b"data", 5, 9)
    assert (b"".join(pieces), limits) == (written, [5])
