"""Facts about a build command as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from trtlint.buildcommand import BuildCommand
from trtlint.buildcommand.shapes import shapes_of
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.model.graph import Graph

_ACCELERATORS = frozenset({"tensorrt", "cuda"})
"""The GPU accelerators of Triton's ONNX Runtime backend:

https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/src/onnxruntime.cc#L460
"""
_BYTES = re.compile(r":\d+(?:\.\d+)?\s*[KMG]i?B$", re.IGNORECASE)
"""Pattern of a memory size with a unit such as ``MiB``."""


class BuildCommandFact(Fact, frozen=True):
    """A command line that builds or runs the engine.  The fact exists only if a command was given.

    Attributes:
        tool: the program that the command calls, such as ``trtexec``.
        source: the file and line of the command, such as ``build.sh:12``; empty for a command given as text.
        text: the command in one line; a value with an unexpanded variable is shown as ``...``.
        flags: the names of the options, with dashes; for a Triton configuration, the parameter names of the
            accelerator.
        values: the value of each option, by option. A value that a variable or script computes is left out.
        words: the arguments that do not begin with a dash.
        complete: whether all options are known; False if a shell variable may contain further options.
        shapes: whether the command gives a shape for at least one input.
        unreadable: invalid shapes, as written.
        profiles: number of optimization profiles; 1 if the command gives no shapes.
        varying: the inputs whose smallest and largest shapes differ, with their names as written in the
            command.
        dla_core: the DLA core; None if the command builds for the GPU or names no DLA core.
        fixed_shapes: whether all inputs and outputs of the model have static shapes; None if unknown.
        library_tactics: the tactic sources in ``--tacticSources`` that are separate libraries, such as
            ``CUBLAS``.
        byte_pools: the pools in ``--memPoolSize`` whose unit ends in ``B``, such as ``workspace:1024MiB``.
        unknown_accelerators: the GPU accelerators of a Triton configuration that the ONNX Runtime backend
            does not support.
    """

    tool: Literal["trtexec", "tensorrt_rtx", "triton", "onnxruntime"]
    source: str
    text: str
    flags: tuple[str, ...]
    values: Mapping[str, str]
    words: tuple[str, ...]
    complete: bool
    shapes: bool
    unreadable: tuple[str, ...]
    profiles: int
    varying: tuple[str, ...]
    dla_core: int | None
    fixed_shapes: bool | None
    library_tactics: tuple[str, ...]
    byte_pools: tuple[str, ...]
    unknown_accelerators: tuple[str, ...]

    @property
    def place(self) -> str:
        """The location in reports: the file and line of the command."""
        return self.source


def find(facts: Facts) -> Iterator[BuildCommandFact]:
    """Yield one fact if a build command was given."""
    command = facts.command
    if command is None:
        return
    shapes = shapes_of(command)
    yield BuildCommandFact(
        tool=command.tool,
        source=command.place,
        text=command.text,
        flags=command.names,
        values={option.name: option.value for option in command.options if option.value is not None},
        words=command.words,
        complete=command.complete,
        shapes=bool(shapes.specs),
        unreadable=shapes.unreadable,
        profiles=max(1, len({spec.profile for spec in shapes.specs})),
        varying=tuple(dict.fromkeys(spec.name for spec in shapes.specs if spec.varies)),
        dla_core=_dla_core(command),
        fixed_shapes=_fixed(facts.model.graph),
        library_tactics=tuple(
            each.upper()
            for each in _listed(command, "--tacticSources", "+-")
            if each.upper() in ("CUBLAS", "CUBLASLT", "CUBLAS_LT", "CUDNN")
        ),
        byte_pools=tuple(each for each in _listed(command, "--memPoolSize") if _BYTES.search(each)),
        unknown_accelerators=tuple(
            each
            for each in (() if command.served is None else command.served.accelerators)
            if each not in _ACCELERATORS
        ),
    )


def _listed(command: BuildCommand, name: str, prefixes: str = "") -> list[str]:
    """Split the value of an option at its commas. Remove the characters ``prefixes`` before each entry."""
    option = command.option(name)
    if option is None or option.value is None:
        return []
    return [each.strip().lstrip(prefixes) for each in option.value.split(",")]


def _dla_core(command: BuildCommand) -> int | None:
    option = command.option("--useDLACore")
    value = "" if option is None or option.value is None else option.value
    return int(value) if value.isdecimal() and len(value) < 3 else None


def _fixed(graph: Graph) -> bool | None:
    """Return whether all inputs and outputs of the model have static shapes, or None if this is unknown.

    If all inputs have static shapes, the result is still None in two cases:

    - An integer input has at most one dimension.  Such an input may be a shape tensor, and a shape tensor
      makes other shapes dynamic.
    - An output has a size that is not in the file.  TensorRT may find that this size is static.
    """
    if not all(value.is_static for value in graph.inputs):
        return False
    may_be_a_shape = any(
        value.dtype in ("i32", "i64") and len(value.shape or ()) < 2 for value in graph.inputs
    )
    return True if not may_be_a_shape and all(value.is_static for value in graph.outputs) else None
