"""Which files a command was asked for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

SUFFIX = ".onnx"
_STARS = re.compile(r"\*\*+")
_DATA_SUFFIXES = (".data", "_data")
"""What the exporters of PyTorch and of Hugging Face add to a model's name for its external data."""


def expand(paths: Iterable[str]) -> Iterator[Path]:
    """Files as named and the ``*.onnx`` files below folders, sorted within each; each file once.

    A glob that the shell has left alone (``models/**/*.onnx``, in quotes) stands for the models that it
    covers, and a file with external data for the model beside it.  A path that does not exist, a glob that
    covers nothing, and a folder without a model stand for themselves: reading them says what is wrong.
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
    """What a glob covers, names with a leading dot apart, or only the folders.

    ``**`` enters no folder through a link, as ``glob.glob`` does: two links to their own folder would make
    each level twice as many.
    """
    parts = wanted.parts
    plain = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    base = Path(*parts[:plain])
    rest = [part if part == "**" else _STARS.sub("*", part) for part in parts[plain:]]
    if not os.path.isdir(base):  # noqa: PTH112 - a name that cannot be is none
        return
    for path in base.glob("/".join(rest)):
        hidden = (name.startswith(".") and name not in rest for name in path.parts[len(base.parts) :])
        if not any(hidden) and (path.is_dir() or not folders):
            yield path


def _model_of(path: Path) -> Path:
    """The model that a file with external data belongs to, by the names that exporters give these files."""
    for suffix in _DATA_SUFFIXES:
        if path.name.endswith(SUFFIX + suffix):
            model = path.with_name(path.name.removesuffix(suffix))
            return model if os.path.isfile(model) else path  # noqa: PTH113
    return path


def _below(folder: Path) -> list[Path]:
    found = [
        Path(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(SUFFIX)
    ]
    return sorted(found) or [folder]
