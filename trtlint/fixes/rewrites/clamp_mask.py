"""Clamp the constants of a mask to the range of FP16.

Results change in two cases:

- An added mask masks every key of a row. Before the rewrite, all probabilities in the row are equal. After
  the rewrite, these probabilities depend on the scores.
- Scores are near -60000.

:mod:`trtlint.fixes.rewrites.select_mask` preserves the results in both cases.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from onnx import numpy_helper

from trtlint.facts.base import Fact
from trtlint.facts.of_model.constant import FP16_MAX, Constant
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch
from trtlint.model.folding import fill_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model

_ROOM = 6e4
"""Largest magnitude of an added mask. The sum of mask and score must not exceed the FP16 range."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that clamps one constant."""
    node = fact.node
    if not isinstance(fact, Constant) or node is None:
        raise NotApplicable("there is no constant at this place")
    limit = _ROOM if fact.added or fact.multiplied else FP16_MAX
    around = [step.node for step in fact.chain if step.role != "constant"]
    altered = [fact.name, *(value.name for node in around[:-1] for value in node.outputs)]
    condition = f"rows with at least one allowed key, and scores far above {-limit:.0f}"
    worst = max(fact.values.high or 0.0, fact.values.low or 0.0, key=abs)
    title = f"clamps the mask values ({worst:.3g}) to ±{limit:.0f}"
    draft = Draft(model, node)
    patch = partial(
        draft.patch, title, around=around, folds=True, keeps_a_key=True, altered=altered, condition=condition
    )
    if node.op == "ConstantOfShape" and node.output.name == fact.name:
        fill = fill_of(node.attribute("value"))
        if node.attribute("value") is None:
            raise NotApplicable("ConstantOfShape fills with zeros")
        if fill is None:
            raise NotApplicable("the number that ConstantOfShape fills with is unknown")
        value = numpy_helper.from_array(np.clip(fill, -limit, limit))
        draft.op("ConstantOfShape", node.inputs[0], value=value, out=fact.name)
        return patch([node])
    held = value_named(node, fact.name)
    payload = model.constants.payload(held)
    if payload is None:
        payload = model.constants.array(held)
    if held is None or payload is None or payload.size > MOST_ELEMENTS:
        raise NotApplicable("the mask cannot be read or has too many values")
    if any(reader.scope != node.scope for reader, _ in held.uses) or held.is_output:
        raise NotApplicable("the mask is an output of the model, or is read in the body of an If or a loop")
    array = np.asarray(payload)
    finite = np.where(np.isfinite(array), np.clip(array, -limit, limit), array).astype(array.dtype)
    name = draft.constant(finite, "mask")
    return patch([], rewire=[(reader, port, name) for reader, port in held.uses])


def value_named(node: Node, name: str) -> Value | None:
    """Return the input or output named ``name`` of a node, or None if the node has no such value."""
    known = (*node.outputs, *node.inputs)
    return next((value for value in known if value is not None and value.name == name), None)
