"""Replace sequences and optionals by the tensors in them, if trtlint knows these tensors.

TorchScript exports lists of tensors as sequences (``chunk``, ``unbind``, ``torch.stack``), which TensorRT
does not support: https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html.  PyTorch's exporter writes
``unfold`` as a loop that inserts one slice at a time. The rewrite unrolls such a loop:
https://github.com/microsoft/onnxscript/blob/main/onnxscript/function_libs/torch_lib/ops/core.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from msgspec import Struct

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.fixes.rewrites import write_out_loop
from trtlint.fixes.rewrites._connected import connected
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import domain_of, text

_GIVING = frozenset(
    {"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SplitToSequence", "Optional"}
)
"""Operators that return a sequence or an optional tensor."""
_TAKING: Mapping[str, str] = {
    "SequenceAt": "an element",
    "SequenceLength": "the number of tensors",
    "ConcatFromSequence": "all tensors in one tensor",
    "OptionalHasElement": "true if the optional holds a tensor",
    "OptionalGetElement": "the tensor of the optional",
}
"""Operators that read a sequence or an optional and return a tensor, and the meaning of this tensor."""
_COUNTS: Mapping[str, type] = {"SequenceLength": np.int64, "OptionalHasElement": np.bool_}
"""For each operator that depends only on the number of tensors, the element type of the result."""
_MOST_NODES = 500
_DEEPEST = 16
"""Maximum depth of nested loops to search."""
_MOST_ELEMENTS = 256
_SIZES_BY_INPUT = 13
"""First opset in which Split reads its sizes from an input."""


class _Lists(Struct, frozen=True):
    """Replacement of operators on sequences by operators on the tensors in the sequences.

    Attributes:
        draft: the draft of the patch.
        forms: object that inserts operators in the form of the model's opset.
        known: names of the tensors in each sequence.
        retyped: names of values whose declared types become invalid.
    """

    draft: Draft
    forms: Forms
    known: dict[Value, list[str]]
    retyped: list[str]

    def write(self, node: Node) -> None:
        """Rewrite one operator. If the operator returns a sequence, only record the tensors in it."""
        if node.op == "Loop":
            self._unroll_loop(node)
            return
        held = self._tensors_in_result(node)
        if held is not None:
            self._record(node.output, held)
            return
        first = node.input(0)
        if first is None or first not in self.known or node.op not in _TAKING:
            raise NotApplicable(f"the result of {node.op} is known only at run time")
        self._replace_reader(node, self.known[first])

    def _unroll_loop(self, node: Node) -> None:
        held = {value.name: names for value, names in self.known.items()}
        self.retyped.extend(_unroll(self.draft, node, held))
        for value in node.outputs:
            if value.name in held:
                self._record(value, held[value.name])

    def _record(self, value: Value, held: list[str]) -> None:
        """Record the names of the tensors in a sequence."""
        self.known[value] = held
        if len(held) > _MOST_ELEMENTS:
            raise NotApplicable(f"the sequence has more than {_MOST_ELEMENTS} tensors")
        if value.is_output or value.leaves_body:
            raise NotApplicable("a sequence is an output of the model, or of the body of an If or a loop")

    def _tensors_in_result(self, node: Node) -> list[str] | None:
        """Return the names of the tensors in the sequence that an operator returns, or None if unknown."""
        first = node.input(0)
        given = None if first is None else self.known.get(first)
        if node.op == "SequenceEmpty":
            return []
        if node.op in ("SequenceConstruct", "Optional"):
            return [value.name for value in node.inputs if value is not None]
        if node.op == "SplitToSequence":
            return self._split(node)
        if given is None or node.op not in ("SequenceInsert", "SequenceErase", "Identity"):
            return None
        held = list(given)
        if node.op == "SequenceInsert":
            tensor, place = node.input(1), self._position(node, 2, len(held))
            if tensor is None or place is None:
                return None
            held.insert(place, tensor.name)
        elif node.op == "SequenceErase":
            place = self._position(node, 1, len(held) - 1)
            if place is None or not 0 <= place < len(held):
                return None
            del held[place]
        return held

    def _position(self, node: Node, port: int, last: int) -> int | None:
        """Return the sequence position at input ``port`` of an operator, as a non-negative index.

        The result is None if the position is unknown.

        Args:
            node: the operator.
            port: input index of the position.
            last: the position to use if the input is missing.
        """
        if node.input(port) is None:
            return last
        number = self.draft.model.constants.scalar(node.input(port))
        if number is None:
            return None
        count = last if node.op == "SequenceInsert" else last + 1
        return int(number) + (count if number < 0 else 0)

    def _split(self, node: Node) -> list[str] | None:
        """Replace SplitToSequence by Split, and return the names of the parts.

        The result is None if the sizes of the parts are unknown.
        """
        data = node.input(0)
        shape = None if data is None else data.shape
        if data is None or not shape:
            return None
        axis = node.integer("axis", 0) % len(shape)
        sizes = self._sizes(node, shape[axis])
        if not sizes or len(sizes) > _MOST_ELEMENTS:
            return None
        names = [self.draft.name("part") for _ in sizes]
        if len(sizes) == 1:
            self.draft.op("Identity", data, out=names)
        elif opset_of(self.draft.model) < _SIZES_BY_INPUT:
            self.draft.op("Split", data, out=names, axis=axis, split=sizes)
        else:
            self.draft.op("Split", data, self.draft.ints(*sizes), out=names, axis=axis)
        if node.input(1) is None and not node.number("keepdims", 1):
            return [self.forms.squeeze(name, axis) for name in names]
        return names

    def _sizes(self, node: Node, size: object) -> list[int] | None:
        if not isinstance(size, int):
            return None
        given = node.input(1)
        if given is None:
            return [1] * min(size, _MOST_ELEMENTS + 1)
        sizes = self.draft.model.constants.integers(given)
        if sizes is None or given.rank:
            return None if sizes is None else list(sizes)
        step = sizes[0]
        return None if step < 1 else [min(step, size - start) for start in range(0, size, step)]

    def _replace_reader(self, node: Node, held: list[str]) -> None:
        """Replace an operator that computes a tensor from a sequence, such as SequenceAt.

        Args:
            node: the operator.
            held: names of the tensors in the sequence.
        """
        draft, out = self.draft, node.output.name
        if node.op == "SequenceAt":
            place = self._position(node, 1, len(held) - 1)
            if place is None or not 0 <= place < len(held):
                raise NotApplicable("the index of SequenceAt is out of range or known only at run time")
            draft.op("Identity", held[place], out=out)
        elif node.op in _COUNTS:
            known: np.ndarray[Any, Any] = np.array(len(held)).astype(_COUNTS[node.op])
            draft.op("Identity", draft.constant(known, "known"), out=out)
        elif not held:
            raise NotApplicable("the sequence or optional tensor is empty")
        elif node.op == "OptionalGetElement":
            draft.op("Identity", held[0], out=out)
        else:
            axis = node.integer("axis", 0)
            parts = (
                [self.forms.unsqueeze(name, axis) for name in held] if node.number("new_axis", 0) else held
            )
            draft.op("Concat", *parts, axis=axis, out=out)


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch for an operator, and for all operators connected to it by sequences."""
    node = operator_of(fact, model, *_GIVING, *_TAKING, reason="there is no sequence at this place")
    graph = model.graph

    def takes(node: Node) -> bool:
        supported = not node.domain and node.op in _GIVING | _TAKING.keys() | {"Identity"}
        return supported or bool(_carried(node, graph))

    def neighbours(node: Node) -> Iterator[Node]:
        return _near_loop(node, graph) if node.op == "Loop" else _near(node)

    start = _outermost(node, graph)
    nodes = connected(start, neighbours, takes, "sequence", _MOST_NODES)
    draft = Draft(model, start)
    lists = _Lists(draft, Forms(draft), {}, [])
    for each in nodes:
        lists.write(each)
    return draft.patch(
        "replaces sequence operators by operators on the tensors",
        nodes,
        retyped=lists.retyped,
        opset=lists.forms.opset,
        folds=True,
    )


