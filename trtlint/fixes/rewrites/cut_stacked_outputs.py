"""Count the iterations of a ``Loop``, and slice the stacked outputs to this number.

In ONNX, a stacked output has one element for each iteration that ran, so the slice removes nothing. In
TensorRT, a stacked output can be as long as the trip count. The slice then removes the elements that no
iteration wrote. https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.model.load import Model
from trtlint.model.protos import text

_SINCE = 10
"""First opset in which Slice reads its bounds from inputs."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that adds operators to count the iterations of a Loop, and to slice its outputs."""
    node = operator_of(fact, model, "Loop")
    if opset_of(model) < _SINCE:
        raise NotApplicable("the opset is older than 10")
    inputs, outputs = ([text(name) for name in names] for names in (node.proto.input, node.proto.output))
    carried = max(0, len(inputs) - 2)
    stacked = outputs[carried:]
    if not any(stacked):
        raise NotApplicable("no operator reads the stacked outputs of the Loop")
    draft = Draft(model, node)
    count = draft.name("count")
    raw = [draft.name("stacked") if name else "" for name in stacked]
    proto = draft.again(
        node,
        [*inputs, draft.constant(np.zeros((), np.int64), "none")],
        [*outputs[:carried], count, *raw],
    )
    _count(proto, carried, draft)
    begin, axis = draft.ints(0), draft.ints(0)
    end = draft.op("Reshape", count, draft.ints(1))
    for name, made in zip(stacked, raw, strict=True):
        if name:
            draft.op("Slice", made, begin, end, axis, out=name)
    return draft.patch("cuts the stacked outputs of the Loop to the number of iterations", [node])


def _count(proto: NodeProto, carried: int, draft: Draft) -> None:
    """Add an iteration counter to a Loop, as the last value that passes from one iteration to the next.

    ``carried`` is the number of values that the Loop already passes from one iteration to the next.
    """
    body: GraphProto = next(attribute.g for attribute in proto.attribute if text(attribute.name) == "body")
    before, after, one = (draft.name(what) for what in ("iterations", "iterations", "one"))
    step = helper.make_tensor("one", TensorProto.INT64, [], [1])
    body.node.extend(
        [
            helper.make_node("Constant", [], [one], value=step, name=draft.name("Constant"), domain=""),
            helper.make_node("Add", [before, one], [after], name=draft.name("Add"), domain=""),
        ]
    )
    body.input.append(helper.make_tensor_value_info(before, TensorProto.INT64, []))
    given = list(body.output)
    given.insert(1 + carried, helper.make_tensor_value_info(after, TensorProto.INT64, []))
    del body.output[:]
    body.output.extend(given)
