"""Write batches of arrays in memory to temporary files, for the process that runs the model."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtlint.errors import ArgumentError
from trtlint.measurement.inputs import InputsError

if TYPE_CHECKING:
    from typing import TypeGuard

Batch = str | Mapping[str, Any]
"""A path of a file, or an array for each input."""

_MOST_BYTES = 2 << 30
"""Largest size of all arrays together, in bytes."""
BATCH = "a path or a dictionary of arrays"


def can_iterate(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a ``for`` loop accepts a value.

    An array without dimensions has the method ``__iter__``, but the method raises TypeError.  This function
    does not call the method, because a data loader starts its processes there.
    """
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def batch_reader(path: Callable[[str, Any], str]) -> Callable[[str, Any], Iterable[Batch]]:
    """Return a function that checks the argument ``inputs``.

    The function reads a generator or a data loader later, batch by batch.

    Args:
        path: function that checks and converts a path.
    """

    def read_batch(name: str, value: Any) -> Batch:
        return value if isinstance(value, Mapping) else path(name, value)

    def read_batches(name: str, value: Any) -> Iterable[Batch]:
        if isinstance(value, str | os.PathLike | Mapping):
            return (read_batch(name, value),)
        if isinstance(value, bytes | bytearray | io.IOBase) or not can_iterate(value):
            raise ArgumentError.of(name, value, f"{BATCH}, or several")
        found = (read_batch(f"{name}[{index}]", each) for index, each in enumerate(value))
        first = next(found, None)
        if first is None:
            raise ArgumentError(f"{name} is empty: expected {BATCH}; omit {name} for generated inputs")
        batches = chain([first], found)
        return tuple(batches) if isinstance(value, Sequence) else batches

    return read_batches


class InputFiles:
    """The input files of one call.

    Attributes:
        names: the paths of the files, one for each batch.
    """

    def __init__(self, names: tuple[str, ...], folder: str) -> None:
        self.names = names
        self._folder = f"{os.path.realpath(folder)}{os.sep}"

    def shown(self, text: str) -> str:
        """Replace the paths of temporary files in a text by names such as ``inputs[0]``."""
        return text.replace(self._folder, "")


@contextmanager
def input_files(batches: Iterable[Batch], most: int | None = None) -> Iterator[InputFiles]:
    """Write the arrays of batches to temporary files for the duration of a ``with`` block.

    Args:
        batches: paths of files, and dictionaries with an array for each input.
        most: the largest number of batches; None for the default.

    Raises:
        ArgumentError: a batch contains a value that is not an array of numbers or texts, or the batches are
            too large.
        InputsError: the code in the ``with`` block raised this error. Its message names ``inputs[0]``
            instead of the temporary file.
    """
    from trtlint.measurement.feeds import MOST_BATCHES

    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        names, size = [], 0
        # One more batch shows that there are more batches than the limit.
        for index, batch in enumerate(islice(batches, (most or MOST_BATCHES) + 1)):
            if isinstance(batch, str):
                names.append(batch)
                continue
            file = Path(os.path.realpath(folder), f"inputs[{index}]")
            size += _write(file, batch)
            if size > _MOST_BYTES:
                raise ArgumentError(f"inputs: more than {_MOST_BYTES >> 30} GB of arrays; give fewer batches")
            names.append(str(file))
        files = InputFiles(tuple(names), folder)
        try:
            yield files
        except InputsError as error:
            raise InputsError(files.shown(str(error))) from None


def _write(file: Path, batch: Mapping[str, Any]) -> int:
    """Write a batch to a file in the ``.npz`` format, and return the size of the arrays in bytes.

    ``numpy.savez`` would pickle Python objects, and rejects an input with the name ``file``.
    """
    import numpy as np

    size = 0
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in batch.items():
            where = f"{file.name}[{name!r}]"
            if not isinstance(name, str):
                raise ArgumentError.of(where, name, "the name of an input as key")
            try:
                array = np.asarray(value)
            except Exception as error:  # noqa: BLE001 - a tensor of another library can raise anything
                reason = f"{type(error).__name__}: {error}"
                raise ArgumentError(f"{where}: cannot be converted to a NumPy array ({reason})") from None
            if array.dtype.kind not in "biufcSU":
                raise ArgumentError.of(where, value, "an array of numbers, booleans or texts")
            size += array.nbytes
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return size
