"""Run models in ONNX Runtime or in ONNX's reference evaluator, and measure their run times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct

from trtlint.compare.reference import evaluator_of
from trtlint.files.telemetry import onnx_runtime
from trtlint.model.payload import Array
from trtlint.model.widening import Types

_FATAL = 4

Feeds = Mapping[str, Array]
_PAIRS = 15
"""Maximum number of pairs of runs."""
_SECONDS = 2.0
"""Time limit for all pairs in seconds."""
_LONGEST = 0.4
"""Time limit in seconds for the first pair of runs. If this pair takes longer, no pairs follow."""


class Way(Struct, frozen=True):
    """A way to run two models: types, runtime and optimization.

    Attributes:
        types: wider types that replace types of the model; None to keep the model's types.
        reference: true to use ONNX's reference evaluator instead of ONNX Runtime.
        optimized: true to let ONNX Runtime optimize the graph. Optimization changes the rounding, which can
            change a quantized value by one step.
    """

    types: Types | None = None
    reference: bool = False
    optimized: bool = True


class LoadedModel:
    """A model that is loaded and can be run.

    Args:
        model: the file.
        way: the way to run the model.
        random: true if the model draws random numbers. Each call of :meth:`run` then draws the same random
            numbers.

    Raises:
        Exception: the library cannot load the model.
    """

    def __init__(self, model: Path, way: Way, *, random: bool = False) -> None:
        self._model = model
        self._way = way
        self._random = random
        self._loaded: Any = (
            evaluator_of(onnx.load(model)) if way.reference else _session(model, optimized=way.optimized)
        )
        self._fresh = True

    def run(self, batches: Sequence[Feeds]) -> list[dict[str, Array]]:
        """Compute the outputs for each set of inputs.

        Raises:
            Exception: the runtime rejects the inputs.
        """
        if self._random and not self._fresh and not self._way.reference:
            self._loaded = None  # two large models at once may exceed the memory limit
            self._loaded = _session(self._model, optimized=self._way.optimized)
        self._fresh = False
        with np.errstate(all="ignore"):
            return [
                dict(zip(self._names, map(np.asarray, self.once(batch)), strict=True)) for batch in batches
            ]

    def once(self, batch: Feeds) -> list[Any]:
        """Compute the outputs for one set of inputs, in the order of the model's outputs."""
        found: list[Any] = self._loaded.run(None, dict(batch))
        return found

    @property
    def _names(self) -> list[str]:
        if self._way.reference:
            return [str(name) for name in self._loaded.output_names]
        return [str(output.name) for output in self._loaded.get_outputs()]


def _session(model: Path, *, optimized: bool) -> Any:
    """Load a model into ONNX Runtime with basic optimizations only.

    Extended optimizations can fail, for example for a LayerNormalization whose scale has one element.
    Threads do not spin while they wait, because spinning would double the CPU time:
    https://onnxruntime.ai/docs/performance/tune-performance/threading.html
    """
    onnxruntime = onnx_runtime()
    onnxruntime.set_default_logger_severity(_FATAL)
    options, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if optimized else level.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def timed(before: Callable[[], object], after: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Run two models alternately. For each model, return a list with the seconds of each run.

    The models alternate, so that other programs slow both models down equally. The first run of each model is
    a warm-up. If the warm-up takes too long, both lists are empty.
    """
    began = time.perf_counter()
    times: tuple[list[float], list[float]] = [], []
    if sum(_pair(before, after)) > _LONGEST:
        return times
    while len(times[0]) < _PAIRS and time.perf_counter() - began < _SECONDS:
        for found, seconds in zip(times, _pair(before, after), strict=True):
            found.append(seconds)
    return times


def _pair(before: Callable[[], object], after: Callable[[], object]) -> tuple[float, float]:
    marks = [time.perf_counter()]
    for run in (before, after):
        run()
        marks.append(time.perf_counter())
    return marks[1] - marks[0], marks[2] - marks[1]
