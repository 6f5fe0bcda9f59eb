"""Facts about the messages in a build log."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from trtlint.buildfiles.diagnosis import diagnose, successes
from trtlint.buildfiles.join import island_members, island_nodes
from trtlint.buildfiles.names import layer_names
from trtlint.buildfiles.patterns import pattern_names, table
from trtlint.buildfiles.tracebacks import RaiseSite
from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.echoes import echoes, part_of
from trtlint.facts.blocks.lognames import (
    cause_of,
    error_code,
    island_of,
    missing_plugin,
    named_in,
    reason,
    said,
    stated,
)
from trtlint.facts.blocks.memory_requests import UNKNOWN, memory_requests
from trtlint.facts.blocks.old_releases import is_old
from trtlint.facts.blocks.profiles import dynamic_inputs, in_brackets, profile_options
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.flags import RejectedFlag, rejected_flag
from trtlint.knowledge.frontends import front_end
from trtlint.knowledge.plugin_libraries import libraries_of, loading
from trtlint.language.fieldtypes import OneOf
from trtlint.model.graph import Node, Value

if TYPE_CHECKING:
    from trtlint.buildfiles.records import Log, Record
    from trtlint.buildfiles.settings import BuildSettings
    from trtlint.facts.facts import Facts

LogName = Annotated[str, OneOf(pattern_names)]
"""Name of a message: the name of a pattern in trtlint/buildfiles/patterns.yaml, or ``other``."""

Severity = Literal["verbose", "info", "warning", "error", "fatal"]

_SEVERITIES: Mapping[str, Severity] = {
    "V": "verbose", "I": "info", "W": "warning", "E": "error", "F": "fatal",
}  # fmt: skip
_NO_PROFILE = "no_profile"
_NO_INPUT = "input_unknown"
_NO_OPTION = "option_refused"
_SHORT = 300
_LONG = 700
_ALIKE = 40
_IN_FP16 = ("norm_fp16", "norm_overflow")
"""Names of the messages about normalizations in FP16.

Before such a message, the builder lists normalizations of all element types, not only those in FP16. In a
strongly typed network, the types in the file show which of them run in FP16.
"""
_EXACT = ("layer", "output")
"""Regular expression groups that contain the name of a single node.

