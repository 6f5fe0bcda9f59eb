"""Declare the inferred shapes of the outputs of a model."""

from __future__ import annotations

from copy import deepcopy

import onnx

from trtlint.model.infer import InferenceError, infer


def with_output_shapes(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Copy a model, and declare the inferred shapes of the outputs in the copy.

    ``onnx_graphsurgeon`` writes outputs without shapes
    (https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy/tests/models). TensorRT and ONNX Runtime
    accept such models, but the ONNX checker rejects them. The copy declares no types of intermediate values,
    because these types can also be wrong.

    Returns:
        The copy, or None if ONNX cannot infer the shape of an output.
    """
    copy = deepcopy(proto)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.ModelProto.FromString(infer(copy.SerializeToString()))
    except InferenceError:
        return None
    for output, found, before in zip(
        copy.graph.output, inferred.graph.output, proto.graph.output, strict=True
    ):
        if not output.type.HasField("tensor_type"):
            continue
        if not found.type.tensor_type.HasField("shape"):
            return None
        shape = output.type.tensor_type.shape
        shape.CopyFrom(found.type.tensor_type.shape)
        if len(before.type.tensor_type.shape.dim) == len(shape.dim):
            for dim, old in zip(shape.dim, before.type.tensor_type.shape.dim, strict=True):
                if not (dim.HasField("dim_value") and old.HasField("dim_value")):
                    dim.CopyFrom(old)
    return copy
