"""The programs that build engines with TensorRT, and how a remedy is written in each (frontends.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from trtlint.knowledge import data
from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """One program; a text is empty where it is not known.

    Attributes:
        name: as the logs' readers call it, such as ``trtexec``.
        verbose: how TensorRT's verbose messages are printed.
        plugin: how a library of plugins is loaded.
        memory: what bounds the workspace of the builder.
        build: how an engine is built again.
        marks: texts that give it away in lines that have no prefix of its own.
    """

    name: str
    verbose: str
    plugin: str
    memory: str
    build: str
    marks: tuple[str, ...]


UNKNOWN = FrontEnd(
    "",
    "the logger at its verbose level (trtexec --verbose, trt.Logger.VERBOSE in Python)",
    "trtexec --staticPlugins, or in a program before the network is parsed or the engine is loaded",
    "--memPoolSize=workspace:MIB (config.set_memory_pool_limit)",
    "trtexec --onnx=model.onnx --saveEngine=model.engine, or the program that wrote it",
    (),
)
"""What is said where the program is not known: the words of trtexec and of the API."""


@cache
def front_ends() -> Mapping[str, FrontEnd]:
    """All of them by name."""
    rows = (
        FrontEnd(
            row["name"],
            row.get("verbose", UNKNOWN.verbose),
            row.get("plugin", UNKNOWN.plugin),
            row.get("memory", UNKNOWN.memory),
            row.get("build", UNKNOWN.build),
            tuple(row.get("marks", ())),
        )
        for row in data("frontends")
    )
    return {row.name: row for row in rows}


def front_end(name: str | None) -> FrontEnd:
    """The program of that name, :data:`UNKNOWN` where there is none."""
    return front_ends().get(name or "", UNKNOWN)


@cache
def marks() -> Mapping[bytes, str]:
    """The name of a program by each of its marks."""
    return {mark.encode(): row.name for row in front_ends().values() for mark in row.marks}
