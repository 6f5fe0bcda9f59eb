"""From the nodes that TensorRT refuses, predict the parts of a model that TensorRT runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from trtlint.facts.blocks.sizes import bytes_of
from trtlint.knowledge.providers import Provider
from trtlint.model.contents import reads
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import CAST, MOVING
from trtlint.model.protos import text
from trtlint.model.values import Constants
from trtlint.partition.folding import RemovedNodes, removed
from trtlint.partition.regions import (
    NO_INTERFACE,
    UNTAKEN,
    JoinedRegions,
    Operator,
    borders,
    interface_words,
    join,
    parts_with_bodies,
    runs,
    shapeless_words,
)
from trtlint.partition.result import Border, Partition, ProviderSettings, RemainingNode, Split

_MOST_SPLITS = 8
"""Largest number of refused operator types for which trtlint predicts the effect of the refusal.

The prediction counts the parts that the model would have if TensorRT accepted the type.  Each count needs a
walk through the graph.
"""
NAMELESS = frozenset({"ScatterElements"})
"""Operators that the parser refuses with an error that names no node.

The parser then returns the same region until the provider gives up.  TensorRT-RTX 1.7 gives "Unsupported
reduction type" without a node for ScatterElements with a reduction.
"""
_SHAPE_PORTS: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1,),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Tile": (1,),
    "TopK": (1,),
}
"""For each operator, the indexes of the inputs whose values TensorRT uses as a shape."""
_PASSING = MOVING | CAST | {"Concat"}
_DEEPEST = 20


class Reason(Struct, frozen=True):
    """The reason why TensorRT refuses a node.

    Attributes:
        why: the reason in words, from the finding.
        rules: the rules with findings about the node.
        fixes: automatic fixes that remove the reason.
        ends: True if the provider rejects the whole graph for this reason.
        folds: True if one of the fixes only stores constants that ONNX Runtime computes itself.
    """

    why: str
    rules: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    ends: bool = False
    folds: bool = False


def predict(
    graph: Graph,
    constants: Constants,
    refused: Mapping[Node, Reason],
    provider: Provider,
    settings: ProviderSettings,
    *,
    rewritten: bool = True,
) -> Partition:
    """Predict the parts of a model that TensorRT runs, from the nodes that TensorRT refuses.

    Args:
        graph: the graph of the model.
        constants: the known values of the graph.
        refused: the nodes that the parser refuses, each with the reason.
        provider: the execution provider.
        settings: the options of the provider.
        rewritten: whether ONNX Runtime rewrites the model before the provider divides it.
    """
    gone = removed(graph, constants, rewritten=rewritten)
    return _Prediction(graph, gone, refused, provider, settings).partition()


class _PredictedGraph(Struct, frozen=True):
    """The main graph or a subgraph, divided into parts."""

    nodes: tuple[Node, ...]
    joined: JoinedRegions

    @property
    def whole(self) -> bool:
        """Return whether TensorRT accepts the whole graph."""
        return sum(map(len, self.joined.parts)) == len(self.nodes)


class _Prediction:
    def __init__(
        self,
        graph: Graph,
        gone: RemovedNodes,
        refused: Mapping[Node, Reason],
        provider: Provider,
        settings: ProviderSettings,
    ) -> None:
        self._graph, self._provider, self._settings = graph, provider, settings
        self._reasons = dict(refused)
        self._refused = frozenset(refused)
        self._folded = tuple(node.path for node in graph.nodes if node in gone.nodes)
        self._gone = frozenset(self._folded)
        scopes: dict[str, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            if node not in gone.nodes:
                scopes[gone.moved.get(node.scope, node.scope)].append(node)
        self._scopes = scopes
        self._operators = {
            scope: tuple(_operator(node, gone.renamed) for node in nodes) for scope, nodes in scopes.items()
        }
        self._rejected = {scope: why for scope in scopes if (why := self._rejection(scope))}
        for node in graph.nodes:
            if node not in gone.nodes and node not in self._reasons and (why := self._withheld(node)):
                self._reasons[node] = Reason(why)

    def partition(self) -> Partition:
        """Divide the main graph and all subgraphs, the innermost subgraphs first."""
        parts, left, found = self._divided(frozenset())
        dropped = tuple(
            f"{scope.nodes[region[0]].path}: {why}"
            for scope in found.values()
            for regions, why in (
                (scope.joined.small, "the region has fewer nodes than the minimum size of a part"),
                (scope.joined.cyclic, "the region is part of a cycle"),
            )
            for region in regions
        )
        dropped += tuple(f"{scope or 'the model'}: {why}" for scope, why in self._rejected.items())
        crossing = self._borders(found)
        return Partition(
            self._provider,
            "predicted",
            tuple(tuple(node.path for node in part) for part in parts),
            tuple(self._left(node) for node in left),
            folded=self._folded,
            borders=tuple(Border(value.name, bytes_of(value)) for value in dict(crossing)),
            splits=self._splits(left, crossing),
            joined=any(scope.joined.joined for scope in found.values()),
            dropped=dropped,
            failure=self._failure(parts),
        )

    def _failure(self, parts: Iterable[Sequence[Node]]) -> str:
        """Return why ONNX Runtime cannot create the session, or an empty string if it can."""
        if self._provider == "tensorrt":
            return shapeless_words(self._shapeless())
        return "" if self._settings.profile else shape_input_words(shape_input(self._graph.inputs, parts))

    def _shapeless(self) -> str:
        """Return the name of a region input without a full shape in the main graph, or an empty string."""
        nodes = self._scopes.get("", [])
        offered = [position for position, node in enumerate(nodes) if node not in self._refused]
        if len(offered) == len(nodes):
            return ""
        for region in runs(offered):
            inside = {value for position in region for value in nodes[position].outputs}
            for value in (each for position in region for each in nodes[position].inputs):
                if value is None or value in inside:
                    continue
                if value.producer is not None and value.producer.path in self._gone:
                    continue
                if value.shape is None or None in value.shape:
                    return value.name
        return ""

    def _left(self, node: Node) -> RemainingNode:
        reason = self._reasons.get(node, Reason(""))
        return RemainingNode(node.path, node.op, reason.why, reason.rules)

    def _rejection(self, scope: str) -> str:
        """Return why the provider of TensorRT-RTX rejects a whole graph, or an empty string."""
        if self._provider != "nv-tensorrt-rtx":
            return ""
        owner = self._owner(scope)
        if owner is None:
            values = (*self._graph.inputs, *self._graph.outputs)
        else:
            body = self._graph.bodies(owner)[scope.rpartition("/")[2]]
            values = (*body.inputs, *body.outputs)
        found = next((each for each in values if each.dtype in NO_INTERFACE and each.shape), None)
        return "" if found is None else interface_words(found.name, str(found.dtype))

    def _withheld(self, node: Node) -> str:
        """Return why the provider does not pass a node to the parser, or an empty string if it does."""
        if node.op in self._settings.exclude:
            return "a provider option excludes the operator type"
        values = (each for each in (*node.inputs, *node.outputs) if each is not None)
        dtype = next((each.dtype for each in values if each.dtype in UNTAKEN), None)
        return "" if dtype is None else f"TensorRT has no {dtype} tensors"

    def _divided(
        self, taken: Collection[str]
    ) -> tuple[list[list[Node]], list[Node], dict[str, _PredictedGraph]]:
        """Divide the main graph and all subgraphs, as if TensorRT also accepted the operators in ``taken``.

        Returns:
            The parts; the nodes outside of parts, in graph order; and the divided graphs by scope.
        """
        found: dict[str, _PredictedGraph] = {}
        split_bodies: set[Node] = set()
        # The path of an inner subgraph is longer: it begins with the path of the outer subgraph.
        for scope in sorted(self._scopes, key=len, reverse=True):
            nodes = self._scopes[scope]
            offered = (
                position
                for position, node in enumerate(nodes)
                if (node not in self._reasons or node.op in taken) and node not in split_bodies
            )
            ended = scope in self._rejected or any(
                self._reasons[node].ends and node.op not in taken for node in nodes if node in self._reasons
            )
            joined = join(self._operators[scope], () if ended else runs(offered), self._settings)
            found[scope] = _PredictedGraph(tuple(nodes), joined)
            owner = self._owner(scope)
            if owner is not None and not found[scope].whole:
                split_bodies.add(owner)
        parts = parts_with_bodies(
            (self._owner(scope), found[scope].nodes, found[scope].joined.parts, found[scope].whole)
            for scope in sorted(found, key=len)
        )
        inside = {node for part in parts for node in part}
        left = [node for nodes in self._scopes.values() for node in nodes if node not in inside]
        return parts, sorted(left, key=lambda node: node.index), found

    def _owner(self, scope: str) -> Node | None:
        """Return the node that contains a subgraph, or None for the main graph."""
        return next(iter(self._graph.owners(scope)), None)

    def _borders(self, found: Mapping[str, _PredictedGraph]) -> list[tuple[Value, bool]]:
        outputs = {value.name for value in self._graph.outputs}
        crossing = []
        for name, scope in found.items():
            if name and scope.whole:
                continue
            for value_name, into in borders(self._operators[name], scope.joined.parts, outputs):
                value = self._graph.resolve(value_name, name)
                if value is not None:
                    crossing.append((value, into))
        return crossing

    def _splits(self, left: Sequence[Node], crossing: Iterable[tuple[Value, bool]]) -> tuple[Split, ...]:
        """Group the refused nodes by operator type.  The groups that cause most data transfer come first.

        ``left`` are the nodes outside of parts.  ``crossing`` are the tensors between these nodes and parts,
        each with True if the tensor flows into a part.
        """
        groups: dict[str, list[Node]] = defaultdict(list)
        for node in left:
            if node in self._reasons:
                groups[node.op].append(node)
        moved: dict[Node, int] = defaultdict(int)
        for value, into in crossing:
            ends = [value.producer] if into else [reader for reader, _ in value.uses]
            for end in ends:
                if end is not None:
                    moved[end] += bytes_of(value) or 0
        costs = {op: sum(moved[node] for node in nodes) for op, nodes in groups.items()}
        ranked = sorted(groups, key=lambda op: (-costs[op], -len(groups[op]), op))
        return tuple(self._split(op, groups[op], costs[op], rank) for rank, op in enumerate(ranked))

    def _split(self, op: str, nodes: Sequence[Node], cost: int, rank: int) -> Split:
        reasons = [self._reasons[node] for node in nodes]
        counted: tuple[int | None, int | None] = (None, None)
        if rank < _MOST_SPLITS:
            parts, left, _ = self._divided({op})
            counted = len(parts), len(left)
        return Split(
            op,
            tuple(node.path for node in nodes),
            tuple(dict.fromkeys(rule for reason in reasons for rule in reason.rules)),
            reasons[0].why,
            tuple(dict.fromkeys(fix for reason in reasons for fix in reason.fixes)),
            *counted,
            bytes=cost,
        )


def _operator(node: Node, renamed: Mapping[str, str]) -> Operator:
    names = map(text, reads(node.proto))
    read = tuple(renamed.get(name, name) for name in names)
    return Operator(node.proto.name, node.op, read, tuple(v.name for v in node.outputs))


def shape_input_words(name: str) -> str:
    """Explain why the provider of TensorRT-RTX fails because of the input ``name``.

    If ``name`` is empty, the function returns an empty string.

    The provider makes optimization profiles for dynamic dimensions, but not for inputs whose values are a
    shape.  If no dimension is dynamic, the provider fails with "No explicit or implicit shapes were provided
    for dynamic shape inputs".
    https://github.com/NVIDIA/TensorRT-RTX-EP-ABI/blob/10a0bfa/src/tensorrt_rtx_execution_provider.cc
    (``CreateNodeComputeInfoFromGraph``)
    """
    if not name:
        return ""
    return (
        f"the model uses the values of input {name} as a shape; give nv_profile_min_shapes, "
        "nv_profile_opt_shapes and nv_profile_max_shapes"
    )


def shape_input(graph_inputs: Collection[Value], parts: Iterable[Sequence[Node]]) -> str:
    """Return the name of a model input whose values are used as a shape, or an empty string.

    Only parts without a dynamic dimension are searched. For every other part, the provider makes a profile.
    """
    for part in parts:
        own = {value for node in part for value in node.outputs}
        inputs = {value for node in part for value in node.inputs if value is not None} - own
        if not all(value.is_static for value in inputs):
            continue
        for node in part:
            for port in () if node.domain else _SHAPE_PORTS.get(node.op, ()):
                found = _fed(node.input(port), own, 0)
                if found is not None and found in graph_inputs:
                    return found.name
    return ""


def _fed(value: Value | None, own: set[Value], depth: int) -> Value | None:
    """Return the model input from which the elements of a value come, or None if there is none."""
    if value is None or value.initializer is not None or depth > _DEEPEST:
        return None
    if value.producer is None:
        return value
    node = value.producer
    if value not in own or node.op not in _PASSING:
        return None
    data = node.inputs if node.op == "Concat" else node.inputs[:1]
    return next((found for each in data if (found := _fed(each, own, depth + 1)) is not None), None)
