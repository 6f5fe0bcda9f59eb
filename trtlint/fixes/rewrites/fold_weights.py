"""Store convolution weights that the model computes from constants."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.of_model.convolution import Convolution
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._computing import computed
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that stores the computed weight of one convolution."""
    node = fact.node
    if not isinstance(fact, Convolution) or node is None:
        raise NotApplicable("there is no convolution at this place")
    value = node.input(fact.weight.port)
    if value is None or value.producer is None or not model.constants.foldable(value):
        raise NotApplicable(
            "no operator computes the weight, or the weight depends on values that are not constant"
        )
    if value.is_output or value.producer.scope != node.scope or len(value.producer.outputs) > 1:
        raise NotApplicable(
            "the operator that computes the weight has several outputs or is in another graph, or the weight "
            "is an output of the model"
        )
    array = computed(value, model)
    draft = Draft(model, value.producer)
    draft.constant(array, out=value.name)
    return draft.patch("stores the computed weight as a constant", [value.producer], folds=True)
