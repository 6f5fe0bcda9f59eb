"""Find the inputs and outputs of an operator that change type together with the operator.

The inputs and outputs of an operator are its ports. A port of a 16-bit operator is 16-bit if ONNX allows
several types for the port (https://onnx.ai/onnx/operators/). The remaining ports stay in FP32, such as the
scales of ``Resize`` and the ratio of ``Dropout``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from onnx import defs

from trtlint.measurement.ports import port_at
from trtlint.model.graph import Node, Value
from trtlint.model.schemas import schema_at

_FP32_PORTS: Mapping[str, frozenset[int]] = {
    "Resize": frozenset({1, 2}),
    "Upsample": frozenset({1}),
    "Dropout": frozenset({1}),
    "BatchNormalization": frozenset({1, 2, 3, 4}),
}
"""Indices of inputs that stay in FP32 although ONNX allows 16 bits.

These are the region of interest and the scales of a Resize, the scales of an Upsample, the ratio of a
Dropout, and the parameters and statistics of a BatchNormalization.
"""
_FREE_FIRST_INPUT = frozenset({"Cast", "CastLike", "ConstantOfShape", "EyeLike", "Shape", "Size"})
"""Operators whose first input accepts FP32 and 16-bit tensors alike, so that no Cast is needed."""
SPLIT_NORM_OPSET = 15
"""First opset in which BatchNormalization has separate types for its data and its parameters."""
QUANTIZED_OPSET = 19
"""First opset in which QuantizeLinear and DequantizeLinear support scales in 16 bits."""
_WIDTH = {"fp16": "tensor(float16)", "bf16": "tensor(bfloat16)"}


class Ports(Struct, frozen=True):
    """The ports (inputs and outputs) of an operator type that become 16-bit with the operator.

    Attributes:
        inputs: for each input, true if its type changes with the operator. The last entry also applies to all
            further inputs.
        outputs: for each output, true if its type changes with the operator. The last entry also applies to
            all further outputs.
        free: indices of inputs that may have either type, whatever the type of the operator.
    """

    inputs: tuple[bool, ...]
    outputs: tuple[bool, ...]
    free: frozenset[int]

    def reads_narrow(self, port: int) -> bool:
        """Return whether an input becomes 16-bit with the operator."""
        return port_at(self.inputs, port)

    def writes_narrow(self, port: int) -> bool:
        """Return whether an output becomes 16-bit with the operator."""
        return port_at(self.outputs, port)


@cache
def ports(op: str, opset: int, type_: str) -> Ports | None:
    """Return which ports of an operator type can become 16-bit, or None if the opset lacks the operator.

    Args:
        op: the operator type.
        opset: the version of the default operator set.
        type_: ``fp16`` or ``bf16``.
    """
    try:
        schema = schema_at(op, opset)
    except defs.SchemaError:
        return None
    allowed = {each.type_param_str: tuple(each.allowed_type_strs) for each in schema.type_constraints}

    def follows(port: defs.OpSchema.FormalParameter) -> bool:
        types = allowed.get(port.type_str, ())
        return _WIDTH[type_] in types and "tensor(float)" in types

    kept = _FP32_PORTS.get(op, frozenset())
    if op == "BatchNormalization" and opset < SPLIT_NORM_OPSET:
        kept = frozenset()
    free = frozenset[int]({0} if op in _FREE_FIRST_INPUT else ())
    inputs = [
        follows(port) and index not in kept and index not in free for index, port in enumerate(schema.inputs)
    ]
    outputs = [follows(port) for port in schema.outputs]
    if op == "LayerNormalization":  # mean and deviation have the type of ``stash_type``
        outputs[1:] = [False] * len(outputs[1:])
    return Ports(tuple(inputs), tuple(outputs), free)


def ports_of(node: Node, opset: int, type_: str) -> Ports | None:
    """Return which ports of a node can become 16-bit, or None if ONNX does not define its operator."""
    return None if node.domain else ports(node.op, opset, type_)


def narrow_values(node: Node, found: Ports) -> tuple[list[Value], list[Value]]:
    """Return the inputs and outputs that become 16-bit if the operator computes in 16 bits."""
    reads = [
        value
        for port, value in enumerate(node.inputs)
        if value is not None and value.dtype == "f32" and found.reads_narrow(port)
    ]
    writes = [
        value
        for port, value in enumerate(node.outputs)
        if value.name and value.dtype == "f32" and found.writes_narrow(port)
    ]
    return reads, writes
