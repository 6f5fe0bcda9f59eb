"""A model as the parser can read it: with zeros where its external data are missing or very large.

The layers of an engine do not depend on the values of weights, so that zeros in their place tell as
much, and take neither reading nor, as a file with a hole, room on the disk.  Small tensors are copied:
shapes, axes and scales are among them.  The model's own files are only read.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trtlint.errors import ExperimentError
from trtlint.files.regular import open_regular
from trtlint.lean import dataclass

if TYPE_CHECKING:
    import onnx

    from trtlint.model.tensors import TensorStore

HUGE = 256 << 20
"""Bytes from which a file of external data is not read."""
_COPIED = 64 << 10
"""Bytes up to which a tensor is copied into such a file."""


class WeightsError(ExperimentError, ValueError):
    """The model cannot be given to the parser; the text says why."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A model that the parser can read.

    Attributes:
        path: the model, or a link to it beside its data.
        zeros: the files of external data with zeros in place of weights, as the model names them.
        data_files: all files of external data.
        size: bytes of all weights, external or not.
    """

    path: Path
    zeros: tuple[str, ...]
    data_files: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class _Stored:
    offset: int
    size: int


def staged(model: Path, folder: Path) -> Staged:
    """The model, or a folder with links to it and to its data, and zeros where needed.

    Args:
        model: the file.
        folder: an empty folder.

    Raises:
        WeightsError: its external data lie outside of its folder, or are too large for this disk.
        ModelError: the file is no model.
    """
    from trtlint.model.reader import decode, read

    raw = read(model)
    files: dict[str, list[_Stored]] = defaultdict(list)
    for location, stored in _external(decode(raw.data)):
        files[location].append(stored)
    sizes = {location: max(each.offset + each.size for each in found) for location, found in files.items()}
    size = model.stat().st_size + sum(sizes.values())
    zeros = tuple(location for location in files if _wanting(raw.tensors, location, sizes[location]))
    for location in files:
        _require_inside(location)
    path = Path(os.path.abspath(model))  # noqa: PTH100 - a link stays
    if not zeros:
        return Staged(path, (), tuple(files), size)
    try:
        _link(path, folder / model.name)
        for location, found in files.items():
            target = folder / location
            target.parent.mkdir(parents=True, exist_ok=True)
            if location in zeros:
                _write_zeros(target, sizes[location], raw.tensors, location, found)
            elif location != model.name:
                _link(path.parent / location, target)
    except (OSError, ValueError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise WeightsError(f"no zeros can be put in place of its external data: {reason}") from None
    return Staged(folder / model.name, zeros, tuple(files), size)


def _external(proto: onnx.ModelProto) -> Iterator[tuple[str, _Stored]]:
    """The tensors with external data, wherever they are in the model."""
    import onnx

    from trtlint.model.contents import all_tensors
    from trtlint.model.external import place_of
    from trtlint.model.tensors import LEFT, stored_size

    for tensor in all_tensors(proto):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        found = place_of(tensor)
        if found is not None and found[0] != LEFT:
            location, offset, length = found
            yield location, _Stored(offset, max(stored_size(tensor), length or 0, 0))


def _wanting(store: TensorStore, location: str, size: int) -> bool:
    """Whether zeros have to take the place of a file: it is missing, too short, or huge."""
    found = store.file_of(location)
    return found is None or found[1] < size or size >= HUGE


def _require_inside(location: str) -> None:
    """Refuse to let the parser open what lies outside of the model's folder."""
    path = PurePosixPath(location.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in location or Path(location).is_absolute():
        raise WeightsError(f"its external data {location!r} lie outside of its folder")


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source)
    except (OSError, NotImplementedError):  # Windows, without the right to make links
        shutil.copyfile(source, target)


def _write_zeros(target: Path, size: int, store: TensorStore, location: str, tensors: list[_Stored]) -> None:
    """A file with a hole, and in it the small tensors of the file that it stands for."""
    found = store.file_of(location)
    with target.open("wb") as file:
        file.truncate(size)
        if found is None:
            return
        with open_regular(found[0]) as source:
            for tensor in tensors:
                if 0 < tensor.size <= _COPIED and tensor.offset + tensor.size <= found[1]:
                    source.seek(tensor.offset)
                    file.seek(tensor.offset)
                    file.write(source.read(tensor.size))
