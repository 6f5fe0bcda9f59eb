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
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from trtlint.files.regular import open_regular, read_bytes
from trtlint.model.graph import Value
from trtlint.model.protos import DTYPES
from trtlint.trials.shapes import Input, choices

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]

MOST_BATCHES = 1024
"""Batches that are read at most."""
_MOST_BYTES = 8 << 30
"""Bytes of all batches together."""
_MOST_JSON = 1 << 30
_USUAL_FUNCTION = "load_data"
"""As in Polygraphy."""
_NARROW = {"f16": np.float16, "bf16": np.float32}
_NUMBERS: Mapping[str, int] = {name: element for element, name in DTYPES.items()}


class FeedError(ValueError):
    """Inputs that cannot be used; the text says which and why."""


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
        FeedError: a file cannot be read.
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
    try:
        with open_regular(Path(file)) as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise FeedError(f"{file}: one array without a name; save it with np.savez(file, input=array)")
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        if isinstance(error, FeedError):
            raise
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "not an .npz file of arrays"
        )
        raise FeedError(f"{file}: {reason}") from error


def _list(file: str) -> Iterator[Feeds]:
    try:
        batches = json.loads(read_bytes(Path(file), _MOST_JSON))
    except OSError as error:
        raise FeedError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FeedError(f"{file}: not JSON ({error})") from error
    if isinstance(batches, dict):
        batches = batches.get("lst", [batches])
    if not isinstance(batches, list) or not all(isinstance(batch, dict) for batch in batches):
        raise FeedError(f"{file}: not a list of batches as `polygraphy run --save-inputs` writes it")
    for batch in batches:
        items = ((name, value) for name, value in batch.items() if name != "polygraphy_class")
        yield {name: _decoded(value, f"{file}: input {name!r}") for name, value in items}


def _decoded(value: object, where: str) -> Array:
    """An array as Polygraphy writes it: the bytes of an ``.npy`` file in base64."""
    data = value.get("array") if isinstance(value, dict) else None
    try:
        if not isinstance(data, str):
            return np.asarray(value if isinstance(value, list) else _nothing())
        array = np.load(io.BytesIO(base64.b64decode(data, validate=True)), allow_pickle=False)
    except (ValueError, TypeError, EOFError) as error:
        raise FeedError(f"{where} is no array as Polygraphy writes it") from error
    return np.asarray(array)


def _nothing() -> list[Any]:
    raise ValueError("no array")


def _scripted(script: str) -> Iterator[Mapping[str, Any]]:
    """What the function of a script yields; its exceptions are the user's."""
    file, _, function = script.rpartition(":") if ".py:" in script else (script, "", _USUAL_FUNCTION)
    spec = importlib.util.spec_from_file_location("trtlint_data_loader", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise FeedError(f"{file}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, function, None)
        if found is None:
            raise FeedError(f"{file}: it has no function {function!r}")
        for batch in found():
            if not isinstance(batch, Mapping):
                raise FeedError(f"{script}: yields {type(batch).__name__}, not a dict from input to array")
            yield batch
    except FeedError:
        raise
    except Exception as error:  # whatever the script does
        raise FeedError(f"{script}: {type(error).__name__}: {error}") from error


def fitted(inputs: Sequence[Value], batch: Mapping[str, Any], file: str) -> Feeds:
    """A batch as the model takes it.

    Raises:
        FeedError: an input is missing, or of another type or shape.
    """
    names = {value.name for value in inputs}
    extra = [name for name in batch if name not in names]
    missing = [value.name for value in inputs if value.name not in batch]
    if missing:
        has = f"; it has {', '.join(map(repr, extra))}, which the model does not take" if extra else ""
        raise FeedError(f"{file}: no input {', '.join(map(repr, missing))}{has}")
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
            raise FeedError(f"{where} is {list(array.shape)}, the model takes {value.type_text}")
    wanted = _dtype(value)
    if wanted is None or array.dtype == wanted:
        return _widened(value, array)
    if array.dtype.hasobject or not np.can_cast(array.dtype, wanted, "same_kind"):
        raise FeedError(f"{where} is {array.dtype}, the model takes {value.type_text}")
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
        FeedError: an input whose type or shape is not known.
    """
    described = []
    for value in inputs:
        if value.shape is None or _dtype(value) is None:
            raise FeedError(f"nothing is known of input {value.name!r}: give it with --inputs")
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


def check_size(batches: Sequence[Feeds]) -> None:
    """Refuse more inputs than can be kept.

    Raises:
        FeedError: they are too many.
    """
    if sum(array.nbytes for batch in batches for array in batch.values()) > _MOST_BYTES:
        raise FeedError(f"more than {_MOST_BYTES >> 30} GB of inputs: give fewer batches (--batches)")
