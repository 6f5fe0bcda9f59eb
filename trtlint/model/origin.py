"""Find the origin of a node: the module path and source line that the exporter recorded.

PyTorch's exporter writes module path and stack trace into ``metadata_props`` of every node, with the
outermost stack frame first.  The older TorchScript exporter writes the module path into the name of the node.
With ``verbose=True``, the TorchScript exporter also writes the stack trace into ``doc_string``, with the
innermost frame first (https://github.com/pytorch/pytorch/tree/main/torch/onnx).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.protos import text
from trtlint.model.source import Frame, Source

if TYPE_CHECKING:
    from trtlint.model.load import Model

_SCOPES = "pkg.torch.onnx.name_scopes"
_NAMESPACE = "namespace"
_TRACE = "pkg.torch.onnx.stack_trace"
_EMPTY_SCOPE = "_empty_nn_module_stack_from_metadata_hook"
_LONGEST = 65536
_LONGEST_PATH = 1024
"""Longest file path, in characters.  Systems allow 4,096; real paths are far shorter."""
_EXPORTERS = frozenset({"torch", "torch_onnx", "onnxscript"})
"""Packages of exporters.  A line of their code is not the origin of a node."""
_MOST_STACK = 512
"""Limit of frames that are read from one stack."""
_MOST_FRAMES = 64
"""Largest number of frames that are kept from one stack.  Exporters record about a dozen frames.

