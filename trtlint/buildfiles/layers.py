"""Parse engine layers, in every format that TensorRT has used.

Most formats are JSON, from ``IEngineInspector`` and ``trtexec --exportLayerInfo``. Some releases list only
the names of layers. Other releases have ``Bindings`` with ``Format/Datatype``, or ``I/O Tensors`` with
``Datatype`` and ``Format``. A verbose log contains the same data with one line per layer (``Name: ..,
LayerType: ..``), or in an older format (``Layer(Type): name, Tactic: .., in -> out``).

Schema: https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/engine-inspector.html. A public
reader of these files: https://github.com/NVIDIA/TensorRT/tree/main/tools/experimental/trt-engine-explorer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from trtlint.buildfiles.errors import BuildFileError, unreadable
from trtlint.buildfiles.names import without_profile
from trtlint.files.regular import read_bytes

LARGEST_JSON = 256 << 20
"""Maximum size of a JSON file, in bytes.  A file with 100,000 detailed layers is smaller."""

_MOST_LAYERS = 200_000
"""Maximum number of layers in an engine.  The largest known engines have some ten thousand layers."""
DataType = Literal[
    "float32", "tf32", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "int4", "bool", "float8",
    "float4", "float8e8m0",
]  # fmt: skip
_TYPES: Mapping[str, DataType] = {
    "float": "float32",
    "fp32": "float32",
    "float32": "float32",
    "tf32": "tf32",
    "half": "float16",
    "fp16": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "int8": "int8",
    "uint8": "uint8",
    "int32": "int32",
    "int64": "int64",
    "int4": "int4",
    "bool": "bool",
    "fp8": "float8",
    "fp4": "float4",
    "e8m0": "float8e8m0",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class LayerTensor(Struct, frozen=True):
    """An input or output of an engine layer.

    Attributes:
        name: name of the tensor.
        dtype: NumPy-style name (``float16``, ``int8``, ``float8`` ...), or None.
        format: the memory layout as printed.
    """

    name: str
    dtype: DataType | None = None
    format: str | None = None


class EngineLayer(Struct, frozen=True):
    """One layer of an engine. A field is None if the file does not contain it.

    - ``index``: position of the layer in the file, from 0.
    - ``profile``: number of the layer's optimization profile.
    - ``tactic``: name of the kernel.
    - ``weights``: the type in which the engine stores the weights.
    - ``dynamic_filter``: True if the kernel gets the weights as a tensor at run time.
    - ``origin``: the reason for a reformat (``REFORMAT``, ``QDQ``).
    """

    index: int
    name: str
    type: str | None = None
    inputs: tuple[LayerTensor, ...] = ()
    outputs: tuple[LayerTensor, ...] = ()
    tactic: str | None = None
    metadata: str | None = None
    stream: int | None = None
    origin: str | None = None
    weights: DataType | None = None
    activation: str | None = None
    dynamic_filter: bool | None = None
    dynamic_bias: bool | None = None
    profile: int = 0

    @property
    def precision(self) -> DataType | None:
        """The type in which the layer computes, or None if it is unknown.

        This is the type of the weights. Without weights, it is the type of the first input or output that
        holds numbers, not indices.
        """
        if self.weights:
            return self.weights
        types = [tensor.dtype for tensor in (*self.inputs, *self.outputs) if tensor.dtype]
        numbers = [name for name in types if name not in ("int32", "int64", "bool", "uint8")]
        return next(iter(numbers or types), None)

    @property
    def is_reformat(self) -> bool:
        """True if the layer only copies a tensor into another layout or type."""
        return self.type == "Reformat" or self.name.startswith("Reformatting CopyNode")


class EngineTensor(Struct, frozen=True):
    """An input or output of the engine. ``is_input`` is None if this is unknown."""

    name: str
    is_input: bool | None = None


class LayerInfo(Struct, frozen=True):
    """The layers of one engine.  ``detailed`` is False if the file has only the names of the layers."""

    layers: tuple[EngineLayer, ...]
    tensors: tuple[EngineTensor, ...] = ()
    detailed: bool = True


def load_json(path: Path) -> Any:
    """Parse a JSON file of TensorRT, which may have control characters in strings.

    Raises:
        BuildFileError: the file is too large, truncated, too deeply nested or not JSON. The error has the
            line number.
    """
    try:
        return parse_json(read_bytes(path, LARGEST_JSON))
    except OSError as error:
        raise unreadable(path, error) from error


def parse_json(data: bytes) -> Any:
    """Parse JSON that TensorRT wrote. :func:`load_json` does the same for a file."""
    text = data.decode("utf-8-sig", "replace")
    try:
        # strict=False: metadata of TensorRT 8.6 to 10 contains unescaped U+001E and U+001F.
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise BuildFileError(
            f"not valid JSON, or cut off: {error.msg}", offset=error.pos, line=error.lineno
        ) from error
    except RecursionError as error:
        raise BuildFileError("the JSON is nested too deeply", line=1) from error
    except ValueError as error:
        raise BuildFileError("a number has too many digits", line=1) from error


def from_json(root: object) -> LayerInfo | None:
    """Return layer information from parsed JSON of any TensorRT release, or None for other JSON."""
    return layers_from_json(root) if _is_layer_json(root) else None


def _is_layer_json(root: object) -> bool:
    """Return whether JSON is layer information, and neither a profile nor measured times."""
    if isinstance(root, dict):
        return any(key in root for key in ("Layers", "layers", "LayerInfo"))
    if not isinstance(root, list) or not root:
        return False
    first = root[0]
    return isinstance(first, str) or (isinstance(first, dict) and ("LayerType" in first or "Name" in first))


def layers_from_json(root: object) -> LayerInfo:
    """Return layer information from parsed JSON of any TensorRT release.

    Raises:
        BuildFileError: there is no list of layers.
    """
    items: object = root
    tensors: list[EngineTensor] = []
    if isinstance(root, dict):
        items = next((root[key] for key in ("Layers", "layers", "LayerInfo") if key in root), None)
        tensors += [EngineTensor(item) for item in _list(root.get("Bindings")) if isinstance(item, str)]
        tensors += [engine_tensor(item) for item in _list(root.get("I/O Tensors")) if isinstance(item, dict)]
    if not isinstance(items, list):
        raise BuildFileError("the JSON has no list of layers", line=1)
    if len(items) > _MOST_LAYERS:
        raise BuildFileError(f"{len(items):,} layers exceed the limit of {_MOST_LAYERS:,}", line=1)
    layers = tuple(
        layer_of(index, item if isinstance(item, dict) else {"Name": str(item)})
        for index, item in enumerate(items)
    )
    return LayerInfo(layers, tuple(tensors), not all(isinstance(item, str) for item in items))


def layer_of(index: int, item: Mapping[str, Any]) -> EngineLayer:
    """Return the layer that a JSON object describes.  ``index`` is its position in the file."""
    name = _text(item.get("Name")) or ""
    weights = item.get("Weights")
    return EngineLayer(
        index,
        name,
        _text(item.get("LayerType")),
        _tensors(item.get("Inputs")),
        _tensors(item.get("Outputs")),
        tactic=_text(item.get("TacticName")) or None,
        metadata=_text(item.get("Metadata")) or None,
        stream=_integer(item.get("StreamId")),
        origin=_text(item.get("Origin")),
        weights=data_type(_text(weights.get("Type"))) if isinstance(weights, dict) else None,
        activation=_text(item.get("Activation")),
        dynamic_filter=_flag(item.get("HasDynamicFilter")),
        dynamic_bias=_flag(item.get("HasDynamicBias")),
        profile=without_profile(name)[1],
    )


def _tensors(items: object) -> tuple[LayerTensor, ...]:
    return tuple(_tensor(item) for item in _list(items) if isinstance(item, dict))


def _tensor(item: dict[str, Any]) -> LayerTensor:
    both = _text(item.get("Format/Datatype"))
    return LayerTensor(
        _text(item.get("Name")) or "",
        data_type(_text(item.get("Datatype")) or both),
        _text(item.get("Format")) or both,
    )


def engine_tensor(item: Mapping[str, Any]) -> EngineTensor:
    """Return the input or output of an engine that a JSON object describes."""
    mode = _text(item.get("IOMode"))
    return EngineTensor(_text(item.get("Name")) or "", mode.lower() == "input" if mode else None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, (dict, list)) else str(value)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: object) -> bool | None:
    return bool(value) if isinstance(value, (int, bool)) else None


def data_type(phrase: str | None) -> DataType | None:
    """Return the data type that a word or phrase of TensorRT names.

    Examples are ``Half`` and ``Channel major FP16 format where ...``. The result is None if the
    text names no known type.
    """
    if not phrase:
        return None
    exact = _TYPES.get(phrase.lower())
    if exact:
        return exact
    for word in _WORD.finditer(phrase):
        found = _TYPES.get(word[0].lower())
        if found:
            return found
    return None
