"""Find the names of ONNX nodes in the name of an engine layer.

The metadata of the layer takes precedence. Without metadata, this module splits the layer name. TensorRT's
optimizer makes layer names from node names. NVIDIA's engine explorer also reads these names:
https://github.com/NVIDIA/TensorRT/tree/main/tools/experimental/trt-engine-explorer. This page documents the
metadata: https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/engine-inspector.html.
"""

from __future__ import annotations

import re

from msgspec import Struct

_ENTRY = "[ONNX Layer: "
_PROFILE = re.compile(r" \[profile (\d+)\]")
_STEP = re.compile(r"_myl\d+_\d+$")
_CLONE = re.compile(r"(?:_clone_\d+| copy)$")
_REFORMAT = re.compile(
    r"^Reformatting CopyNode for (?:Input|Output|Network Input|Network Output) ?(?:Tensor )?"
    r"(?:\d+ (?:to|for) )?(.+)$",
    re.DOTALL,
)
"""Pattern of the name of a layer that copies a tensor.  The group is the name of the layer or tensor."""
_TOKEN = re.compile(r"PWN\(|\{ForeignNode\[|\]\}|\(|\)| \+ | \|\| |, ")
_ISLAND = "{ForeignNode["


class NodeRange(Struct, frozen=True):
    """A Myelin island: nodes that TensorRT's compiler Myelin fuses into one layer.

    TensorRT names only the first and the last node of the island.  In place of one node, TensorRT can name
    several fused nodes.
    """

    first: tuple[str, ...]
    last: tuple[str, ...]


class LayerNames(Struct, frozen=True):
    """The ONNX names in an engine layer's name.

    Attributes:
        nodes: the names in order. They can be names of nodes, initializers and layers of the builder, such as
            ``(Unnamed Layer* 12) [Shuffle]``. The caller must check which names are nodes of the graph.
        ranges: Myelin islands with only their first and last nodes.
        reformat: True if the layer copies a tensor to another layout or type, before or after ``nodes``.
    """

    nodes: tuple[str, ...] = ()
    ranges: tuple[NodeRange, ...] = ()
    reformat: bool = False


def metadata_nodes(metadata: str | None) -> tuple[str, ...]:
    """Return the ONNX nodes in a layer's metadata, without repeats, in order."""
    if not metadata or _ENTRY not in metadata:
        return ()
    # The separators are U+001E and U+001F; the log omits both.  A name may contain brackets.
    entries = (entry.rstrip("\x1e\x1f \n") for entry in metadata.split(_ENTRY)[1:])
    return tuple(dict.fromkeys(entry.removesuffix("]") for entry in entries))


def layer_names(name: str, metadata: str | None = None) -> LayerNames:
    """Find the ONNX names in the name of an engine layer.

    The metadata takes precedence.  The function never fails.
    """
    name, _ = without_profile(name)
    reformat = _REFORMAT.match(name)
    nodes, ranges = _split(reformat[1] if reformat else _CLONE.sub("", name))
    given = metadata_nodes(metadata)
    if given and not reformat:
        return LayerNames(given)
    return LayerNames(given or nodes, ranges, reformat is not None)


def without_profile(name: str) -> tuple[str, int]:
    """Split the name of a layer into the name without ``[profile N]`` and the profile number ``N``."""
    found = _PROFILE.search(name)
    if not found or len(found[1]) > 6:
        return name, 0
    return _PROFILE.sub("", name), int(found[1])


def _split(text: str) -> tuple[tuple[str, ...], tuple[NodeRange, ...]]:
    step = _STEP.search(text)
    if step:
        text = text[: step.start()]
        if text.startswith(("__my", "_gemm_mha", "_mha")):
            return (), ()
        # Myelin joins the names of merged GEMMs with a bare plus sign.
        if " + " not in text and "{" not in text:
            return tuple(dict.fromkeys(part for part in text.split("+") if part)), ()
    if text.startswith(("__mye", "__myl", "[trainStation")):
        return (), ()
    return _fused(text)


def _fused(text: str) -> tuple[tuple[str, ...], tuple[NodeRange, ...]]:
    nodes: dict[str, None] = {}
    ranges: list[NodeRange] = []
    open_: list[bool] = []  # True for a parenthesis of PWN(...)
    plain = 0  # number of other open parentheses; they belong to a name, which is not split
    part: list[str] = []

    def close() -> None:
        name = "".join(part).strip()
        part.clear()
        if name:
            nodes.setdefault(name)

    at = 0
    for token in _TOKEN.finditer(text):
        if token.start() < at:
            continue
        if token.start() > at:
            part.append(text[at : token.start()])
        at = token.end()
        mark = token[0]
        if mark == _ISLAND:
            close()
            at = _island(text, token.end(), ranges)
        elif mark == "PWN(" and not part:
            open_.append(True)
        elif mark in ("(", "PWN("):
            open_.append(False)
            plain += 1
            part.append(mark)
        elif mark == ")" and open_:
            if open_.pop():
                close()
            else:
                plain -= 1
                part.append(mark)
        elif not plain and (mark in (" + ", " || ") or (mark == ", " and open_)):
            close()
        else:
            part.append(mark)
    part.append(text[at:])
    close()
    return tuple(nodes), tuple(ranges)


def _island(text: str, start: int, ranges: list[NodeRange]) -> int:
    end = text.find("]}", start)
    nested = text.find(_ISLAND, start)
    # The last node of an island can be an island, too. Then the outer island ends at the next mark.
    while 0 <= nested < end:
        nested = text.find(_ISLAND, nested + 1)
        following = text.find("]}", end + 1)
        if following < 0:
            break
        end = following
    inside = text[start : end if end >= 0 else len(text)]
    first, dots, last = inside.partition("...")
    head = tuple(part for part in first.split(" + ") if part)
    tail = tuple(part for part in last.split(" + ") if part) if dots else head
    ranges.append(NodeRange(head, tail))
    return end + 2 if end >= 0 else len(text)
