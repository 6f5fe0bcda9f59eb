"""Insert an Abs before a ``GlobalLpPool``.  The Abs does not change the norm.

https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that inserts Abs before one GlobalLpPool."""
    node = fact.node
    tensor = None if node is None else node.input(0)
    if node is None or node.op != "GlobalLpPool" or node.domain or tensor is None:
        raise NotApplicable("there is no GlobalLpPool here")
    draft = Draft(model, node)
    draft.again(node, [draft.op("Abs", tensor)])
    return draft.patch("inserts Abs before GlobalLpPool", [node])
