"""Replace a ``SpaceToDepth`` in CRD (column, row, depth) mode by Reshape, Transpose and Reshape.

https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model

_CHANNELS_FIRST = (0, 1, 3, 5, 2, 4)
"""Permutation of [batch, channels, rows, block, columns, block]: block axes follow the channels."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one SpaceToDepth."""
    node = fact.node
    if node is None or node.op != "SpaceToDepth" or node.domain or node.attribute("mode") != "CRD":
        raise NotApplicable("there is no SpaceToDepth with mode CRD at this place")
    source, block = node.inputs[0], node.integer("blocksize", 0)
    if source is None or source.shape is None or len(source.shape) != 4:
        raise NotApplicable("the input of SpaceToDepth is not known to have rank 4")
    batch, *sizes = source.shape
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    if len(known) < 3 or block < 1:
        raise NotApplicable("the channels, rows and columns of the input are not known")
    channels, rows, columns = known
    if rows % block or columns % block:
        raise NotApplicable("the rows and columns of the input are not multiples of blocksize")
    first = batch if isinstance(batch, int) else -1
    height, width = rows // block, columns // block
    draft = Draft(model, node)
    apart = draft.op("Reshape", source, draft.ints(first, channels, height, block, width, block))
    turned = draft.op("Transpose", apart, perm=list(_CHANNELS_FIRST))
    joined = draft.ints(first, channels * block * block, height, width)
    draft.op("Reshape", turned, joined, out=node.output.name)
    return draft.patch("replaces SpaceToDepth by Reshape, Transpose and Reshape", [node])
