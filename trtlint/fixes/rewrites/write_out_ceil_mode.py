"""Replace ``ceil_mode`` of pooling by explicit padding at the end, with the same output size.

``AveragePool`` with ``count_include_pad`` is not rewritten, because the results would change: the divisor
counts the elements of ``pads``, but not the additional elements of ``ceil_mode``.
https://onnx.ai/onnx/operators/onnx__MaxPool.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.blocks.geometry import windows
from trtlint.facts.of_model.pooling import Pooling
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces ceil_mode of a pooling operator by explicit padding."""
    node = fact.node
    along = None if node is None else windows(node)
    if node is None or not isinstance(fact, Pooling) or along is None or not fact.sizes:
        raise NotApplicable("there is no pooling with ceil_mode at this place, or its sizes are not known")
    if node.op == "LpPool" or (node.op == "AveragePool" and node.number("count_include_pad", 0) == 1):
        raise NotApplicable(f"{node.op} counts padding, so the results would change")
    ends = [
        (count - 1) * window.stride + window.reach - window.size - window.begin
        for count, window in zip(fact.sizes, along, strict=True)
    ]
    # TensorRT rejects negative padding. Zero is enough, because rounding down ignores surplus elements.
    ends = [max(end, 0) for end in ends]
    if any(end >= window.reach for end, window in zip(ends, along, strict=True)):
        raise NotApplicable("a pooling window would contain only padding")
    draft = Draft(model, node)
    pads = [window.begin for window in along] + ends
    draft.again(node, without=("ceil_mode", "auto_pad"), pads=pads)
    return draft.patch("replaces ceil_mode by explicit padding", [node])
