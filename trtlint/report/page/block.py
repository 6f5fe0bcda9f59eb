"""Boxes and lines of a picture: the nodes of a finding, and the data flow between them.

- The nodes that the text report shows are boxes.
- If an operator between two boxes has no box, a label beside the line names the operator.
- Nodes outside the finding that write or read tensors of the finding are boxes at the edge of the picture.
- Constants and shape arithmetic are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from trtlint.report.drawing import kept

if TYPE_CHECKING:
    from trtlint.engine.finding import Row
    from trtlint.model.elements import Node, Value
    from trtlint.report.page.behind import PageData

MOST_ROWS = 18
"""Largest number of drawn nodes. Marked nodes are drawn even above this limit, up to ``MOST_MARKED``."""
MOST_MARKED = 40
"""Largest number of drawn nodes in any case. Further marked nodes are not drawn."""
_MOST_OUTSIDE = 6
"""Largest number of boxes for outside nodes at each edge of the picture."""
_LONGEST_WAY = 12
"""Largest number of hidden nodes between two drawn nodes."""
_MOST_MET = 64
"""Largest number of values visited to find the boxes that one input of a node depends on."""
_MOST_USES = 200
"""Largest number of readers checked for one value."""


class Box(Struct, frozen=True):
    """A node in the picture, drawn as a box.

    Attributes:
        kind: ``row`` for a node of the finding. ``outside`` for another node that writes or reads tensors of
            the finding.
        op: the operator.
        name: the path of the node, or the name of an input or output of the graph.
        type: type of the first output, such as ``f32[1,8,197,64]``; empty if unknown.
        detail: the role of the node in the finding.
        label: the reason why the box is marked; empty if it is not marked.
        measured: the measured time and range.
    """

    kind: Literal["row", "outside"]
    op: str
    name: str
    type: str = ""
    detail: str = ""
    label: str = ""
    measured: str = ""


class Line(Struct, frozen=True):
    """Data flow from one box to another box.

    Attributes:
        source: index of the box that computes the tensor.
        target: index of the box that reads the tensor.
        via: operators of the hidden nodes in between.
    """

    source: int
    target: int
    via: tuple[str, ...] = ()


class SiteDiagram(Struct, frozen=True):
    """The boxes of a picture in data-flow order, the lines between them, and the number of omitted nodes."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    left: int = 0


def block(rows: Sequence[Row], behind: PageData) -> SiteDiagram | None:
    """Return the picture of a site, or None if the model lacks nodes of the site.

    For example, nodes are missing if the model was changed after the lint.
    """
    nodes = [behind.node(row) for row in rows]
    if not nodes or None in nodes:
        return None
    chosen = kept([bool(row.label) for row in rows], MOST_ROWS)[:MOST_MARKED]
    found = _Block(behind)
    for index in chosen:
        row, node = rows[index], nodes[index]
        assert node is not None
        found.row(row, node)
    found.connect()
    return SiteDiagram(tuple(found.boxes), tuple(found.lines()), len(rows) - len(chosen))


