"""Read and generate the inputs of a measurement.

An ``.npz`` file contains one batch, with an array for each input.  A JSON file for Polygraphy's
``--load-inputs`` contains a list of batches.  A data loader script has a function that yields batches
(https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy/examples/cli/run/05_comparing_with_custom_input_data).
trtlint runs a script only if the user names it with ``--data-loader-script``.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from trtlint.model.protos import NUMBERS

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]

MOST_BATCHES = 1024
"""Largest number of batches."""
_MOST_BYTES = 2 << 30
"""Largest size of all batches together, in bytes."""
_ELEMENT_BYTES = 8
"""Size, in bytes, of a generated number before it is converted to the type of the input."""
_MOST_JSON = 1 << 30
_MOST_VALUES = 4_000_000
"""Largest number of values in a JSON file.  An encoded array counts as one value.

Each value needs up to 100 bytes of memory.
"""
_NARROW = {"f16": np.float16, "bf16": np.float32}


def read_feeds(given: Inputs) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the file name and the arrays of each batch in the files that the user named.

    Raises:
        InputsError: a file cannot be read.
    """
    for file in given.files:
        yield file, _archive(file)
    for file in given.lists:
        yield from ((file, batch) for batch in _list(file))
    if given.script is not None:
        yield from ((given.script, batch) for batch in _batches_of_script(given.script))


def _archive(file: str) -> Feeds:
    """Return the arrays of an ``.npz`` file, after a check of their uncompressed size."""
    try:
        with open_regular(Path(file)) as stream:
            archive: Any = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile) or archive.zip is None:
                how = "save the array with np.savez(file, input=array)"
                raise InputsError(f"{file}: the array in this file has no name; {how}")
            # zipfile never unpacks more bytes of an entry than the size in the entry's header.
            if sum(int(entry.file_size) for entry in archive.zip.infolist()) > _MOST_BYTES:
                raise InputsError(f"{file}: more than {_MOST_BYTES >> 30} GB of arrays")
            return {name: _member(archive, name, file) for name in archive.files}
    except InputsError:
        raise
    except OSError as error:
        raise InputsError(f"{file}: {error.strerror or 'not an .npz file of arrays'}") from error
    except Exception as error:  # zipfile, its decoders and numpy have no common exception class
        raise InputsError(f"{file}: not an .npz file of arrays") from error


