"""The final state of a recurrent operator in a branch, taken from the sequence that it gives.

TensorRT builds no branch in which the state is read and the sequence is not.  The state is the last step of
the sequence, or the first where it runs backwards: https://onnx.ai/onnx/operators/onnx__GRU.html.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.graph import Node
from trtlint.model.load import Model

_RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
_SINCE = 12
"""The opset from which a Constant is written as a number; older ones take bounds otherwise, too."""
_LENGTHS, _STATE, _CELL = 4, 1, 2
"""The port of the lengths of sequences, and those of the states that are given."""


def propose(fact: Fact, model: Model) -> Patch:
    """Rewrite the recurrent operator at which a fact was found."""
    node = fact.node
    if node is None or node.domain or node.op not in _RECURRENT:
        raise NotApplicable("there is no recurrent operator here")
    if (model.opset or 0) < _SINCE:
        raise NotApplicable(f"its opset is older than {_SINCE}")
    if why := _obstacle(node):
        raise NotApplicable(why)
    if not _is_read(node, _STATE):
        raise NotApplicable("nothing reads its state")
    draft = Draft(model, node)
    _write(draft, node)
    return draft.patch("takes the final state from the sequence", [node])


def _is_read(node: Node, port: int) -> bool:
    if port >= len(node.outputs):
        return False
    value = node.outputs[port]
    return bool(value.name) and (bool(value.uses) or value.leaves_body)


def _obstacle(node: Node) -> str:
    """Why a state is not a step of the sequence; empty where it is."""
    if _is_read(node, _CELL):
        return "the state of its cells is read, which is in no sequence"
    if node.input(_LENGTHS) is not None:
        return "its sequences have lengths of their own"
    return "its batch comes first" if node.number("layout", 0) else ""


def _write(draft: Draft, node: Node) -> None:
    forms, state = Forms(draft), node.outputs[_STATE].name
    sequence = node.output.name or draft.name("sequence")
    draft.again(node, ["" if value is None else value.name for value in node.inputs], [sequence])
    direction = str(node.attribute("direction", "forward"))
    ends = {"forward": (-1,), "reverse": (0,)}.get(direction, (-1, 0))
    steps = [draft.op("Constant", value_int=end) for end in ends]
    if len(steps) == 1:
        draft.op("Gather", sequence, *steps, axis=0, out=state)
        return
    both = [draft.op("Gather", sequence, step, axis=0) for step in steps]
    parts = [forms.part(each, 0, way, way + 1) for way, each in enumerate(both)]
    draft.op("Concat", *parts, axis=0, out=state)