class _Block:
    """Builder of the boxes and lines of a picture."""

    def __init__(self, behind: PageData) -> None:
        self.behind = behind
        self.boxes: list[Box] = []
        self._positions: dict[Node, int] = {}
        self._lines: dict[tuple[int, int], tuple[str, ...]] = {}
        self._outside: dict[str, int] = {}

    def row(self, row: Row, node: Node) -> None:
        """Add the box of a node that is part of the finding."""
        if node in self._positions:
            return
        self._positions[node] = len(self.boxes)
        measured = self.behind.measured(node)
        measured = "" if measured == row.detail else measured
        self.boxes.append(Box("row", row.op, row.node, row.type, row.detail, row.label, measured))

    def connect(self) -> None:
        """Add the lines, and the boxes of the other nodes that write or read tensors of the finding."""
        inside = self._positions
        passed: set[Node] = set()
        for node, position in inside.items():
            for value in node.inputs:
                if value is None or self.behind.computes_sizes(value):
                    continue
                reached, through = self._behind(value, inside)
                passed |= through
                for source, via in reached.items():
                    self._line(source, position, via)
                if not reached:
                    self._feed(value, position)
        for node, position in inside.items():
            self._readers(node, position, {*inside, *passed})

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the picture without duplicates."""
        return (Line(source, target, via) for (source, target), via in self._lines.items())

    def _line(self, source: int, target: int, via: tuple[str, ...] = ()) -> None:
        known = self._lines.get((source, target))
        if source != target and (known is None or len(via) < len(known)):
            self._lines[source, target] = via

    def _behind(self, value: Value, inside: dict[Node, int]) -> tuple[dict[int, tuple[str, ...]], set[Node]]:
        """Find the boxes that a value depends on, the nearest first.

        Args:
            value: the value.
            inside: the index of the box of each node.

        Returns:
            Two results:
            - the operators between the value and each box, by the index of the box
            - all nodes between the value and the boxes
        """
        found: dict[int, tuple[str, ...]] = {}
        through: set[Node] = set()
        waiting: deque[tuple[Value, tuple[Node, ...]]] = deque([(value, ())])
        met = {value}
        while waiting and len(met) < _MOST_MET:
            current, way = waiting.popleft()
            node = current.producer
            if node is None:
                continue
            if node in inside:
                found.setdefault(inside[node], tuple(each.op for each in reversed(way)))
                through.update(way)
                continue
            if len(way) == _LONGEST_WAY:
                continue
            for before in node.inputs:
                if before is None or before in met or self.behind.computes_sizes(before):
                    continue
                met.add(before)
                waiting.append((before, (*way, node)))
        return found, through

    def _feed(self, value: Value, position: int) -> None:
        """Add a box for the outside node or graph input that provides a value.

        ``position`` is the index of the box that reads the value.  If there are already too many boxes for
        outside nodes, no box is added.
        """
        producer = value.producer
        if producer is None:
            box = Box("outside", "input", value.name, value.type_text)
        else:
            box = Box(
                "outside", producer.op, producer.path, value.type_text, "", "", self.behind.measured(producer)
            )
        source = self._edge(f"feeds {box.name}", box)
        if source is not None:
            self._line(source, position)

    def _readers(self, node: Node, position: int, known: set[Node]) -> None:
        """Add one box for all outside nodes that read the outputs of a node.

        ``position`` is the index of the node's box.
        """
        readers: dict[Node, None] = {}
        outputs: list[str] = []
        for value in node.outputs:
            if value.is_output:
                outputs.append(value.name)
            for user, _ in value.uses[:_MOST_USES]:
                if user not in known and not all(map(self.behind.computes_sizes, user.outputs)):
                    readers[user] = None
        if not readers and not outputs:
            return
        more = len(readers) + len(outputs) - 1
        detail = f"and {more} more" if more else ""
        if readers:
            first = next(iter(readers))
            box = Box("outside", first.op, first.path, "", detail)
        else:
            box = Box("outside", "output", outputs[0], "", detail)
        target = self._edge(f"reads {box.name}", box)
        if target is not None:
            self._line(position, target)

    def _edge(self, key: str, box: Box) -> int | None:
        if key in self._outside:
            return self._outside[key]
        side = key.partition(" ")[0]
        if sum(other.startswith(side) for other in self._outside) >= _MOST_OUTSIDE:
            return None
        self._outside[key] = len(self.boxes)
        self.boxes.append(box)
        return self._outside[key]


def words(block: SiteDiagram) -> str:
    """Describe a picture in a text for screen readers."""
    return "; ".join(_words(box) for box in block.boxes if box.kind == "row")


def _words(box: Box) -> str:
    parts: Iterable[str] = (box.op, box.type, box.detail, box.measured)
    said = ", ".join(part for part in parts if part)
    return f"{box.name} ({said})" + (f", marked: {box.label}" if box.label else "")
