"""Run a rewritten model in ONNX's reference evaluator, for operators that ONNX Runtime lacks.

The evaluator is slow, so only small models are run: https://onnx.ai/onnx/api/reference.html
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.external_data_helper import load_external_data_for_model

from trtlint.measurement.narrowing import RewrittenModel
from trtlint.measurement.session import Array, Feeds, Session
from trtlint.measurement.trialmodel import TrialError
from trtlint.model.external import external_size

_MOST_BYTES = 64 << 20
"""Largest size of the model and its external weights, in bytes."""


class ReferenceSession(Session):
    """A rewritten model that the reference evaluator runs.

    Args:
        rewritten: the model.

    Raises:
        TrialError: the model is too large, or has an operator that the evaluator does not support.
    """

    def __init__(self, rewritten: RewrittenModel) -> None:
        from onnx.reference import ReferenceEvaluator

        super().__init__(rewritten)
        model = onnx.ModelProto.FromString(rewritten.data)
        if len(rewritten.data) + external_size(model.graph.initializer) > _MOST_BYTES:
            raise TrialError(
                f"the model is larger than {_MOST_BYTES >> 20} MB, the limit for ONNX's reference evaluator"
            )
        if any(_begins_without_condition(node) for node in model.graph.node):
            raise TrialError("ONNX's reference evaluator runs no iteration of a Loop that has no condition")
        try:
            load_external_data_for_model(model, Path.cwd().anchor)
            self._evaluator: Any = ReferenceEvaluator(model, new_ops=[gather_elements()])
        except Exception as error:  # the evaluator has no exception class of its own
            raise TrialError(
                f"ONNX's reference evaluator cannot load the model: {type(error).__name__}: {error}"
            ) from error

    def _compute(self, feeds: Feeds) -> list[Any]:
        try:
            with np.errstate(all="ignore"):
                found: list[Any] = self._evaluator.run(self._outputs, dict(feeds))
        except Exception as error:
            raise TrialError(
                f"ONNX's reference evaluator cannot run the model: {type(error).__name__}: {error}"
            ) from error
        return found


def _begins_without_condition(node: onnx.NodeProto) -> bool:
    return node.op_type == "Loop" and not "".join(node.input[1:2])


@cache
def gather_elements() -> Any:
    """Return an implementation of GatherElements.

    The evaluator's own implementation rejects a negative axis, and more than 32 elements along the axis
    (https://github.com/onnx/onnx/blob/main/onnx/reference/ops/op_gather_elements.py).
    """
    from onnx.reference.op_run import OpRun

    class GatherElements(OpRun):  # type: ignore[misc, unused-ignore] # onnx may come without stubs
        op_domain = ""

        def _run(self, data: Array, indices: Array, axis: int | None = None) -> tuple[Array]:
            axis = (axis or 0) % data.ndim
            read = tuple(slice(None if at == axis else size) for at, size in enumerate(indices.shape))
            return (np.take_along_axis(data[read], indices, axis),)

    return GatherElements
