"""Result of a dry build as plain data; reports carry it, so it imports little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, convert, to_builtins

from trtlint.dry_build.agreement import Agreement

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

Level = Literal["parse", "build"]
Stage = Literal["load", "parse", "build"]
Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""End of a process: normal, with an exit code, by a signal, or at a limit."""


class ParserError(Struct, frozen=True):
    """One error of the ONNX parser.

    Attributes:
        code: error code, such as ``UNSUPPORTED_NODE``.
        node: the node's name; empty if it has none.
        op: its operator; empty for an error without a node.
        index: its position in its graph; -1 for an error without a node.
        text: NVIDIA's message.
        function: function of the parser that raised it, such as ``checkResize``.
    """

    code: str
    node: str
    op: str
    index: int
    text: str
    function: str


class UsedShape(Struct, frozen=True):
    """The shape or values that one input was built for.

    Attributes:
        name: the input.
        min: smallest shape, or values if the build needs the input's values.
        opt: optimal shape for kernel selection.
        max: largest shape.
        chosen: whether trtlint chose the shape.
        values: whether these are values, not a shape.
    """

    name: str
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    chosen: bool
    values: bool

    @property
    def words(self) -> str:
        """The shape as text, with bounds if they differ: ``x=1x3x224x224``."""
        ends = [self.opt] if self.min == self.max else [self.min, self.opt, self.max]
        return f"{self.name}={'..'.join('x'.join(map(str, shape)) or 'scalar' for shape in ends)}"


class DryBuildResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Result of a dry build.

    Attributes:
        version: release of TensorRT-RTX.
        level: last stage requested.
        sm: compute capability times ten of the build.
        asked_sm: the requested compute capability; None if the user requested none.
        stage: the stage that it ended in.
        cause: how the process ended.
        signal: signal that ended the process; empty if no signal did.
        parsed: whether the parser accepted the model; None if not reached.
        built: whether the builder built it; None if not reached.
        errors: errors of the parser, in its order.
        shapes: shapes or values of dynamic inputs.
        zeros: external data files replaced by zeros.
        data_files: all external data files, as named in the model.
        seconds: total time.
        peak: peak resident memory in bytes; None if unknown.
        last_lines: last lines of the log, if the process did not end normally.
        unfit: first error about sizes, if the builder rejected every size that trtlint chose. Then it is
            unknown whether the model's real sizes build.
        tried: number of choices of sizes that were built.
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
    errors: tuple[ParserError, ...] = ()
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
        """Source label in messages: ``dry build, TensorRT-RTX 1.7.1, SM 8.9``."""
        if self.level == "parse":
            return f"dry parse, TensorRT-RTX {self.version}"
        return f"dry build, TensorRT-RTX {self.version}, SM {self.sm // 10}.{self.sm % 10}"

    @property
    def document(self) -> dict[str, Any]:
        """The result as JSON data."""
        data: dict[str, Any] = to_builtins(self)
        return data

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> DryBuildResult:
        """Create a result from JSON data; missing keys get their defaults.

        Raises:
            ValueError: the data are invalid.
        """
        return convert(document, cls)


class DryBuild(Struct, frozen=True):
    """The result of a dry build and its log.

    Attributes:
        result: the result.
        record: the log and its layers; None without a log.
    """

    result: DryBuildResult
    record: BuildRecord | None = None
