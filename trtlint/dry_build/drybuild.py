"""Dry build: run NVIDIA's parser and builder on a model without a GPU.

The wheels of TensorRT-RTX contain the parser and the builder.  trtlint reads the log of a dry build like the
log of any build. In addition, :class:`~trtlint.dry_build.result.DryBuildResult` has the results as values.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.result import DryBuild, DryBuildResult, Level, ParserMessage, Stage, UsedShape
from trtlint.dry_build.shapes import ShapeRange
from trtlint.dry_build.weights import StagedModel, staged
from trtlint.dry_build.wheels import HIDE_GPUS, Wheels, find
from trtlint.knowledge.rtx import builder
from trtlint.process.spawn import Limits, ProcessResult, run

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

_WORK = "trtlint.dry_build._rtx"
_ALWAYS = 600 << 20
"""Measured memory, in bytes, that a build needs in addition to its weights (see benchmarks)."""
_TIMES = 4
"""Memory that a build needs for its weights, as a multiple of their size."""
_BESIDE = (".data", "_data")
"""Suffixes of the external data files that exporters write."""
_LAST_LINES = 3
_LONGEST_LINE = 300
_PREFIX = re.compile(r"^\[[^\]]*\] \[TRT\] \[[A-Z]\] ")
"""Pattern of the time and severity at the beginning of a log line."""
_TAIL = 64 << 10


class DryBuildRequest(Struct, frozen=True):
    """Settings of one dry build.

    Attributes:
        wheels: the wheels to use.
        level: ``parse``, which needs no shapes, or ``build``.
        sm: compute capability times ten; None if unspecified.
        shapes: shapes from the user. Inputs without a shape get default shapes.
        limits: limits of the process.
    """

    wheels: Wheels
    level: Level = "build"
    sm: int | None = None
    shapes: tuple[ShapeRange, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def built_sm(self) -> int:
        """Return the compute capability of the build, times ten.

        TensorRT-RTX supports only some compute capabilities. The result is the supported compute capability
        that is closest to ``sm``.
        """
        return builder(self.wheels.version).nearest(self.sm)


def dry_build(
    model: Path,
    *,
    version: str | None = None,
    sm: int | None = None,
    shapes: Sequence[ShapeRange] = (),
    limits: Limits | None = None,
    level: Level = "build",
) -> DryBuild:
    """Parse a model with TensorRT-RTX and build it in a separate process.

    Args:
        model: the file, which is never changed.
        version: required release of the wheels; None for any release.
        sm: compute capability to build for, times ten.
        shapes: input shapes from the user.
        limits: time and memory of the process.
        level: ``build``, or ``parse`` to run only the parser.

    Raises:
        WheelError: the wheels are not installed.
        DryBuildError: this model does not allow a dry build.
        ModelError: the file is not a model.
    """
    request = DryBuildRequest(find(version), level, sm, tuple(shapes), limits or Limits())
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch, "build.log")
        return read_back(ask(model, request, log), log)


def ask(model: Path, request: DryBuildRequest, log: Path) -> DryBuildResult:
    """Run a dry build in a separate process, and write its log to a file.

    Raises:
        DryBuildError: this model does not allow a dry build.
        ModelError: the file is not a model.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        model_given = staged(model, Path(folder))
        _require_memory(model_given.size, request)
        document = {
            "model": str(model_given.path),
            "level": request.level,
            "sm": request.built_sm,
            "shapes": to_builtins(request.shapes),
        }
        ended = run(
            _WORK, document, request.limits, log=log, paths=(request.wheels.folder,), environment=HIDE_GPUS
        )
    parsed_to = _log_size_before_retry_crash(ended)
    if parsed_to is not None:
        os.truncate(log, parsed_to)
        ended = replace(ended, cause="done", signal="")
    return _result(ended, request, model_given, _tail(log) if ended.cause != "done" else ())


def read_back(result: DryBuildResult, log: Path) -> DryBuild:
    """Combine the result of a dry build with the record that trtlint reads from its log."""
    from trtlint.buildfiles.errors import BuildFileError
    from trtlint.buildfiles.log import read_log
    from trtlint.buildfiles.record import FileContents, together

    try:
        record = together([FileContents(result.label, read_log(str(log)))])
    except BuildFileError:  # the process ended before it logged anything
        return DryBuild(result)
    return DryBuild(result, labelled(record, result))


