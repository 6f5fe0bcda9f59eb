"""Remove trailing empty inputs and outputs, and optional outputs that nothing reads.

A trailing empty name is equivalent to no name:
https://github.com/onnx/onnx/blob/main/docs/IR.md#optional-inputs-and-outputs. Two kinds of outputs with an
empty name cannot be removed: required outputs, and outputs before a named output. The rewrite gives such
outputs a name.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.graph import Node
from trtlint.model.load import Model

_WITH_OPTIONAL_OUTPUTS = frozenset({"Dropout", "MaxPool", "LayerNormalization", "BatchNormalization"})
"""Operators with one required output, and with optional outputs."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that removes the unused optional inputs and outputs of an operator."""
    node = fact.node
    if node is None or node.domain:
        raise NotApplicable("there is no ONNX operator at this place")
    optional = node.op in _WITH_OPTIONAL_OUTPUTS
    if not optional and all(value.name for value in node.outputs) and node.inputs[-1:] != (None,):
        raise NotApplicable(f"no input or output of {node.op} has an empty name")
    if optional and node.op != "Dropout":
        read = next((value for value in node.outputs[1:] if value.name and value.is_needed), None)
        if read is not None:
            raise NotApplicable(f"the optional output {read.name} is used")
    draft = Draft(model, node)
    inputs = _without_empty([str(name) for name in node.proto.input])
    outputs = _outputs(draft, node, optional=optional)
    if inputs == list(node.proto.input) and outputs == list(node.proto.output):
        raise NotApplicable(f"{node.op} has nothing to remove")
    draft.again(node, inputs, outputs)
    return draft.patch(f"removes unused inputs and outputs of {node.op}", [node])


def _without_empty(names: list[str]) -> list[str]:
    """Remove the empty names at the end of a list."""
    while names and not names[-1]:
        names.pop()
    return names


def _outputs(draft: Draft, node: Node, *, optional: bool) -> list[str]:
    """Return the names of the outputs to keep. An output without a name gets a new name.

    ``optional`` is true if all outputs except the first are optional.
    """
    values = list(node.outputs)
    while optional and len(values) > 1 and not values[-1].is_needed:
        values.pop()
    return [value.name or draft.name("unread") for value in values]