def _near(node: Node) -> Iterator[Node]:
    """Yield the operators that share a sequence with a node."""
    reads = node.op not in ("SequenceEmpty", "SequenceConstruct", "SplitToSequence", "Optional")
    first = node.input(0)
    if reads and first is not None and first.producer is not None:
        yield first.producer
    if node.op not in _TAKING:
        yield from (reader for reader, _ in node.output.uses)


def _carried(node: Node, graph: Graph) -> list[int]:
    """Return the indices of the Loop inputs that pass a sequence from one iteration to the next."""
    body = graph.bodies(node).get("body") if node.op == "Loop" and not node.domain else None
    if body is None:
        return []
    ports = []
    for port in range(2, min(len(body.inputs), len(body.outputs) + 1)):
        given = node.input(port)
        makers = (body.outputs[port - 1].producer, None if given is None else given.producer)
        if any(maker is not None and maker.op in _GIVING and not maker.domain for maker in makers):
            ports.append(port)
    return ports


def _outermost(node: Node, graph: Graph) -> Node:
    """Return the outermost Loop around ``node`` that passes a sequence from one iteration to the next.

    If there is no such Loop, return ``node``.
    """
    for _ in range(_DEEPEST):
        owner = graph.owner(node)
        if owner is None or not _carried(owner, graph):
            break
        node = owner
    return node


