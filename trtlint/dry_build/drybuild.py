"""Ask NVIDIA's parser and builder about a model, without a GPU: a dry build.

The wheels of TensorRT-RTX hold both, and neither needs a GPU.  What they say goes through the reader of
build logs like the log of any other build, and is in :class:`~trtlint.dry_build.result.Result` as values.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.result import DryBuild, Level, ParserError, Result, Stage, UsedShape
from trtlint.dry_build.shapes import Given
from trtlint.dry_build.weights import Staged, WeightsError, staged
from trtlint.dry_build.wheels import Wheels, find
from trtlint.knowledge.rtx import USUAL_SM, builder
from trtlint.lean import dataclass
from trtlint.process.spawn import Limits, ProcessResult, run

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

_WORK = "trtlint.dry_build._rtx"
_HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}
"""No GPU is used, so that a dry build says the same on every machine."""
_ALWAYS = 600 << 20
"""Bytes that a build takes besides what it does with weights; measured, see benchmarks."""
_TIMES = 4
"""How many times the bytes of its weights a build takes."""
_BESIDE = (".data", "_data")
"""What exporters call the file with external data beside a model."""
_LAST_LINES = 3
_LONGEST_LINE = 300
_PREFIX = re.compile(r"^\[[^\]]*\] \[TRT\] \[[A-Z]\] ")
"""Time and severity of a line of the log."""
_TAIL = 64 << 10


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model.

    Attributes:
        wheels: the wheels to use.
        level: ``parse``, which needs no shapes, or ``build``.
        sm: the compute capability times ten to build for, None where nobody has said.
        shapes: what inputs are to be built for; the rest is chosen.
        limits: what the process may take.
    """

    wheels: Wheels
    level: Level = "build"
    sm: int | None = None
    shapes: tuple[Given, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def built_sm(self) -> int:
        """The compute capability that it builds for: the one asked for, or the nearest to it."""
        return builder(self.wheels.version).nearest(USUAL_SM if self.sm is None else self.sm)


def dry_build(
    model: Path,
    *,
    version: str | None = None,
    sm: int | None = None,
    shapes: Sequence[Given] = (),
    limits: Limits | None = None,
    level: Level = "build",
    folder: Path | None = None,
) -> DryBuild:
    """Parse a model with TensorRT-RTX and build it, in a process of its own.

    Args:
        model: the file; it is never changed.
        version: the release that the wheels must be of, None for whichever is there.
        sm: the compute capability times ten to build for.
        shapes: what inputs are to be built for.
        limits: time and memory of the process.
        level: ``parse`` for the parser alone.
        folder: where the wheels are, None for the packages of this Python.

    Raises:
        WheelError: the wheels are not there.
        DryBuildError: no dry build can be made of this model.
        ModelError: the file is no model.
    """
    request = Request(find(version, folder), level, sm, tuple(shapes), limits or Limits())
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch, "build.log")
        return read_back(ask(model, request, log), log)


def ask(model: Path, request: Request, log: Path) -> Result:
    """Do what is asked, writing the log as it comes.

    Raises:
        DryBuildError: no dry build can be made of this model.
        ModelError: the file is no model.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        try:
            model_given = staged(model, Path(folder))
        except WeightsError as error:
            raise DryBuildError(str(error)) from None
        _require_memory(model_given.size, request)
        document = {
            "model": str(model_given.path),
            "level": request.level,
            "sm": request.built_sm,
            "shapes": [[given.name, given.shapes] for given in request.shapes],
        }
        ended = run(
            _WORK, document, request.limits, log=log, paths=(request.wheels.folder,), environment=_HIDDEN
        )
    parsed_to = _crashed_on_own_size(ended)
    if parsed_to is not None:
        os.truncate(log, parsed_to)
        ended = replace(ended, cause="done", signal="")
    return _result(ended, request, model_given, _tail(log) if ended.cause != "done" else ())


def read_back(result: Result, log: Path) -> DryBuild:
    """The dry build that a result and its log tell of."""
    from trtlint.buildfiles.errors import BuildFileError
    from trtlint.buildfiles.log import read_log
    from trtlint.buildfiles.record import FileRead, together

    try:
        record = together([FileRead(result.label, read_log(str(log)))])
    except BuildFileError:  # it ended before it wrote anything
        return DryBuild(result)
    return DryBuild(result, labelled(record, result))


def labelled(record: BuildRecord, result: Result) -> BuildRecord:
    """A record with what its log does not say: which product and release it is of, and for which GPU."""
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
    """Bytes of memory that a dry build takes, guessed from the sizes of files without reading them."""
    size = 0
    with suppress(OSError):
        names = (model.name, *(f"{model.name}{end}" for end in _BESIDE), f"{model.stem}.data")
        size = sum(file.stat().st_size for name in names if (file := model.with_name(name)).is_file())
    return _ALWAYS + (_TIMES if level == "build" else 1) * size


def _require_memory(size: int, request: Request) -> None:
    needed = _ALWAYS + (_TIMES if request.level == "build" else 1) * size
    if needed > request.limits.memory:
        what = f"a dry {request.level} of {_gigabytes(size)} of weights takes about {_gigabytes(needed)}"
        limit = f"the limit is {_gigabytes(request.limits.memory)}"
        raise DryBuildError(f"{what}, and {limit}: --dry-build-memory {-(-needed >> 30)}G allows it")


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB"


def _result(ended: ProcessResult, request: Request, given: Staged, last_lines: tuple[str, ...]) -> Result:
    said: dict[str, Any] = {}
    for answer in ended.answers:
        if "built" not in answer and "shapes" in answer:  # another build begins
            said.pop("built", None)
        said.update(answer)
    stage: Stage = said.get("stage", "load")
    tries = [answer for answer in ended.answers if answer.get("built") is not None]
    unfit = "" if ended.cause != "done" or said.get("built") else said.get("refused", "")
    if unfit:  # the likeliest sizes are shown
        said.update(tries[0], built=None)
    return Result(
        version=request.wheels.version,
        level=request.level,
        sm=request.built_sm,
        asked_sm=request.sm,
        stage=stage,
        cause=ended.cause,
        signal=ended.signal,
        parsed=said.get("parsed"),
        built=said.get("built"),
        errors=tuple(ParserError(**error) for error in said.get("errors", ())),
        shapes=(*_shapes(said, "shapes"), *_shapes(said, "values")),
        zeros=given.zeros,
        data_files=given.data_files,
        seconds=ended.seconds,
        parse_seconds=said.get("parse_seconds"),
        build_seconds=said.get("build_seconds"),
        peak=ended.peak,
        last_lines=last_lines,
        unfit=unfit,
        tried=len(tries),
    )


def _crashed_on_own_size(ended: ProcessResult) -> int | None:
    """How far the log goes that counts, where the builder crashed on a size that was only tried; else None.

    It had refused a likelier size before that, so the crash says nothing of the sizes of the model.
    """
    refused = [answer for answer in ended.answers if "parsed_to" in answer]
    return int(refused[-1]["parsed_to"]) if ended.cause == "crashed" and refused else None


def _shapes(said: dict[str, Any], kind: str) -> Iterable[UsedShape]:
    for name, (smallest, usual, largest) in said.get(kind, ()):
        yield UsedShape(
            name, tuple(smallest), tuple(usual), tuple(largest), name in said["chosen"], kind == "values"
        )


def _tail(log: Path) -> tuple[str, ...]:
    """The last lines of a log."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = (_PREFIX.sub("", line).strip()[:_LONGEST_LINE] for line in lines)
    return tuple(line for line in said if line)[-_LAST_LINES:]
