"""Choose the opset of a converted model."""

from __future__ import annotations

from trtlint.conversion.narrowports import QUANTIZED_OPSET, SPLIT_NORM_OPSET, ports
from trtlint.fixes.opsets import raisable
from trtlint.fixes.patch import opset_of
from trtlint.model.load import Model

NEWEST = 22
"""The first opset in which convolutions and recurrent operators support BF16:
https://onnx.ai/onnx/operators/onnx__Conv.html
"""


def opset_for(model: Model, type_: str) -> int:
    """Return the opset of the converted model.

    This is the opset of the source, or a newer one if an operator needs it.
    """
    own = opset_of(model)
    ops = {node.op for node in model.graph.nodes if not node.domain}
    wanted = own
    if "BatchNormalization" in ops:
        wanted = max(wanted, SPLIT_NORM_OPSET)
    if ops & {"QuantizeLinear", "DequantizeLinear"}:
        wanted = max(wanted, QUANTIZED_OPSET)
    steps = [wanted]
    if type_ == "bf16" and any(_is_newer_support(op, own) for op in ops):
        steps = [NEWEST, max(wanted, 16), max(wanted, 14), max(wanted, 13), wanted]
    return next((step for step in steps if step > own and raisable(model, step)), own)


def lacking(model: Model, type_: str, opset: int) -> tuple[str, ...]:
    """Return the operator types in ``model`` that support BF16 only in a newer opset than ``opset``.

    The result is empty for types other than BF16.
    """
    if type_ != "bf16":
        return ()
    return tuple(
        sorted(
            {node.op for node in model.graph.nodes if not node.domain and _is_newer_support(node.op, opset)}
        )
    )


def _is_newer_support(op: str, opset: int) -> bool:
    """Return whether an operator lacks BF16 in ``opset`` and supports BF16 in a newer opset."""
    before, after = ports(op, opset, "bf16"), ports(op, NEWEST, "bf16")
    return before is not None and after is not None and sum(after.inputs) > sum(before.inputs)
