"""Move the whole attention scale to Q, before the product with K.

(a·Q)·(b·K)ᵀ = c·(Q·(d·K)ᵀ) if a·b = c·d. So the position of a scale affects only rounding.
"""

from __future__ import annotations

import math

import numpy as np

from trtlint.facts.base import Fact
from trtlint.facts.blocks.walk import Scaling
from trtlint.fixes.patch import Draft, NotApplicable, Patch, numpy_type
from trtlint.fixes.rewrites._attention import AttentionBlock, block_of, require_way_down, without
from trtlint.model.graph import Value
from trtlint.model.load import Model
from trtlint.model.operators import CAST, MOVING
from trtlint.model.protos import FLOAT_DTYPES

_TITLE = "moves the whole attention scale to Q"


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces the scalings of Q, K and the scores by one scaling of Q."""
    block = block_of(fact, model)
    query = block.path.product.query
    if query.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the type of Q is not known")
    scales = (*block.query.scales, *block.key.scales, *block.path.scales)
    if not scales:
        raise NotApplicable("the attention has no scaling")
    _require_movable(block)
    if len({scale.node for scale in scales}) < len(scales):
        raise NotApplicable("one operator scales both Q and K")
    draft = Draft(model, block.product)
    factor = _factor(draft, scales, query)
    rewired = without(scales)
    port = block.port(query)
    bare = next((name for node, at, name in rewired if node is block.product and at == port), query.name)
    scaled = draft.op("Mul", bare, factor)
    kept = [entry for entry in rewired if entry[:2] != (block.product, port)]
    rewire = [*kept, (block.product, port, scaled)]
    retyped = [
        value.name
        for node in block.path.nodes
        for value in node.outputs
        if node not in {scale.node for scale in scales}
    ]
    return draft.patch(_TITLE, [scale.node for scale in scales], rewire=rewire, retyped=retyped, folds=True)


def _require_movable(block: AttentionBlock) -> None:
    """Raise NotApplicable if a scaling of an attention cannot be moved to Q."""
    for scale in (*block.query.scales, *block.key.scales):
        require_way_down(scale, block.product)
    if block.path.scales and block.path.shared:
        raise NotApplicable("other operators also read the scores")
    nodes = {scale.node for scale in block.path.scales}
    last = max((index for index, node in enumerate(block.path.nodes) if node in nodes), default=-1)
    for node in block.path.nodes[:last]:
        if node not in nodes and node.op not in MOVING | CAST:
            raise NotApplicable(f"the scaling of the scores comes after {node.op}")


def _factor(draft: Draft, scales: tuple[Scaling, ...], query: Value) -> str:
    """Return the name of a tensor that contains the product of all scaling factors.

    The tensor has the type of Q, and is a constant if all factors are known.
    """
    if all(scale.factor is not None for scale in scales):
        product = math.prod(scale.factor or 0.0 for scale in scales)
        with np.errstate(over="ignore"):
            stored = np.array(product, numpy_type(query.dtype))
        if not np.isfinite(stored.astype(np.float64)) or (product and not stored):
            raise NotApplicable("the product of all scales is out of the range of Q's type")
        return draft.constant(stored, "scale")
    whole = ""
    for scale in scales:
        scalar = next(value for value in scale.node.inputs if value is not scale.data)
        if scalar is None or scalar.dtype != query.dtype:
            raise NotApplicable("a scale is computed at run time, and its type differs from the type of Q")
        if scalar.shape is None or any(dim != 1 for dim in scalar.shape):
            raise NotApplicable("a scale is computed at run time and differs between heads")
        part = scalar.name
        if scale.node.op == "Div":
            part = draft.op("Div", draft.like(1.0, query.dtype, "one"), scalar)
        whole = draft.op("Mul", whole, part) if whole else part
    return whole
