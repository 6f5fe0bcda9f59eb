"""Expand the paths on a command line to model files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

SUFFIX = ".onnx"
_STARS = re.compile(r"\*\*+")
_DATA_SUFFIXES = (".data", "_data")
"""Suffixes of external data files.  PyTorch and Hugging Face exporters append them to the model's name."""


def expand(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the model files for the paths on a command line, each file once.

    - A folder yields the ``*.onnx`` files below it, sorted.
    - A glob in quotes (``'models/**/*.onnx'``), which the shell does not expand, yields the matching models.
    - An external data file yields the model beside it.
    - A missing path, a glob without matches and a folder without models are yielded unchanged, so that the
      reader reports the problem.
    """
    seen: set[str] = set()
    for path in (path for text in paths for path in _covered(text)):
        for file in _below(path) if os.path.isdir(path) else [_model_of(path)]:  # noqa: PTH112
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file


def _covered(text: str) -> list[Path]:
    if os.path.lexists(text) or not glob.has_magic(text):
        return [Path(text)]
    found = sorted(_matching(Path(text), folders=text.endswith(("/", os.sep))))
    models = [path for path in found if path.name.lower().endswith(SUFFIX)]
    return models or found or [Path(text)]


def _matching(wanted: Path, *, folders: bool) -> Iterator[Path]:
    """Yield the paths that match the glob ``wanted``, except hidden paths.

    If ``folders`` is true, yield only folders.  Unlike in ``glob.glob``, ``**`` does not follow links to
    folders.  If links were followed, two links from a folder to itself would double the number of paths at
    each level.
    """
    parts = wanted.parts
    plain = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    base = Path(*parts[:plain])
    rest = [part if part == "**" else _STARS.sub("*", part) for part in parts[plain:]]
    if not os.path.isdir(base):  # noqa: PTH112 - returns False for an invalid name
        return
    for path in base.glob("/".join(rest)):
        hidden = (name.startswith(".") and name not in rest for name in path.parts[len(base.parts) :])
        if not any(hidden) and (path.is_dir() or not folders):
            yield path


def _model_of(path: Path) -> Path:
    """Find the model beside an external data file, from the file names that exporters use."""
    for suffix in _DATA_SUFFIXES:
        if path.name.endswith(SUFFIX + suffix):
            model = path.with_name(path.name.removesuffix(suffix))
            return model if os.path.isfile(model) else path  # noqa: PTH113
    return path


def has_no_model(path: Path) -> bool:
    """Return whether a path is a folder without ``*.onnx`` files."""
    return os.path.isdir(path) and not any(_models(path))  # noqa: PTH112 - False for an invalid name


def _below(folder: Path) -> list[Path]:
    return sorted(_models(folder)) or [folder]


def _models(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names if name.lower().endswith(SUFFIX))
