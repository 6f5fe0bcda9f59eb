"""Replace the final state of an LSTM, GRU or RNN by a step of the output sequence.

The rewrite applies to an operator in a branch of an If. TensorRT cannot build a branch that reads the state
but not the sequence. The state is the last step of the sequence, or the first step for the reverse direction:
https://onnx.ai/onnx/operators/onnx__GRU.html.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.graph import Node
from trtlint.model.load import Model

_SINCE = 12
"""First opset in which Constant has ``value_int``.  Before opset 10, Slice has its bounds in attributes."""
_LENGTHS, _STATE, _CELL = 4, 1, 2
"""Input index of the sequence lengths, and output indices of the states."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces the final state of one recurrent operator."""
    node = operator_of(
        fact, model, "GRU", "LSTM", "RNN", reason="there is no recurrent operator at this place"
    )
    if opset_of(model) < _SINCE:
        raise NotApplicable(f"the model's opset is older than {_SINCE}")
    if why := _obstacle(node):
        raise NotApplicable(why)
    if not _is_read(node, _STATE):
        raise NotApplicable(f"no operator reads the state of {node.op}")
    draft = Draft(model, node)
    forms, state = Forms(draft), node.outputs[_STATE].name
    sequence = node.output.name or draft.name("sequence")
    draft.again(node, outputs=[sequence])
    direction = str(node.attribute("direction", "forward"))
    ends = {"forward": (-1,), "reverse": (0,)}.get(direction, (-1, 0))
    steps = [draft.op("Constant", value_int=end) for end in ends]
    if len(steps) == 1:
        draft.op("Gather", sequence, *steps, axis=0, out=state)
    else:
        both = [draft.op("Gather", sequence, step, axis=0) for step in steps]
        parts = [forms.part(each, 0, way, way + 1) for way, each in enumerate(both)]
        draft.op("Concat", *parts, axis=0, out=state)
    return draft.patch("takes the final state from the output sequence", [node])


def _is_read(node: Node, port: int) -> bool:
    if port >= len(node.outputs):
        return False
    value = node.outputs[port]
    return bool(value.name) and (bool(value.uses) or value.leaves_body)


def _obstacle(node: Node) -> str:
    """Return the reason why the final state is not a step of the output sequence.

    The result is an empty string if the final state is a step.
    """
    if _is_read(node, _CELL):
        return "an operator reads the final cell state, which the sequence output does not contain"
    if node.input(_LENGTHS) is not None:
        return f"{node.op} has sequence lengths"
    return f"{node.op} has the batch as the first axis" if node.number("layout", 0) else ""
