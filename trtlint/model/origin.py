"""Where a node came from: module path and source line, as the exporter noted them.

PyTorch's exporter writes both into ``metadata_props`` of every node, stack frames outermost first;
its TorchScript predecessor writes the module path into the node's name, and with ``verbose=True``
the stack into ``doc_string``, innermost frame first
(https://github.com/pytorch/pytorch/tree/main/torch/onnx).
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from trtlint.model.graph import Node, text

if TYPE_CHECKING:
    from trtlint.model.load import Model

_SCOPES = "pkg.torch.onnx.name_scopes"
_NAMESPACE = "namespace"
_TRACE = "pkg.torch.onnx.stack_trace"
_EMPTY_SCOPE = "_empty_nn_module_stack_from_metadata_hook"
_LONGEST = 65536

_FRAME = re.compile(r'File "([^"\n]+)", line (\d{1,9})(?:, in ([^\n]*))?')
_VERBOSE_FRAME = re.compile(r"^(.+)\((\d{1,9})\): (\S+)$", re.MULTILINE)
# PyTorch names files of its own relative to its package.
_LIBRARY = re.compile(
    r"^torch[\\/]|(?:^|[\\/])(?:site-packages|dist-packages|lib[\\/]python[\d.]*)[\\/]", re.IGNORECASE
)
_HOME = re.compile(r"^(?:[a-z]:)?[\\/](?:(?:home|users)[\\/][^\\/]+|root)[\\/]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the Python code that the exporter says a node came from.

    ``path`` is relative to the repository where the file was found there, else the last two
    components of the exporting machine's path.
    """

    path: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}"
        return f"{where} in {self.function}" if self.function else where


@dataclass(frozen=True, slots=True)
class Origin:
    """What the exporter says of a node's place in the Python code.

    Attributes:
        module: path of the module such as ``blocks.0.attn``, from wherever it is known; None where it
            is not, and for what the outermost module does itself.
        stable_module: the same from metadata only, so that it does not change when nodes are renamed.
        source: the line of code, None where unknown.
    """

    module: str | None = None
    stable_module: str | None = None
    source: Source | None = None


def origin(model: Model, node: Node) -> Origin:
    """Module path and source line of a node; of a body's node that has none, those of its owner."""
    current: Node | None = node
    module: str | None = None
    while current is not None:
        metadata = {text(entry.key): text(entry.value) for entry in current.proto.metadata_props}
        doc = text(current.proto.doc_string)
        named = _module_of_name(text(current.proto.name))
        module = module or named
        if metadata or doc:
            stable = _module_of_metadata(metadata.get(_SCOPES, ""), metadata.get(_NAMESPACE, ""))
            source = _source(metadata.get(_TRACE, ""), doc, _project())
            if stable is not None or source is not None:
                return Origin(stable or module, stable, source)
        current = model.graph.owner(current)
    return Origin(module)


@lru_cache(maxsize=4096)
def _module_of_metadata(scopes: str, namespace: str) -> str | None:
    """The module from ``['', 'blocks', 'blocks.0', 'mul']``, or from ``: M/blocks: C/mul: aten.mul``."""
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
    # The last part is the name of the operation within the module.
    modules = [part for part in path[:-1] if part and part != _EMPTY_SCOPE]
    return modules[-1] if modules else None


def _module_of_name(name: str) -> str | None:
    """The module from a TorchScript node name: ``/blocks/blocks.0/attn/MatMul`` is in ``blocks.0.attn``."""
    if not name.startswith("/"):
        return None
    modules: list[str] = []
    for part in name[1:].split("/")[:-1]:
        if modules and part.startswith(f"{modules[-1]}."):
            modules[-1] = part  # an item of a container that is itself a module
        elif part:
            modules.append(part)
    return ".".join(modules) or None


@lru_cache(maxsize=4096)
def _source(trace: str, doc: str, project: Path | None) -> Source | None:
    """The innermost frame inside the project, else the innermost one outside installed libraries."""
    frames = _FRAME.findall(trace[:_LONGEST]) or _VERBOSE_FRAME.findall(doc[:_LONGEST])[::-1]
    own = [
        (path, int(line), function.strip())
        for path, line, function in frames
        if not path.startswith("<") and not _LIBRARY.search(path)
    ]
    for path, line, function in reversed(own):
        found = None if project is None else _below(path, project)
        if found:
            return Source(found, line, function)
    if not own:
        return None
    path, line, function = own[-1]
    parts = _parts(_HOME.sub("", path))[-2:]
    return Source("/".join(parts), line, function) if parts else None


def _parts(path: str) -> list[str]:
    """The components of a path of any system, without root, drive and dots."""
    pure: PurePath = PureWindowsPath(path) if "\\" in path else PurePosixPath(path)
    return [part for part in pure.parts if part != pure.anchor and part not in (".", "..")]


@lru_cache(maxsize=4096)
def _below(path: str, project: Path) -> str | None:
    """The longest end of a path that is a file below ``project``."""
    parts = _parts(path)
    with suppress(OSError, ValueError):  # a name too long, or with a NUL
        for start in range(len(parts)):
            if project.joinpath(*parts[start:]).is_file():
                return "/".join(parts[start:])
    return None


def _project() -> Path | None:
    """The repository that the current folder lies in, else the current folder.

    None for a folder that holds home directories: a path below it would name one.
    """
    try:
        return _root(Path.cwd())
    except OSError:  # the current folder is gone
        return None


@lru_cache(maxsize=16)
def _root(folder: Path) -> Path | None:
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    home = Path("~").expanduser()
    return None if folder in home.parents or folder == Path(folder.anchor) else folder
