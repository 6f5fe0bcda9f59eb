"""Find ``If`` and ``Loop`` operators, their conditions, and the values that a ``Loop`` carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.sizes import whole
from trtlint.facts.facts import Facts
from trtlint.model.graph import Body, Graph, Node, Value
from trtlint.model.imported import is_stored
from trtlint.model.values import Constants
from trtlint.model.walks import behind

Source = Literal["stored", "static", "dynamic", "data"]

_SAME = frozenset({"Identity", "Cast"})
_SHAPED = frozenset({*_SAME, "Reshape", "Unsqueeze"})
_NO_BODY = Body((), ())


class ControlFlow(Fact, frozen=True, kw_only=True):
    """An ``If`` or a ``Loop``.

    A ``Scan`` is left out, because the shapes of its inputs determine its trip count.

    Several fields name the source of a value. ``stored``: the file stores the value. ``static``: the
    graph computes the value from stored tensors and static sizes. ``dynamic``: the graph computes the
    value from sizes, including dynamic sizes. ``data``: the graph computes the value from input data.

    Attributes:
        op: ``If`` or ``Loop``.
        condition: source of the condition of an ``If``, or of the initial condition of a ``Loop``; None if a
            ``Loop`` has no condition.
        trips: source of the trip count of a ``Loop``; None if there is no trip count, as for an ``If``.
        count: the trip count; None if it is not in the file.
        leaves: source of the condition that the body of a ``Loop`` computes after each iteration; None
            for an ``If``, or if the body of the ``Loop`` returns the condition unchanged.
        before: initial values of the loop-carried values, which a ``Loop`` passes from one iteration to the
            next; empty for an ``If``.
        after: outputs of the body for the loop-carried values, in the same order.
        stacked: outputs of the body that the ``Loop`` stacks. Each iteration adds one slice.
        uncut: number of stacked outputs that are read at full length. The remaining stacked outputs are read
            only by a Slice that ends at a loop-carried value, such as the number of iterations that ran.
        nodes: number of operators in the bodies, including nested bodies.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "condition": "computes the condition, or the trip count",
        "operator": "the If or Loop",
    }

    op: Literal["If", "Loop"]
    condition: Source | None
    trips: Source | None = None
    count: int | None = None
    leaves: Source | None = None
    before: tuple[Value | None, ...] = ()
    after: tuple[Value, ...] = ()
    stacked: tuple[Value, ...] = ()
    uncut: int = 0
    nodes: int


def find(facts: Facts) -> Iterator[ControlFlow]:
    """Yield the ``If`` and ``Loop`` operators of a model, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    nodes = graph.of_onnx("If", "Loop")
    sizes = _sizes(graph) if nodes else {}
    for node in nodes:
        if node.op == "If":
            yield _branch(node, constants, sizes.get(node, 0))
        else:
            yield _loop(node, graph.bodies(node), constants, sizes.get(node, 0))


def _sizes(graph: Graph) -> Mapping[Node, int]:
    """Return the number of nodes in the bodies of each operator, including nested bodies."""
    sizes: Counter[Node] = Counter()
    for node in graph.nodes:
        owner = graph.owner(node) if node.scope else None
        while owner is not None:
            sizes[owner] += 1
            owner = graph.owner(owner) if owner.scope else None
    return sizes


def _branch(node: Node, constants: Constants, size: int) -> ControlFlow:
    condition = node.input(0)
    return ControlFlow(
        node=node,
        chain=_chain(node, condition),
        op="If",
        condition=_source(condition, constants),
        nodes=size,
    )


def _loop(node: Node, bodies: Mapping[str, Body], constants: Constants, size: int) -> ControlFlow:
    body = bodies.get("body", _NO_BODY)
    carried = len(node.inputs) - 2
    trips = node.input(0)
    given = body.inputs[1] if len(body.inputs) > 1 else None
    again = body.outputs[0] if body.outputs else None
    on = again is not None and behind(again, _SAME) is given
    return ControlFlow(
        node=node,
        chain=_chain(node, trips),
        op="Loop",
        condition=_source(node.input(1), constants),
        trips=_source(trips, constants),
        count=whole(constants.scalar(trips)),
        leaves=None if on else _source(again, constants),
        before=node.inputs[2:],
        after=body.outputs[1 : 1 + carried],
        stacked=body.outputs[1 + carried :],
        uncut=sum(not _is_cut(each, node.outputs[:carried]) for each in node.outputs[carried:]),
        nodes=size,
    )


def _is_cut(stacked: Value | None, carried: Sequence[Value | None]) -> bool:
    """Return whether only Slices read a stacked output, and each ends at a loop-carried value."""
    if stacked is None:
        return True
    if stacked.is_output or stacked.leaves_body:
        return False
    ends = [reader.input(2) if reader.op == "Slice" and port == 0 else None for reader, port in stacked.uses]
    return all(end is not None and behind(end, _SHAPED) in carried for end in ends)


def _chain(node: Node, decides: Value | None) -> tuple[Step, ...]:
    producer = None if decides is None else decides.producer
    steps = [] if producer is None else [Step(producer, "condition", label="decides")]
    return (*steps, Step(node, "operator"))


def _source(value: Value | None, constants: Constants) -> Source | None:
    if value is None:
        return None
    if is_stored(value):
        return "stored"
    if constants.foldable(value):
        return "static"
    return "dynamic" if constants.data_free(value) else "data"
