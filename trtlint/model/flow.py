"""Analyse the control flow of a graph.

The analysis finds the operators that depend on loops and branches. It also finds control-flow constructs
that are inside a loop and read a value from outside the loop.

A control-flow construct is an ``If``, ``Loop``, ``Scan`` or recurrent operator.  TensorRT's parser imports a
recurrent operator as a loop (https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/RNNHelpers.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import islice
from weakref import WeakKeyDictionary

from msgspec import Struct

from trtlint.model.graph import WITH_BODIES, Node, Value
from trtlint.model.imported import is_stored, known_at_build
from trtlint.model.operators import SHAPE_READERS
from trtlint.model.values import Constants

RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
_LOOPS = frozenset({"Loop", "Scan"})

_MOST_NESTED = 500
"""Largest number of nested constructs to search. Each search visits all scopes of the graph."""

_INITIAL_STATES = (5, 6)
"""Indices of the inputs of a recurrent operator that are initial states."""
_UNARY = frozenset({"Abs", "Identity", "Neg", "Relu", "Sigmoid", "Tanh"})
_DROPPING = frozenset({"Reshape", "Squeeze"})
"""Operators that can remove the last dimension of a tensor."""
_PASSING = frozenset({"Squeeze", "Unsqueeze"}) | _UNARY
_SLICING = frozenset({"Gather", "Slice", "Split"}) | _UNARY
_MOST_STEPS = 8


class Flow(Struct, frozen=True):
    """The control flow of one graph.

    Attributes:
        repeated: some of the operators that depend on a control-flow construct or on an input of a loop
            body.  Such an operator is included in two cases:

            - An earlier operator of the same type in the same graph also depends on a construct or on an
              input of a loop body.
            - Another construct depends on the operator.
        past_loops: constructs inside a loop that read a value from outside the loop.  Only loops in a branch
            of an ``If`` count.
        packed: recurrent operators that come after a loop or another recurrence. The initial state of such an
            operator is an element of the last dimension of a tensor with four dimensions.
    """

    repeated: frozenset[Node]
    past_loops: frozenset[Node]
    packed: frozenset[Node]


class _Constructs:
    """Finds the control-flow constructs of one graph.

    An ``If`` is not a construct if the builder knows or may know the condition.  The builder replaces such an
    ``If`` by one of its branches.

    Args:
        constants: the graph and its constants.
    """

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._graph = constants.graph
        self._kept: dict[Node, bool] = {}
        self._levels: dict[str, str] = {"": ""}

    def _is_construct(self, node: Node) -> bool:
        """Return whether the engine keeps an operator as a control-flow construct."""
        if node.op not in WITH_BODIES | RECURRENT or node.domain:
            return False
        if node not in self._kept:
            condition = node.input(0) if node.op == "If" else None
            self._kept[node] = condition is None or not (
                is_stored(condition) or known_at_build(condition) is not False
            )
        return self._kept[node]

    def _level(self, node: Node) -> str:
        """Return the scope of a node in the built network.

        The builder removes an ``If`` with a known condition.  A node in a branch of such an ``If`` gets the
        scope of the ``If``.
        """
        scope, found = node.scope, self._levels.get(node.scope)
        if found is None:
            found, owner = scope, self._graph.owner(node)
            while owner is not None and owner.op == "If" and not self._is_construct(owner):
                found, owner = owner.scope, self._graph.owner(owner)
            self._levels[scope] = found
        return found

    @cached_property
    def _late(self) -> frozenset[Node]:
        """The control-flow constructs, and the operators that depend on constructs.

        An operator depends on a construct in three cases:

        - It reads a result of the construct, directly or indirectly.
        - It is in a branch of an ``If``.
        - It depends on an input of a loop body.

        Operators that compute the same result in every iteration are left out, because the builder moves
        them out of the loop.
        """
        late: set[Node] = set()
        for node in self._graph.nodes:
            if self._is_construct(node):
                late.add(node)
                continue
            if node.op in SHAPE_READERS or self._constants.foldable(node.output):
                continue
            owner = self._graph.owner(node)
            branch = owner is not None and owner.op == "If" and self._is_construct(owner)
            before = any(other in late for other in self._graph.predecessors(node))
            if branch or before or any(value in self._formal for value in node.inputs):
                late.add(node)
        return frozenset(late)

    @cached_property
    def _leading(self) -> frozenset[Node]:
        """The operators on which at least one construct depends."""
        leading: set[Node] = set()
        for node in reversed(self._graph.nodes):
            level = self._level(node)
            for reader in self._graph.successors(node):
                if reader.op in SHAPE_READERS:
                    continue
                other = self._level(reader)
                nested = other != level and other.startswith(f"{level}/" if level else "")
                same = other == level and (reader in leading or self._is_construct(reader))
                if nested or same:
                    leading.add(node)
                    break
        return frozenset(leading)

    def repeated(self) -> frozenset[Node]:
        """Compute :attr:`Flow.repeated`."""
        found: set[Node] = set()
        met: set[tuple[str, str]] = set()
        for node in self._graph.nodes:
            if node not in self._late or not any(value.is_needed for value in node.outputs):
                continue
            key = node.op, self._level(node)
            if key in met or node in self._leading:
                found.add(node)
            met.add(key)
        return frozenset(found)

    def past_loops(self) -> frozenset[Node]:
        """Compute :attr:`Flow.past_loops`."""
        nested = (node for node in self._graph.nodes if node.scope and self._is_construct(node))
        return frozenset(node for node in islice(nested, _MOST_NESTED) if self._reads_past_loop(node))

    def packed(self) -> frozenset[Node]:
        """Compute :attr:`Flow.packed`."""
        loops = [node for node in self._graph.nodes if node.op in RECURRENT | _LOOPS and not node.domain]
        return frozenset(
            node
            for node in loops[1:]
            if node.op in RECURRENT and any(self._is_packed(node.input(port)) for port in _INITIAL_STATES)
        )

    def _is_packed(self, state: Value | None) -> bool:
        """Return whether a state is selected along the last dimension of a four-dimensional tensor."""
        value = state
        for _ in range(_MOST_STEPS):
            node = None if value is None else value.producer
            if value is None or node is None or node.domain or self._constants.foldable(value):
                return False
            data = node.input(0)
            if data is None or data in self._made_late:
                return False
            if node.op in _DROPPING and data.rank == 4 and value.rank is not None and value.rank < 4:
                return _drops_last(data, value)
            if node.op not in _PASSING:
                return False
            value = data
        return False

    @cached_property
    def _made_late(self) -> frozenset[Value]:
        return frozenset(value for node in self._late for value in node.outputs)

    def _reads_past_loop(self, node: Node) -> bool:
        """Return whether a construct is in a loop in a branch, and reads a value from outside the loop.

        If several loops in the branch are nested, the outermost loop counts.  A value that a body of the
        construct reads also counts as read by the construct.  Constants do not count.
        """
        loop = self._loop_in_branch(node)
        if loop is None:
            return False
        inside = f"{loop.path}/"
        own = f"{node.path}/"
        nodes = [
            each for scope, held in self._by_scope.items() if f"{scope}/".startswith(own) for each in held
        ]
        read = [value for each in (node, *nodes) for value in each.inputs]
        read += [value for body in self._graph.bodies(node).values() for value in body.outputs]
        return any(
            value is not None
            and not self._constants.foldable(value)
            and value.initializer is None
            and not f"{self._defined_in(value)}/".startswith(inside)
            for value in read
        )

    def _loop_in_branch(self, node: Node) -> Node | None:
        """Return the outermost ``Loop`` between a node and the innermost ``If`` that contains the node.

        The result is None if there is no such ``Loop``.
        """
        loop = None
        for owner in self._graph.owners(node.scope):
            if owner.op == "Loop":
                loop = owner
            elif self._is_construct(owner):
                return loop if owner.op == "If" else None
        return None

    @cached_property
    def _by_scope(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = defaultdict(list)
        for node in self._graph.nodes:
            found[node.scope].append(node)
        return dict(found)

    @cached_property
    def _formal(self) -> dict[Value | None, str]:
        """The inputs of all loop bodies, each with the scope of its body."""
        return {
            value: f"{node.path}/{name}"
            for node in self._graph.by_op(*_LOOPS)
            for name, body in self._graph.bodies(node).items()
            for value in body.inputs
        }

    def _defined_in(self, value: Value) -> str:
        return self._formal.get(value, "") if value.producer is None else value.producer.scope


def _drops_last(data: Value, result: Value) -> bool:
    """Return whether ``result`` is ``data`` without its last dimension. ``data`` has four dimensions."""
    before, after, slicing = data.shape or (), result.shape or (), data.producer
    if not before or not after or before[-1] != 1 or after[-1] != before[-2] or after[-1] == 1:
        return False
    return slicing is None or (not slicing.domain and slicing.op in _SLICING)


_FLOWS: WeakKeyDictionary[Constants, Flow] = WeakKeyDictionary()


def flow_of(constants: Constants) -> Flow:
    """Return the control flow of a graph.  The result is cached."""
    flow = _FLOWS.get(constants)
    if flow is None:
        constructs = _Constructs(constants)
        flow = _FLOWS[constants] = Flow(constructs.repeated(), constructs.past_loops(), constructs.packed())
    return flow
