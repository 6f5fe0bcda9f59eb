"""In-process replacements for child processes."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from trtlint.files.limits import Allowance
from trtlint.model import infer
from trtlint.process import fork, spawn
from trtlint.process.fork import ComputationError, Work
from trtlint.process.spawn import Limits, ProcessResult
from trtlint.runs import examples

ISOLATED: dict[str, Callable[..., Any]] = {
    "trtlint.process.fork._answers": fork._answers,
    "trtlint.model.infer._isolated": infer._isolated,
    "trtlint.compare.comparison.run": spawn.run,
    "trtlint.measurement.measure.run": spawn.run,
    "trtlint.network.compare.run": spawn.run,
    "trtlint.runs.examples._forked": examples._forked,
}
"""The original functions, by their import names."""


def call(work: Callable[[bytes], bytes], data: bytes, _: tuple[int, int]) -> bytes:
    """Call the ONNX library as on a system without fork."""
    return work(data)


def answers(works: Sequence[Work], _: Allowance) -> Iterator[bytes | ComputationError]:
    """Compute on untrusted data as on a system without fork."""
    yield from map(fork._answer, works)


def run(
    module: str,
    request: Any,
    _: Limits,
    *,
    log: Path | None = None,
    listen: Callable[[Any], None] | None = None,
    **__: object,
) -> ProcessResult:
    """Run ONNX Runtime or NVIDIA's parser in this process, with JSON requests and answers."""
    answers: list[Any] = []

    def send(data: Any) -> None:
        answers.append(json.loads(json.dumps(data)))
        if listen is not None:
            listen(answers[-1])

    if log is not None:
        log.touch()
    with warnings.catch_warnings():  # in a separate process, nobody sees warnings
        warnings.simplefilter("ignore")
        importlib.import_module(module).work(json.loads(json.dumps(request)), send)
    return ProcessResult("done", 0, "", 0.0, None, tuple(answers))


STAND_INS: dict[str, Callable[..., Any]] = {
    "trtlint.process.fork._answers": answers,
    "trtlint.model.infer._isolated": call,
    "trtlint.compare.comparison.run": run,
    "trtlint.measurement.measure.run": run,
    "trtlint.network.compare.run": run,
    "trtlint.runs.examples._forked": examples.in_place,
}
"""The replacements in tests."""