The innermost frames are kept.
"""

_FRAME = re.compile(
    r'File "([^"\n]+)", line (\d{1,9})(?:, in ([^\n]*))?(?:\n(?![ \t]*File ")[ \t]*([^\n]+))?'
)
_VERBOSE_FRAME = re.compile(r"^(.+)\((\d{1,9})\): (\S+)$", re.MULTILINE)
# PyTorch records its own files relative to its package.
_LIBRARY = re.compile(
    r"^torch[\\/]|(?:^|[\\/])(?:site-packages|dist-packages|lib[\\/]python[\d.]*)[\\/]", re.IGNORECASE
)
_FX_NODE = "pkg.torch.onnx.fx_node"
_LONGEST_CHAIN = 65536
"""Largest number of characters that trtlint reads from the text of an FX node."""
_READ = re.compile(r"%(\w{1,200})")
_ADDITION = re.compile(r"add_?(?:_\d{1,9}|_tensor\w{0,20}|_scalar\w{0,20})?")
"""Pattern of the FX names of ``aten.add`` results.  Names of ``addmm`` and ``addcmul`` do not match."""


class Origin(Struct, frozen=True):
    """The module and the line of Python code that created a node, as the exporter recorded them.

    Attributes:
        module: path of the module such as ``blocks.0.attn``, from metadata or from the name of the node. None
            if the module is unknown, or is the outermost module.
        stable_module: the module path, if it is in the metadata; else None. It does not change when nodes are
            renamed.
        source: the line of code; None if it is unknown.
    """

    module: str | None = None
    stable_module: str | None = None
    source: Source | None = None


def origin(model: Model, node: Node) -> Origin:
    """Return the module path and source line of a node.

    A node in a body may have no origin in its metadata.  Then the metadata of the body's operator are used.
    """
    module: str | None = None
    for current in (node, *model.graph.owners(node.scope)):
        metadata = {text(entry.key): text(entry.value) for entry in current.proto.metadata_props}
        doc = text(current.proto.doc_string)
        named = _module_of_name(text(current.proto.name))
        module = module or named
        if metadata or doc:
            stable = _module_of_metadata(metadata.get(_SCOPES, ""), metadata.get(_NAMESPACE, ""))
            source = _source(metadata.get(_TRACE, ""), doc)
            if stable is not None or source is not None:
                return Origin(stable or module, stable, source)
    return Origin(module)


def origin_of_trace(trace: str, module: str = "") -> Origin:
    """Return the origin of a node of a ``torch.export`` program.

    Args:
        trace: stack trace, outermost frame first.
        module: path of the module.
    """
    return Origin(module or None, module or None, _source(trace, ""))


@lru_cache(maxsize=4096)
def _module_of_metadata(scopes: str, namespace: str) -> str | None:
    """Return the module path in a metadata text.

    Examples of such texts: ``['', 'blocks', 'blocks.0', 'mul']`` and ``: M/blocks: C/mul: aten.mul``.
    """
    path: list[str] = []
    if scopes and len(scopes) < _LONGEST:
        try:
            value = ast.literal_eval(scopes)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            value = None
        if isinstance(value, list):
            path = [item for item in value if isinstance(item, str)]
    if not path and namespace:
        path = [part.partition(":")[0].strip() for part in namespace.split("/")]
    # The last part is the name of the operation in the module.
    modules = [part for part in path[:-1] if part and part != _EMPTY_SCOPE]
    return modules[-1] if modules else None


def _module_of_name(name: str) -> str | None:
    """Return the module of a TorchScript name: ``/blocks/blocks.0/attn/MatMul`` is in ``blocks.0.attn``."""
    if not name.startswith("/"):
        return None
    modules: list[str] = []
    for part in name[1:].split("/")[:-1]:
        if modules and part.startswith(f"{modules[-1]}."):
            modules[-1] = part  # the item blocks.0 replaces its container blocks
        elif part:
            modules.append(part)
    return ".".join(modules) or None


@lru_cache(maxsize=4096)
def _source(trace: str, doc: str) -> Source | None:
    """Return the innermost stack frame of the user's code, with its path shortened.

    Frames in installed libraries are skipped.  ``trace`` comes from the metadata, ``doc`` from
    ``doc_string``.
    """
    listed = _FRAME.findall(trace[:_LONGEST])
    listed = listed or [(*frame, "") for frame in _VERBOSE_FRAME.findall(doc[:_LONGEST])[::-1]]
    stack = [
        Frame(path, int(line), function.strip(), code.strip())
        for path, line, function, code in reversed(listed)
        if len(path) <= _LONGEST_PATH and not path.startswith("<")
    ][:_MOST_STACK]
    frames = tuple(frame for frame in stack if not _LIBRARY.search(frame.path))[:_MOST_FRAMES]
    library = _library(stack)
    if not frames:
        return library
    first = frames[0]
    via = "" if library is None else str(library)
    return Source(first.shown, first.line, first.function, frames=frames, via=via) if first.shown else None


def _library(stack: Sequence[Frame]) -> Source | None:
    """Return the innermost frame if it is in an installed package, or None if it is in the user's code.

    Frames of PyTorch and of exporters are ignored.
    """
    for frame in stack:
        if not _LIBRARY.search(frame.path):
            return None
        package = frame.installed.partition("/")[0]
        if package and package not in _EXPORTERS:
            return Source(frame.installed, frame.line, frame.function, package=package)
    return None


def dropped_before(node: Node, value: Value, graph: Graph) -> bool | None:
    """Return whether PyTorch's exporter removed an addition between ``value`` and ``node``.

    ``torch.onnx.export(dynamo=True)`` creates operators from FX nodes.  The exporter writes the text of the
    FX node into the metadata of the operator.  This text names the operands of the FX node.  The ONNX values
    of these operands have the same names
    (https://github.com/pytorch/pytorch/blob/main/torch/onnx/_internal/exporter/_core.py).  If an FX node
    reads ``%add_3`` and the file has no value with this name, the exporter removed an addition.

    Args:
        node: the operator that reads the value.
        value: an input of ``node``.
        graph: the graph that contains ``node`` and ``value``.

    Returns:
        True or False, or None if the metadata of ``node`` do not show whether an addition was removed.
    """
    written = _fx_node(node)
    if not written:
        return None
    if value.producer is not None and _fx_node(value.producer) == written:
        return False  # both operators come from one FX node
    read = _READ.findall(written.partition("(args = ")[2])
    if value.name in read:
        return False
    missing = [name for name in read if graph.resolve(name, node.scope) is None]
    return True if any(_ADDITION.fullmatch(name) for name in missing) else None


def _fx_node(node: Node) -> str:
    found = (text(entry.value) for entry in node.proto.metadata_props if text(entry.key) == _FX_NODE)
    return next(found, "")[:_LONGEST_CHAIN]
