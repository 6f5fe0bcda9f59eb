"""Tensors of all types, and checks of a model with ONNX and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from benchmarks.probes.calls import BOOL, INT8, INT32, INT64, UINT8


class UnluckyError(Exception):
    """Error: this draw gives no valid model."""


def contrib(model: onnx.ModelProto) -> bool:
    """Return whether a model has operators that ONNX does not define."""
    return any(foreign(node) for node in model.graph.node)


def foreign(node: onnx.NodeProto) -> bool:
    """Return whether a node, or a node in its bodies, has another domain than ONNX's."""
    bodies = (attribute.g for attribute in node.attribute if attribute.HasField("g"))
    return node.domain == "com.microsoft" or any(foreign(inner) for body in bodies for inner in body.node)


def number_of(text: str) -> int:
    """Return ONNX's number of a type such as ``tensor(float)``; 0 if the type is not a tensor."""
    names = {"float": 1, "double": 11, "float16": 10, "bfloat16": 16, "bool": 9, "string": 8}
    inner = text.removeprefix("tensor(").removesuffix(")")
    if inner == text:
        return 0
    return names.get(inner) or int(getattr(onnx.TensorProto, inner.upper(), 0))


def cast(array: np.ndarray[Any, Any], type: int) -> np.ndarray[Any, Any]:
    """Convert numbers to elements of a type."""
    if type in (UINT8, 4, 12, 13, 21):
        array = np.abs(array)
    if type == BOOL:
        array = array > 0
    return np.asarray(array).astype(helper.tensor_dtype_to_np_dtype(type))


def tensor(name: str, type: int, array: np.ndarray[Any, Any]) -> onnx.TensorProto:
    """Return a stored tensor."""
    values = np.abs(array) if type in (UINT8, 4, 12, 13, 21) else array > 0 if type == BOOL else array
    flat = np.asarray(values).reshape(-1)
    if type in (INT32, INT64, INT8, UINT8, 4, 5, 12, 13, 21, 22):
        flat = flat.astype(np.int64)
    return helper.make_tensor(name, type, array.shape, flat.tolist())


def valid(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray[Any, Any]]) -> bool:
    """Check a model and run it; return whether it ran.

    Raises:
        UnluckyError: the model is not valid.
    """
    try:
        onnx.checker.check_model(model, full_check=not contrib(model) and not model.functions)
    except Exception as error:
        raise UnluckyError(str(error)) from error
    return run(model, feeds) is not None


def run(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]] | None:
    """Return the outputs in ONNX Runtime; None if ONNX Runtime has no kernel for the types.

    Raises:
        UnluckyError: the model fails.
    """
    import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        text = str(error)
        if (
            "NOT_IMPLEMENTED" in text
            or "is invalid" in text
            or ("INVALID_GRAPH" in text and "opset" in text.lower())
        ):
            return None
        raise UnluckyError(text) from error
    usable = {
        "float32",
        "float64",
        "float16",
        "int32",
        "int64",
        "int8",
        "uint8",
        "bool",
        "int16",
        "uint16",
        "uint32",
        "uint64",
    }
    if any(array.dtype.name not in usable for array in feeds.values()):
        return None
    try:
        return [
            np.asarray(a)
            for a in session.run(
                None, {info.name: feeds[info.name] for info in session.get_inputs() if info.name in feeds}
            )
        ]
    except Exception as error:
        text = str(error)
        if "NOT_IMPLEMENTED" in text or "numpy" in text.lower():
            return None
        raise UnluckyError(text) from error
