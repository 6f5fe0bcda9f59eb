"""Read the execution providers of nodes from ONNX Runtime's verbose log.

With ``session.log_severity_level=0``, ONNX Runtime lists the nodes that each execution provider runs:
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/framework/session_state.cc
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from trtlint.buildfiles.records import Log, Record
from trtlint.files.regular import open_regular

_MOST_BYTES = 256 << 20
_LONGEST = 4000
"""Maximum number of bytes read per line."""
_MOST_NODES = 100_000
_HEAD = re.compile(rb"(?:All nodes|Node\(s\)) placed on \[(\w{1,100})\]")
_NODE = re.compile(rb"VerifyEachNodeIsAssignedToAnEp\] {2,4}([\w.:]{1,200}) \((.{0,1000})\)\s*$")
_PARTS = frozenset({"TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider"})
_COPIES = frozenset({"MemcpyFromHost", "MemcpyToHost"})
"""Nodes that ONNX Runtime adds to copy between a GPU and the host."""


class NodePlacement(Struct, frozen=True):
    """A model node that a provider other than TensorRT runs.

    Attributes:
        op: operator type.
        name: name in the log; empty for an unnamed node.
    """

    op: str
    name: str


class OrtLog(Struct, frozen=True):
    """The partition of a model between execution providers, as a log of ONNX Runtime shows it.

    Attributes:
        provider: ``TensorRT`` or ``NvTensorRTRTX``; empty if the log names neither.
        parts: number of subgraphs that this provider runs; None if unknown.
        others: the nodes that run on other providers; None if the log does not list these nodes.
        copies: number of copies that ONNX Runtime added between a GPU and the host.
        line: number of the log line that states ``parts``; 0 if there is no such line.
    """

    provider: str
    parts: int | None
    others: tuple[NodePlacement, ...] | None
    copies: int
    line: int


def ort_log(log: Log, path: Path | None) -> OrtLog | None:
    """Return the partition in a log, or None if the log shows no partition.

    Args:
        log: the parsed log.
        path: the file of the log, or None if the file cannot be read again. Without the file, the result has
            no nodes.
    """
    said, placed = log.records.get("ort_parts", ()), log.records.get("ort_placed", ())
    if not said and not placed:
        return None
    # The log lists the subgraphs of control flow first, and the main graph last.
    last = said[-1] if said else None
    nodes: tuple[NodePlacement, ...] | None = None
    if placed and path is not None:
        nodes = tuple(_nodes(path))
    if placed and all("all" in each.groups for each in placed):
        nodes = ()
    listed = () if nodes is None else nodes
    return OrtLog(
        provider=_provider(last, placed),
        parts=_parts(last, placed),
        others=None if nodes is None else tuple(each for each in listed if each.op not in _COPIES),
        copies=sum(each.op in _COPIES for each in listed),
        line=0 if last is None else last.line,
    )


def _provider(last: Record | None, placed: Iterable[Record]) -> str:
    if last is not None:
        return last.groups["provider"]
    found = next((each.groups["provider"] for each in placed if each.groups["provider"] in _PARTS), "")
    return "NvTensorRTRTX" if found.startswith("Nv") else "TensorRT" if found else ""


def _parts(last: Record | None, placed: Iterable[Record]) -> int | None:
    if last is not None:
        if last.groups.get("parts"):
            return int(last.groups["parts"])
        return 1 if last.groups.get("whole") else 0
    counts = [int(each.groups["nodes"]) for each in placed if each.groups["provider"] in _PARTS]
    return sum(counts) if counts else None


def _nodes(path: Path) -> Iterator[NodePlacement]:
    """Yield the nodes that, according to the log, run on a provider other than TensorRT."""
    provider, count, size = "", 0, 0
    try:
        with open_regular(path) as file:
            while size < _MOST_BYTES and count < _MOST_NODES and (line := file.readline(_LONGEST)):
                size += len(line)
                head = _HEAD.search(line)
                if head is not None:
                    provider = head[1].decode("ascii")
                    continue
                node = _NODE.search(line) if provider and provider not in _PARTS else None
                if node is not None:
                    count += 1
                    op, name = (each.decode("utf-8", "replace") for each in node.groups())
                    yield NodePlacement(op, name)
    except OSError:
        return
