"""Apply ONNX Runtime's rewrites of level 1 to a model.

ONNX Runtime applies these rewrites before it passes the graph to a provider:
https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from trtlint.files.telemetry import onnx_runtime
from trtlint.partition.origins import bodies

_CASTS = ("InsertedPrecisionFreeCast_", "InsertedCast_")
"""Prefixes of the names that ONNX Runtime gives to added Casts and to their results.

ONNX Runtime adds these Casts to run FP16 on a CPU.  A GPU provider never gets them:
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/optimizer/insert_cast_transformer.cc
"""

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
"""Name of the session option for the folder of external data.  A model in memory needs this option.

https://github.com/microsoft/onnxruntime/blob/main/include/onnxruntime/core/session/onnxruntime_session_options_config_keys.h
"""
_MOST_SHAPES = 5000
_NAMES = frozenset(onnx.TensorProto.DataType.keys())


def rewritten(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto | None:
    """Return a model after ONNX Runtime's rewrites, or None if ONNX Runtime cannot load the model.

    Args:
        model: the model, with external data in files.
        folder: the folder of the external data.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as written_to:
        written = Path(written_to, "rewritten.onnx")
        try:
            onnxruntime = onnx_runtime()
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
            options.log_severity_level = 4
            options.add_session_config_entry(_DATA_FOLDER, str(folder))
            options.optimized_model_filepath = str(written)
            onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            found = onnx.load(written)
        except Exception:  # noqa: BLE001 - onnxruntime is missing, or its exceptions share no other base
            return None
    return _without_casts(found, model)


def shapes_of(model: onnx.ModelProto, names: Sequence[str]) -> dict[str, onnx.TypeProto]:
    """For each value in ``names``, return the type that ONNX Runtime infers.

    ONNX Runtime also knows the types of its own operators.  The result is empty if onnxruntime is not
    installed or cannot load the model.
    """
    if not names or len(names) > _MOST_SHAPES or _is_external(model):
        return {}
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    outputs = {each.name for each in asked.graph.output}
    asked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in outputs)
    try:
        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(
            asked.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:  # noqa: BLE001 - onnxruntime is missing, or its exceptions share no other base
        return {}
    return {
        each.name: _type(each.type, each.shape) for each in session.get_outputs() if each.name in set(names)
    }


def _type(text: str, shape: Sequence[int | str | None] | None) -> onnx.TypeProto:
    """Convert the type text of ONNX Runtime, such as ``tensor(float)``, and a shape to an ONNX type."""
    found = onnx.TypeProto()
    name = text.removeprefix("tensor(").removesuffix(")").upper()
    found.tensor_type.elem_type = onnx.TensorProto.DataType.Value(name) if name in _NAMES else 0
    if shape:  # an empty list means a scalar or an unknown rank
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


def _without_casts(model: onnx.ModelProto, given: onnx.ModelProto) -> onnx.ModelProto | None:
    """Remove the Casts that ONNX Runtime adds to run a model on the CPU.

    ONNX Runtime sometimes removes a Cast of the file together with an added Cast that reverses it.  In this
    case, the function returns None, because the types in the model would be wrong.

    Args:
        model: the model after ONNX Runtime's rewrites.
        given: the model in the file.
    """
    before = _casts(given.graph)
    if not _remove_casts(model.graph):
        return model
    stored = {tensor.name for tensor in model.graph.initializer}
    after = _casts(model.graph)
    return None if any(name not in after and name not in stored for name in before) else model


def _casts(graph: onnx.GraphProto) -> set[str]:
    """Return the outputs of all Casts in a graph and in its subgraphs."""
    found = {name for node in graph.node if node.op_type == "Cast" for name in node.output}
    return found.union(*map(_casts, _bodies(graph)))


def _remove_casts(graph: onnx.GraphProto) -> bool:
    """Remove the Casts that ONNX Runtime added to a graph and its subgraphs.

    Return whether there were such Casts.
    """
    found = [_remove_casts(body) for body in _bodies(graph)]
    inserted = [node for node in graph.node if node.op_type == "Cast" and node.name.startswith(_CASTS)]
    if not inserted:
        return any(found)
    # Either the operand or the result of an added Cast has a name from the file. The other name has a prefix.
    names: dict[str, str] = {}
    for node in inserted:
        short, long = sorted((*node.input, *node.output), key=lambda name: name.startswith(_CASTS))
        names[long] = short
    _rename(graph, names)
    own = {id(node) for node in inserted}
    kept = [node for node in graph.node if id(node) not in own]
    del graph.node[:]
    graph.node.extend(kept)
    types = [value for value in graph.value_info if not value.name.startswith(_CASTS)]
    del graph.value_info[:]
    graph.value_info.extend(types)
    return True


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for node in graph.node:
        for field in (node.input, node.output):
            for index, name in enumerate(field):
                field[index] = names.get(name, name)
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    for body in _bodies(graph):
        _rename(body, names)


def _bodies(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    """Return the subgraphs of the nodes of a graph.

    Recursion over the subgraphs is safe, because protobuf reads at most 100 nested messages.
    """
    return [each.g for node in graph.node for each in bodies(node)]
