"""Join the regions of a graph that the parser accepts into parts. Each part runs as one engine.

Two providers join regions with the same code: the TensorRT provider of ONNX Runtime, and the plug-in provider
of TensorRT-RTX. This module follows their code:

https://github.com/microsoft/onnxruntime/blob/54a6bbf56070/onnxruntime/core/providers/tensorrt/tensorrt_execution_provider.cc
(``GetCapability``, ``DetectTensorRTGraphCycles``),

https://github.com/NVIDIA/TensorRT-RTX-EP-ABI/blob/10a0bfa/src/tensorrt_rtx_execution_provider.cc
(``GetCapabilityImpl``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from trtlint.partition.result import ProviderSettings

Region = tuple[int, ...]
"""A region: the positions of its nodes in the order of the graph."""
UNTAKEN = frozenset(
    {"str", "u16", "u32", "u64", "i16", "c64", "c128", "u4", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"}
)
"""Element types that TensorRT networks lack.

The parser refuses regions with inputs of these types. The RTX provider does not even pass nodes with these
types to the parser (``IsSupportedDataType``).
https://github.com/NVIDIA/TensorRT-RTX-EP-ABI/blob/10a0bfa/src/tensorrt_rtx_execution_provider.cc
"""
NO_INTERFACE = UNTAKEN | {"f64"}
"""Element types of graph inputs and outputs for which the RTX provider rejects the whole graph.

The provider does not check scalars.  The source is ``IsSupportedInputOutputDataType`` in the file that
``UNTAKEN`` links to.
"""
_MOST_REMOVALS = 1000
"""Largest number of regions that are removed because of cycles.

Each removal needs a walk through the graph.
"""


_Node = TypeVar("_Node", bound=Hashable)
DividedGraph = tuple[_Node | None, Sequence[_Node], Iterable[Region], bool]
"""A graph: the node that contains it, its nodes, its parts, and whether TensorRT accepts the whole graph."""


class Operator(Struct, frozen=True):
    """A node as execution providers get it from ONNX Runtime.

    Attributes:
        name: the name in the file; empty if the node is unnamed.
        op: operator type.
        inputs: names of values that the node or its subgraphs read.
        outputs: names of values that the node computes.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class JoinedRegions(Struct, frozen=True):
    """The parts of a graph, and the regions that were removed or joined to get these parts.

    Attributes:
        parts: the parts.
        small: regions that were removed because they were too small.
        cyclic: regions that were removed because of a cycle.
        joined: True if all regions became one part.
    """

    parts: tuple[Region, ...]
    small: tuple[Region, ...] = ()
    cyclic: tuple[Region, ...] = ()
    joined: bool = False


def runs(positions: Iterable[int]) -> tuple[Region, ...]:
    """Group ascending positions into sequences of consecutive numbers.

    >>> runs([0, 1, 3])
    ((0, 1), (3,))
    """
    found: list[list[int]] = []
    for position in positions:
        if found and found[-1][-1] + 1 == position:
            found[-1].append(position)
        else:
            found.append([position])
    return tuple(map(tuple, found))


def join(
    operators: Sequence[Operator], regions: Iterable[Region], settings: ProviderSettings
) -> JoinedRegions:
    """Join the regions that the parser accepts into parts.

    First, small regions are removed.  Then regions in a cycle are removed.  Then the remaining regions are
    joined, if joining them creates no cycle.
    """
    listed = [region for region in regions if region]
    small = tuple(region for region in listed if len(region) < settings.min_nodes)
    kept = [region for region in listed if len(region) >= settings.min_nodes]
    cyclic: list[Region] = []
    for _ in range(_MOST_REMOVALS if _may_have_cycle(operators, kept) else 0):
        found = _cycle(operators, kept)
        culprit = next((index for index in found if index < len(kept)), None)
        if culprit is None:
            break
        cyclic.append(kept.pop(culprit))
    if len(kept) > 1:
        whole = tuple(position for region in kept for position in region)
        if not _cycle(operators, [whole]):
            return JoinedRegions((whole,), small, tuple(cyclic), joined=True)
    return JoinedRegions(tuple(kept), small, tuple(cyclic))


def _may_have_cycle(operators: Sequence[Operator], regions: Sequence[Region]) -> bool:
    """Return whether regions can be part of a cycle.

    Nodes are in topological order, so there is no cycle between regions of consecutive nodes.  But the
    providers treat nodes with the same name as one node, and this can create a cycle.
    """
    if any(region[-1] - region[0] + 1 != len(region) for region in regions):
        return True
    inside = {position for region in regions for position in region}
    names = [each.name for position, each in enumerate(operators) if position not in inside]
    return len(set(names)) < len(names)


