"""Decompose ``ReduceLogSumExp`` into Exp, ReduceSum and Log, after subtracting the maximum.

The maximum is clipped to finite numbers, so that rows of -inf stay -inf.
https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, lowest, operator_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one ReduceLogSumExp."""
    node = operator_of(fact, model, "ReduceLogSumExp")
    tensor, axes = node.input(0), model.constants.axes(node)
    if tensor is None or tensor.dtype is None or tensor.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the tensor is not of a float type")
    if not axes:
        raise NotApplicable("the axes are not stored in the model")
    draft = Draft(model, node)
    forms = Forms(draft)
    least = lowest(tensor.dtype)
    low, high = draft.like(least, tensor, "least"), draft.like(-least, tensor, "most")
    greatest = forms.reduced("ReduceMax", tensor, axes, keep=True)
    bounded = draft.op("Min", draft.op("Max", greatest, low), high)
    keep = bool(node.number("keepdims", 1))
    exponentials = draft.op("Exp", draft.op("Sub", tensor, bounded))
    logarithm = draft.op("Log", forms.reduced("ReduceSum", exponentials, axes, keep=keep))
    back = bounded if keep else forms.squeeze(bounded, *axes)
    draft.op("Add", logarithm, back, out=node.output.name)
    # The proof cannot compare results: a plain evaluation of ReduceLogSumExp overflows.
    return draft.patch("decomposes ReduceLogSumExp into Exp, ReduceSum and Log", [node], changes_results=True)
