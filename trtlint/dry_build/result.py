"""Result of a dry build as plain data for reports. To load fast, this module imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, to_builtins

from trtlint.dry_build.agreement import Agreement
from trtlint.process import Cause

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

Level = Literal["parse", "build"]
Stage = Literal["load", "parse", "build"]


class ParserMessage(Struct, frozen=True):
    """Error message of the ONNX parser.

    Attributes:
        code: error code, such as ``UNSUPPORTED_NODE``.
        node: the name of the node; empty if unnamed.
        op: the type of the node; empty for an error without a node.
        index: the position of the node in its graph; -1 for an error without a node.
        text: the message of the parser.
        function: the function of the parser that raised the error, such as ``checkResize``.
    """

    code: str
    node: str
    op: str
    index: int
    text: str
    function: str


class UsedShape(Struct, frozen=True):
    """The shapes of one input in a build, or the values of a shape tensor.

    Attributes:
        name: the input.
        min: smallest shape; for a shape tensor, the smallest values.
        opt: shape that kernels are optimized for.
        max: largest shape.
        chosen: true if trtlint chose the shape, false if the user did.
        values: true if ``min``, ``opt`` and ``max`` are values of a shape tensor.
    """

    name: str
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    chosen: bool
    values: bool

    @property
    def words(self) -> str:
        """Format the shape as text, such as ``x=1x3x224x224``.

        If the smallest and the largest shape differ, the text contains all three shapes.
        """
        ends = [self.opt] if self.min == self.max else [self.min, self.opt, self.max]
        return f"{self.name}={'..'.join('x'.join(map(str, shape)) or 'scalar' for shape in ends)}"


class DryBuildResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Result of a dry build.

    Attributes:
        version: release of TensorRT-RTX.
        level: the requested stage, ``parse`` or ``build``.
        sm: compute capability of the build, times ten.
        asked_sm: the requested compute capability, times ten; None if none was requested.
        stage: the stage in which the dry build ended.
        cause: how the process ended.
        signal: name of the signal of a crash; empty for any other end.
        parsed: true if the parser accepted the model; None if the parser did not finish.
        built: true if the builder built the model; None if the builder did not finish.
        errors: errors of the parser, in the order of the parser.
        shapes: shapes or values of dynamic inputs.
        zeros: external data files that were replaced by zeros.
        data_files: the names of all external data files, relative to the folder of the model.
        seconds: total time.
        peak: peak resident memory in bytes; None if unknown.
        last_lines: last lines of the log, if the process did not end normally.
        unfit: the first error about sizes, if the builder rejected all input sizes that trtlint chose. A
            build with the real sizes may still succeed.
        tried: number of builds with different sizes.
        network: comparison of the parsed network with the model; None if not requested.
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
    errors: tuple[ParserMessage, ...] = ()
    shapes: tuple[UsedShape, ...] = ()
    zeros: tuple[str, ...] = ()
    data_files: tuple[str, ...] = ()
    seconds: float = 0.0
    peak: int | None = None
    last_lines: tuple[str, ...] = ()
    unfit: str = ""
    tried: int = 0
    network: Agreement | None = None

    @property
    def label(self) -> str:
        """Return the name of the dry build in messages, such as ``dry build, TensorRT-RTX 1.7.1, SM 8.9``."""
        if self.level == "parse":
            return f"dry parse, TensorRT-RTX {self.version}"
        return f"dry build, TensorRT-RTX {self.version}, SM {self.sm // 10}.{self.sm % 10}"

    @property
    def document(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        data: dict[str, Any] = to_builtins(self)
        return data


class DryBuild(Struct, frozen=True):
    """The result of a dry build and its log.

    Attributes:
        result: the result.
        record: the data of the log about the build and its layers; None if there is no log.
    """

    result: DryBuildResult
    record: BuildRecord | None = None
