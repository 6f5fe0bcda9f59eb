"""Run a rewritten model in ONNX Runtime on the CPU.

https://onnxruntime.ai/docs/api/python/api_summary.html
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trtlint.files.telemetry import onnx_runtime
from trtlint.measurement.narrowing import STATISTICS, RewrittenModel
from trtlint.measurement.trialmodel import ModelNotLoadedError, TrialError

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = Mapping[str, Array]

_FATAL = 4
_LINES = 2
"""Maximum number of lines that an error quotes from ONNX Runtime's message."""


class Session(ABC):
    """A rewritten model that is loaded into ONNX Runtime or ONNX's reference evaluator.

    Args:
        rewritten: the model.
    """

    def __init__(self, rewritten: RewrittenModel) -> None:
        self._rewritten = rewritten
        self._outputs = [*rewritten.fetched.values(), *([STATISTICS] if rewritten.probes else [])]

    def run(self, feeds: Feeds) -> tuple[dict[str, Array], Array]:
        """Run the model on one batch.

        Returns:
            The compared outputs and the choices by name, and the statistics, one row for each measured
            tensor.

        Raises:
            TrialError: the model cannot be run on these inputs.
        """
        # If no output is requested, ONNX Runtime returns all outputs.
        found = self._compute(feeds) if self._outputs else []
        figures = found.pop() if self._rewritten.probes else []
        named = dict(zip(self._rewritten.fetched, found, strict=True))
        return named, np.asarray(figures, np.float32).reshape(-1, self._rewritten.figures)

    @abstractmethod
    def _compute(self, feeds: Feeds) -> list[Any]:
        """Return the values of ``_outputs`` for one batch."""


class RehearsalSession(Session):
    """A rewritten model that is loaded into ONNX Runtime.

    Args:
        rewritten: the model.

    Raises:
        ModelNotLoadedError: ONNX Runtime rejects the model.
    """

    def __init__(self, rewritten: RewrittenModel) -> None:
        super().__init__(rewritten)
        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL
        options.intra_op_num_threads = os.cpu_count() or 1
        # No fusion: each operator must be measured, and pairs of Casts must not cancel out.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Compute statistics as early as possible; else every tensor stays in memory to the end of the run.
        options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
        options.enable_cpu_mem_arena = False
        # The time for the memory plan grows with the square of the number of tensors.
        options.enable_mem_pattern = False
        # Do not let threads spin while they wait, because spinning doubles the processor time:
        # https://onnxruntime.ai/docs/performance/tune-performance/threading.html
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Weights stay in the mapped file.
        options.add_session_config_entry("session.disable_prepacking", "1")
        folder = Path.cwd().anchor
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        try:
            self._session = onnxruntime.InferenceSession(
                rewritten.data, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime exports no common exception class
            raise ModelNotLoadedError(f"ONNX Runtime cannot load the model: {_reason(error)}") from error

    def _compute(self, feeds: Feeds) -> list[Any]:
        try:
            found: list[Any] = self._session.run(self._outputs, dict(feeds))
        except Exception as error:
            raise TrialError(
                f"ONNX Runtime cannot run the model on these inputs: {_reason(error)}"
            ) from error
        return found


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:_LINES]) or type(error).__name__