def labelled(record: BuildRecord, result: DryBuildResult) -> BuildRecord:
    """Add product, release and GPU to the record of a dry build, because the log does not contain them."""
    settings = replace(
        record.settings,
        product="tensorrt-rtx",
        version=result.version,
        sm=result.sm if result.level == "build" else None,
        strongly_typed=True,
    )
    places = MappingProxyType(dict.fromkeys(("product", "version", "sm", "strongly_typed"), result.label))
    return replace(record, settings=settings, places=places, notes=())


def roughly_needed(model: Path, level: Level) -> int:
    """Estimate the memory that a dry build needs, in bytes, from file sizes alone."""
    size = 0
    with suppress(OSError):
        names = (model.name, *(f"{model.name}{end}" for end in _BESIDE), f"{model.stem}.data")
        size = sum(file.stat().st_size for name in names if (file := model.with_name(name)).is_file())
    return _needed(size, level)


def _needed(size: int, level: Level) -> int:
    """Estimate the memory that a dry build needs, in bytes, from the size of the weights."""
    return _ALWAYS + (_TIMES if level == "build" else 1) * size


def _require_memory(size: int, request: DryBuildRequest) -> None:
    needed = _needed(size, request.level)
    if needed > request.limits.memory:
        what = f"with {_gigabytes(size)} of weights, a dry {request.level} needs about {_gigabytes(needed)}"
        limit = f"the limit is {_gigabytes(request.limits.memory)}"
        raise DryBuildError(
            f"{what}, but {limit}; raise the limit with --dry-build-memory {-(-needed >> 30)}G"
        )


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB"


def _result(
    ended: ProcessResult, request: DryBuildRequest, given: StagedModel, last_lines: tuple[str, ...]
) -> DryBuildResult:
    state: dict[str, Any] = {}
    for answer in ended.answers:
        if "built" not in answer and "shapes" in answer:  # start of another build
            state.pop("built", None)
        state.update(answer)
    stage: Stage = state.get("stage", "load")
    tries = [answer for answer in ended.answers if answer.get("built") is not None]
    unfit = "" if ended.cause != "done" or state.get("built") else state.get("refused", "")
    if unfit:  # show the most likely sizes
        state.update(tries[0], built=None)
    return DryBuildResult(
        version=request.wheels.version,
        level=request.level,
        sm=request.built_sm,
        asked_sm=request.sm,
        stage=stage,
        cause=ended.cause,
        signal=ended.signal,
        parsed=state.get("parsed"),
        built=state.get("built"),
        errors=tuple(ParserMessage(**error) for error in state.get("errors", ())),
        shapes=(*_shapes(state, "shapes"), *_shapes(state, "values")),
        zeros=given.zeros,
        data_files=given.data_files,
        seconds=ended.seconds,
        peak=ended.peak,
        last_lines=last_lines,
        unfit=unfit,
        tried=len(tries),
    )


def _log_size_before_retry_crash(ended: ProcessResult) -> int | None:
    """If the builder crashed in a retry, return the size of the log before the first build, else None.

    trtlint retries a build with less likely input sizes after the builder rejected the most likely sizes. A
    crash in a retry does not mean that a build with the real sizes crashes.
    """
    refused = [answer for answer in ended.answers if "parsed_to" in answer]
    return int(refused[-1]["parsed_to"]) if ended.cause == "crashed" and refused else None


def _shapes(state: dict[str, Any], kind: str) -> Iterable[UsedShape]:
    for name, (smallest, usual, largest) in state.get(kind, {}).items():
        yield UsedShape(
            name, tuple(smallest), tuple(usual), tuple(largest), name in state["chosen"], kind == "values"
        )


def _tail(log: Path) -> tuple[str, ...]:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    messages = (_PREFIX.sub("", line).strip()[:_LONGEST_LINE] for line in lines)
    return tuple(line for line in messages if line)[-_LAST_LINES:]
