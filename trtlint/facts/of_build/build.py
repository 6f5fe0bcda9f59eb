"""Facts about a build as a whole, from its log, its metadata and the header of its engine file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from trtlint.buildfiles.diagnosis import diagnose
from trtlint.buildfiles.patterns import LogPattern, table
from trtlint.buildfiles.records import Log, Record
from trtlint.facts.base import Fact
from trtlint.facts.blocks.profiles import example_profile
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.log_message import LogName
from trtlint.knowledge.frontends import front_end

_VERBOSE = "V"
"""The severity of messages that TensorRT prints only at its verbose level."""


class BuildFact(Fact, frozen=True):
    """A build of an engine.  A field is None if the files of the build do not contain the value.

    Attributes:
        has_log: whether there is a log.
        has_layers: whether a file lists the layers of the engine.
        has_profile: whether a file has the times of the layers.
        product: the product that built the engine, ``tensorrt`` or ``tensorrt-rtx``.
        version: the release of the product, such as ``10.16.1``.
        release: the first two numbers of ``version``, to compare with ``target.release``.
        plan_product: the product that the header of the engine file names.
        plan_version: the release that the header of the engine file names.
        plan_release: the first two numbers of ``plan_version``, to compare with ``target.release``.
        tool: the program that built the engine, such as ``trtexec``, ``polygraphy`` or ``onnxruntime``.
        verbose: whether the log has messages of TensorRT's verbose level.
        louder: the tool's option or call that enables verbose messages.
        plugin_option: the tool's option or call that loads a plugin library.
        memory_option: the tool's option or call that limits the builder's workspace.
        profile_option: the tool's options or calls that set the shapes of an example input.
        rebuild: how to build the engine again with the tool.
        tool_version: release of the tool, if the tool has its own version number.
        gpu: name of the GPU as printed.
        sm: ten times the compute capability of the GPU.
        flags: the precision options of the build, such as ``fp16``, ``best`` or ``no-tf32``.
        precision: the types that layers may use, such as ``fp32`` or ``fp16``.
        strongly_typed: whether the network is strongly typed.
        tf32: whether TF32 is on.
        constraints: ``obey`` or ``prefer``, if precision constraints were set.
        opset: opset of the model that was parsed.
        producer: the tool that wrote the model.
        optimization_level: the builder's optimisation level.
        command: the command line.
        status: ``passed`` or ``failed``. A log without a stated result counts as ``failed`` if it has error
            messages about a failure.
        parsed: whether the parser accepted the whole model; None if the log does not show it.
        torch: settings of Torch-TensorRT as printed, by name.
        options: the values in the option lines that trtexec prints, by name.
        counts: number of log lines for each kind of message, by the name of the kind (see ``log_message``).
        seconds: durations of ``parse``, ``graph``, ``engine`` and ``build`` in seconds, if printed.
        memory: the memory in bytes by purpose, such as ``Total Weights Memory``. If the log has several
            numbers for a purpose, the field has the largest.
        workspace_wanted: the largest number of bytes that a skipped tactic needed. The builder skips tactics
            that need too much memory.
        errors: number of errors in the log, including internal and fatal errors.
    """

    file: str
    has_log: bool
    has_layers: bool
    has_profile: bool
    product: Literal["tensorrt", "tensorrt-rtx"] | None
    version: str | None
    release: tuple[int, int] | None
    plan_product: Literal["tensorrt", "tensorrt-rtx"] | None
    plan_version: str | None
    plan_release: tuple[int, int] | None
    tool: str | None
    verbose: bool
    louder: str
    plugin_option: str
    memory_option: str
    profile_option: str
    rebuild: str
    tool_version: str | None
    gpu: str | None
    sm: int | None
    flags: frozenset[str] | None
    precision: frozenset[str] | None
    strongly_typed: bool | None
    tf32: bool | None
    constraints: Literal["obey", "prefer"] | None
    opset: int | None
    producer: str | None
    optimization_level: int | None
    command: str | None
    status: Literal["passed", "failed"] | None
    parsed: bool | None
    torch: Mapping[str, str] | None
    options: Mapping[str, str]
    counts: Mapping[LogName, int]
    seconds: Mapping[str, float]
    memory: Mapping[str, float]
    workspace_wanted: int | None
    errors: int | None

    @property
    def place(self) -> str:
        """The location in reports: the first file of the build."""
        return self.file


def find(facts: Facts) -> Iterator[BuildFact]:
    """Yield the fact about the build or the dry build, or nothing if there is neither."""
    record = facts.record
    if record is None:
        return
    settings, log = record.settings, record.log
    program = front_end(settings.tool)
    blocks = {} if log is None else log.options
    skipped = [] if log is None else _numbers(log.telling("memory_wanted"), "bytes")
    yield BuildFact(
        file=next(iter(record.files), ""),
        has_log=log is not None,
        has_layers=record.layers is not None,
        has_profile=record.profile is not None,
        product=_product(settings.product),
        version=settings.version,
        release=_release(settings.version),
        plan_product=None if record.plan is None else record.plan.product,
        plan_version=None if record.plan is None else record.plan.version,
        plan_release=_release(None if record.plan is None else record.plan.version),
        tool=settings.tool,
        verbose=log is not None and any(entry.severity == _VERBOSE for entry in _entries(log)),
        louder=program.verbose,
        plugin_option=program.plugin,
        memory_option=program.memory,
        profile_option=example_profile(program),
        rebuild=program.build,
        tool_version=settings.tool_version,
        gpu=settings.gpu,
        sm=settings.sm,
        flags=settings.flags,
        precision=settings.precision,
        strongly_typed=settings.strongly_typed,
        tf32=settings.tf32,
        constraints=_one_of(settings.constraints),
        opset=settings.opset,
        producer=settings.producer,
        optimization_level=settings.optimization_level,
        command=settings.command,
        status=_status(settings.status, log),
        parsed=None if log is None else _parsed(log),
        torch=settings.torch,
        options={key: text for block in blocks.values() for key, text in block.items()},
        counts={} if log is None else log.counts,
        seconds={} if log is None else log.seconds(),
        memory={} if log is None else _memory(log),
        workspace_wanted=int(max(skipped)) if skipped else None,
        errors=None if log is None else sum(log.severities.get(letter, 0) for letter in "EF"),
    )


def _entries(log: Log) -> Iterator[LogPattern]:
    """Return the entries of trtlint/buildfiles/patterns.yaml that match at least one line of the log."""
    return (entry for name in log.counts if (entry := table().named(name)) is not None)


def _parsed(log: Log) -> bool | None:
    """Return whether the parser accepted the whole model, or None if the log does not show it."""
    if any(log.telling("unparsed")):
        return False
    return True if any(log.telling("parsed")) else None


def _status(stated: str | None, log: Log | None) -> Literal["passed", "failed"] | None:
    if stated == "passed":
        return "passed"
    return "failed" if stated == "failed" or (log is not None and diagnose(log).failed) else None


def _numbers(records: Iterable[Record], group: str) -> list[float]:
    found = (record.number(group) for record in records)
    return [number for number in found if number is not None]


def _memory(log: Log) -> dict[str, float]:
    """Return the memory in bytes for each purpose in the log, such as the total weights.

    If the log has several numbers for a purpose, the result has the largest.
    """
    found: dict[str, float] = {}
    for message in log.telling("memory"):
        what = message.groups["what"]
        found[what] = max(found.get(what, 0.0), message.number("bytes") or 0.0)
    return found


def _release(version: str | None) -> tuple[int, int] | None:
    parts = (version or "").split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) > 1 and all(map(str.isdecimal, parts[:2])) else None


def _product(name: str | None) -> Literal["tensorrt", "tensorrt-rtx"] | None:
    return "tensorrt" if name == "tensorrt" else "tensorrt-rtx" if name == "tensorrt-rtx" else None


def _one_of(constraint: str | None) -> Literal["obey", "prefer"] | None:
    return "obey" if constraint == "obey" else "prefer" if constraint == "prefer" else None
