"""Short forms and patterns of node and module names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath


def last_component(name: str) -> str:
    """Return the last part of a node path, such as ``Mul`` for ``/attn/Mul``."""
    return name.rstrip("/").rpartition("/")[2] or name


def line_of(path: str, name: str) -> str:
    """Return the line number in a name such as ``build.log:3116``, or an empty string for other names.

    >>> line_of("logs/build.log", "build.log:3116"), line_of("vit.onnx", "blocks.0")
    ('3116', '')
    """
    file, _, line = name.rpartition(":")
    return line if line.isdigit() and PurePath(file).name == PurePath(path).name else ""


def few(names: Sequence[str]) -> str:
    """Join the first three names, and add ``...`` if there are more."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


_NUMBER = re.compile(r"\d+")


def collapse(names: Iterable[str]) -> list[str]:
    """Merge names that differ only in numbers into patterns with ``*``. The order stays.

    >>> collapse(["blocks.0.attn1", "blocks.1.attn1", "head"])
    ['blocks.*.attn1', 'head']
    """
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for name in names:
        groups.setdefault(tuple(_NUMBER.split(name)), []).append(_NUMBER.findall(name))
    collapsed = []
    for parts, numbers in groups.items():
        columns = [set(column) for column in zip(*numbers, strict=True)]
        kept = [column.pop() if len(column) == 1 else "*" for column in columns]
        collapsed.append("".join(a + b for a, b in zip(parts, [*kept, ""], strict=True)))
    return collapsed
