"""Parse a model with TensorRT's parser, without a second copy of the weights in memory.

If the parser reads a model file, the parser copies the weights.  But the parser also accepts pointers to
weights.  So trtlint maps the files with the weights into memory, and passes pointers.
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/parsers/Onnx/pyOnnx.html
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from msgspec import Struct
from onnx import ModelProto

from trtlint.files.regular import open_regular
from trtlint.model.contents import all_tensors
from trtlint.model.external import place_of, set_place
from trtlint.model.reader import decode, read
from trtlint.model.tensors import is_left
from trtlint.network.layers import Array

_HEAVY = 64 << 20
"""If the weights have at least this many bytes, the parser gets pointers to the weights, not the file."""
_LEAST = 1 << 16
"""Size in bytes of the smallest initializer that is passed by pointer."""
_OUTSIDE = "weights"
"""External data location of weights that are passed by pointer.  The parser opens no file with this name."""

_Weights = tuple[str, Array]
"""The name of an initializer and its bytes."""


class WeightFiles:
    """The files with weights that are mapped into memory."""

    def __init__(self) -> None:
        self._maps: dict[Path, tuple[mmap.mmap, Array]] = {}

    def bytes_of(self, path: Path, offset: int, length: int) -> Array:
        """Return ``length`` bytes of a file from ``offset``, without a copy.

        Raises:
            OSError: the file cannot be mapped.
            ValueError: the file is too short.
        """
        if path not in self._maps:
            with open_regular(path) as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._maps[path] = mapped, np.frombuffer(mapped, np.uint8)
        whole = self._maps[path][1]
        if offset + length > whole.size:
            raise ValueError(f"{path} is too short")
        return whole[offset : offset + length]

    def release(self) -> None:
        """Release the memory of all mapped files. A later access reads the file again."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        for mapped, _ in self._maps.values():
            mapped.madvise(mmap.MADV_DONTNEED)


class ParseResult(Struct, frozen=True, eq=False):
    """Result of the parser.

    Attributes:
        network: the network, an object of the TensorRT library; None if the parser refuses the model.
        held: objects of the TensorRT library that must exist as long as the network exists.
        files: the files with the weights.
    """

    network: Any
    held: tuple[Any, ...]
    files: WeightFiles


def parse(trt: Any, path: Path) -> ParseResult:
    """Parse a model with TensorRT's parser.

    Args:
        trt: the Python module of TensorRT.
        path: the model.

    Raises:
        ModelError: the file is not a model.
    """
    files = WeightFiles()
    with suppress(OSError, ValueError, DecodeError):  # if a file cannot be mapped, the parser reads it
        proto, weights = _structure(path, files)
        if sum(data.nbytes for _, data in weights) >= _HEAVY:
            network, held = _created(trt)
            if _loaded(held[-1], path, proto, weights) and held[-1].parse_model_proto():
                return ParseResult(network, held, files)
        del proto, weights
    network, held = _created(trt)
    done = held[-1].parse_from_file(str(path))
    return ParseResult(network if done else None, held, WeightFiles())


def _created(trt: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an empty network, and objects that must exist as long as the network exists.

    The last of these objects is the parser.
    """
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    return network, (logger, builder, trt.OnnxParser(network, logger))


def _loaded(parser: Any, path: Path, proto: ModelProto, weights: Sequence[_Weights]) -> bool:
    """Give a parser a model, and pointers to its weights.  Return whether the parser accepts the model."""
    return bool(parser.load_model_proto(proto.SerializeToString(), str(path))) and all(
        parser.load_initializer(name, data.ctypes.data, data.nbytes) for name, data in weights
    )


def _structure(path: Path, files: WeightFiles) -> tuple[ModelProto, list[_Weights]]:
    """Read a model without its large initializers. Return the model and the list of these initializers.

    Raises:
        ModelError: the file is not a model.
        OSError, ValueError: a file cannot be mapped.
        DecodeError: protobuf cannot decode a tensor.
    """
    raw = read(path, whole=True)
    proto = decode(raw.data)
    found = []
    names = Counter(tensor.name for tensor in proto.graph.initializer)
    for tensor in proto.graph.initializer:
        place = raw.tensors.place(tensor)
        if place is not None and place[2] >= _LEAST and names[tensor.name] == 1:
            found.append((str(tensor.name), files.bytes_of(*place)))
            set_place(tensor, _OUTSIDE)
    for tensor in all_tensors(proto):
        stored = place_of(tensor) if is_left(tensor) else None
        if stored is not None and stored[2] is not None:
            # keep the stored bytes, because the parser reads some representations differently
            tensor.ParseFromString(files.bytes_of(path, stored[1], stored[2]).tobytes())
    return proto, found
