"""Replace an Elu by a Selu with gamma 1.

Elu and this Selu compute the same function for any alpha. Celu is no alternative, because Celu computes
another function if alpha is not 1.
https://onnx.ai/onnx/operators/onnx__Elu.html and https://onnx.ai/onnx/operators/onnx__Selu.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.model.load import Model

_SINCE = 6
"""First opset in which ONNX infers the shapes of Elu and of Selu."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Elu."""
    node = operator_of(fact, model, "Elu", inputs=1)
    if opset_of(model) < _SINCE:
        raise NotApplicable(f"the model's opset is older than {_SINCE}")
    draft = Draft(model, node)
    alpha = float(node.number("alpha", 1.0))
    draft.op("Selu", node.inputs[0], out=node.output.name, alpha=alpha, gamma=1.0)
    return draft.patch("replaces Elu by Selu", [node])
