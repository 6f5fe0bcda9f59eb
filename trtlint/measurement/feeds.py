"""The inputs that a model is measured on, as users have them.

``.npz`` holds one batch, an array for each input; Polygraphy's ``--load-inputs`` JSON holds a list of
batches; a data loader script has a function that yields them
(https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy/examples/cli/run/05_comparing_with_custom_input_data).
A script runs as code, and so does only what was named as a script.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from trtlint.dry_build.shapes import Input, choices
from trtlint.files.regular import open_regular, read_bytes
from trtlint.measurement.inputs import Inputs, InputsError, script_of
from trtlint.model.graph import Value
from trtlint.model.protos import DTYPES

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]

MOST_BATCHES = 1024
"""Batches that are read at most."""
_MOST_BYTES = 2 << 30
"""Bytes of all batches together."""
_MOST_JSON = 1 << 30
_MOST_VALUES = 4_000_000
"""Values of a JSON file, each of which takes up to a hundred bytes of memory; arrays are one each."""
_NARROW = {"f16": np.float16, "bf16": np.float32}
_NUMBERS: Mapping[str, int] = {name: element for element, name in DTYPES.items()}


def read_feeds(
    files: Sequence[str], lists: Sequence[str], script: str | None, most: int | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The batches in files, each with the file that it is from.

    Args:
        files: ``.npz`` files, a batch each.
        lists: Polygraphy's JSON files, any number of batches each.
        script: ``file.py:function``, the code to run.
        most: how many batches to read at most.

    Raises:
        InputsError: a file cannot be read.
    """
    return islice(_all(files, lists, script), MOST_BATCHES if most is None else most)


