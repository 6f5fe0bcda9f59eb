"""Fuse log(1 + exp(x)) into ``Softplus``, whose kernels avoid overflow.

https://onnx.ai/onnx/operators/onnx__Softplus.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces the Log of log(1 + exp(x)) by a Softplus.

    The Exp stays if another operator reads its result.
    """
    steps = {step.node.op: step.node for step in fact.chain}
    if not {"Exp", "Add", "Log"} <= steps.keys():
        raise NotApplicable("there is no softplus at this place")
    exponential, total, log = steps["Exp"], steps["Add"], steps["Log"]
    tensor = exponential.input(0)
    one = next((value for value in total.inputs if value is not exponential.output), None)
    if tensor is None or one is None or model.constants.scalar(one) != 1:
        raise NotApplicable("the constant that is added to exp(x) is not 1")
    if (
        one.rank is None
        or tensor.rank is None
        or one.rank > tensor.rank
        or any(d != 1 for d in one.shape or ())
    ):
        raise NotApplicable("the tensor of ones may broadcast exp(x) to a larger shape")
    if len({node.scope for node in (exponential, total, log)}) > 1:
        raise NotApplicable("Exp, Add and Log are not in the same graph")
    draft = Draft(model, log)
    draft.op("Softplus", tensor, out=log.output.name)
    return draft.patch("fuses log(1 + exp(x)) into Softplus", [log], around=[exponential, total])
