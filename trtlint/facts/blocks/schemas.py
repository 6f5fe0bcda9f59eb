"""Find the inputs of an operator that must have the same element type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from onnx import defs

from trtlint.model.schemas import schema_at

_FLOATS = frozenset({"tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)"})

TENSORRT_GROUPS: Mapping[str, tuple[int, ...]] = {"GridSample": (0, 1), "Attention": (0, 1, 2, 3)}
"""For each operator, the indexes of inputs that must have the same type in TensorRT, but not in ONNX.

The following errors were measured on TensorRT-RTX 1.7.1.  The parser refuses a GridSample whose grid and data
have different types (``IGridSampleLayer `input` and `grid` must be of same type``).  The builder refuses an
Attention whose mask or V has a different type than Q (``Input 0's element type (half) differs from input
1's``).
"""

_CAST_BY_PARSER: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2, 3, 4),
    "Clip": (1, 2),
    "Pad": (2,),
}
"""For each operator, the indexes of constant inputs that the parser converts to the type of the layer.

The parser of TensorRT-RTX 1.7.1 was tested with constants whose type differs from the type of the layer.  For
tested operators that are not in this table, the parser refused such constants.
"""


@cache
def same_type_groups(op: str, opset: int) -> tuple[tuple[int, ...], ...]:
    """Return groups of input indexes.  The inputs of a group must have the same type.

    The groups come from ONNX's schema of the operator and from :data:`TENSORRT_GROUPS`.  In the schema, the
    inputs of a group share a type variable that allows more than one float type.  For a variadic
    input, the group contains the index of its first tensor, then -1 for its further tensors.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    try:
        schema = schema_at(op, opset)
    except defs.SchemaError:
        return ()
    allowed = {c.type_param_str: _FLOATS.intersection(c.allowed_type_strs) for c in schema.type_constraints}
    for port, formal in enumerate(schema.inputs):
        if len(allowed.get(formal.type_str, ())) > 1:
            groups[formal.type_str].append(port)
            if formal.option == defs.OpSchema.FormalParameterOption.Variadic and formal.is_homogeneous:
                groups[formal.type_str].append(-1)
    extra = TENSORRT_GROUPS.get(op)
    found = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    return (*found, extra) if extra else found


def cast_by_parser(op: str, port: int) -> bool:
    """Return whether TensorRT's parser casts a constant input to the type of the data input.

    ``port`` is the index of the constant input of an ``op`` node.
    """
    return port in _CAST_BY_PARSER.get(op, ())
