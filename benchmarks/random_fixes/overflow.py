"""Whether a model leaves the range of its types inside, so that what follows is no result to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.random_fixes.bounds import exposed

Array = np.ndarray[Any, Any]


def overflows(model: onnx.ModelProto, fed: Mapping[str, Array]) -> bool:
    """Return whether an operator of the main graph makes infinity or NaN of finite numbers alone."""
    names = [name for node in model.graph.node for name in node.output if name]
    copy, outputs = exposed(model, names)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = dict(zip(outputs, session.run(outputs, dict(fed)), strict=True))
    except Exception:  # noqa: BLE001  (ONNX Runtime raises many kinds)
        return False
    results.update(fed)
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    results.update(stored)
    return any(
        all(_is_finite(results.get(name)) for name in node.input)
        and not all(_is_finite(results.get(name)) for name in node.output)
        for node in model.graph.node
        if node.input
    )


def _is_finite(array: Any) -> bool:
    known = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    return bool(np.isfinite(array).all()) if known else True
