"""Matrix of models and releases: each cell counts the model's nodes that the release rejects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile

from msgspec import Struct
from rich.cells import cell_len

from trtlint.engine.upgrade import Upgrade
from trtlint.report.escape import clean

TITLE = "Refused places by release"
_NAME = 40
"""Largest width of a model name, in cells."""
_GAP = 2


class Matrix(Struct, frozen=True):
    """For each model and each release, the number of the model's nodes that the release rejects.

    Releases with equal numbers for all models share one column.

    Attributes:
        columns: release lines, or ranges such as ``10.0-10.2``.
        rows: the name of each model, with one number per column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def matrix(upgrades: Sequence[Upgrade]) -> Matrix:
    """Return the matrix of models and releases. All upgrade reports are about the same range of releases."""
    names = _names(upgrades)
    lines = [line.line for line in upgrades[0].lines] if upgrades else []
    counts = [tuple(upgrade.lines[index].refused for upgrade in upgrades) for index in range(len(lines))]
    runs = [list(run) for _, run in groupby(range(len(lines)), counts.__getitem__)]
    columns = [lines[run[0]] if len(run) == 1 else f"{lines[run[0]]}-{lines[run[-1]]}" for run in runs]
    rows = [(name, tuple(counts[run[0]][row] for run in runs)) for row, name in enumerate(names)]
    return Matrix(tuple(columns), tuple(rows))


def refusing(found: Matrix) -> Matrix:
    """Return the matrix without the rows of models that every release accepts."""
    return Matrix(found.columns, tuple(row for row in found.rows if any(row[1])))


def _names(upgrades: Sequence[Upgrade]) -> list[str]:
    """Return the names of the rows: the paths of the models.

    If several rows are about the same model, the name also contains the build settings.
    """
    paths = [upgrade.path for upgrade in upgrades]
    return [
        f"{upgrade.path} ({upgrade.setting})" if paths.count(upgrade.path) > 1 else upgrade.path
        for upgrade in upgrades
    ]


def text_lines(found: Matrix, width: int) -> Iterator[str]:
    """Yield the matrix as lines of text, with a dot for each release that accepts a model.

    Columns that do not fit into ``width`` cells follow in a second block of lines.
    """
    names = _shown([clean(name) for name, _ in found.rows])
    widest = max(map(cell_len, names), default=0)
    widths = [
        max(len(column), *(len(str(counts[index])) for _, counts in found.rows))
        for index, column in enumerate(found.columns)
    ]
    for number, block in enumerate(_blocks(widths, width - widest - _GAP)):
        if number:
            yield ""
        yield _line("", widest, [found.columns[index].rjust(widths[index]) for index in block])
        for name, (_, counts) in zip(names, found.rows, strict=True):
            cells = [str(counts[index] or ".").rjust(widths[index]) for index in block]
            yield _line(name, widest, cells)


def _line(name: str, widest: int, cells: Sequence[str]) -> str:
    return " " * _GAP + name + " " * (widest - cell_len(name)) + "".join(" " * _GAP + cell for cell in cells)


def _shown(names: Sequence[str]) -> list[str]:
    """Shorten long paths of models by removing the folder that they share."""
    if len(names) > 1 and max(map(cell_len, names)) > _NAME:
        parts = [name.split("/") for name in names]
        folders = zip(*(part[:-1] for part in parts), strict=False)
        shared = sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, folders))
        names = ["/".join(part[shared:]) for part in parts]
    return [_short(name) for name in names]


def _short(name: str) -> str:
    """Shorten a long name at the beginning, because the ends of names usually differ."""
    return name if cell_len(name) <= _NAME else "..." + name[-(_NAME - 3) :]


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Split columns into groups that fit into a line of ``room`` cells. A group has at least one column."""
    block: list[int] = []
    used = 0
    for index, width in enumerate(widths):
        if block and used + width + _GAP > room:
            yield block
            block, used = [], 0
        block.append(index)
        used += width + _GAP
    if block:
        yield block
