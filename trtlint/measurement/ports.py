"""Find the inputs and outputs of operators that can have a narrow type.

Tensors stay in FP32 where ONNX's definition of an operator allows no narrow type.  For example, the scales of
``Resize`` are always FP32 (https://onnx.ai/onnx/operators/).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from onnx import defs

from trtlint.measurement.formats import BF16, Format
from trtlint.model.schemas import schema_at

COPYING = frozenset(
    {
        *("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Dropout"),
        *("Slice", "Split", "Gather", "GatherElements", "GatherND", "Concat", "Compress", "ReverseSequence"),
        *("DepthToSpace", "SpaceToDepth", "Where", "MaxPool", "GlobalMaxPool", "Max", "Min", "Clip", "Relu"),
        *("Abs", "Neg", "ReduceMax", "ReduceMin", "TopK", "Trilu", "Sign"),
    }
)
"""Operators that round nothing, because they return numbers of their input or the negatives of these."""
CARRYING = COPYING - {"Where", "Max", "Min", "Clip", "Sign", "Compress", "Dropout"}
"""Operators of ``COPYING`` that commute with rounding, whatever their other inputs are."""
SAME = frozenset({"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"})
"""Operators whose output holds the same numbers as their input."""


def reads(op: str, domain: str, opset: int, port: int, format_: Format) -> bool:
    """Return whether input ``port`` of an operator supports a type. True for operators outside ONNX."""
    allowed = _allowed(op, domain, opset, format_ is BF16)
    return allowed is None or port_at(allowed[0], port)


def writes(op: str, domain: str, opset: int, port: int, format_: Format) -> bool:
    """Return whether output ``port`` of an operator supports a type. True for operators outside ONNX."""
    allowed = _allowed(op, domain, opset, format_ is BF16)
    return allowed is None or port_at(allowed[1], port)


def port_at(ports: Sequence[bool], port: int) -> bool:
    """Return the entry of ``ports`` for a port. The last entry also applies to all further ports."""
    return bool(ports) and ports[min(port, len(ports) - 1)]


@cache
def _allowed(
    op: str, domain: str, opset: int, brain: bool
) -> tuple[tuple[bool, ...], tuple[bool, ...]] | None:
    try:
        schema = schema_at(op, opset, domain)
    except defs.SchemaError:
        return None
    constraints = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    # Old opsets lack BF16 for many operators; the arithmetic of these operators allows it.
    wanted = {"tensor(float16)", "tensor(bfloat16)"} if brain else {"tensor(float16)"}

    def allows(ports: Sequence[defs.OpSchema.FormalParameter]) -> tuple[bool, ...]:
        return tuple(
            not wanted.isdisjoint(constraints.get(port.type_str, (port.type_str,))) for port in ports
        )

    return allows(schema.inputs), allows(schema.outputs)
