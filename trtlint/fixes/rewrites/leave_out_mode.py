"""The mode of a GridSample that interpolates linearly, left out: that is what it does by default.

Importers that know the names of older opsets alone take what opset 20 calls ``linear`` for the nearest.
https://onnx.ai/onnx/operators/onnx__GridSample.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Write a GridSample again without its mode."""
    node = fact.node
    if node is None or node.op != "GridSample" or node.domain:
        raise NotApplicable("there is no GridSample here")
    if node.attribute("mode") != "linear":
        raise NotApplicable("its mode is not the default, and has its old name in older opsets only")
    draft = Draft(model, node)
    proto = draft.again(node, node.proto.input, node.proto.output)
    kept = [attribute for attribute in node.proto.attribute if text(attribute.name) != "mode"]
    del proto.attribute[:]
    proto.attribute.extend(kept)
    return draft.patch("leaves the mode out, which is the default", [node])
