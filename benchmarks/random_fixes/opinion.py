"""Results of ONNX's reference, where ONNX Runtime alone cannot decide which model is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from benchmarks.random_fixes.bounds import exposed
from benchmarks.random_fixes.overflow import grows_beyond

Array = np.ndarray[Any, Any]
_NARROW = (TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.BFLOAT16)


def reference(model: onnx.ModelProto, fed: Mapping[str, Array]) -> list[Array] | None:
    """Return the outputs according to ONNX's reference; None if the reference fails."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(fed))]
    except Exception:  # noqa: BLE001  (operators that it lacks, and its own faults)
        return None


def in_fp64(model: onnx.ModelProto, fed: Mapping[str, Array]) -> list[Array] | None:
    """Return the outputs with all floats in FP64; None if the reference fails."""
    return reference(_widened(model), _wide(fed))


def overflows_in_fp64(model: onnx.ModelProto, fed: Mapping[str, Array]) -> bool:
    """Return whether numbers inside a model exceed FP64, such as exp(1000)."""
    wide = _widened(model)
    copy, _ = exposed(wide, [name for node in wide.graph.node for name in node.output if name])
    given = reference(copy, _wide(fed))
    if given is None:
        return False
    stored = {each.name: numpy_helper.to_array(each) for each in wide.graph.initializer}
    outputs = dict(zip([each.name for each in copy.graph.output], given, strict=True))
    return grows_beyond(wide, {**outputs, **_wide(fed), **stored})


def _wide(fed: Mapping[str, Array]) -> dict[str, Array]:
    return {name: each.astype(np.float64) if each.dtype.kind == "f" else each for name, each in fed.items()}


def _widened(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graphs = [copy.graph]
    while graphs:
        graph = graphs.pop()
        del graph.value_info[:]
        for tensor in graph.initializer:
            _widen(tensor)
        for info in (*graph.input, *graph.output):
            if info.type.tensor_type.elem_type in _NARROW:
                info.type.tensor_type.elem_type = TensorProto.DOUBLE
        for node in graph.node:
            for each in node.attribute:
                if each.HasField("t"):
                    _widen(each.t)
                if each.HasField("g"):
                    graphs.append(each.g)
                if node.op_type == "Cast" and each.name == "to" and each.i in _NARROW:
                    each.CopyFrom(helper.make_attribute("to", int(TensorProto.DOUBLE)))
    return copy


def _widen(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _NARROW:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
