"""Use a build as evidence: its log, the layers of its engine, and their measured times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from trtlint.buildfiles.record import BuildRecord
from trtlint.engine.evidence.base import BlockTimes, Evidence, Question, Verdict
from trtlint.engine.evidence.conditions import EvidenceCondition
from trtlint.engine.evidence.words import (
    fulfilling,
    in_percent,
    milliseconds,
    names_of,
    quoted,
    quoted_without_place,
    said_under,
    shortened,
)
from trtlint.engine.refusals import build_failed, errors_in_log, nameless_errors, success
from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.log_message import LogMessage


class BuildEvidence(Evidence, Struct, frozen=True):
    """A build of the model as evidence.

    Attributes:
        record: the contents of the build's files.
    """

    record: BuildRecord

    kind = "build"
    grounds = frozenset({"build"})

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the build."""
        return self.record.files

    def form(self, path: str) -> str:
        """Return the kind of a build file.  A file with several kinds of content is a log."""
        record = self.record
        named = {
            record.profile_name: "profile",
            record.layers_name: "layer file",
            record.plan_name: "engine",
            record.log_name: "log",
        }
        return named.get(path, "build file")

    @property
    def data(self) -> BuildRecord:
        """The contents of the build's files."""
        return self.record

    def states(self, fact: str) -> bool:
        """Return whether facts of the kind ``fact`` come from the files of a build."""
        return ground_of(fact) == "build"

    def judge(self, question: Question) -> Verdict | None:
        """Judge a finding at one node by the log, the layers and the settings of the build."""
        return None if question.facts.of_another_model else judged(question)

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:
        """Return the time of the engine layers that compute the operators of a finding.

        The time comes from the profile of the build.
        """
        layers = {id(layer): layer for subject in subjects for layer in layers_of(facts, subject)}
        timed = [
            (layer.ms, layer.share, layer.name)
            for layer in layers.values()
            if layer.ms is not None and layer.share is not None
        ]
        if not timed:
            return None
        ms = sum(ms for ms, _, _ in timed)
        share = sum(share for _, share, _ in timed)
        return BlockTimes(_time(timed, ms, share), ms, share)


def layers_of(facts: Facts, subject: Subject) -> tuple[LayerFact, ...]:
    """Return, without duplicates, the engine layers that compute the operators of a fact or match."""
    if isinstance(subject.fact, LayerFact):
        return (subject.fact,)
    known = facts.node_evidence.layers
    found = (layer for node in subject.nodes for layer in known.get(node, ()))
    return tuple({id(layer): layer for layer in found}.values())


def judged(question: Question) -> Verdict:
    """Judge a finding at one node by a real build or a dry build."""
    facts, conditions = question.facts, question.rule.verdict
    if question.subject.refusal is not None:
        return _judged_refusal(question)
    for standing, asked in conditions.sides:
        found = tuple(statements(asked, question))
        if found:
            return Verdict(standing, *said_and_cited(found))
    anywhere = tuple(_anywhere(conditions.confirm, facts))
    if anywhere:
        return Verdict("confirmed", *said_and_cited(anywhere), everywhere=True)
    return Verdict(said=tuple(_without_place(conditions.confirm, facts)))


def _judged_refusal(question: Question) -> Verdict:
    """Judge a finding that predicts an error of the parser or builder; see :mod:`trtlint.engine.refusals`."""
    facts, subject, confirm = question.facts, question.subject, question.rule.verdict.confirm
    assert subject.refusal is not None
    errors = errors_in_log(facts, subject, holds=question.holds)
    found = [*((quoted(error), error.at) for error in errors), *statements(confirm, question)]
    if found:
        ended = build_failed(facts) and any(not error.overcome for error in errors)
        return Verdict("confirmed", *said_and_cited(found), ended=ended)
    passed = success(facts, subject.refusal)
    if passed:
        return Verdict("refuted", (passed,))
    nameless = (quoted_without_place(message) for message in nameless_errors(facts, subject.refusal))
    return Verdict(said=(*nameless, *_without_place(confirm, facts)))


def said_and_cited(found: Collection[tuple[str, str]]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Split the pairs of :func:`statements`: return all sentences, and ``file:line`` of all messages."""
    return tuple(said for said, _ in found), frozenset(at for _, at in found if at)


def statements(conditions: Iterable[EvidenceCondition], question: Question) -> Iterator[tuple[str, str]]:
    """Yield a sentence for each message, layer or build setting that meets one of the conditions.

    Each result is a pair of a sentence and the ``file:line`` of a log message.  The second text is empty for
    a sentence about a layer or the build.
    """
    subject, target = question.subject, question.target
    for condition in conditions:
        if condition.kind == "log":
            for message in _messages(question.facts, subject, condition.messages):
                names = names_of(message, subject, target)
                if condition.where is None or condition.where.truth(names) is True:
                    yield said_under(condition, names, quoted(message)), message.at
        elif condition.kind == "build":
            yield from ((said, "") for said in fulfilling(condition, question.facts.of("build"), question))
        elif condition.kind in ("layer", "layers"):
            layers = layers_of(question.facts, subject)
            yield from ((said, "") for said in fulfilling(condition, layers, question))


def _messages(facts: Facts, subject: Subject, names: frozenset[str]) -> Iterator[LogMessage]:
    known = facts.node_evidence.messages
    seen: set[int] = set()
    for node in subject.nodes:
        for message in known.get(node, ()):
            if message.name in names and message.line not in seen:
                seen.add(message.line)
                yield message


def _anywhere(conditions: Iterable[EvidenceCondition], facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield the messages that confirm the finding at every node.

    These messages name no node, and match a condition with the key ``anywhere``. The function yields nothing
    if the log also has a message that matches such a condition and names a node.
    """
    names = {name for condition in conditions if condition.anywhere for name in condition.messages}
    messages = (message for message in facts.of("log_message") if isinstance(message, LogMessage))
    if any(message.named and message.name in names for message in messages):
        return
    for message in facts.node_evidence.nameless:
        if message.name in names:
            yield quoted_without_place(message), message.at


def _without_place(conditions: Iterable[EvidenceCondition], facts: Facts) -> Iterator[str]:
    """Yield quotes of messages that match a condition but confirm nothing, because they name no node."""
    names = {name for condition in conditions for name in condition.messages}
    for message in facts.node_evidence.nameless:
        if message.name in names and message.first:
            yield quoted_without_place(message)


def _time(timed: Sequence[tuple[float, float, str]], ms: float, share: float) -> str:
    """Return the time of engine layers in words, such as ``layer conv1: 18 % of 4.1 ms``.

    For several layers, the text has their number and the name of the slowest layer.

    Args:
        timed: for each layer, its time in milliseconds, its share of the total time, and its name.
        ms: time of all layers in ``timed``, in milliseconds.
        share: share of these layers in the total time, 0 to 1.
    """
    total = f"{in_percent(share)} of {milliseconds(ms / share)}" if share else milliseconds(ms)
    _, _, slowest = max(timed, key=lambda layer: layer[0])
    if len(timed) == 1:
        return f"layer {shortened(slowest)}: {total}"
    return f"{len(timed)} layers take {total}; the slowest layer is {shortened(slowest)}"
