"""Parse engine layers in a log that prints one line for each layer.

The parser searches forward for the next field name, so that its time is linear in the length of a line.
"""

from __future__ import annotations

import json
import re
from typing import Any

from trtlint.buildfiles.datatypes import data_type
from trtlint.buildfiles.layers import EngineLayer, EngineTensor, LayerTensor
from trtlint.buildfiles.names import without_profile

_FIELD = re.compile(r"(?:^|, )([A-Z][A-Za-z]+): ")
_TENSOR_FIELD = re.compile(
    r", (Location|Dimensions|Format/Datatype|Strides|StrideOrder|Datatype|Format|DataType|IOMode|"
    r"IsShapeInferenceIO|ProfileInfo): "
)
_LEGACY = re.compile(r"Layer\(([^()]{1,80})\): ")
_LEGACY_TENSOR = re.compile(r" \(([A-Za-z0-9]+)\[([^\]()]*)\]\)(?:, |$)")


class DumpReader:
    """Collects the layers of one list of layers in a log.

    The caller passes every line from the heading of the list to the next line with a log prefix.
    """

    def __init__(self, line: int) -> None:
        self.line = line
        self.layers: list[EngineLayer] = []
        self.tensors: list[EngineTensor] = []
        self.outputs: list[str] = []
        self._section = "layers"

    def feed(self, text: str) -> None:
        """Read one line of the list. Lines of other kinds are ignored."""
        if text.startswith("Name: ") and self._section == "layers":
            layer = parse_layer(text, len(self.layers))
            if layer:
                self.layers.append(layer)
        elif text.startswith("Layer("):
            layer = parse_legacy(text, len(self.layers))
            if layer:
                self.layers.append(layer)
        elif text.rstrip() in ("Bindings:", "I/O Tensors:", "Engine Metadata:"):
            self._section = text.rstrip()
        elif self._section == "Bindings:" and text.strip() and len(self.tensors) < 4096:
            self.tensors.append(EngineTensor(text.strip()))
        elif self._section == "I/O Tensors:" and text.lstrip().startswith("Name: "):
            self.tensors.append(_engine_tensor(text.strip()))

    def wants(self, text: str) -> bool:
        """Return whether a line without a log prefix can belong to the list.

        Other lines are the output of the program that builds the engine.
        """
        if text.startswith(("Name: ", "Layer(")) or not text.strip():
            return True
        if text.rstrip() in ("Bindings:", "I/O Tensors:", "Engine Metadata:"):
            return True
        return self._section != "layers"


def parse_layer(text: str, index: int) -> EngineLayer | None:
    """Parse ``Name: .., LayerType: .., Inputs: [ { .. }], .., Metadata: ..``. Return None for other lines."""
    kind = text.find(", LayerType: ")
    if not text.startswith("Name: ") or kind < 0:
        return None
    name = text[6:kind]
    rest = text[kind + 2 :]
    # Metadata comes last and may contain anything.
    rest, _, metadata = rest.partition(", Metadata:")
    fields: dict[str, str] = {}
    tensors: dict[str, tuple[LayerTensor, ...]] = {}
    at = 0
    for key in ("Inputs", "Constants", "Outputs"):
        start = rest.find(f"{key}: [", at)
        if start < 0:
            continue
        if not at:
            fields.update(_fields(rest[:start].rstrip(", ")))
        stop = rest.find("}], ", start)
        empty = rest.find(f"{key}: [], ", start, start + len(key) + 6)
        if empty >= 0:
            tensors[key], at = (), empty + len(key) + 4
            continue
        end = stop + 2 if stop >= 0 else len(rest)
        tensors[key] = _tensors(rest[start + len(key) + 3 : end].removesuffix("}]"))
        at = end
    fields.update(_fields(rest[at:]))
    weights, bias = _object(fields.get("Weights")), _object(fields.get("Bias"))
    stream = fields.get("StreamId", "")
    return EngineLayer(
        index,
        name,
        fields.get("LayerType"),
        tensors.get("Inputs", ()),
        tensors.get("Outputs", ()),
        tensors.get("Constants", ()),
        tactic=fields.get("TacticName") or None,
        tactic_id=fields.get("TacticValue") or None,
        metadata=metadata.strip() or None,
        stream=int(stream) if stream.isdecimal() and len(stream) < 9 else None,
        parameters=fields.get("ParameterType"),
        origin=fields.get("Origin"),
        weights=data_type(_string(weights.get("Type"))),
        weights_count=weights["Count"] if isinstance(weights.get("Count"), int) else None,
        bias=data_type(_string(bias.get("Type"))),
        activation=fields.get("Activation"),
        dynamic_filter=_flag(fields.get("HasDynamicFilter")),
        dynamic_bias=_flag(fields.get("HasDynamicBias")),
        profile=without_profile(name)[1],
    )


