"""Parse engine layers in a log that prints one line for each layer.

The parser searches forward for the next field name, so that its time is linear in the length of a line.
"""

from __future__ import annotations

import json
import re

from trtlint.buildfiles.layers import (
    EngineLayer,
    EngineTensor,
    LayerTensor,
    data_type,
    engine_tensor,
    layer_of,
)
from trtlint.buildfiles.names import without_profile

_FIELD = re.compile(r"(?:^|, )([A-Z][A-Za-z]+): ")
_TENSOR_FIELD = re.compile(
    r", (Location|Dimensions|Format/Datatype|Strides|StrideOrder|Datatype|Format|DataType|IOMode|"
    r"IsShapeInferenceIO|ProfileInfo): "
)
_SECTIONS = ("Bindings:", "I/O Tensors:", "Engine Metadata:")
_FLAGS = {"0": False, "1": True}
_LEGACY = re.compile(r"Layer\(([^()]{1,80})\): ")
_LEGACY_TENSOR = re.compile(r" \(([A-Za-z0-9]+)\[([^\]()]*)\]\)(?:, |$)")


class DumpReader:
    """Collects the layers of one list of layers in a log.

    The caller passes every line from the heading of the list to the next line with a log prefix.
    """

    def __init__(self) -> None:
        self.layers: list[EngineLayer] = []
        self.tensors: list[EngineTensor] = []
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
        elif text.rstrip() in _SECTIONS:
            self._section = text.rstrip()
        elif self._section == "Bindings:" and text.strip() and len(self.tensors) < 4096:
            self.tensors.append(EngineTensor(text.strip()))
        elif self._section == "I/O Tensors:" and text.lstrip().startswith("Name: "):
            self.tensors.append(engine_tensor(_tensor_fields(text.strip())))

    def wants(self, text: str) -> bool:
        """Return whether a line without a log prefix can belong to the list.

        All other lines are output of the program that builds the engine.
        """
        listed = text.startswith(("Name: ", "Layer(")) or not text.strip() or text.rstrip() in _SECTIONS
        return listed or self._section != "layers"


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
    tensors: dict[str, list[dict[str, str]]] = {}
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
            at = empty + len(key) + 4
            continue
        end = stop + 2 if stop >= 0 else len(rest)
        parts = rest[start + len(key) + 3 : end].removesuffix("}]").split("}, {")
        tensors[key] = [_tensor_fields(part) for part in parts if "Name: " in part]
        at = end
    fields.update(_fields(rest[at:]))
    stream = fields.get("StreamId", "")
    values = {
        "Name": name,
        "Metadata": metadata.strip(),
        "StreamId": int(stream) if stream.isdecimal() and len(stream) < 9 else None,
        "Weights": _json(fields.get("Weights")),
        "HasDynamicFilter": _FLAGS.get(fields.get("HasDynamicFilter", "")),
        "HasDynamicBias": _FLAGS.get(fields.get("HasDynamicBias", "")),
    }
    return layer_of(index, {**fields, **tensors, **values})


def parse_legacy(text: str, index: int) -> EngineLayer | None:
    """Parse ``Layer(Type): name, Tactic: 0x.., a (Float[1,3]) -> b (Int8[1,3:4])``.

    The result is None for other lines.
    """
    head = _LEGACY.match(text)
    tactic = text.find(", Tactic: ")
    if not head or tactic < head.end():
        return None
    name = text[head.end() : tactic]
    _, _, tensors = text[tactic + 10 :].partition(", ")
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
        profile=without_profile(name)[1],
    )


def _legacy_tensors(text: str) -> tuple[LayerTensor, ...]:
    found = []
    at = 0
    for match in _LEGACY_TENSOR.finditer(text):
        name = text[at : match.start()].strip()
        found.append(LayerTensor(name, data_type(match[1]), f"{match[1]}[{match[2]}]"))
        at = match.end()
    return tuple(found)


def _tensor_fields(text: str) -> dict[str, str]:
    """Return the fields of a tensor, such as ``Name: x, IOMode: Input, ...``, as in a JSON file."""
    name, *parts = _TENSOR_FIELD.split(text.strip(" {}"))
    fields = dict(zip(parts[::2], parts[1::2], strict=True))
    return {**fields, "Name": name.removeprefix("Name: ")}


def _fields(text: str) -> dict[str, str]:
    parts = _FIELD.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _json(text: str | None) -> object:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None
