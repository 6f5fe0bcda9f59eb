"""Run the examples in rule files, in a process with limits.

Rule files can be untrusted.  Their examples are models for ONNX's parser, checker and shape inference.  The
native code of ONNX crashes on some models, and needs gigabytes of memory for others.  So a forked process
runs all examples one after another, and sends a message before each example.  If the process dies, the
current example is reported as broken, and the remaining examples of the rule file are skipped.  A new process
continues with the next rule file. Without ``os.fork``, the examples run in this process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from trtlint.engine.rule import RuleError
from trtlint.errors import FileError, TrtlintError
from trtlint.examples.rules import Begin, ExampleResult
from trtlint.files.limits import memory_of
from trtlint.process.fork import Child, limit_time, write_all
from trtlint.runs.bugs import describe

SECONDS = 30
"""Seconds of processor time for the examples of one rule file.

The slowest rule of trtlint needs one second, or several seconds on a machine where forks are slow.
"""
WALL = 60.0
"""Seconds of wall time after which an example is stopped, even if it only waits."""
MEMORY = 1 << 30
"""Bytes of memory for one example."""
MOST_BROKEN = 5
"""The run stops after this number of rule files with broken examples."""
_ROOM = 8 << 30
"""Bytes of address space beyond the mapped memory. Threads of libraries reserve more than they use."""
_POLL_INTERVAL = 0.05
"""Seconds between two checks of the memory of the process."""
_CHUNK = 1 << 16
_LONGEST_MESSAGE = 1 << 20

Examples = Callable[[Begin], Iterator[ExampleResult]]
"""Function that runs examples.

