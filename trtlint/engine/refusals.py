"""Find evidence about refusals: findings that predict an error of the parser or builder.

Such a finding has a :class:`~trtlint.facts.refusal.Refusal`. An error at the node confirms the finding. The
finding is refuted only if the parser or builder succeeds. All rules share this logic, so rule files do not
repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.build import BuildFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.facts.of_trial.parser_refusal import ParserRefusal
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node

_OF_PARSER = frozenset({"parser_error", "parser_bare", "plugin_not_found", "type_error"})
"""Names of the messages in which the parser refuses nodes.

ONNX Runtime logs the same messages, but then lets TensorRT build the model without the refused nodes.
"""


def nodes_of(subject: Subject) -> frozenset[Node]:
    """Return the nodes that the parser or builder refuses according to a finding.

    These are the node of the finding, and all nodes with the same role in the fact or match.
    """
    if subject.node is None:
        return frozenset()
    roles = {step.role for step in subject.chain if step.node is subject.node}
    return frozenset((subject.node, *(step.node for step in subject.chain if step.role in roles)))


def errors_in_log(facts: Facts, subject: Subject, *, holds: bool) -> tuple[LogMessage, ...]:
    """Return the log errors about the refused nodes, in the order of the log.

    If ``holds`` is false, the finding depends on unset options.  In this case, an error of the parser counts
    only if the finding predicts an error of the parser.  An error of the builder never counts in this case,
    because the error can have another reason.
    """
    found: dict[int, LogMessage] = {}
    parse = subject.refusal is not None and subject.refusal.stage == "parse"
    for node in nodes_of(subject):
        for message in facts.node_evidence.messages.get(node, ()):
            of_parser = message.name in _OF_PARSER
            counts = (of_parser and (holds or parse)) or (holds and not message.overcome)
            if counts and message.is_reason and not message.of_island:
                found.setdefault(message.line, message)
    return tuple(found[line] for line in sorted(found))


def errors_of_parser(
    facts: Facts, subject: Subject, refusal: Refusal, *, holds: bool
) -> tuple[ParserRefusal, ...]:
    """Return the errors that NVIDIA's parser reports about refused nodes in a dry build."""
    nodes = nodes_of(subject) if holds or refusal.stage == "parse" else frozenset()
    return tuple(
        error
        for error in facts.of("parser_refusal")
        if isinstance(error, ParserRefusal) and error.node in nodes
    )


def nameless_errors(facts: Facts, refusal: Refusal) -> Iterator[LogMessage]:
    """Yield parser errors in the log that name no node. Of equal errors, only the first is returned."""
    if refusal.stage == "parse":
        for message in facts.node_evidence.nameless:
            if message.name in _OF_PARSER and message.first:
                yield message


def success(facts: Facts, refusal: Refusal) -> str:
    """Return a sentence about the success of the parser or builder.

    A success refutes a predicted refusal.  The result is an empty string if neither succeeded.
    """
    for build in facts.of("build"):
        if isinstance(build, BuildFact):
            if refusal.stage == "parse" and build.parsed is True:
                return "the parser accepted the whole network"
            if "engine_time" in build.counts and build.parsed is not False:
                return "the engine was built"
    return ""


def build_failed(facts: Facts) -> bool:
    """Return whether a real build of the model failed, according to its files."""
    if facts.dry is not None:
        return False
    return any(isinstance(build, BuildFact) and build.status == "failed" for build in facts.of("build"))


def why_failed(messages: Iterable[Subject]) -> Subject | None:
    """Return the log message that best explains why a build failed, or None if there is no such message."""
    found = [subject for subject in messages if isinstance(subject.fact, LogMessage)]
    return min(found, key=_distance, default=None)


def _distance(subject: Subject) -> tuple[bool, bool, bool]:
    """Return a sort key for log messages that puts the likeliest cause of a failure first."""
    message = subject.fact
    assert isinstance(message, LogMessage)
    error = message.severity in ("error", "fatal", None)
    return not message.leads, not message.stops, message.overcome or not error