def parse_legacy(text: str, index: int) -> EngineLayer | None:
    """Parse ``Layer(Type): name, Tactic: 0x.., a (Float[1,3]) -> b (Int8[1,3:4])``.

    The result is None for other lines.
    """
    head = _LEGACY.match(text)
    tactic = text.find(", Tactic: ")
    if not head or tactic < head.end():
        return None
    name = text[head.end() : tactic]
    number, _, tensors = text[tactic + 10 :].partition(", ")
    # A tensor name may contain an arrow. But only the arrow between the two lists follows a type.
    middle = tensors.find(") -> ")
    cut = middle + 1 if middle >= 0 else tensors.find(" -> ")
    before, after = (tensors[:cut], tensors[cut + 4 :]) if cut >= 0 else (tensors, "")
    return EngineLayer(
        index,
        name,
        head[1],
        _legacy_tensors(before),
        _legacy_tensors(after),
        tactic_id=number.strip() or None,
        profile=without_profile(name)[1],
    )


def _legacy_tensors(text: str) -> tuple[LayerTensor, ...]:
    found = []
    at = 0
    for match in _LEGACY_TENSOR.finditer(text):
        sizes = [size.partition(":")[0] for size in match[2].split(",")] if match[2] else []
        dims = tuple(int(size) for size in sizes) if all(_is_int(size) for size in sizes) else None
        found.append(
            LayerTensor(
                text[at : match.start()].strip(), dims, data_type(match[1]), f"{match[1]}[{match[2]}]"
            )
        )
        at = match.end()
    return tuple(found)


def _tensors(text: str) -> tuple[LayerTensor, ...]:
    return tuple(_tensor(part) for part in text.split("}, {") if "Name: " in part)


def _tensor(text: str) -> LayerTensor:
    name, fields = _tensor_fields(text)
    both = fields.get("Format/Datatype")
    return LayerTensor(
        name,
        _dims(fields.get("Dimensions")),
        data_type(fields.get("Datatype") or both),
        fields.get("Format") or both,
        fields.get("Location"),
    )


def _engine_tensor(text: str) -> EngineTensor:
    name, fields = _tensor_fields(text)
    ranges = []
    for part in fields.get("ProfileInfo", "").split("}, {"):
        shapes = [_dims(_after(part, key)) for key in ("MinShape: ", "OptShape: ", "MaxShape: ")]
        if shapes[0] is not None and shapes[1] is not None and shapes[2] is not None:
            ranges.append((shapes[0], shapes[1], shapes[2]))
    mode = fields.get("IOMode")
    return EngineTensor(
        name,
        mode == "Input" if mode else None,
        data_type(fields.get("DataType")),
        _dims(fields.get("Dimensions")),
        tuple(ranges),
    )


def _tensor_fields(text: str) -> tuple[str, dict[str, str]]:
    text = text.strip(" {}")
    parts = _TENSOR_FIELD.split(text)
    return parts[0].removeprefix("Name: "), dict(zip(parts[1::2], parts[2::2], strict=True))


def _fields(text: str) -> dict[str, str]:
    parts = _FIELD.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _after(text: str, key: str) -> str | None:
    start = text.find(key)
    end = text.find("]", start)
    return text[start + len(key) : end + 1] if start >= 0 and end >= 0 else None


def _dims(text: str | None) -> tuple[int, ...] | None:
    if text is None or not text.startswith("[") or not text.endswith("]"):
        return None
    sizes = [size.strip() for size in text[1:-1].split(",")] if text != "[]" else []
    return tuple(int(size) for size in sizes) if all(_is_int(size) for size in sizes) else None


def _is_int(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _flag(text: str | None) -> bool | None:
    return {"0": False, "1": True}.get(text or "")
