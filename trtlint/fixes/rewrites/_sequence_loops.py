"""Unroll loops that pass a sequence of tensors from one iteration to the next.

PyTorch's exporter writes ``unfold`` as a loop that inserts one slice at a time
(https://github.com/microsoft/onnxscript/blob/main/onnxscript/function_libs/torch_lib/ops/core.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Set

import onnx

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable
from trtlint.fixes.rewrites import write_out_loop
from trtlint.model.graph import Graph, Node
from trtlint.model.load import Model
from trtlint.model.protos import text

_DEEPEST = 16
"""Maximum depth of nested loops to search."""


def carried(node: Node, graph: Graph, giving: Set[str]) -> list[int]:
    """Return the indices of the Loop inputs that pass a sequence from one iteration to the next.

    Args:
        node: the Loop.
        graph: the graph.
        giving: types of the operators that return a sequence.
    """
    body = graph.bodies(node).get("body") if node.op == "Loop" and not node.domain else None
    if body is None:
        return []
    ports = []
    for port in range(2, min(len(body.inputs), len(body.outputs) + 1)):
        given = node.input(port)
        makers = (body.outputs[port - 1].producer, None if given is None else given.producer)
        if any(maker is not None and maker.op in giving and not maker.domain for maker in makers):
            ports.append(port)
    return ports


def outermost(node: Node, graph: Graph, giving: Set[str]) -> Node:
    """Return the outermost Loop around ``node`` that passes a sequence from one iteration to the next.

    If there is no such Loop, return ``node``.

    Args:
        node: an operator.
        graph: the graph.
        giving: types of the operators that return a sequence.
    """
    for _ in range(_DEEPEST):
        owner = graph.owner(node)
        if owner is None or not carried(owner, graph, giving):
            break
        node = owner
    return node


def near(node: Node, graph: Graph, giving: Set[str]) -> Iterator[Node]:
    """Yield the producers of a Loop's initial sequences, and the readers of its final sequences."""
    for port in carried(node, graph, giving):
        given = node.input(port)
        if given is not None and given.producer is not None:
            yield given.producer
        if port - 2 < len(node.outputs):
            yield from (reader for reader, _ in node.outputs[port - 2].uses)


def write(draft: Draft, node: Node, model: Model, held: dict[str, list[str]]) -> list[str]:
    """Unroll a Loop, and replace each sequence by separate tensors.

    Args:
        draft: the draft.
        node: the Loop.
        model: the model.
        held: names of the tensors in each sequence, by name of the sequence. The function adds the sequences
            that the Loop returns to this mapping.

    Returns:
        Names of values whose declared shape may become invalid.

    Raises:
        NotApplicable: the Loop cannot be unrolled.
    """
    try:
        patch = write_out_loop.propose(Fact(node=node), model)
    except NotApplicable as error:
        raise NotApplicable(f"the Loop that fills the sequence cannot be unrolled: {error}") from error
    outputs = {value.name for value in node.outputs if value.name}
    for proto in patch.insert:
        if proto.op_type == "Loop" and outputs.intersection(proto.output):
            raise NotApplicable(
                "the trip count of the Loop that fills the sequence is known only at run time"
            )
        _write(draft, proto, held)
    for tensor in patch.initializers:
        draft.store(tensor)
    return list(patch.retyped)


def _write(draft: Draft, proto: onnx.NodeProto, held: dict[str, list[str]]) -> None:
    """Insert one operator of the unrolled body. For an operator on sequences, only update ``held``."""
    inputs = [text(name) for name in proto.input]
    first = held.get(inputs[0]) if inputs else None
    if proto.op_type == "SequenceEmpty":
        found: list[str] = []
    elif proto.op_type == "SequenceConstruct":
        found = inputs
    elif proto.op_type == "Identity" and first is not None:
        found = first
    elif proto.op_type == "SequenceInsert" and first is not None and len(inputs) == 2:
        found = [*first, inputs[1]]
    elif any(name in held for name in inputs):
        raise NotApplicable(f"the body of a Loop reads a sequence with {proto.op_type}")
    else:
        draft.insert(proto)
        return
    held[text(proto.output[0])] = found
