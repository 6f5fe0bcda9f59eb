"""Find the inputs and outputs of operators that support a low-precision type (FP16, BF16 or TF32).

If ONNX allows no low-precision type for an input or output, the tensor at this input or output stays in FP32.
For example, the scales of ``Resize`` are always FP32 (https://onnx.ai/onnx/operators/).
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
"""Operators that round nothing: each output element is an input element, maybe negated."""
CARRYING = COPYING - {"Where", "Max", "Min", "Clip", "Sign", "Compress", "Dropout"}
"""Operators of ``COPYING`` for which rounding the input and rounding the output give the same result."""
SAME = frozenset({"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"})
"""Operators whose output has the same elements as their input."""


def port_at(ports: Sequence[bool], port: int) -> bool:
    """Return the entry of ``ports`` for a port. The last entry also applies to all later ports."""
    return bool(ports) and ports[min(port, len(ports) - 1)]


@cache
def narrow_ports(
    op: str, domain: str, opset: int, format_: Format
) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Return which inputs and which outputs of an operator support a type, for :func:`port_at`.

    For an operator that ONNX does not define, all entries are True.
    """
    try:
        schema = schema_at(op, opset, domain)
    except defs.SchemaError:
        return (True,), (True,)
    constraints = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    # Old opsets lack BF16 for many operators that can compute in BF16, so FP16 support is enough.
    wanted = {"tensor(float16)", "tensor(bfloat16)"} if format_ is BF16 else {"tensor(float16)"}

    def allows(ports: Sequence[defs.OpSchema.FormalParameter]) -> tuple[bool, ...]:
        return tuple(
            not wanted.isdisjoint(constraints.get(port.type_str, (port.type_str,))) for port in ports
        )

    return allows(schema.inputs), allows(schema.outputs)