If a message about a Myelin island (a fused subgraph) has such a group, the message names one node of the
island.
"""
_NOT_RAISED = RaiseSite("", "", "", "")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d+)?(e[+-]?\d{1,2})?")


class LogMessage(Fact, frozen=True):
    """A message in the build log.

    Attributes:
        name: the entry of trtlint/buildfiles/patterns.yaml that matches, such as ``norm_fp16``; ``other`` for
            warnings and errors that match no entry.
        severity: the severity as printed; None for a line without a severity.
        text: the first line of the message, cut at 300 characters.
        message: the whole message, with its continuation lines.
        groups: the texts that the named groups of the pattern match, by group name.
        numbers: the numbers among the texts in ``groups``, by group name.
        line: line number in the log, from 1.
        at: file and line, such as ``record.log:1842``.
        named: the nodes, layers or tensors that the message names, as printed. If the message has no names,
            the names in nearby messages about the same problem.
        alike: all names that messages of this kind (with the same ``name``) mention anywhere in the log. The
            field lists each of them once, and at most 40.
        modules: the names in ``named`` without their last path component. Each is listed once. If the
            exporter names nodes by path, these are the modules of the nodes.
        nodes: the nodes of the model that the message names.
        inputs: if the message names a dynamic dimension, the model inputs that have this dimension.
        available: if the message is about an unknown input name, the names of the model's inputs, at
            most 40.
        unprofiled: for a message about a missing optimization profile, the dynamic inputs of the model with
            their shapes, such as ``x[b,3,8,8]``.
        profile: options of the building program that add a profile with likely shapes for the inputs in
            ``unprofiled``, such as ``--minShapes=x:1x3x8x8 ...``; empty if ``unprofiled`` is empty.
        ops: the operator types of ``nodes``, without repeats.
        op: the operator type that the message names, or the type of the node at which the parser stopped.
        names_nodes: whether the message itself contains the name of a node, layer or tensor.
        context: for warnings and errors, the last node or layer that the build named before this message.
            The message may be about another node.
        reason: the sentence in the message, without error code, source location and failed call; cut at 700
            characters.
        cause: for an error of the builder, an earlier message that explains the error, such as an exception
            in a tactic or in Myelin.
        cause_at: file and line of the cause.
        explains: whether this message is the cause of an error about a missing implementation.
        raised_at: for a Python exception, the file, line and function that raised it, such as
            ``export.py:31 in build``; empty if there is no traceback.
        raised_in: the user's innermost function in the traceback, with its file and line; empty if this
            function raised the exception.
        package: the installed package that raised the exception; empty if no installed package raised it.
        code: the source line that raised the exception, if the traceback has it.
        stops: True for the message that explains the failure best, if no message gives a known reason for the
            failure.
        leads: True if this message is the first that gives a known reason for the failure.
        alone: True if only one pattern matches the line. A line with an error of TensorRT often matches a
            second pattern, such as ``no_profile``.
        first: True for the first message in the log with this ``name``.
        count: number of messages in the log with the same ``name``.
        overcome: True if the error did not stop the build. The log then shows that the same run produced an
            engine after this message.
        refuses: whether this message ended a failed dry build.
        echo: whether the message repeats a failure that a nearby earlier message explains.
        echoes: file, line and text of the messages that repeat this message.
        part: the name of the model, or of a part of the model, that a framework prints in the messages in
            ``echoes``.
        libraries: for a message about a missing plugin, the known libraries that contain the plugin, each
            with its project.
        library_get: how to get the library, if ``libraries`` has exactly one.
        requested: for a message about memory, the requested size, such as ``1024 MiB``. The size comes from
            this message or a nearby message.
        free: the memory that was free at the time of this request, as a text.
        most_requested: if ``free`` is known, the largest request in the log with known free memory, and the
            memory that was free at this request. If ``free`` is unknown, the largest request with unknown
            free memory.
        old: True if a release before TensorRT 8 printed the message. If the log does not name the release,
            the form of the message decides.
        rejected: the reason why trtexec rejects the option in the message, if the message is about one.
        loading: the option or call with which the building program loads the library of the missing plugin.
            If the library is unknown, the option or call that loads any plugin library.
    """

    roles: ClassVar[Mapping[str, str]] = {"named": "a node that the message names"}

    name: LogName
    severity: Severity | None
    text: str
    message: str
    groups: Mapping[str, str]
    numbers: Mapping[str, float]
    line: int
    at: str
    named: tuple[str, ...]
    alike: tuple[str, ...]
    modules: tuple[str, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    available: tuple[str, ...]
    unprofiled: tuple[str, ...]
    profile: str
    ops: tuple[str, ...]
    op: str | None
    names_nodes: bool
    context: str | None
    reason: str
    cause: str | None
    cause_at: str | None
    explains: bool
    raised_at: str
    raised_in: str
    package: str
    code: str
    stops: bool
    leads: bool
    alone: bool
    first: bool
    count: int
    overcome: bool
    refuses: bool
    echo: bool
    echoes: tuple[str, ...]
    part: str
    libraries: tuple[str, ...]
    library_get: str
    requested: str
    free: str
    most_requested: str
    rejected: RejectedFlag
    loading: str
    old: bool

    @property
    def place(self) -> str:
        """The location in reports: the node that the message names, or the log line if it names no node."""
        return self.node.path if self.node else self.at

    @property
    def is_reason(self) -> bool:
        """True if the message is an error that can explain why a build failed."""
        entry = table().named(self.name)
        says = "" if entry is None else entry.says
        if self.severity in ("error", "fatal"):
            return says == "cause" or entry is None or entry.tells == "unexplained"
        return self.severity is None and says == "cause"

    @property
    def of_island(self) -> bool:
        """True if the message names a Myelin island (a fused subgraph), but no single node."""
        named = any("ForeignNode[" in text for text in self.groups.values())
        return len(self.nodes) > 1 and (named or not self.names_nodes)

    @property
    def refusal(self) -> Refusal | None:
        """If this message ended a dry build, the refusal that the message reports; otherwise None."""
        if not self.refuses:
            return None
        op = self.op or (self.ops[0] if len(self.ops) == 1 else "")
        return Refusal("build", op, error_code(self.message))


def find(facts: Facts) -> Iterator[LogMessage]:
    """Yield the messages of the log in order.

    Messages that TensorRT prints for every node or layer are left out.
    """
    if facts.record is None or facts.record.log is None:
        return
    log = facts.record.log
    # No rule needs the messages for every node or layer, and ``BuildFact.counts`` counts them.
    everywhere = {entry.name for entry in table().patterns if entry.everywhere}
    kept = [record for name, found in log.records.items() if name not in everywhere for record in found]
    diagnosis, done = diagnose(log), successes(log)
    alike = {name: _alike(found, log) for name, found in log.records.items()}
    meanings = Counter(record.line for record in kept)
    seen: set[str] = set()
    members = island_members(log)
    failed = facts.dry is not None and facts.dry.result.built is False
    kept.sort(key=lambda record: record.line)
    repeated, requests = echoes(kept), memory_requests(kept)
    repeating: dict[int, list[str]] = defaultdict(list)
    parts: dict[int, str] = {}
    for record in kept:
        leader = repeated.get(id(record))
        if leader is not None and record.line != leader.line:
            words = f"{facts.record.log_name}:{record.line}: {reason(record.message)[:_SHORT]}"
            repeating[id(leader)].append(words)
            parts.setdefault(id(leader), part_of(record))
    program = front_end(facts.record.settings.tool)
    missing = log.records.get("no_implementation", ())
    causes = {(cause.pattern, said(cause)) for record in missing if (cause := cause_of(record, log))}
    for record in kept:
        own, named = named_in(record, log)
        found = libraries_of(missing_plugin(record, stated(record, log, "op")))
        if not own and record.pattern in _IN_FP16 and facts.record.settings.strongly_typed:
            named = tuple(name for name in named if not _is_fp32(facts.names.find(name)))
        nodes = _nodes(record, named, facts, log, members)
        cause, request = cause_of(record, log), requests.get(id(record), UNKNOWN)
        raised = record.raised or _NOT_RAISED
        yield LogMessage(
            node=nodes[0] if nodes else None,
            chain=tuple(Step(node, "named", label="named by the build") for node in nodes),
            name=record.pattern,
            severity=_SEVERITIES.get(record.severity or ""),
            message=record.message,
            text=record.message.split("\n", 1)[0][:_SHORT],
            groups=record.groups,
            numbers=_numbers(record.groups),
            line=record.line,
            at=f"{facts.record.log_name}:{record.line}",
            named=named,
            alike=alike[record.pattern],
            modules=tuple(dict.fromkeys(_module(name) for name in named)),
            nodes=nodes,
            inputs=_inputs(facts, record.groups.get("symbol")),
            available=_available(record, facts),
            unprofiled=tuple(map(in_brackets, dynamic_inputs(_fed(record, facts)))),
            profile=profile_options(_fed(record, facts), program),
            ops=tuple(dict.fromkeys(node.op for node in nodes)),
            op=stated(record, log, "op"),
            names_nodes=own,
            context=record.context,
            reason=reason(record.message)[:_LONG],
            cause=None if cause is None else said(cause)[:_SHORT],
            cause_at=None if cause is None else f"{facts.record.log_name}:{cause.line}",
            explains=(record.pattern, said(record)) in causes,
            raised_at=raised.at,
            raised_in=raised.own if raised.own != raised.at else "",
            package=raised.package,
            code=raised.code,
            stops=record is repeated.get(id(diagnosis.line), diagnosis.line),
            leads=record is repeated.get(id(diagnosis.cause), diagnosis.cause),
            alone=meanings[record.line] == 1,
            first=record.pattern not in seen,
            count=log.counts.get(record.pattern, 1),
            overcome=done.follow(record.line),
            refuses=failed and record.severity in ("E", "F"),
            echo=id(record) in repeated,
            echoes=tuple(repeating.get(id(record), ())),
            part=parts.get(id(record), ""),
            libraries=tuple(f"{library.file} of {library.project}" for library in found),
            library_get=found[0].get if len(found) == 1 else "",
            requested=request.size,
            free=request.free,
            most_requested=request.largest,
            rejected=_rejected(record, facts.record.settings),
            loading=loading(found, program),
            old=is_old(record.message, facts.record.settings.version, facts.record.settings.product),
        )
        seen.add(record.pattern)


def _inputs(facts: Facts, symbol: str | None) -> tuple[str, ...]:
    """Return the names of the model inputs that have the dimension ``symbol``."""
    if symbol is None or not facts.has_model:
        return ()
    return tuple(value.name for value in facts.model.graph.inputs if symbol in (value.shape or ()))


def _available(record: Record, facts: Facts) -> tuple[str, ...]:
    """Return the names of the model's inputs if the message is about an unknown input name, else nothing."""
    if record.pattern != _NO_INPUT or not facts.has_model:
        return ()
    return tuple(value.name for value in facts.model.graph.inputs[:_ALIKE])


