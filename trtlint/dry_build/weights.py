"""Prepare model files for the parser: zeros replace missing or very large external data.

The layers of an engine do not depend on the values of large weights, so zeros are enough. A sparse file of
zeros needs almost no disk space, and is fast to read. Small tensors are copied, because they may be shapes,
axes or scales. The files of the model are never changed.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.dry_build.errors import DryBuildError
from trtlint.files.problem import reason_of
from trtlint.files.regular import open_regular

if TYPE_CHECKING:
    import onnx

    from trtlint.model.tensors import TensorStore

HUGE = 256 << 20
"""Zeros replace external data files of this size, in bytes, or larger."""
_COPIED = 64 << 10
"""Tensors up to this size, in bytes, are copied into the file that contains zeros elsewhere."""


class StagedModel(Struct, frozen=True):
    """A model that is prepared for the parser.

    Attributes:
        path: the model file itself, or a link to this file in a folder with prepared data files.
        zeros: the names of external data files with zeros instead of weights, relative to the folder of the
            model.
        data_files: all external data files.
        size: size of all weights in bytes, external or not.
    """

    path: Path
    zeros: tuple[str, ...]
    data_files: tuple[str, ...]
    size: int


class _DataRange(Struct, frozen=True):
    offset: int
    size: int


def staged(model: Path, folder: Path) -> StagedModel:
    """Prepare a model for the parser. Files of zeros replace data files that are missing or huge.

    Args:
        model: the file.
        folder: an empty folder.

    Raises:
        DryBuildError: the external data are outside the folder of the model, or too large for the disk.
        ModelError: the file is not a model.
    """
    from trtlint.model.reader import decode, read

    raw = read(model)
    files: dict[str, list[_DataRange]] = defaultdict(list)
    for location, stored in _external(decode(raw.data)):
        files[location].append(stored)
    sizes = {location: max(each.offset + each.size for each in found) for location, found in files.items()}
    size = model.stat().st_size + sum(sizes.values())
    zeros = tuple(location for location in files if _needs_zeros(raw.tensors, location, sizes[location]))
    for location in files:
        _require_inside(location)
    path = Path(os.path.abspath(model))  # noqa: PTH100 - keeps symbolic links
    if not zeros:
        return StagedModel(path, (), tuple(files), size)
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
        reason = reason_of(error)
        raise DryBuildError(f"cannot replace the external data of the model by zeros: {reason}") from None
    return StagedModel(folder / model.name, zeros, tuple(files), size)


def _external(proto: onnx.ModelProto) -> Iterator[tuple[str, _DataRange]]:
    """Yield the file and the byte range of each tensor with external data, in all parts of a model."""
    import onnx

    from trtlint.model.contents import all_tensors
    from trtlint.model.external import place_of
    from trtlint.model.payload import stored_size
    from trtlint.model.tensors import LEFT

    for tensor in all_tensors(proto):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        found = place_of(tensor)
        if found is not None and found[0] != LEFT:
            location, offset, length = found
            # Tensors may name one file in several ways, such as w.bin and ./w.bin.
            yield str(PurePosixPath(location)), _DataRange(offset, max(stored_size(tensor), length or 0, 0))


def _needs_zeros(store: TensorStore, location: str, size: int) -> bool:
    """Return whether zeros replace a data file, because it is missing, too short or huge."""
    found = store.file_of(location)
    return found is None or found[1] < size or size >= HUGE


def _require_inside(location: str) -> None:
    """Raise an error if a location of external data is outside the folder of the model."""
    path = PurePosixPath(location.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in location or Path(location).is_absolute():
        raise DryBuildError(f"the external data file {location!r} of the model is outside the model's folder")


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source)
    except (OSError, NotImplementedError):  # Windows without the right to create links
        shutil.copyfile(source, target)


def _write_zeros(
    target: Path, size: int, store: TensorStore, location: str, tensors: list[_DataRange]
) -> None:
    """Write a sparse file with the small tensors of the original file, and zeros elsewhere."""
    found = store.file_of(location)
    with target.open("wb") as file:
        file.truncate(size)
        if found is None:
            return
        with open_regular(found[0]) as source:
            for tensor in tensors:
                if tensor.size <= _COPIED and tensor.offset + tensor.size <= found[1]:
                    source.seek(tensor.offset)
                    file.seek(tensor.offset)
                    file.write(source.read(tensor.size))
