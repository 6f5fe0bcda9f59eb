"""Tests that a command closes its resources after SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.conftest import REPOSITORY
from trtlint.cli import run
from trtlint.commands import measure
from trtlint.commands.stopping import tidying_up
from trtlint.measurement.measure import FailedMeasurementError
from trtlint.report import trend

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def default() -> Iterator[None]:
    """Use the default handler of SIGTERM."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_the_resources_are_closed_before_the_signal_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process of a container survives SIGTERM, and ends with the code of the signal."""
    events: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *given: events.append(given))
    with pytest.raises(SystemExit) as exited, tidying_up():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            events.append("closed")
    assert events == ["closed", (os.getpid(), signal.SIGTERM)]
    assert exited.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_default_handler_comes_back() -> None:
    with tidying_up():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_program_stays() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with tidying_up():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_threads_set_no_handler() -> None:
    found: list[object] = []

    def work() -> None:
        with tidying_up():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


def test_commands_close_their_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both commands run child processes with temporary folders."""
    found: list[object] = []

    def fail_to_measure(*_: object, **__: object) -> None:
        found.append(signal.getsignal(signal.SIGTERM))
        raise FailedMeasurementError("stopped")

    def fail_to_read(*_: object) -> None:
        found.append(signal.getsignal(signal.SIGTERM))
        raise trend.RowsError("stopped")

    monkeypatch.setattr(measure, "measure", fail_to_measure)
    monkeypatch.setattr(trend, "read_rows", fail_to_read)
    assert run(["measure", str(REPOSITORY / "examples" / "nafnet.onnx")]) == 3
    assert run(["trend", "earlier.parquet", "later.parquet"]) == 3
    assert len(found) == 2
    assert signal.SIG_DFL not in found
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
