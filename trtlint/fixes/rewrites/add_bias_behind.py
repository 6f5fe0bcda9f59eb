"""Replace the bias of a ``ConvTranspose`` by an Add after the ``ConvTranspose``.

https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that removes the bias of a ConvTranspose, and adds the bias to the result."""
    node = fact.node
    bias = None if node is None else node.input(2)
    tensor = None if node is None else node.input(0)
    if node is None or node.op != "ConvTranspose" or node.domain or bias is None:
        raise NotApplicable("there is no ConvTranspose with a bias at this place")
    if tensor is None or tensor.rank is None or tensor.rank < 3:
        raise NotApplicable("the rank of the input of ConvTranspose is not known")
    draft = Draft(model, node)
    forms = Forms(draft)
    bare = draft.name("bare")
    draft.again(node, [text(name) for name in list(node.proto.input)[:2]], [bare])
    column = forms.unsqueeze(bias, *range(1, tensor.rank - 1))
    draft.op("Add", bare, column, out=node.output.name)
    return draft.patch("adds the bias after ConvTranspose", [node])