def _all(
    files: Sequence[str], lists: Sequence[str], script: str | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in files:
        yield file, _archive(file)
    for file in lists:
        yield from ((file, batch) for batch in _list(file))
    if script is not None:
        yield from ((script, batch) for batch in _scripted(script))


def _archive(file: str) -> Feeds:
    """The arrays of an archive, read where they are no more than may be: few bytes unpack to any number."""
    try:
        with open_regular(Path(file)) as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or archive.zip is None:
                how = "save it with np.savez(file, input=array)"
                raise InputsError(f"{file}: one array without a name; {how}")
            # No more of an entry is unpacked than its size says.
            if sum(int(entry.file_size) for entry in archive.zip.infolist()) > _MOST_BYTES:
                raise InputsError(f"{file}: more than {_MOST_BYTES >> 30} GB of arrays")
            return {name: _member(archive, name, file) for name in archive.files}
    except InputsError:
        raise
    except OSError as error:
        raise InputsError(f"{file}: {error.strerror or 'not an .npz file of arrays'}") from error
    except Exception as error:  # zipfile, its unpackers and numpy have no common class of errors
        raise InputsError(f"{file}: not an .npz file of arrays") from error


def _member(archive: Any, name: str, file: str) -> Array:
    """One array of an archive.

    Raises:
        InputsError: its elements are Python objects, which are pickled: reading them runs their code.
    """
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        raise InputsError(
            f"{file}: array {name!r} holds Python objects; save an array of numbers or booleans"
        ) from None


def _list(file: str) -> Iterator[Feeds]:
    try:
        data = read_bytes(Path(file), _MOST_JSON)
        if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
            raise InputsError(f"{file}: more than {_MOST_VALUES:,} values that are not the bytes of an array")
        batches = json.loads(data)
    except InputsError:
        raise
    except OSError as error:
        raise InputsError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputsError(f"{file}: not JSON ({error})") from error
    if isinstance(batches, dict):
        batches = batches.get("lst", [batches])
    if not isinstance(batches, list) or not all(isinstance(batch, dict) for batch in batches):
        raise InputsError(f"{file}: not a list of batches as `polygraphy run --save-inputs` writes it")
    for batch in batches:
        items = ((name, value) for name, value in batch.items() if name != "polygraphy_class")
        yield {name: _decoded(value, f"{file}: input {name!r}") for name, value in items}


def _decoded(value: object, where: str) -> Array:
    """An array as Polygraphy writes it: the bytes of an ``.npy`` file in base64."""
    data = value.get("array") if isinstance(value, dict) else None
    try:
        if not isinstance(data, str):
            return np.asarray(value if isinstance(value, list) else _nothing())
        array = np.lib.format.read_array(io.BytesIO(base64.b64decode(data, validate=True)))
    except Exception as error:  # base64 and numpy have no common class of errors
        raise InputsError(f"{where} is no array as Polygraphy writes it") from error
    return array


def _nothing() -> list[Any]:
    raise ValueError("no array")


def _scripted(script: str) -> Iterator[Mapping[str, Any]]:
    """What the function of a script yields; its exceptions are the user's."""
    file, function = script_of(script)
    spec = importlib.util.spec_from_file_location("trtlint_data_loader", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise InputsError(f"{file}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with _first_folder(Path(file).parent):
            spec.loader.exec_module(module)
        found = getattr(module, function, None)
        if found is None:
            raise InputsError(f"{file}: it has no function {function!r}")
        for batch in found():
            if not isinstance(batch, Mapping):
                raise InputsError(f"{script}: yields {type(batch).__name__}, not a dict from input to array")
            yield batch
    except InputsError:
        raise
    except (Exception, SystemExit) as error:  # whatever the script does
        raise InputsError(f"{script}: {type(error).__name__}: {error}") from error


@contextmanager
def _first_folder(folder: Path) -> Iterator[None]:
    """Imports look into a folder first, as Polygraphy has it for what a script imports."""
    name = str(folder)
    sys.path.insert(0, name)
    try:
        yield
    finally:
        if name in sys.path:
            sys.path.remove(name)


def given_feeds(inputs: Sequence[Value], given: Inputs, most: int | None = None) -> list[tuple[str, Feeds]]:
    """The user's inputs as a model takes them, each batch with the file that it is from.

    Args:
        inputs: the model's inputs.
        given: what the user named.
        most: how many batches to read at most.

    Raises:
        InputsError: a file cannot be read, does not fit the model, or there are none or too many.
    """
    found: list[tuple[str, Feeds]] = []
    held = 0
    for file, batch in read_feeds(given.files, given.lists, given.script, most):
        feeds = fitted(inputs, batch, file)
        held += sum(array.nbytes for array in feeds.values())
        if held > _MOST_BYTES:
            raise InputsError(f"more than {_MOST_BYTES >> 30} GB of inputs: give fewer batches")
        found.append((file, feeds))
    if not found:
        raise InputsError(f"{', '.join(given.names)}: no batch of inputs")
    return found


def fitted(inputs: Sequence[Value], batch: Mapping[str, Any], file: str) -> Feeds:
    """A batch as the model takes it.

    Raises:
        InputsError: an input is missing, or of another type or shape.
    """
    names = {value.name for value in inputs}
    extra = [name for name in batch if name not in names]
    missing = [value.name for value in inputs if value.name not in batch]
    if missing:
        has = f"; it has {', '.join(map(repr, extra))}, which the model does not take" if extra else ""
        raise InputsError(f"{file}: no input {', '.join(map(repr, missing))}{has}")
    return {value.name: _fitted(value, batch[value.name], file) for value in inputs}


def _fitted(value: Value, given: Any, file: str) -> Array:
    array = np.asarray(given.numpy() if hasattr(given, "numpy") else given)
    where = f"{file}: input {value.name!r}"
    if value.shape is not None:
        fits = len(array.shape) == len(value.shape) and all(
            not isinstance(dim, int) or dim == size
            for dim, size in zip(value.shape, array.shape, strict=True)
        )
        if not fits:
            raise InputsError(f"{where} is {list(array.shape)}, the model takes {value.type_text}")
    wanted = _dtype(value)
    if wanted is None or array.dtype == wanted:
        return _widened(value, array)
    if array.dtype.hasobject or not np.can_cast(array.dtype, wanted, "same_kind"):
        raise InputsError(f"{where} is {array.dtype}, the model takes {value.type_text}")
    return _widened(value, array.astype(wanted))


def _widened(value: Value, array: Array) -> Array:
    return array.astype(np.float32) if value.dtype in _NARROW else array


def _dtype(value: Value) -> np.dtype[Any] | None:
    if value.dtype in _NARROW:
        return np.dtype(_NARROW[value.dtype])
    element = _NUMBERS.get(value.dtype or "", TensorProto.UNDEFINED)
    try:
        return np.dtype(helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, TypeError, ValueError):
        return None


def random_feeds(inputs: Sequence[Value], batches: int, attempt: int = 0) -> list[Feeds] | None:
    """Made-up inputs: standard normal numbers, zeros and ones for whole numbers.

    Args:
        inputs: the model's inputs.
        batches: how many batches to make.
        attempt: which choice of shapes to take for dimensions that vary, the likeliest first.

    Returns:
        The batches; None where there is no further choice.

    Raises:
        InputsError: an input whose type or shape is not known.
    """
    described = []
    for value in inputs:
        if value.shape is None or _dtype(value) is None:
            raise InputsError(f"nothing is known of input {value.name!r}: give it with --inputs")
        dims = tuple(dim if isinstance(dim, int) else -1 for dim in value.shape)
        symbols = tuple(dim if isinstance(dim, str) else None for dim in value.shape)
        whole = value.dtype not in ("f16", "bf16", "f32", "f64")
        described.append(Input(value.name, dims, symbols, whole, is_shape=False))
    choice = next(islice(choices(described, ()), attempt, None), None)
    if choice is None:
        return None
    generator = np.random.default_rng(0)
    return [
        {
            value.name: _made_up(
                generator, each.integer, choice.shapes[value.name][1] if each.varies else each.dims, value
            )
            for value, each in zip(inputs, described, strict=True)
        }
        for _ in range(batches)
    ]


def _made_up(generator: np.random.Generator, whole: bool, shape: Sequence[int], value: Value) -> Array:
    dtype = _dtype(value)
    if whole:
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    return _widened(value, np.asarray(generator.standard_normal(shape)).astype(dtype))


def digest(batches: Iterable[Feeds]) -> str:
    """What tells inputs from others: a hash of names, types, shapes and elements."""
    found = hashlib.sha256()
    for batch in batches:
        for name, array in sorted(batch.items()):
            found.update(f"{name} {array.dtype.str} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return found.hexdigest()
