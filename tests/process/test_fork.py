"""Tests of computations on untrusted data: per-item limits, independent of each other."""

from __future__ import annotations

import os
import re
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

from trtlint.files.limits import Allowance, limit_work
from trtlint.process import fork as forked
from trtlint.process.fork import ComputationError, compute, compute_all

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
]


def endless() -> bytes:
    """Run a regular expression with exponential time."""
    return str(re.fullmatch("(a|aa)+b", "a" * 200)).encode()


def large() -> bytes:
    return np.ones(1 << 30, np.float64).tobytes()


def crash() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def wrong() -> bytes:
    raise ValueError("no")


@pytest.mark.slow
def test_each_computation_has_its_limits_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "_SECONDS", 1)
    works = [lambda: b"1", endless, lambda: b"2" * 3_000_000, large, crash, wrong, lambda: b"3"]
    found = list(compute_all(works))
    assert found[0] == b"1"
    assert found[2] == b"2" * 3_000_000
    assert found[6] == b"3"
    assert [str(each) for each in found if isinstance(each, ComputationError)] == [
        "the computation exceeded the limit of 1 s",
        "the computation exceeded the limit of 2 GB of memory",
        "the computation crashed (SIGKILL)",
        "the computation raised ValueError",
    ]


@pytest.mark.slow
def test_all_together_are_held_to_the_allowance_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "_SECONDS", 1)
    allowance = Allowance(2.0, 1 << 30)
    with limit_work(allowance=allowance):
        found = list(compute_all([endless] * 4))
    assert all(isinstance(each, ComputationError) for each in found)
    assert (
        str(found[-1])
        == "the checks of all rewrites together exceeded their share of the limit of 2 s of processor time"
    )
    assert allowance.left < 1.0


def test_a_failure_is_raised() -> None:
    assert compute(lambda: b"x") == b"x"
    with pytest.raises(ComputationError, match="ValueError"):
        compute(wrong)


def test_an_answer_that_does_not_arrive_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "_PATIENCE", 0)
    works = [lambda: str(time.sleep(60)).encode()]
    (found,) = compute_all(works)
    assert isinstance(found, ComputationError)
    assert str(found) == f"the computation exceeded the limit of {forked._SECONDS} s"


@pytest.mark.parametrize(
    ("used", "total", "limits"),
    [
        (10.0, 13.0, [13.0]),
        (10.0, 100.0, [15.0]),
        (10.0, 10.5, [11.0]),
        (10.0, 10.0, [11.0]),
        (10.0, 9.9, []),
    ],
)
def test_a_computation_has_the_rest_of_the_time_and_at_least_a_second(
    used: float, total: float, limits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[float] = []
    written: list[bytes] = []
    monkeypatch.setattr(forked, "_SECONDS", 5)
    monkeypatch.setattr(forked, "limit_time", found.append)
    monkeypatch.setattr(forked, "time", SimpleNamespace(process_time=lambda: used))
    monkeypatch.setattr(forked, "write_all", lambda writer, data: written.append(data))
    allowance = Allowance(30.0, 1 << 30)
    forked._work([lambda: b"x"], total, allowance, 0)
    assert found == limits
    answer = b"x" if limits else str(forked._spent(allowance)).encode()
    kind = forked._ANSWER if limits else forked._FAILURE
    assert written == [forked._HEAD.pack(kind, len(answer)), answer]
