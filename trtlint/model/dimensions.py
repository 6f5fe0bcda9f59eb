"""Clear declared dimensions below 1, and explain these dimensions to the user.

A cleared dimension has an unknown size.  The ONNX file does not change.

TensorRT's parser reads only the declared shapes of the network inputs.  To the parser, a negative number is a
dimension of unknown size, and 0 means an empty tensor.  Source: ``convertOnnxDims`` in
https://github.com/onnx/onnx-tensorrt/blob/main/importerUtils.hpp.  But ONNX's shape inference would treat
negative numbers and 0 as sizes.  Old releases of Paddle2ONNX write -1 for a dynamic size
(https://github.com/PaddlePaddle/Paddle2ONNX).  Other exporters write 0.
"""

from __future__ import annotations

import onnx

from trtlint.files.problem import first_few
from trtlint.model.protos import bodies_of, text

_MOST_NAMED = 4
"""Largest number of dimensions that one note names; the note counts the remaining ones."""
_NEGATIVE = "trtlint and TensorRT treat negative input dimensions as dynamic: {}"
_ZERO = (
    "for trtlint and TensorRT, an input with a dimension of 0 is an empty tensor; if the dimension "
    "should be dynamic, give it a name: {}"
)
_NO_NAME = "for input dimensions with an empty name, TensorRT uses 0, but trtlint assumes an unknown size: {}"


def clean_dimensions(graph: onnx.GraphProto) -> tuple[bool, list[str]]:
    """Clear declared dimensions below 1 in a graph, in place.

    A negative dimension is cleared in every value.  A dimension of 0 is kept in the inputs of the main graph,
    because TensorRT reads this dimension.  Elsewhere, a dimension of 0 is cleared.  Shape inference computes
    the cleared dimensions again, including sizes that are really 0.

    Args:
        graph: the main graph as stored in the file.  The bodies of its operators are not changed.

    Returns:
        Whether a dimension was cleared, and notes for the user about input dimensions.
    """
    notes = _notes(graph)
    changed = False
    for info in graph.input:
        changed |= _clean(info, least=0)
    for info in (*graph.output, *graph.value_info):
        changed |= _clean(info, least=1)
    return changed, notes


def clean_bodies(graph: onnx.GraphProto) -> bool:
    """Remove declared sizes below 1 in subgraphs.  Return whether a size was removed."""
    changed = False
    for body in (body for node in graph.node for body in bodies_of(node)):
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
    """Return the text of the note about an input dimension, or an empty string if no note is needed."""
    if dim.HasField("dim_param"):
        return "" if dim.dim_param else _NO_NAME
    if not dim.HasField("dim_value") or dim.dim_value > 0:
        return ""
    return _NEGATIVE if dim.dim_value < 0 else _ZERO


def _clean(info: onnx.ValueInfoProto, least: int) -> bool:
    """Clear declared dimensions below ``least`` in one value.  Return whether a dimension was cleared."""
    changed = False
    for dim in info.type.tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < least:
            dim.ClearField("dim_value")
            changed = True
    return changed
