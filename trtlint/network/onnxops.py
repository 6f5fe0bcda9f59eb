"""Run single operators in ONNX Runtime, which is faster than NumPy, and read its exceptions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trtlint.errors import ExperimentError
from trtlint.files.telemetry import onnx_runtime
from trtlint.network.layers import Array

_MOST_KEPT = 256
"""Largest number of cached sessions; each session needs some hundred kilobytes."""
_OPSET = 20
LARGE = 1 << 16
"""Number of elements above which ONNX Runtime (with all CPUs) is faster than several NumPy steps."""
_NO_MEMORY = ("bad_alloc", "bad allocation", "failed to allocate memory", "cannot allocate memory")
"""Texts in ONNX Runtime's messages about too little memory.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/framework/bfc_arena.cc
"""


def compute(op: str, inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    """Run one operator of opset 20 and return its first output.

    Raises:
        Exception: any error of ONNX Runtime.  It means that ONNX Runtime rejects the inputs.
        MemoryError: there is too little memory.
    """
    types = tuple(helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs)
    ranks = tuple(array.ndim for array in inputs)
    session = _session(op, types, ranks, json.dumps(dict(attributes), sort_keys=True))
    value = onnx_runtime().OrtValue.ortvalue_from_numpy
    arrays = (np.asarray(array, order="C") for array in inputs)
    feeds = {f"i{port}": value(array) for port, array in enumerate(arrays)}
    try:
        (found,) = session.run_with_ort_values(["o"], feeds)
    except Exception as error:
        reason_of(error)
        raise
    return np.asarray(found.numpy())


def erf(x: Array) -> Array:
    """Compute the error function of each element."""
    return compute("Erf", [x.astype(np.float32, copy=False)], {})


@lru_cache(maxsize=_MOST_KEPT)
def _session(op: str, types: tuple[int, ...], ranks: tuple[int, ...], attributes: str) -> Any:
    """Return a session that runs one operator.  ``attributes`` are its attributes in JSON."""
    names = [f"i{port}" for port in range(len(types))]
    inputs = [
        helper.make_tensor_value_info(name, element, [None] * rank)
        for name, element, rank in zip(names, types, ranks, strict=True)
    ]
    output = helper.make_empty_tensor_value_info("o")
    node = helper.make_node(op, names, ["o"], **json.loads(attributes))
    graph = helper.make_graph([node], "one", inputs, [output])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", _OPSET)])
    inferred = onnx.shape_inference.infer_shapes(model)
    runtime = onnx_runtime()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(inferred.SerializeToString(), options, providers=["CPUExecutionProvider"])


class RuntimeRefusedError(ExperimentError):
    """Error: ONNX Runtime rejects a model or its inputs.  The message comes from ONNX Runtime."""


def reason_of(error: Exception) -> str:
    """Return the text of an exception of ONNX Runtime or of ONNX's reference evaluator on one line.

    The exceptions of these libraries have no common base class.

    Raises:
        MemoryError: the exception reports too little memory.
    """
    if isinstance(error, MemoryError):
        raise error
    text = " ".join(str(error).split()) or type(error).__name__
    if any(words in text.lower() for words in _NO_MEMORY):
        raise MemoryError(text) from error
    return text
