"""The graph that providers see: after ONNX Runtime's rewrites of level 1.

ONNX Runtime applies them before it asks a provider for its nodes:
https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import onnx

from trtlint.files.telemetry import onnx_runtime

_CASTS = ("InsertedPrecisionFreeCast_", "InsertedCast_")
"""Names of the Casts with which ONNX Runtime runs FP16 on a CPU; a GPU provider never sees them.
https://github.com/microsoft/onnxruntime/blob/v1.23.0/onnxruntime/core/optimizer/insert_cast_transformer.cc
"""

_MOST_SHAPES = 5000
_NAMES = frozenset(onnx.TensorProto.DataType.keys())


def rewritten(path: Path) -> onnx.ModelProto | None:
    """Return a model after the rewrites, its weights left where they are; None where that is not possible."""
    try:
        onnxruntime = onnx_runtime()
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        written = Path(folder, "rewritten.onnx")
        options.optimized_model_filepath = str(written)
        try:
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            model = onnx.load(written)
        except Exception:  # noqa: BLE001 - its own exceptions share no other base
            return None
    return _without_casts(model)


def shapes_of(model: onnx.ModelProto, names: Sequence[str]) -> dict[str, onnx.TypeProto]:
    """Return the types that ONNX Runtime infers of some values, among them those of its own operators.

    Empty where onnxruntime is not installed or cannot load the model.
    """
    if not names or len(names) > _MOST_SHAPES or _is_external(model):
        return {}
    try:
        onnxruntime = onnx_runtime()
    except ImportError:
        return {}
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    outputs = {each.name for each in asked.graph.output}
    asked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            asked.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:  # noqa: BLE001 - its own exceptions share no other base
        return {}
    return {
        each.name: _type(each.type, each.shape) for each in session.get_outputs() if each.name in set(names)
    }


def _type(text: str, shape: Sequence[int | str | None] | None) -> onnx.TypeProto:
    """Return the type of ``tensor(float)`` and a shape."""
    found = onnx.TypeProto()
    name = text.removeprefix("tensor(").removesuffix(")").upper()
    found.tensor_type.elem_type = onnx.TensorProto.DataType.Value(name) if name in _NAMES else 0
    if shape:  # ONNX Runtime gives an empty list for an unknown rank, too
        found.tensor_type.shape.SetInParent()
        for each in shape:
            dimension = found.tensor_type.shape.dim.add()
            if isinstance(each, int):
                dimension.dim_value = each
            elif each:
                dimension.dim_param = each
    return found


def _is_external(model: onnx.ModelProto) -> bool:
    return any(each.data_location == onnx.TensorProto.EXTERNAL for each in model.graph.initializer)


def _without_casts(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """Return a model without the Casts of a CPU; None if some look like the model's own."""
    graph = model.graph
    if any(node.name.startswith(_CASTS) for node in graph.node):
        return None
    return model
