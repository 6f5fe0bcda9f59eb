"""What came of a dry build, as plain data: little is imported here, since reports carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from trtlint.dry_build.agreement import Agreement
from trtlint.lean import dataclass

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

Level = Literal["parse", "build"]
Stage = Literal["load", "parse", "build"]
Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""How a process ended: by itself, with an exit code, by a signal, or stopped at a limit."""


@dataclass(frozen=True, slots=True)
class ParserError:
    """One error of the ONNX parser.

    Attributes:
        code: such as ``UNSUPPORTED_NODE``.
        node: the node's name, empty where it has none.
        op: its operator, empty for an error that is about no node.
        index: its position in its graph, -1 for an error that is about no node.
        text: NVIDIA's sentence.
        function: where in the parser it comes from, such as ``checkResize``.
    """

    code: str
    node: str
    op: str
    index: int
    text: str
    function: str


@dataclass(frozen=True, slots=True)
class UsedShape:
    """What one input was built for.

    Attributes:
        name: the input.
        min: the smallest shape; of an input whose values the build needs, the values.
        opt: the one that kernels are chosen for.
        max: the largest.
        chosen: whether it was chosen here, and nobody had said it.
        values: whether it is values, not a shape.
    """

    name: str
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    chosen: bool
    values: bool

    @property
    def words(self) -> str:
        """``x=1x3x224x224``, with the bounds where they differ."""
        ends = [self.opt] if self.min == self.max else [self.min, self.opt, self.max]
        return f"{self.name}={'..'.join('x'.join(map(str, shape)) or 'scalar' for shape in ends)}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a dry build.

    Attributes:
        version: the release of TensorRT-RTX.
        level: how far it was to go.
        sm: the compute capability times ten that it built for.
        asked_sm: the one that was asked for, None for none.
        stage: the stage that it ended in.
        cause: how the process ended.
        signal: the signal that ended it, empty for none.
        parsed: whether the parser took the model, None where it did not get so far.
        built: whether the builder built it, None where it did not get so far.
        errors: what the parser refuses, in its order.
        shapes: what inputs with a dimension that varies were built for.
        zeros: files of external data with zeros in place of weights.
        data_files: all files of external data, as the model names them.
        seconds: how long it took.
        parse_seconds: of them, for parsing.
        build_seconds: for the build that counts.
        peak: bytes of its largest resident set, None where the system does not tell.
        last_lines: the last lines of the log, where the process did not end by itself.
        unfit: the first error about sizes, where the builder refused every size that was chosen here; nothing
            is known then of the sizes that the model is for.
        tried: how many choices of sizes were built.
        network: the comparison of the parsed network with the model, None where none was wanted.
    """

    version: str
    level: Level = "build"
    sm: int = 89
    asked_sm: int | None = None
    stage: Stage = "load"
    cause: Cause = "done"
    signal: str = ""
    parsed: bool | None = None
    built: bool | None = None
    errors: tuple[ParserError, ...] = ()
    shapes: tuple[UsedShape, ...] = ()
    zeros: tuple[str, ...] = ()
    data_files: tuple[str, ...] = ()
    seconds: float = 0.0
    parse_seconds: float | None = None
    build_seconds: float | None = None
    peak: int | None = None
    last_lines: tuple[str, ...] = ()
    unfit: str = ""
    tried: int = 0
    network: Agreement | None = None

    @property
    def label(self) -> str:
        """What stands for its log: ``dry build, TensorRT-RTX 1.7.1, SM 8.9``."""
        if self.level == "parse":
            return f"dry parse, TensorRT-RTX {self.version}"
        return f"dry build, TensorRT-RTX {self.version}, SM {self.sm // 10}.{self.sm % 10}"

    @property
    def document(self) -> dict[str, Any]:
        """It as JSON data."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Result:
        """The result that JSON data tell of; what they leave out is as it is where nothing was done.

        Raises:
            TypeError, ValueError: they are no such data.
        """
        found = dict(document)
        found["errors"] = tuple(ParserError(**error) for error in found.get("errors", ()))
        found["shapes"] = tuple(
            UsedShape(**{**shape, **{bound: tuple(shape[bound]) for bound in ("min", "opt", "max")}})
            for shape in found.get("shapes", ())
        )
        for name in ("zeros", "data_files", "last_lines"):
            found[name] = tuple(found.get(name, ()))
        if found.get("network") is not None:
            found["network"] = Agreement.of(found["network"])
        return cls(**found)


@dataclass(frozen=True, slots=True)
class DryBuild:
    """A dry build: what came of it, and its log, read.

    Attributes:
        result: what came of it.
        record: its log and the layers that it lists, None where there is no log.
    """

    result: Result
    record: BuildRecord | None = None
