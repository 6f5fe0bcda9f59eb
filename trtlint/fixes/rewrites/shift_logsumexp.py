"""Replace log(sum(exp(x))) by m + log(sum(exp(x - m))), where m is the maximum of x.

m is clipped to finite numbers, so that rows of -inf stay -inf.
https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.load import Model

_SINCE = 11
"""First opset in which Clip reads its bounds from inputs."""
_LARGEST = 65504.0
"""Largest number of FP16."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that subtracts the maximum before Exp, and adds the maximum after Log."""
    steps = {step.node.op: step.node for step in fact.chain}
    if not {"Exp", "ReduceSum", "Log"} <= steps.keys():
        raise NotApplicable("there is no sum of exponentials at this place")
    exponential, total, log = steps["Exp"], steps["ReduceSum"], steps["Log"]
    tensor = exponential.input(0)
    if tensor is None or tensor.dtype != "f16" or opset_of(model) < _SINCE:
        raise NotApplicable("the tensor is not FP16, or the model's opset is older than 11")
    if len({node.scope for node in (exponential, total, log)}) > 1:
        raise NotApplicable("Exp, ReduceSum and Log are not in the same graph")
    axes = model.constants.axes(total)
    if axes is None or (not axes and total.attribute("noop_with_empty_axes")):
        raise NotApplicable("the axes of the sum are not known")
    draft = Draft(model, log)
    forms = Forms(draft)
    low, high = (draft.like(sign * _LARGEST, tensor, "bound") for sign in (-1, 1))
    greatest = draft.op("Clip", forms.reduced("ReduceMax", tensor, axes, keep=True), low, high)
    keep = bool(total.number("keepdims", 1))
    exponentials = draft.op("Exp", draft.op("Sub", tensor, greatest))
    summed = forms.reduced("ReduceSum", exponentials, axes, keep=keep)
    back = greatest if keep else forms.reduced("ReduceMax", greatest, axes)
    draft.op("Add", draft.op("Log", summed), back, out=log.output.name)
    title = "subtracts the maximum before the exponentials"
    return draft.patch(title, [log], around=[exponential, total])
