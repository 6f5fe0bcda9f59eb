"""Read from frontends.yaml how users configure the programs that build engines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct, convert

from trtlint.knowledge import data


class FrontEnd(Struct, frozen=True):
    """A program that builds engines with TensorRT, and texts that say how to configure the program.

    Attributes:
        name: the name that log readers use, such as ``trtexec``.
        verbose: how to print TensorRT's verbose messages.
        plugin: how to load a plugin library.  The text calls the library libplugin.so.
        memory: the setting that limits the builder's workspace.
        build: the command that rebuilds an engine.
        profile: the options that set an optimization profile.  The placeholder ``{shapes}`` stands for the
            shapes of the inputs.
        shape: the format of one input in ``profile``, with the placeholders ``{name}``, ``{x}`` (1x3x8x8)
            and ``{list}`` (1,3,8,8).
        joined: the text between two inputs in ``profile``.
        marks: texts that identify the program in log lines that do not begin with the program's prefix.
    """

    name: str = ""
    verbose: str = "the logger at its verbose level (trtexec --verbose, trt.Logger.VERBOSE in Python)"
    plugin: str = (
        "trtexec --staticPlugins=libplugin.so. In a program, call ctypes.CDLL('libplugin.so') or dlopen "
        "before the program parses the network or loads the engine"
    )
    memory: str = "--memPoolSize=workspace:MIB or config.set_memory_pool_limit"
    build: str = "trtexec --onnx=model.onnx --saveEngine=model.engine, or the program that wrote the engine"
    profile: str = (
        "trtexec --minShapes={shapes} --optShapes={shapes} --maxShapes={shapes}. Or call"
        " builder.create_optimization_profile(), then set_shape for each input, and add the profile to the"
        " config"
    )
    shape: str = "{name}:{x}"
    joined: str = ","
    marks: tuple[str, ...] = ()


UNKNOWN = FrontEnd()
"""An unknown program.  Its texts describe trtexec and TensorRT's API."""


@cache
def front_ends() -> Mapping[str, FrontEnd]:
    """Return all known programs that build engines, by name."""
    return {row.name: row for row in convert(data("frontends"), list[FrontEnd])}


def front_end(name: str | None) -> FrontEnd:
    """Return the program with the name ``name``, or :data:`UNKNOWN` if the name is not known."""
    return front_ends().get(name or "", UNKNOWN)


@cache
def marks() -> Mapping[bytes, str]:
    """Return the texts that identify a program in a log, each with the name of this program."""
    return {mark.encode(): row.name for row in front_ends().values() for mark in row.marks}
