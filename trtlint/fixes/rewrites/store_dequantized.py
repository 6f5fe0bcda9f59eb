"""Store the 8-bit weight of a convolution as floats if the convolution input is not quantized.

No convolution kernel supports an 8-bit weight with float inputs, so TensorRT would dequantize the weight in
every inference.
"""

from __future__ import annotations

import math

from trtlint.facts.base import Fact
from trtlint.facts.of_model.quantized import Quantized
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._computing import computed
from trtlint.model.load import Model

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that stores the output of the weight's DequantizeLinear."""
    nodes = fact.weight.nodes if isinstance(fact, Quantized) and fact.weight is not None else ()
    node = nodes[-1] if nodes else None
    if node is None or node.op != "DequantizeLinear" or node.domain:
        raise NotApplicable("there is no DequantizeLinear of a weight at this place")
    result = node.output
    if not model.constants.foldable(result):
        raise NotApplicable("the weight depends on values that are not constant")
    if result.is_output or result.leaves_body or node.scope:
        raise NotApplicable("the weight is an output, or belongs to the body of an If or a loop")
    if any(reader.domain or reader.op not in _CONVOLUTIONS for reader, _ in result.uses):
        raise NotApplicable("another operator also reads the dequantized weight")
    sizes = [size for size in result.shape or () if isinstance(size, int)]
    if math.prod(sizes) > MOST_ELEMENTS:
        raise NotApplicable(f"the weight has more than {MOST_ELEMENTS:,} elements")
    array = computed(result, model)
    draft = Draft(model, node)
    draft.constant(array, out=result.name)
    return draft.patch("stores the dequantized weight as floats", [node], folds=True)