def _near_loop(node: Node, graph: Graph) -> Iterator[Node]:
    """Yield the producers of a Loop's initial sequences, and the readers of its final sequences."""
    for port in _carried(node, graph):
        given = node.input(port)
        if given is not None and given.producer is not None:
            yield given.producer
        if port - 2 < len(node.outputs):
            yield from (reader for reader, _ in node.outputs[port - 2].uses)


def _unroll(draft: Draft, node: Node, held: dict[str, list[str]]) -> list[str]:
    """Unroll a Loop, and replace each sequence by separate tensors.

    Args:
        draft: the draft.
        node: the Loop.
        held: names of the tensors in each sequence, by name of the sequence. To this mapping, the function
            adds the sequences that the Loop returns.

    Returns:
        Names of values whose declared shape may become invalid.

    Raises:
        NotApplicable: the Loop cannot be unrolled.
    """
    try:
        patch = write_out_loop.propose(Fact(node=node), draft.model)
    except NotApplicable as error:
        raise NotApplicable(f"the Loop that fills the sequence cannot be unrolled: {error}") from error
    outputs = {value.name for value in node.outputs if value.name}
    for proto in patch.insert:
        if proto.op_type == "Loop" and outputs.intersection(proto.output):
            raise NotApplicable(
                "the trip count of the Loop that fills the sequence is known only at run time"
            )
        _write_inner(draft, proto, held)
    for tensor in patch.initializers:
        draft.store(tensor)
    return list(patch.retyped)


def _write_inner(draft: Draft, proto: onnx.NodeProto, held: dict[str, list[str]]) -> None:
    """Insert one operator of the unrolled body. For an operator on sequences, update ``held`` instead."""
    inputs, op = [text(name) for name in proto.input], "" if domain_of(proto.domain) else proto.op_type
    first = held.get(inputs[0]) if inputs else None
    if op == "SequenceEmpty":
        found: list[str] = []
    elif op == "SequenceConstruct":
        found = inputs
    elif op == "Identity" and first is not None:
        found = first
    elif op == "SequenceInsert" and first is not None and len(inputs) == 2:
        found = [*first, inputs[1]]
    elif any(name in held for name in inputs):
        raise NotApplicable(f"{proto.op_type} in the body of a Loop reads a sequence")
    else:
        draft.insert(proto)
        return
    held[text(proto.output[0])] = found
