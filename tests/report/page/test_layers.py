"""Property tests of box and line positions on random graphs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from trtlint.report.page.layers import Layout, _apart, generations, layout

BESIDE, BELOW, BEND = 22.0, 24.0, 14.0

Lines = list[tuple[int, int]]


def graph(seed: int) -> tuple[int, Lines, list[tuple[float, float]]]:
    """Return a random graph: its number of boxes, its lines, and the sizes of its boxes."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    lines = [(a, b) for b in range(count) for a in range(b) if random.random() < 0.3]
    sizes = [(float(width), float(height)) for width, height in random.integers(10, 200, (count, 2))]
    return count, lines, sizes


def crossings(layers: list[list[int]], lines: Lines, found: Layout) -> int:
    """Count the crossings between neighbouring layers, line by line."""
    depth = {box: row for row, layer in enumerate(layers) for box in layer}
    pieces: list[list[tuple[float, float]]] = [[] for _ in layers]
    for line in lines:
        middles = [found.boxes[line[0]][0], *(x for x, _, _ in found.lines[line]), found.boxes[line[1]][0]]
        for row, piece in enumerate(pairwise(middles), depth[line[0]]):
            pieces[row].append(piece)
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0
        for row in pieces
        for at, one in enumerate(row)
        for other in row[at + 1 :]
    )


def test_layers_of_a_graph() -> None:
    assert generations(0, []) == []
    assert generations(3, []) == [[0, 1, 2]]
    assert generations(3, [(0, 1), (1, 2)]) == [[0], [1], [2]]
    # A box without incoming lines is just above the first box that reads it.
    assert generations(5, [(0, 1), (1, 2), (3, 2), (2, 4), (3, 4)]) == [[0], [1, 3], [2], [4]]
    assert generations(4, [(0, 1), (1, 2), (3, 1), (3, 2)]) == [[0, 3], [1], [2]]


@pytest.mark.parametrize("seed", range(25))
def test_layouts(seed: int) -> None:
    count, lines, sizes = graph(seed)
    layers = generations(count, lines)
    found = layout(layers, lines, sizes)
    assert set(found.boxes) == set(range(count))
    assert set(found.lines) == set(lines)
    top = 0.0
    items: list[tuple[float, float]] = []
    for row, layer in enumerate(layers):
        height = max(sizes[box][1] for box in layer)
        assert {found.boxes[box][1] for box in layer} == {top}
        bends = [
            point
            for (source, _), points in found.lines.items()
            for at, point in enumerate(points)
            if next(depth for depth, each in enumerate(layers) if source in each) + at + 1 == row
        ]
        assert {(upper, lower) for _, upper, lower in bends} <= {(top, top + height)}
        here = [(found.boxes[box][0], sizes[box][0]) for box in layer] + [(x, BEND) for x, _, _ in bends]
        for (x, width), (other, wide) in pairwise(sorted(here)):
            assert other - x >= (width + wide) / 2 + BESIDE - 1e-6
        items += here
        top += height + BELOW
    assert found.height == pytest.approx(top - BELOW)
    assert min(x - width / 2 for x, width in items) == pytest.approx(0)
    assert max(x + width / 2 for x, width in items) == pytest.approx(found.width)


@pytest.mark.parametrize("seed", [3, 7, 12, 20, 24, 40, 41, 42])
def test_positions_of_random_graphs(seed: int, snapshot: SnapshotAssertion) -> None:
    count, lines, sizes = graph(seed)
    layers = generations(count, lines)
    found = layout(layers, lines, sizes)
    boxes = [f"{box} {x:.1f} {y:g}" for box, (x, y) in sorted(found.boxes.items())]
    bends = [
        f"{line[0]}-{line[1]} {' '.join(f'{x:.1f}' for x, _, _ in points)}"
        for line, points in found.lines.items()
        if points
    ]
    crossed = crossings(layers, lines, found)
    assert [*boxes, *bends, f"{found.width:.1f} x {found.height:g}, {crossed}"] == snapshot


@pytest.mark.parametrize(
    ("upper", "lower", "lines", "fewest"),
    [
        # Two lines between two pairs of boxes cross once or never.
        (3, 3, "02 10 21", 0),
        (2, 2, "00 01 10 11", 1),
        (3, 3, "00 01 02 10 11 12", 3),
        (4, 4, "03 12 21 30", 0),
    ],
)
def test_crossings_of_two_layers(upper: int, lower: int, lines: str, fewest: int) -> None:
    pairs = [(int(line[0]), upper + int(line[1])) for line in lines.split()]
    layers = [list(range(upper)), list(range(upper, upper + lower))]
    found = layout(layers, pairs, [(20, 20)] * (upper + lower))
    assert crossings(layers, pairs, found) == fewest


def test_a_box_is_below_the_middle_of_the_boxes_that_it_reads() -> None:
    lines = [(0, 2), (1, 2), (2, 3)]
    found = layout([[0, 1], [2], [3]], lines, [(100, 20), (60, 20), (40, 30), (200, 10)])
    assert found.boxes[2] == pytest.approx(((found.boxes[0][0] + found.boxes[1][0]) / 2, 44))
    assert found.boxes[3] == pytest.approx((found.boxes[2][0], 98))
    assert found.height == 108


def test_lines_are_uncrossed() -> None:
    lines = [(0, 5), (1, 4), (2, 3)]
    found = layout([[0, 1, 2], [3, 4, 5]], lines, [(20, 20)] * 6)
    assert all(found.boxes[a][0] == pytest.approx(found.boxes[b][0]) for a, b in lines)


@pytest.mark.parametrize(
    ("wanted", "apart", "found"),
    [
        ([0, 5], [2], [0, 5]),
        ([5, 0], [2], [1.5, 3.5]),
        ([6, 0, 0], [1, 1], [1, 2, 3]),
        ([3, 1, 9, 2, 2], [1, 1, 1, 1], [1.4, 2.4, 3.4, 4.4, 5.4]),
        ([10, 0, 9, 0], [1, 1, 1], [3.25, 4.25, 5.25, 6.25]),
        ([4], [], [4]),
        ([], [], []),
    ],
)
def test_numbers_are_moved_apart(wanted: list[float], apart: list[float], found: list[float]) -> None:
    assert _apart(wanted, apart) == pytest.approx(found)


def test_no_boxes() -> None:
    assert layout([], [], []) == Layout({}, {}, 0.0, 0.0)
