"""Models run on sets of inputs: by ONNX Runtime, or by ONNX's reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trtlint.compare._judging import Array
from trtlint.compare.reference import begun, more_ops, stacks
from trtlint.files.telemetry import onnx_runtime
from trtlint.lean import dataclass
from trtlint.model.widening import Types

_FATAL = 4

Feeds = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Way:
    """How two models are computed.

    Attributes:
        types: the wider types that they compute in; None for their own.
        reference: whether by ONNX's reference in place of ONNX Runtime.
        optimized: whether ONNX Runtime folds constants and the like.  Rounding differs by it, and where it
            quantizes, by a whole step.
    """

    types: Types | None = None
    reference: bool = False
    optimized: bool = True


class Runner:
    """A model that was loaded.

    Args:
        model: the file.
        way: how it is computed.
        random: whether it draws random numbers; these begin anew with each call.

    Raises:
        Exception: whatever the library raises for a model that it does not load.
    """

    def __init__(self, model: Path, way: Way, *, random: bool = False) -> None:
        self._model = model
        self._way = way
        self._random = random
        self._loaded: Any = _reference(model) if way.reference else _session(model, optimized=way.optimized)
        self._fresh = True

    def run(self, batches: Sequence[Feeds]) -> list[dict[str, Array]]:
        """Compute the outputs for each set of inputs.

        Raises:
            Exception: whatever the library raises for inputs that do not fit.
        """
        if self._random and not self._fresh and not self._way.reference:
            self._loaded = None  # two large models at once may be more than memory holds
            self._loaded = _session(self._model, optimized=self._way.optimized)
        self._fresh = False
        with np.errstate(all="ignore"):
            return [
                dict(zip(self._names, map(np.asarray, self.once(batch)), strict=True)) for batch in batches
            ]

    def once(self, batch: Feeds) -> list[Any]:
        """Compute the outputs for one set of inputs, in the order of the model."""
        found: list[Any] = self._loaded.run(None, dict(batch))
        return found

    @property
    def _names(self) -> list[str]:
        if self._way.reference:
            return [str(name) for name in self._loaded.output_names]
        return [str(output.name) for output in self._loaded.get_outputs()]


def _reference(model: Path) -> Any:
    """A model in ONNX's reference.

    Raises:
        ValueError: the reference computes it otherwise than ONNX says.
    """
    from onnx.reference import ReferenceEvaluator

    proto = onnx.load(model)
    if stacks(proto):
        raise ValueError("ONNX's reference does not stack what iterations of a loop give as ONNX says")
    return ReferenceEvaluator(begun(proto), new_ops=list(more_ops()))


def _session(model: Path, *, optimized: bool) -> Any:
    """A model in ONNX Runtime, without the fusions that its own kernels do not always take.

    A gain of one element, which is made one of a LayerNormalization, is refused by that.  Its threads do not
    spin while they wait, which takes as much processor time again:
    https://onnxruntime.ai/docs/performance/tune-performance/threading.html
    """
    onnxruntime = onnx_runtime()
    onnxruntime.set_default_logger_severity(_FATAL)
    options, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if optimized else level.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