def _cycle(operators: Sequence[Operator], regions: Sequence[Region]) -> list[int]:
    """Return the vertices on a path that ends in a cycle, or an empty list if there is no cycle.

    Each region is one vertex.  The providers identify a node outside of regions only by its name.  So all
    nodes outside of regions that have the same name are one vertex.  All nodes outside of regions that have
    no name are also one vertex.
    """
    following = _following(operators, regions)
    done: set[int] = set()
    for root in range(len(following)):
        if root in done:
            continue
        path, open_, ways = [root], {root}, [iter(following[root])]
        done.add(root)
        while path:
            step = next(ways[-1], None)
            if step is None:
                open_.discard(path.pop())
                ways.pop()
            elif step in open_:
                # first the vertex that closes the cycle, then the path backwards, without its first vertex
                return [step, *reversed(path[1:])]
            elif step not in done:
                done.add(step)
                path.append(step)
                open_.add(step)
                ways.append(iter(following[step]))
    return []


def _following(operators: Sequence[Operator], regions: Sequence[Region]) -> list[list[int]]:
    """Return, for each vertex, the vertices that read one of its outputs.

    :func:`_cycle` explains which nodes form a vertex.
    """
    vertex: dict[int, int] = {}
    for number, region in enumerate(regions):
        vertex.update(dict.fromkeys(region, number))
    by_name: dict[str, int] = {}
    for position, operator in enumerate(operators):
        if position not in vertex:
            vertex[position] = by_name.setdefault(operator.name, len(regions) + len(by_name))
    readers: dict[str, dict[int, None]] = defaultdict(dict)
    for position, operator in enumerate(operators):
        for name in operator.inputs:
            readers[name][vertex[position]] = None
    following: list[dict[int, None]] = [{} for _ in range(len(regions) + len(by_name))]
    for position, operator in enumerate(operators):
        own = vertex[position]
        for name in operator.outputs:
            for reader in readers.get(name, ()):
                if reader != own or own >= len(regions):  # nodes with the same name may read each other
                    following[own][reader] = None
    return [list(each) for each in following]


def parts_with_bodies(graphs: Iterable[DividedGraph[_Node]]) -> list[list[_Node]]:
    """Return, for the main graph and all subgraphs, the nodes of each part.

    If TensorRT accepts a whole subgraph, the nodes of the subgraph belong to the part of its If, Loop or
    Scan. If TensorRT rejects this If, Loop or Scan, the nodes of the subgraph belong to no part.

    Args:
        graphs: the graphs. Outer graphs come before their subgraphs.
    """
    parts: list[list[_Node]] = []
    part_of: dict[_Node, list[_Node]] = {}
    for owner, nodes, regions, whole in graphs:
        if owner is not None and whole:
            if owner in part_of:
                part_of[owner].extend(nodes)
                part_of.update(dict.fromkeys(nodes, part_of[owner]))
            continue
        for region in regions:
            part = [nodes[position] for position in region]
            parts.append(part)
            part_of.update(dict.fromkeys(part, part))
    return parts


def interface_words(name: str, dtype: str) -> str:
    """Explain why the provider of TensorRT-RTX rejects a graph with an input or output of type ``dtype``."""
    return f"the provider accepts no {dtype} inputs or outputs, such as {name}"


def shapeless_words(name: str) -> str:
    """Explain why the TensorRT provider fails because of the region input ``name``, which has no full shape.

    If ``name`` is empty, the function returns an empty string.

    From the second parser call on, every input of a region needs a shape.  Each dimension must have a size or
    a name (``GetSupportedList``).  The plug-in provider of TensorRT-RTX has no such check.
    """
    if not name:
        return ""
    return f"tensor {name} has no full shape: Please run shape inference on the onnx model first"


def borders(
    operators: Sequence[Operator], parts: Iterable[Region], outputs: Collection[str]
) -> list[tuple[str, bool]]:
    """Return the tensors that cross the border of a part.

    Each element of the result is the name of a tensor, and a flag that is True if the tensor flows into the
    part.  The function returns only tensors between nodes.  ``outputs`` are the outputs of the model.  If a
    part computes such an output, the function leaves out the output, because every session copies outputs.
    """
    producer = {name: index for index, each in enumerate(operators) for name in each.outputs if name}
    part_of = {position: number for number, part in enumerate(parts) for position in part}
    found: dict[tuple[str, bool, int | None], None] = {}
    for position, operator in enumerate(operators):
        own = part_of.get(position)
        for name in operator.inputs:
            if name not in producer:
                continue
            source = part_of.get(producer[name])
            if source == own:
                continue
            if own is not None:
                found[name, True, own] = None
            if source is not None and name not in outputs:
                found[name, False, source] = None
    return [(name, into) for name, into, _ in found]
