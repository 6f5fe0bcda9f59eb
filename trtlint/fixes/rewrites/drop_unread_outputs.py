"""Remove the unread stacked outputs of a Loop or Scan.

https://onnx.ai/onnx/operators/onnx__Loop.html and https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.protos import text

_PER_OUTPUT = ("scan_output_axes", "scan_output_directions")
"""Attributes of Scan that have one element for each stacked output."""
_SINCE = 9
"""First opset in which Scan has no input with sequence lengths."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that removes the unread stacked outputs of one Loop or Scan."""
    node = operator_of(fact, model, "Loop", "Scan", since=_SINCE)
    carried = _carried(node)
    if carried is None:
        raise NotApplicable(f"the body of {node.op} does not have the inputs and outputs that ONNX requires")
    dropped = [port for port in range(carried, len(node.outputs)) if not node.outputs[port].is_needed]
    if not dropped:
        raise NotApplicable("every unused output is a value that one iteration passes to the next")
    draft = Draft(model, node)
    kept = [name for port, name in enumerate(node.proto.output) if port not in dropped]
    proto = draft.again(node, outputs=kept)
    first = 1 if node.op == "Loop" else 0  # the body of a Loop also returns the condition
    for attribute in proto.attribute:
        if text(attribute.name) == "body":
            for port in reversed(dropped):
                del attribute.g.output[port + first]
        elif text(attribute.name) in _PER_OUTPUT:
            for port in reversed(dropped):
                del attribute.ints[port - carried]
    return draft.patch(f"removes unused outputs of {node.op}", [node])


def _carried(node: Node) -> int | None:
    """Return the number of values that a Loop or Scan passes from one iteration to the next.

    The result is None if the body does not match the inputs and outputs of the operator.
    """
    body = node.attributes.get("body")
    scanned = node.number("num_scan_inputs", 0) if node.op == "Scan" else 2
    carried = len(node.inputs) - int(scanned)
    first = 1 if node.op == "Loop" else 0
    if body is None or not 0 <= carried <= len(node.outputs):
        return None
    per_output = (node.attributes.get(name) for name in _PER_OUTPUT)
    stacked = len(node.outputs) - carried
    if any(each is not None and len(each.ints) != stacked for each in per_output):
        return None
    return carried if len(body.g.output) == len(node.outputs) + first else None