def _fed(record: Record, facts: Facts) -> Sequence[Value]:
    """Return the model's inputs if the message is about a missing optimization profile, else nothing."""
    return facts.model.graph.inputs if record.pattern == _NO_PROFILE and facts.has_model else ()


def _rejected(record: Record, settings: BuildSettings) -> RejectedFlag:
    """Return the reason why trtexec rejects an option.  For other messages, nothing is known.

    TensorRT-RTX has a separate program with other options.
    """
    option = record.groups.get("option")
    if record.pattern != _NO_OPTION or option is None or settings.product == "tensorrt-rtx":
        return RejectedFlag()
    return rejected_flag(option.partition("=")[0], settings.version)


def _alike(records: Sequence[Record], log: Log) -> tuple[str, ...]:
    """Return the names of nodes, layers or tensors in ``records``.

    Each name is listed once.  The number of names is limited to ``_ALIKE``.
    """
    found = (name for record in records for name in named_in(record, log)[1])
    return tuple(islice(dict.fromkeys(found), _ALIKE))


def _is_fp32(node: Node | None) -> bool:
    return node is not None and node.output.dtype == "f32"


def _nodes(
    record: Record, named: tuple[str, ...], facts: Facts, log: Log, members: Mapping[str, tuple[str, ...]]
) -> tuple[Node, ...]:
    names = facts.names
    found = names.all(named)
    # The parser may use the name of the first output as the name of the node.
    output = None if found else stated(record, log, "output")
    computing = names.computing(output) if output else None
    found = found if computing is None else (computing,)
    island = island_of(record)
    if island is None or (found and not record.groups.keys().isdisjoint(_EXACT)):
        return found
    return _of_island(record, island, facts, members)


def _of_island(
    record: Record, island: str, facts: Facts, members: Mapping[str, tuple[str, ...]]
) -> tuple[Node, ...]:
    """Return the nodes of a Myelin island (a fused subgraph) that a message is about.

    ``island`` is the name of the island. ``members`` contains the names of the nodes of each island, if the
    log lists them. For an island that is not in ``members``, the function reads the first and the last node
    from the name of the island. The result is then these two nodes and the nodes between them.
    """
    found = facts.names.all(members.get(island, ()))
    if not found:
        ranges = layer_names(island).ranges
        found = tuple(node for range_ in ranges for node in island_nodes(range_, facts.names))
    if record.pattern == "attention_kernel":
        # The message is about one Attention operator. If the island has several, the right one is unknown.
        attentions = tuple(node for node in found if node.op == "Attention")
        return attentions if len(attentions) == 1 else ()
    return found


def _module(name: str) -> str:
    """Return the module path of a node, which is the node's name without the last path component."""
    return name.rpartition("/")[0] or name


def _numbers(groups: Mapping[str, str]) -> dict[str, float]:
    return {name: float(text) for name, text in groups.items() if _NUMBER.fullmatch(text)}
