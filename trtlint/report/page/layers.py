"""Layout of a small graph in layers: the positions of boxes and lines.

Layers are topological generations. The barycentre heuristic sorts the boxes of a layer in a few rounds
(Sugiyama et al., https://doi.org/10.1109/TSMC.1981.4308636). The order with the fewest crossings is used.
A box is centred below the boxes that write its inputs, as far as the neighbouring boxes allow.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

import networkx as nx
from msgspec import Struct

_ROUNDS = 8
"""Number of sweeps over the layers, downward and upward, to reduce the crossings of lines."""
_STRAIGHTENINGS = 9
"""Number of sweeps over the layers to straighten the lines between boxes. The number must be odd."""
_BEND = 14.0
"""Width reserved for a line that passes a layer."""

_Item = Hashable
_Layers = list[list[_Item]]


_BESIDE = 22.0
"""Empty room between two boxes of a layer."""
_BELOW = 24.0
"""Empty room between two layers."""


class Layout(Struct, frozen=True):
    """Positions in pixels from the upper left corner.

    Attributes:
        boxes: the middle and the upper edge of each box.
        lines: one entry for each layer that a line crosses between its ends: the horizontal position of
            the line there, the upper edge and the lower edge of the layer.
        width: width of the whole picture.
        height: height of the whole picture.
    """

    boxes: Mapping[int, tuple[float, float]]
    lines: Mapping[tuple[int, int], Sequence[tuple[float, float, float]]]
    width: float
    height: float


def generations(count: int, lines: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Arrange boxes in layers, so that each line leads from an upper to a lower layer.

    A box without incoming lines is directly above the first box that reads its output.

    Args:
        count: the number of boxes.
        lines: pairs of boxes, each from the box that writes a tensor to the box that reads it.

    Returns:
        The boxes of each layer, the upper layers first.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(lines)
    rank = {box: depth for depth, layer in enumerate(nx.topological_generations(graph)) for box in layer}
    for box in range(count):
        if not graph.in_degree(box) and graph.out_degree(box):
            rank[box] = min(rank[reader] for reader in graph.successors(box)) - 1
    layers: list[list[int]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for box in range(count):
        layers[rank[box]].append(box)
    return layers


def layout(
    layers: Sequence[Sequence[int]],
    lines: Sequence[tuple[int, int]],
    sizes: Sequence[tuple[float, float]],
) -> Layout:
    """Compute the positions of boxes and lines.

    Args:
        layers: the result of :func:`generations`.
        lines: pairs of boxes, each from an upper to a lower layer.
        sizes: width and height of each box.
    """
    graph, items = _with_bends(layers, lines)
    order = _ordered(items, graph)
    widths = {item: sizes[item][0] if isinstance(item, int) else _BEND for layer in order for item in layer}
    middles = _straightened(order, graph, widths)
    left = min((middles[item] - widths[item] / 2 for item in middles), default=0.0)
    right = max((middles[item] + widths[item] / 2 for item in middles), default=0.0)
    tops, heights, y = [], [], 0.0
    for layer in order:
        tops.append(y)
        heights.append(max((sizes[item][1] for item in layer if isinstance(item, int)), default=0.0))
        y += heights[-1] + _BELOW
    depth = {item: row for row, layer in enumerate(order) for item in layer}
    boxes = {
        item: (middles[item] - left, tops[depth[item]])
        for layer in order
        for item in layer
        if isinstance(item, int)
    }
    passed = {
        line: [
            (middles[bend] - left, tops[depth[bend]], tops[depth[bend]] + heights[depth[bend]])
            for bend in _bends(line, depth)
        ]
        for line in lines
    }
    return Layout(boxes, passed, right - left, max(y - _BELOW, 0.0))


def _bends(line: tuple[int, int], depth: Mapping[_Item, int]) -> list[_Item]:
    return [(line, row) for row in range(depth[line[0]] + 1, depth[line[1]])]


def _with_bends(
    layers: Sequence[Sequence[int]], lines: Sequence[tuple[int, int]]
) -> tuple[nx.DiGraph[_Item], _Layers]:
    """Add a point to the graph in each layer that a long line crosses, so that the line can bend."""
    items: _Layers = [list(layer) for layer in layers]
    depth: dict[_Item, int] = {item: row for row, layer in enumerate(layers) for item in layer}
    graph: nx.DiGraph[_Item] = nx.DiGraph()
    graph.add_nodes_from(depth)
    for line in lines:
        bends = _bends(line, depth)
        for row, bend in enumerate(bends, depth[line[0]] + 1):
            items[row].append(bend)
        nx.add_path(graph, [line[0], *bends, line[1]])
    return graph, items


def _ordered(layers: _Layers, graph: nx.DiGraph[_Item]) -> _Layers:
    """Reorder each layer, so that few lines cross."""
    best = order = [list(layer) for layer in layers]
    fewest = _crossings(order, graph)
    for turn in range(_ROUNDS):
        order = [list(layer) for layer in order]
        down = turn % 2 == 0
        rows = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for row in rows:
            fixed = {item: x for x, item in enumerate(order[row - 1 if down else row + 1])}
            at = {item: x for x, item in enumerate(order[row])}
            neighbours = graph.predecessors if down else graph.successors
            mean = {
                item: _mean([fixed[other] for other in neighbours(item)], at[item]) for item in order[row]
            }
            order[row].sort(key=lambda item: (mean[item], at[item]))
        crossings = _crossings(order, graph)
        if crossings < fewest:
            best, fewest = order, crossings
        if not fewest:
            break
    return best


def _crossings(layers: _Layers, graph: nx.DiGraph[_Item]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        below = {item: x for x, item in enumerate(lower)}
        ends = [end for item in upper for end in sorted(below[reader] for reader in graph.successors(item))]
        count += sum(one > other for i, one in enumerate(ends) for other in ends[i + 1 :])
    return count


def _straightened(
    layers: _Layers, graph: nx.DiGraph[_Item], widths: Mapping[_Item, float]
) -> dict[_Item, float]:
    """Compute the horizontal position of the middle of each item, without overlaps.

    Each item is placed near the items that lines connect to it.
    """
    middles: dict[_Item, float] = {}
    for layer in layers:
        x = 0.0
        for item in layer:
            middles[item] = x + widths[item] / 2
            x += widths[item] + _BESIDE
        for item in layer:
            middles[item] -= (x - _BESIDE) / 2
    around = {item: list(nx.all_neighbors(graph, item)) for item in middles}
    above = {item: list(graph.predecessors(item)) or around[item] for item in middles}
    apart = [[(widths[a] + widths[b]) / 2 + _BESIDE for a, b in pairwise(layer)] for layer in layers]
    down = range(len(layers))
    # Sweeps place boxes near all their neighbours; the last sweep places the boxes below their sources.
    for turn in range(_STRAIGHTENINGS):
        last = turn == _STRAIGHTENINGS - 1
        for row in down if last or turn % 2 == 0 else reversed(down):
            near = above if last else around
            wanted = [_mean([middles[other] for other in near[item]], middles[item]) for item in layers[row]]
            middles.update(zip(layers[row], _apart(wanted, apart[row]), strict=True))
    return middles


def _apart(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Move ascending numbers as little as possible, until they keep minimum distances.

    The sum of squared changes is minimal. The method is the pool-adjacent-violators algorithm:
    https://doi.org/10.1214/aoms/1177728423

    Args:
        wanted: the numbers.
        apart: the minimum distance between each number and the next.
    """
    shifts = [0.0]
    for distance in apart:
        shifts.append(shifts[-1] + distance)
    pools: list[tuple[float, int]] = []
    for want, shift in zip(wanted, shifts, strict=False):
        mean, size = want - shift, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, size = (mean * size + other * others) / (size + others), size + others
        pools.append((mean, size))
    flat = [mean for mean, size in pools for _ in range(size)]
    return [mean + shift for mean, shift in zip(flat, shifts, strict=False)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
