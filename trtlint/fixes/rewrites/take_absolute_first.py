"""Insert an Abs before a ``GlobalLpPool``.  The Abs does not change the norm.

https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, Patch, operator_of
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that inserts Abs before one GlobalLpPool."""
    node = operator_of(fact, model, "GlobalLpPool", inputs=1)
    draft = Draft(model, node)
    draft.again(node, [draft.op("Abs", node.inputs[0])])
    return draft.patch("inserts Abs before GlobalLpPool", [node])
