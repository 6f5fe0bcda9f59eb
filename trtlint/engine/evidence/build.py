"""Use a build as evidence: its log, the layers of its engine, and their measured times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from trtlint.buildfiles.record import BuildRecord
from trtlint.engine.evidence.base import BlockTimes, Evidence, Question, Verdict
from trtlint.engine.evidence.conditions import EvidenceCondition
from trtlint.engine.evidence.words import (
    in_percent,
    layer_in_words,
    milliseconds,
    names_of,
    quoted,
    quoted_without_place,
    said_under,
    shortened,
)
from trtlint.engine.finding import Standing
from trtlint.engine.refusals import build_failed, errors_in_log, nameless_errors, success
from trtlint.engine.subjects import Subject
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.language.expression import Expression

_ECHOES = 2
"""Largest number of cited log lines that repeat a failure."""
_ASKED = frozenset({"layer", "layers", "build"})
"""Kinds of conditions that are about facts of a build. Conditions on log messages are handled separately."""


class BuildEvidence(Evidence, Struct, frozen=True):
    """A build of the model as evidence.

    Attributes:
        record: the contents of the build's files.
    """

    record: BuildRecord

    kind = "build"
    grounds = frozenset({"build"})
    settles_targets = True

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

    def citations(self, subject: Subject) -> Iterable[str]:
        """Return the log message that a finding is about, as ``file:line: text``."""
        return cited_message(subject)

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
    facts, conditions = question.facts, question.rule.witness
    if question.subject.refusal is not None:
        return _judged_refusal(question)
    sides: tuple[tuple[Standing, tuple[EvidenceCondition, ...]], ...] = (
        ("confirmed", conditions.confirm),
        ("refuted", conditions.refute),
    )
    for standing, asked in sides:
        found = tuple(statements(asked, question))
        if found:
            return Verdict(standing, tuple(said for said, _ in found), _places(found))
    anywhere = tuple(_anywhere(conditions.confirm, facts))
    if anywhere:
        words = tuple(said for said, _ in anywhere)
        return Verdict("confirmed", words, _places(anywhere), everywhere=True)
    return Verdict(said=tuple(_without_place(conditions.confirm, facts)))


def _judged_refusal(question: Question) -> Verdict:
    """Judge a finding that predicts an error of the parser or builder; see :mod:`trtlint.engine.refusals`."""
    facts, subject, confirm = question.facts, question.subject, question.rule.witness.confirm
    assert subject.refusal is not None
    found = [*quotations(question)]
    errors = errors_in_log(facts, subject, holds=question.holds)
    ended = build_failed(facts) and any(not error.overcome for error in errors)
    found += ((at, words) for words, at in statements(confirm, question))
    if found:
        places = frozenset(at for at, _ in found if at)
        return Verdict("confirmed", tuple(words for _, words in found), places, ended=ended)
    passed = success(facts, subject.refusal)
    if passed:
        return Verdict("refuted", (passed,))
    nameless = (quoted_without_place(message) for message in nameless_errors(facts, subject.refusal))
    return Verdict(said=(*nameless, *_without_place(confirm, facts)))


def _places(found: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the second text of each pair.

    The first text of a pair is a sentence. The second text is the ``file:line`` of the log message that the
    sentence is about, or empty if the sentence is not about a log message. Empty texts are left out.
    """
    return frozenset(at for _, at in found if at)


def quotations(question: Question) -> Iterator[tuple[str, str]]:
    """Yield the ``file:line`` of each error about the refused nodes, and a sentence that quotes the error."""
    for message in errors_in_log(question.facts, question.subject, holds=question.holds):
        yield message.at, quoted(message)


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
        elif condition.kind in _ASKED and condition.where is not None:
            for said in _fulfilling(condition, condition.where, question):
                yield said, ""


def _fulfilling(condition: EvidenceCondition, where: Expression, question: Question) -> Iterator[str]:
    facts, subject = question.facts, question.subject
    candidates: tuple[Fact, ...] = layers_of(facts, subject)
    if condition.kind == "build":
        candidates = facts.of("build")
    asked = [(fact, names_of(fact, subject, question.target)) for fact in candidates]
    truths = [where.truth(names) for _, names in asked]
    if condition.kind == "layers" and any(truth is False for truth in truths):
        return
    for (fact, names), truth in zip(asked, truths, strict=True):
        if truth is True:
            own = layer_in_words(fact) if isinstance(fact, LayerFact) else fact.place
            yield said_under(condition, names, own)


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

    These messages name no node, and match a condition with ``anywhere``. The function yields nothing if such
    a condition also matches a message that names a node.
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


def cited_message(subject: Subject) -> Iterator[str]:
    """Yield the log message that a finding is about, then its repetitions, then its cause.

    Each line begins with ``file:line``.
    """
    if isinstance(subject.fact, LogMessage):
        yield quoted(subject.fact)
        yield from map(shortened, subject.fact.echoes[:_ECHOES])
        if subject.fact.cause_at is not None:
            yield f"{subject.fact.cause_at}: {shortened(subject.fact.cause or '')}"


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
