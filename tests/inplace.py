"""What stands in for processes of their own in tests: the same work, done in that of the tests."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trtlint.files import forked
from trtlint.files.forked import ComputationError, Work
from trtlint.files.limits import Allowance
from trtlint.model import infer
from trtlint.runs import examples
from trtlint.trials import process
from trtlint.trials.process import Ended, Limits

ISOLATED: dict[str, Callable[..., Any]] = {
    "trtlint.files.forked._answers": forked._answers,
    "trtlint.model.infer._isolated": infer._isolated,
    "trtlint.trials.comparison.run": process.run,
    "trtlint.network.compare.run": process.run,
    "trtlint.runs.examples._forked": examples._forked,
}
"""What users run, by the name under which it is found."""


def call(work: Callable[[bytes], bytes], data: bytes, _: tuple[int, int]) -> bytes:
    """A call into the ONNX library, as where there is no fork."""
    return work(data)


def answers(works: Sequence[Work], _: Allowance) -> Iterator[bytes | ComputationError]:
    """Computations on strangers' data, as where there is no fork."""
    yield from map(forked._answered, works)


def run(module: str, request: Any, _: Limits, **__: object) -> Ended:
    """A comparison by ONNX Runtime, or with NVIDIA's parser."""
    answers: list[Any] = []
    with warnings.catch_warnings():  # nobody sees those of Polygraphy where it has a process of its own
        warnings.simplefilter("ignore")
        importlib.import_module(module).work(request, answers.append)
    return Ended("done", 0, "", 0.0, None, tuple(answers))


STAND_INS: dict[str, Callable[..., Any]] = {
    "trtlint.files.forked._answers": answers,
    "trtlint.model.infer._isolated": call,
    "trtlint.trials.comparison.run": run,
    "trtlint.network.compare.run": run,
    "trtlint.runs.examples._forked": examples.in_place,
}
"""What tests run in its place."""
