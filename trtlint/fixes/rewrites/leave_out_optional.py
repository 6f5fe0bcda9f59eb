"""Inputs and outputs with an empty name, and optional outputs that nothing reads, left out of their operator.

An empty name at the end means the same as none:
https://github.com/onnx/onnx/blob/main/docs/IR.md#optional-inputs-and-outputs.
An output that the operator must have, or that another one follows, gets a name instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.graph import Node
from trtlint.model.load import Model

_REQUIRED: Mapping[str, int] = {
    "Dropout": 1,
    "MaxPool": 1,
    "LayerNormalization": 1,
    "BatchNormalization": 1,
}
"""How many outputs an operator must have, of those whose other ones may be left out."""


def propose(fact: Fact, model: Model) -> Patch:
    """Write the operator at which a fact was found without what may be left out."""
    node = fact.node
    if node is None or node.domain:
        raise NotApplicable("there is no operator of ONNX's own here")
    required = _REQUIRED.get(node.op)
    if required is None and all(value.name for value in node.outputs) and node.inputs[-1:] != (None,):
        raise NotApplicable("no input and no output of it has an empty name")
    if required is not None and node.op != "Dropout":
        read = next((value for value in node.outputs[required:] if value.name and value.is_needed), None)
        if read is not None:
            raise NotApplicable(f"its output {read.name} is read")
    draft = Draft(model, node)
    inputs = _without_empty([str(name) for name in node.proto.input])
    outputs = _outputs(draft, node, required)
    if inputs == list(node.proto.input) and outputs == list(node.proto.output):
        raise NotApplicable("it has nothing that could be left out")
    draft.again(node, inputs, outputs)
    return draft.patch(f"leaves out what {node.op} does not need", [node])


def _without_empty(names: list[str]) -> list[str]:
    """Names up to the last that is not empty."""
    while names and not names[-1]:
        names.pop()
    return names


def _outputs(draft: Draft, node: Node, required: int | None) -> list[str]:
    """The names of the outputs that stay; those that must stay and have none get one."""
    values = list(node.outputs)
    if required is not None:
        while len(values) > required and not values[-1].is_needed:
            values.pop()
    return [value.name or draft.name("unread") for value in values]
