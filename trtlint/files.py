"""Which files a command was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SUFFIX = ".onnx"


def expand(paths: Iterable[str]) -> Iterator[Path]:
    """Files as named and the ``*.onnx`` files below folders, sorted within each; each file once.

    A path that does not exist, and a folder without a model, stand for themselves: reading them
    says what is wrong.
    """
    seen: set[str] = set()
    for path in map(Path, paths):
        for file in _below(path) if path.is_dir() else [path]:
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file


def _below(folder: Path) -> list[Path]:
    found = [
        Path(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(SUFFIX)
    ]
    return sorted(found) or [folder]
