"""``ReduceLogSumExp`` as Exp, ReduceSum and Log, with the greatest element taken out first.

The greatest element is kept finite, so that rows of minus infinity alone stay what they are.
https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, lowest
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES


def propose(fact: Fact, model: Model) -> Patch:
    """Replace one ReduceLogSumExp."""
    node = fact.node
    if node is None or node.op != "ReduceLogSumExp" or node.domain:
        raise NotApplicable("there is no ReduceLogSumExp here")
    tensor, axes = node.input(0), model.constants.axes(node)
    if tensor is None or tensor.dtype is None or tensor.dtype not in FLOAT_DTYPES:
        raise NotApplicable("it is not in floating point")
    if not axes:
        raise NotApplicable("its axes are not stored in the model")
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
    # A plain evaluation of the operator overflows where this does not, so that there is nothing to compare.
    return draft.patch("writes ReduceLogSumExp out as Exp, ReduceSum and Log", [node], mends=True)
