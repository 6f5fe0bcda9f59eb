"""Stored dimensions below 1: their meaning, and notes for the user.

TensorRT's parser reads the shapes of the network's inputs and no other declared shape.  There a negative
number is a dimension of unknown size, and 0 is an empty tensor (``convertOnnxDims`` in
https://github.com/onnx/onnx-tensorrt/blob/main/importerUtils.hpp).  ONNX's shape inference would compute
with both numbers.  Old releases of Paddle2ONNX write -1 for a dynamic size
(https://github.com/PaddlePaddle/Paddle2ONNX), other exporters write 0.
"""

from __future__ import annotations

import onnx

from trtlint.files.problem import first_few
from trtlint.model.protos import bodies, text

_MOST_NAMED = 4
"""Largest number of dimensions that one note names; the note counts the remaining ones."""
_NEGATIVE = "input dimensions stored as negative numbers have an unknown size, as for TensorRT: {}"
_ZERO = "input dimensions of 0 mean an empty tensor, as for TensorRT; name a dimension whose size varies: {}"
_NO_NAME = "input dimensions with an empty name are 0 for TensorRT, unknown for trtlint: {}"


def clean_dimensions(graph: onnx.GraphProto) -> tuple[bool, list[str]]:
    """Clear the stored dimensions that are not sizes, in place.

    Negative numbers are cleared everywhere.  Zeros are cleared except in the inputs of the main graph:
    these are the only declared shapes that TensorRT reads.  Elsewhere, shape inference computes every
    size again, including a size that is really zero.

    Args:
        graph: the main graph as stored in the file; its bodies are cleaned too.

    Returns:
        Whether anything was cleared, and notes for the user about inputs.
    """
    notes = _notes(graph)
    changed = False
    for info in graph.input:
        changed |= _clean(info, least=0)
    for info in (*graph.output, *graph.value_info):
        changed |= _clean(info, least=1)
    return changed, notes


def clean_bodies(graph: onnx.GraphProto) -> bool:
    """Clear the stored dimensions of bodies that are not sizes; return whether any was cleared."""
    changed = False
    for body in (body for node in graph.node for attribute in node.attribute for body in bodies(attribute)):
        for info in (*body.input, *body.output, *body.value_info):
            changed |= _clean(info, least=1)
        changed |= clean_bodies(body)
    return changed


def _notes(graph: onnx.GraphProto) -> list[str]:
    stored = {text(tensor.name) for tensor in graph.initializer}
    places: dict[str, list[str]] = {}
    for info in graph.input:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            kind = _kind(dim)
            if kind and text(info.name) not in stored:
                places.setdefault(kind, []).append(f"{text(info.name)}[{axis}]")
    return [kind.format(first_few(found, _MOST_NAMED)) for kind, found in places.items()]


def _kind(dim: onnx.TensorShapeProto.Dimension) -> str:
    """Return the note for a stored dimension; an empty string if it needs no note."""
    if dim.HasField("dim_param"):
        return "" if dim.dim_param else _NO_NAME
    if not dim.HasField("dim_value") or dim.dim_value > 0:
        return ""
    return _NEGATIVE if dim.dim_value < 0 else _ZERO


def _clean(info: onnx.ValueInfoProto, least: int) -> bool:
    """Clear the sizes of a declared shape below ``least``; return whether any was cleared."""
    changed = False
    for dim in info.type.tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < least:
            dim.ClearField("dim_value")
            changed = True
    return changed