The function calls its argument before each example, and skips the example if the call returns False.
"""


class RuleFileError(FileError):
    """Error: a rule file is wrong.  The message names the file and the line."""


class BugError(TrtlintError):
    """Error: an example triggers a bug in trtlint.  The message is for the user."""


def run_limited(examples: Examples) -> Iterator[ExampleResult]:
    """Run all examples in a separate process, and yield their results.

    An example that crashes its process also gives a result.

    Args:
        examples: function that runs the examples, always in the same order.

    Raises:
        RuleFileError: a rule file is wrong.
        BugError: an example triggers a bug in trtlint.
    """
    if not hasattr(os, "fork"):
        yield from in_place(examples)
        return
    yield from _forked(examples)


def in_place(examples: Examples) -> Iterator[ExampleResult]:
    """Run all examples in this process, without limits, and yield their results.

    Raises:
        RuleFileError: a rule file is wrong.
    """
    try:
        yield from examples(lambda _: True)
    except RuleError as error:
        raise RuleFileError(str(error)) from None


class _Progress(Struct):
    """The work that the child processes have done so far.

    Attributes:
        done: number of examples that need not run again.
        broken: rule files whose remaining examples are skipped.
        others: results that are not about an example.  Each new process sends these results again, so they
            are stored to skip repetitions.
    """

    done: int
    broken: set[Path]
    others: set[ExampleResult]


def _forked(examples: Examples) -> Iterator[ExampleResult]:
    progress = _Progress(0, set(), set())
    while True:
        # A process that dies does not remove its files.
        with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
            child = _Child(examples, progress, folder)
            try:
                yield from child.results()
            finally:
                child.end()
        if child.finished:
            return
        if child.pending is None:
            raise BugError(f"a bug in trtlint: the process for the examples failed: it {child.reason}")
        progress.broken.add(child.pending.path)
        progress.done = child.begun
        yield child.broken
        if len(progress.broken) == MOST_BROKEN:
            raise RuleFileError(f"stopped, because the examples of {MOST_BROKEN} rule files failed to run")


class _Child:
    """The child process that runs examples, as the parent process sees it.

    Attributes:
        finished: True if the child process has run the last example.
        pending: the current example; None between examples.
        begun: number of examples that have begun, in this child process and in earlier ones.
        reason: the way in which the child process ended before its last example, in words.
    """

    def __init__(self, examples: Examples, progress: _Progress, folder: str) -> None:
        self.finished = False
        self.pending: ExampleResult | None = None
        self.begun = progress.done
        self.reason = "ended without a result"
        self._progress = progress
        self._highest = memory_of() + MEMORY
        self._child = Child(lambda writer: _work(examples, progress, folder, writer), _ROOM)

    @property
    def broken(self) -> ExampleResult:
        """Return the result of the example that was running when the child process ended."""
        pending = self.pending
        assert pending is not None
        return ExampleResult(
            pending.rule, pending.path, pending.line, pending.expected, "broken", f"its process {self.reason}"
        )

    def results(self) -> Iterator[ExampleResult]:
        """Yield the results from the child process until it ends.

        Raises:
            RuleFileError, BugError: the child process reports such an error.
        """
        for kind, data in self._messages():
            if kind == "begin":
                self.pending = _result(data)
                self.begun += 1
            elif kind == "skipped":
                self.begun += 1
            elif kind == "result":
                result = _result(data)
                self.pending = None
                if result.got == "missing":
                    if result in self._progress.others:
                        continue
                    self._progress.others.add(result)
                yield result
            elif kind == "wrong":
                raise RuleFileError(str(data))
            elif kind == "bug":
                raise BugError(str(data))
            else:
                self.finished = True

    def end(self) -> None:
        """End the child process if it is still running."""
        self._child.__exit__(None, None, None)

    def _messages(self) -> Iterator[tuple[str, Any]]:
        held = b""
        poll = select.poll()
        poll.register(self._child.reader, select.POLLIN)
        deadline = time.monotonic() + WALL
        while True:
            if poll.poll(_POLL_INTERVAL * 1000):
                piece = os.read(self._child.reader, _CHUNK)
                if not piece:
                    self._wait()
                    return
                held += piece
                *lines, held = held.split(b"\n")
                deadline = time.monotonic() + WALL
                yield from (tuple(json.loads(line)) for line in lines)
            elif time.monotonic() > deadline:
                self.reason = f"was stopped after {WALL:.0f} s"
                return
            if memory_of(self._child.pid) > self._highest or len(held) > _LONGEST_MESSAGE:
                self.reason = f"was stopped at its limit of {MEMORY >> 20} MiB of memory"
                return

    def _wait(self) -> None:
        self._child.wait()
        if self._child.signal == "SIGXCPU":
            self.reason = f"was stopped at the limit of {SECONDS} s of processor time for one rule file"
        elif self._child.signal:
            self.reason = f"crashed ({self._child.signal})"
        elif self._child.code:
            self.reason = f"ended with code {self._child.code}"


def _work(examples: Examples, progress: _Progress, folder: str, writer: int) -> None:
    """Run the examples in the child process, and write messages for the parent to ``writer``."""
    tempfile.tempdir = folder
    faulthandler.disable()  # the parent process reports the signal
    sender = _Sender(writer, progress)
    try:
        for result in examples(sender.begin):
            sender.send("result", _data(result))
    except RuleError as error:
        sender.send("wrong", str(error))
    except Exception as error:  # noqa: BLE001 - the parent process reports any error
        sender.send("bug", describe(error))
    sender.send("done", None)


class _Sender:
    """Sends messages from the child process to its parent, and skips examples that need not run."""

    def __init__(self, writer: int, progress: _Progress) -> None:
        self._writer = writer
        self._progress = progress
        self._seen = 0
        self._file: Path | None = None

    def begin(self, example: ExampleResult) -> bool:
        """Tell the parent process that an example starts.  Return False to skip the example."""
        self._seen += 1
        if self._seen <= self._progress.done:
            return False
        if example.path in self._progress.broken:
            self.send("skipped", None)
            return False
        if example.path != self._file:
            self._file = example.path
            limit_time(int(time.process_time()) + SECONDS)
        self.send("begin", _data(example))
        return True

    def send(self, kind: str, data: Any) -> None:
        write_all(self._writer, json.dumps([kind, data]).encode("ascii") + b"\n")


def _data(result: ExampleResult) -> list[Any]:
    path = os.fsencode(result.path).decode("latin-1")
    return [result.rule, path, result.line, result.expected, result.got, result.detail]


def _result(data: Any) -> ExampleResult:
    rule, path, line, expected, got, detail = data
    return ExampleResult(rule, Path(os.fsdecode(path.encode("latin-1"))), line, expected, got, detail)
