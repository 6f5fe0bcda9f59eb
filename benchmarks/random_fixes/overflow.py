"""Check whether a model overflows inside; then its outputs need not stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.random_fixes.bounds import exposed

Array = np.ndarray[Any, Any]
_POLES = {"Div", "Log", "Pow", "Reciprocal"}
"""Operators that give infinity for a finite input by definition, in any type."""
_QUANTIZERS = {"QuantizeLinear", "DynamicQuantizeLinear"}
_WHOLE = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT32, onnx.TensorProto.INT64}


def overflows(model: onnx.ModelProto, fed: Mapping[str, Array]) -> bool:
    """Return whether an operator of the main graph computes infinity or NaN from finite numbers."""
    results = _results(model, fed)
    return any(
        all(_is_finite(results.get(name)) for name in node.input)
        and not all(_is_finite(results.get(name)) for name in node.output)
        for node in model.graph.node
        if node.input and results
    )


def grows_beyond(model: onnx.ModelProto, results: Mapping[str, Array]) -> bool:
    """Return whether an operator of the main graph computes infinity, but no NaN, from finite numbers.

    Operators with a pole, such as a division by zero, do not count.

    Args:
        model: the model.
        results: tensors of the main graph by name, including stored tensors.
    """
    return any(
        node.op_type not in _POLES
        and all(_is_finite(results.get(name)) for name in node.input)
        and any(_is_infinite(results.get(name)) for name in node.output)
        for node in model.graph.node
        if node.input
    )


def makes_integers_of_nan(model: onnx.ModelProto, fed: Mapping[str, Array]) -> bool:
    """Return whether an operator of the main graph converts NaN or infinity to integers.

    The result is undefined (https://onnx.ai/onnx/operators/onnx__Cast.html).
    """
    made = [
        node.input[0]
        for node in model.graph.node
        if node.op_type in _QUANTIZERS
        or any(each.name == "to" and each.i in _WHOLE for each in node.attribute)
    ]
    results = _results(model, fed) if made else {}
    return not all(_is_finite(results.get(name)) for name in made)


def _results(model: onnx.ModelProto, fed: Mapping[str, Array]) -> dict[str, Array]:
    """Return the tensors of the main graph by name; none if ONNX Runtime fails."""
    names = [name for node in model.graph.node for name in node.output if name]
    copy, outputs = exposed(model, names)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = dict(zip(outputs, session.run(outputs, dict(fed)), strict=True))
    except Exception:  # noqa: BLE001  (ONNX Runtime raises many kinds)
        return {}
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    return {**results, **fed, **stored}


def _is_finite(array: Any) -> bool:
    known = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    return bool(np.isfinite(array).all()) if known else True


def _is_infinite(array: Any) -> bool:
    known = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    return bool(np.isinf(array).any() and not np.isnan(array).any()) if known else False