def _member(archive: Any, name: str, file: str) -> Array:
    """Return one array of an ``.npz`` file.

    Raises:
        InputsError: the elements are pickled Python objects, which could run code when they are read.
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
            raise InputsError(f"{file}: more than {_MOST_VALUES:,} JSON values, not counting the array data")
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
        raise InputsError(f"{file}: not a list of batches from `polygraphy run --save-inputs`")
    for batch in batches:
        items = ((name, value) for name, value in batch.items() if name != "polygraphy_class")
        yield {name: _decode_array(value, f"{file}: input {name!r}") for name, value in items}


def _decode_array(value: Any, where: str) -> Array:
    """Decode an array from a Polygraphy JSON file: a list, or the content of an ``.npy`` file in base64.

    ``where`` is the name of the array in error messages.
    """
    try:
        if isinstance(value, list):
            return np.asarray(value)
        return np.lib.format.read_array(io.BytesIO(base64.b64decode(value["array"], validate=True)))
    except Exception as error:  # base64 and numpy have no common exception class
        raise InputsError(f"{where} is not a Polygraphy-encoded array") from error


def _batches_of_script(script: str) -> Iterator[Mapping[str, Any]]:
    """Yield the batches of a data loader script. Exceptions in the script become InputsError."""
    file, function = script_of(script)
    spec = importlib.util.spec_from_file_location("trtlint_data_loader", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise InputsError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with _first_folder(Path(file).parent):
            spec.loader.exec_module(module)
        found = getattr(module, function, None)
        if found is None:
            raise InputsError(f"{file}: no function {function!r}")
        for batch in found():
            if not isinstance(batch, Mapping):
                got = type(batch).__name__
                raise InputsError(f"{script}: the function yields {got}, not a dict of arrays by input name")
            yield batch
    except InputsError:
        raise
    except (Exception, SystemExit) as error:  # a script can raise anything
        raise InputsError(f"{script}: {type(error).__name__}: {error}") from error


@contextmanager
def _first_folder(folder: Path) -> Iterator[None]:
    """Put ``folder`` first on the import path while the script runs, as Polygraphy does."""
    name = str(folder)
    sys.path.insert(0, name)
    try:
        yield
    finally:
        if name in sys.path:
            sys.path.remove(name)


def given_feeds(
    inputs: Sequence[Value],
    given: Inputs,
    most: int | None = None,
    note: Callable[[str], object] = lambda _: None,
) -> list[tuple[str, Feeds]]:
    """Read the user's batches, convert them to the model's types, and return each with its file name.

    Args:
        inputs: the inputs of the model.
        given: the files that the user named.
        most: largest number of batches; None for the general limit.
        note: function that receives sentences about batches that were not read, and about rounded values.

    Raises:
        InputsError: a file cannot be read or does not match the model, there are no batches, or the batches
            are too large.
    """
    found: list[tuple[str, Feeds]] = []
    held = 0
    for file, batch in islice(read_feeds(given), MOST_BATCHES + 1 if most is None else most):
        if len(found) == MOST_BATCHES and most is None:
            note(f"only the first {MOST_BATCHES:,} batches of inputs were used; --batches changes this limit")
            break
        feeds = fitted(inputs, batch, file)
        for value in inputs:
            if conversion := _rounding(value, batch[value.name], feeds[value.name]):
                note(conversion)
        held += sum(array.nbytes for array in feeds.values())
        if held > _MOST_BYTES:
            raise InputsError(f"more than {_MOST_BYTES >> 30} GB of inputs: give fewer batches")
        found.append((file, feeds))
    if not found:
        raise InputsError(f"{', '.join(given.names)}: no batch of inputs")
    return found


def fitted(inputs: Sequence[Value], batch: Mapping[str, Any], file: str) -> Feeds:
    """Convert the arrays of one batch to the types of the model's inputs.

    Raises:
        InputsError: an input is missing, or its type or shape does not match.
    """
    names = {value.name for value in inputs}
    extra = [name for name in batch if name not in names]
    missing = [value.name for value in inputs if value.name not in batch]
    if missing:
        has = f"; the file has arrays that are not inputs: {', '.join(map(repr, extra))}" if extra else ""
        raise InputsError(f"{file}: no input {', '.join(map(repr, missing))}{has}")
    return {value.name: _fitted(value, batch[value.name], file) for value in inputs}


def _array(given: Any) -> Array:
    return np.asarray(given.numpy() if hasattr(given, "numpy") else given)


def _rounding(value: Value, given: Any, feed: Array) -> str:
    """Return a sentence if the conversion of an array to the type of the input rounded values."""
    array = _array(given)
    wanted = np.dtype(np.float16) if value.dtype == "f16" else feed.dtype
    if np.can_cast(array.dtype, wanted) or np.array_equal(array, feed, equal_nan=array.dtype.kind in "fc"):
        return ""
    return f"values of input {value.name!r} were rounded from {array.dtype} to {wanted}"


def _fitted(value: Value, given: Any, file: str) -> Array:
    array = _array(given)
    where = f"{file}: input {value.name!r}"
    if value.shape is not None:
        fits = len(array.shape) == len(value.shape) and all(
            not isinstance(dim, int) or dim == size
            for dim, size in zip(value.shape, array.shape, strict=True)
        )
        if not fits:
            raise InputsError(
                f"{where} has the shape {list(array.shape)}, but the model expects {value.type_text}"
            )
    wanted = _dtype(value)
    if wanted is None or array.dtype == wanted:
        return _widened(value, array)
    if array.dtype.hasobject or not np.can_cast(array.dtype, wanted, "same_kind"):
        raise InputsError(f"{where} has the type {array.dtype}, but the model expects {value.type_text}")
    with np.errstate(over="ignore"):
        found = array.astype(wanted)
    if (wrong := _unfit(array, found)) is not None:
        raise InputsError(f"{where} has the number {wrong:g}, which is out of range for {wanted}")
    return _widened(value, found)


def _unfit(given: Array, converted: Array) -> float | None:
    """Return the first number that is out of range for the type of ``converted``, or None."""
    if given.dtype.kind == "f":
        wrong = np.isfinite(given) & ~np.isfinite(converted)
    elif given.dtype.kind in "iu" and converted.dtype.kind in "iu":
        wrong = given != converted
    else:
        return None
    return float(given[wrong][0]) if wrong.any() else None


def _widened(value: Value, array: Array) -> Array:
    return array.astype(np.float32) if value.dtype in _NARROW else array


def _dtype(value: Value) -> np.dtype[Any] | None:
    if value.dtype in _NARROW:
        return np.dtype(_NARROW[value.dtype])
    element = NUMBERS.get(value.dtype or "", TensorProto.UNDEFINED)
    try:
        return np.dtype(helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, TypeError, ValueError):
        return None


def random_feeds(inputs: Sequence[Value], batches: int, attempt: int = 0) -> list[Feeds] | None:
    """Generate inputs: standard normal numbers for floats, zeros and ones for integers.

    Args:
        inputs: the inputs of the model.
        batches: number of batches.
        attempt: index of the sizes to choose for dynamic dimensions; 0 for the most likely sizes. Callers
            increase the index if the model cannot run with these sizes.

    Returns:
        The batches, or None if no sizes are left for this attempt.

    Raises:
        InputsError: the type or shape of an input is unknown, or the inputs are too large.
    """
    described = []
    for value in inputs:
        if value.shape is None or _dtype(value) is None:
            raise InputsError(
                f"the type or shape of input {value.name!r} is unknown; give this input with --inputs"
            )
        dims = tuple(dim if isinstance(dim, int) else -1 for dim in value.shape)
        symbols = tuple(dim if isinstance(dim, str) else None for dim in value.shape)
        whole = value.dtype not in ("f16", "bf16", "f32", "f64")
        described.append(Input(value.name, dims, symbols, whole, is_shape=False))
    choice = next(islice(choices(described, ()), attempt, None), None)
    if choice is None:
        return None
    shapes = {each.name: choice.shapes[each.name][1] if each.varies else each.dims for each in described}
    elements = sum(math.prod(shape) for shape in shapes.values())
    if elements * batches * _ELEMENT_BYTES > _MOST_BYTES:
        largest = max(inputs, key=lambda value: math.prod(shapes[value.name]))
        raise InputsError(
            f"generated inputs would take more than {_MOST_BYTES >> 30} GB"
            f" ({largest.name!r} is {largest.type_text}); give smaller inputs with --inputs"
        )
    generator = np.random.default_rng(0)
    return [
        {
            value.name: _generated(generator, each.integer, shapes[value.name], value)
            for value, each in zip(inputs, described, strict=True)
        }
        for _ in range(batches)
    ]


def _generated(generator: np.random.Generator, whole: bool, shape: Sequence[int], value: Value) -> Array:
    dtype = _dtype(value)
    if whole:
        numbers = np.asarray(generator.integers(0, 2, shape))
        return (numbers.astype(str) if dtype == np.object_ else numbers).astype(dtype)
    return _widened(value, np.asarray(generator.standard_normal(shape)).astype(dtype))


def digest(batches: Iterable[Feeds]) -> str:
    """Return a hash of the names, types, shapes and elements of all batches."""
    found = hashlib.sha256()
    for batch in batches:
        for name, array in sorted(batch.items()):
            found.update(f"{name} {array.dtype.str} {array.shape}".encode())
            if array.dtype.hasobject:  # strings
                found.update(json.dumps(array.tolist()).encode())
            elif array.size:
                found.update(np.ascontiguousarray(array).view(np.uint8).data)
    return found.hexdigest()
