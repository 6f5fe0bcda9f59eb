"""Read exported programs (``torch.export.save``) without torch and without unpickling.

A .pt2 file is a zip archive. Its file ``models/model.json`` holds the graph: operators, types, source lines
(https://github.com/pytorch/pytorch/blob/v2.9.0/torch/export/pt2_archive/constants.py). Older releases of
torch wrote ``serialized_exported_program.json`` instead. trtlint reads only the JSON file with the graph, and
extracts nothing to disk.
"""

from __future__ import annotations

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from trtlint.files.limits import limit_work
from trtlint.files.problem import UnreadableError, named
from trtlint.files.regular import open_regular
from trtlint.torch_tensorrt.arguments import OperatorArgument, TensorType, arguments_of, tensor_type
from trtlint.torch_tensorrt.result import DryRun

_MOST_BYTES = 64 << 20
"""Largest size of the JSON file in bytes. The file has about 30 MiB for a graph of 10,000 operators."""
_MOST_ENTRIES = 200_000
_MOST_NODES = 100_000
_LONGEST = 1000
_LONGEST_TRACE = 8000
_JSON = ("/models/model.json", "serialized_exported_program.json")


_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError,
)  # fmt: skip
"""Errors that ``zipfile`` raises for damaged archives.

``ValueError`` includes ``UnicodeDecodeError``, the error for file names that are not UTF-8.
"""


class ProgramError(UnreadableError):
    """Error: a file is not an exported program, or cannot be read within the limits."""


class ProgramNode(Struct, frozen=True):
    """One operator of an exported program, before Torch-TensorRT decomposes it.

    Attributes:
        name: the name in the graph.
        op: the operator, such as ``aten.conv2d.default``.
        module: path of the module such as ``blocks.0.attn``; empty for the outermost module.
        trace: the source lines that torch recorded, the outermost call first.
        type: type and shape of the first result; empty if unknown.
        arguments: the arguments; empty if unknown.
    """

    name: str
    op: str
    module: str
    trace: str
    type: str
    arguments: tuple[OperatorArgument, ...] = ()

    def argument(self, name: str) -> OperatorArgument | None:
        """Return the argument with this name, or None if it is omitted."""
        return next((each for each in self.arguments if each.name == name), None)


class Program(Struct, frozen=True):
    """An exported program, with the result of the dry run by Torch-TensorRT.

    Attributes:
        path: the file.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        torch: the version of torch that wrote the file; empty if unknown.
        nodes: the operators.
        run: the result of the dry run; None without a dry run.
    """

    path: str
    release: str
    torch: str
    nodes: tuple[ProgramNode, ...]
    run: DryRun | None = None


def read_program(path: Path, release: str) -> Program:
    """Read the graph of a program.

    Raises:
        ProgramError: the file is not a program, or too large.
        OSError: the file cannot be read.
    """
    with named(path), limit_work(path), open_regular(path) as file:
        data = _graph_json(file)
        try:
            return _program(json.loads(data), str(path), release)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ProgramError(f"the graph of the program is damaged: {type(error).__name__}") from None


def _graph_json(file: BinaryIO) -> bytes:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_ENTRIES:
                raise ProgramError(f"more than {_MOST_ENTRIES} entries")
            found = [entry for entry in entries if f"/{entry.filename}".endswith(_JSON)]
            if not found:
                raise ProgramError("not an exported program: it has no models/model.json")
            # The limit for `read` is necessary, because the size in the header may be wrong.
            with archive.open(found[0]) as member:
                data = member.read(_MOST_BYTES + 1)
    except ProgramError:
        raise
    except _DAMAGED as error:
        raise ProgramError(f"not an exported program: {error}") from None
    if len(data) > _MOST_BYTES:
        raise ProgramError(f"the graph of the program has more than {_MOST_BYTES >> 20} MiB")
    return data


def _program(document: Any, path: str, release: str) -> Program:
    graph = document["graph_module"]["graph"]
    values = graph["tensor_values"]
    listed = graph["nodes"]
    if len(listed) > _MOST_NODES:
        raise ProgramError(f"more than {_MOST_NODES} operators")
    nodes = tuple(_node(node, values) for node in listed)
    return Program(
        path=path,
        release=release,
        torch=str(document.get("torch_version") or "")[:40],
        nodes=nodes,
    )


def _node(node: Any, values: Any) -> ProgramNode:
    metadata = node.get("metadata") or {}
    outputs = [*_names(node.get("outputs") or ())]
    first = outputs[0] if outputs else ""
    op = str(node["target"]).removeprefix("torch.ops.").removeprefix("_operator.")[:_LONGEST]
    scopes = str(metadata.get("nn_module_stack") or "")[:_LONGEST_TRACE].split(";")
    module = scopes[-1].split(",")
    return ProgramNode(
        name=str(node.get("name") or first or op)[:_LONGEST],
        op=op,
        module=module[1][:_LONGEST] if len(module) > 1 else "",
        trace=str(metadata.get("stack_trace") or "")[-_LONGEST_TRACE:],
        type=_text(tensor_type(values.get(first))) if first else "",
        arguments=arguments_of(node.get("inputs"), values),
    )


def _names(outputs: Any) -> Iterator[str]:
    for output in outputs:
        tensor = output.get("as_tensor")
        if tensor:
            yield str(tensor["name"])
        yield from (str(each["name"]) for each in output.get("as_tensors") or ())


def _text(type_: TensorType | None) -> str:
    if type_ is None:
        return ""
    sizes = ["?" if size is None else str(size) for size in type_.sizes[:16]]
    return f"{type_.element}[{', '.join(sizes)}]"
