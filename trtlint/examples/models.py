"""Read small models in ONNX's text form (https://github.com/onnx/onnx/blob/main/docs/Syntax.md).

The text form has three extensions:

- Lines that begin with ``#`` are comments.
- A tensor without elements, such as ``float[64,3,7,7] w = {}``, is filled with zeros or empty strings.
- Elements of ``float16`` and ``bfloat16`` are written as numbers instead of bit patterns.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.numpy_helper
import onnx.parser
from google.protobuf.message import DecodeError, EncodeError

from trtlint.errors import FileError
from trtlint.model.errors import ModelError
from trtlint.model.load import Model, load

_DATA = ("raw_data", "float_data", "int32_data", "int64_data", "uint64_data", "double_data", "string_data")
_HALF = re.compile(
    r"\b(float16|bfloat16)(\s{0,80}\[[^\[\]]{0,400}\])?(\s{0,80}(?:\w{1,400}\s{0,80})?(?:=\s{0,80})?)\{([^{}]*)\}"
)
"""Pattern of a tensor of 16-bit floats in ONNX's text form. Its repetitions have limits to keep the search
time linear.
"""
_MOST_ZEROS = 64 << 20
"""Largest total size, in bytes, of the zero-filled tensors of a model."""
_PLACE = re.compile(r"line: (\d+) column")


class ModelTextError(FileError):
    """Error: a text is not a model in ONNX's text form.

    Attributes:
        line: line of the text, from 1; None if the error is not about one line.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class BrokenTextError(ModelTextError):
    """Error: a model in ONNX's text form is too large for the memory, or too deeply nested for protobuf."""


def model_of_text(text: str, file: Path, *, checked: bool) -> Model:
    """Parse the text of a model, write the model to a file, and load the file.

    Args:
        text: the model in ONNX's text form.
        file: the file to write.
        checked: whether the ONNX checker must accept the model.

    Raises:
        ModelTextError: the text is not a model.
        BrokenTextError: the model is too large for the memory, or too deeply nested for protobuf.
    """
    # ONNX's parser does not support comments; empty lines preserve the line numbers.
    lines = ("" if line.lstrip().startswith("#") else line for line in text.split("\n"))
    try:
        proto = _proto(_HALF.sub(_bit_patterns, "\n".join(lines)))
        _fill(proto.graph)
        if checked:
            onnx.checker.check_model(proto)
        file.write_bytes(proto.SerializeToString())
        return load(file)
    except onnx.parser.ParseError as error:
        raise _parse_error(error) from None
    except (onnx.checker.ValidationError, ModelError) as error:
        raise ModelTextError(" ".join(str(error).split())) from None
    except MemoryError:
        raise BrokenTextError("the model needs too much memory") from None
    except (DecodeError, EncodeError, RecursionError) as error:
        # ONNX's parser accepts models that are nested too deeply for protobuf, which reports an error.
        raise BrokenTextError(f"the model cannot be stored: {' '.join(str(error).split())}") from None


def _proto(text: str) -> onnx.ModelProto:
    """Build the model that a text describes.

    Raises:
        onnx.parser.ParseError: ONNX's parser refuses the text.
        ModelTextError: a number is invalid or too large for its type.  The parser's C++ exceptions become
            ``IndexError``, ``ValueError`` and ``RuntimeError``:
            https://pybind11.readthedocs.io/en/stable/advanced/exceptions.html
    """
    try:
        return onnx.parser.parse_model(text)
    except (IndexError, ValueError, RuntimeError):
        raise ModelTextError("a stored number is invalid or too large for its type") from None


def _bit_patterns(tensor: re.Match[str]) -> str:
    """Convert the elements of a 16-bit tensor to bit patterns, because ONNX's parser requires them."""
    name, shape, between, elements = tensor.groups()
    try:
        numbers = np.array([float(text) for text in elements.split(",") if text.strip()], np.float32)
    except ValueError:
        return tensor[0]  # the parser will report the error
    if name == "float16":
        patterns = numbers.astype(np.float16).view(np.uint16)
    else:
        # The upper half of the bits, rounded to nearest.
        patterns = ((numbers.view(np.uint32) + np.uint32(0x8000)) >> 16).astype(np.uint16)
    return f"{name}{shape or ''}{between}{{{', '.join(map(str, patterns.tolist()))}}}"


def _fill(graph: onnx.GraphProto) -> None:
    """Fill the initializers that have no elements with zeros or empty strings."""
    room = _MOST_ZEROS
    for tensor in graph.initializer:
        external = tensor.data_location == onnx.TensorProto.EXTERNAL
        if not external and not any(getattr(tensor, field) for field in _DATA):
            shape = tuple(tensor.dims)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            room -= math.prod(shape) * dtype.itemsize
            if room < 0 or any(size < 0 for size in shape):
                limit = f"{_MOST_ZEROS >> 20} MiB"
                raise BrokenTextError(
                    f"the zeros for tensors without stored values would take more than {limit}"
                )
            zeros = np.full(shape, "", dtype) if dtype == np.object_ else np.zeros(shape, dtype)
            tensor.CopyFrom(onnx.numpy_helper.from_array(zeros, tensor.name))


def _parse_error(error: Exception) -> ModelTextError:
    """Convert an error of ONNX's parser to an error with a line number."""
    text = error.args[0] if error.args else ""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    place = _PLACE.search(text)
    reason = text.strip().splitlines()[-1] if text.strip() else "not a model"
    return ModelTextError(reason, int(place[1]) if place else None)
