"""What a build says of the places that a rule's findings are at: see :mod:`trtlint.engine.witness`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trtlint.engine.finding import Standing
from trtlint.engine.rangetestimony import ranges_of
from trtlint.engine.refusals import build_failed, errors_in_log, nameless_errors, success
from trtlint.engine.scope import field_names
from trtlint.engine.subjects import Subject
from trtlint.engine.witness import Shown, Verdict, Witness, Witnesses
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.facts.figures import figure
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.language.expression import Expression
from trtlint.target.target import Target

_COMMON = frozenset({"model", "build", "constants"})
_SHORT = 160
"""Characters of a message or a layer's name in a finding."""
_CITED = 3
"""Messages and layers cited at one place."""
_CITED_IN_ALL = 6
"""What the build says that one finding cites."""


def layers_of(facts: Facts, subject: Subject) -> tuple[LayerFact, ...]:
    """The layers of the engine that compute the block of a subject, without repeats."""
    if isinstance(subject.fact, LayerFact):
        return (subject.fact,)
    known = facts.said.layers
    found = (layer for node in subject.nodes for layer in known.get(node, ()))
    return tuple({id(layer): layer for layer in found}.values())


def judge(
    witnesses: Witnesses, facts: Facts, subject: Subject, target: Target, *, holds: bool = True
) -> Verdict:
    """What the build says of one place; what confirms weighs more than what refutes."""
    if not facts.witnessed or (facts.record is not None and facts.of_another_model):
        return Verdict()
    if subject.refusal is not None:
        return _judge_refusal(witnesses, facts, subject, target, holds=holds)
    standings: tuple[tuple[Standing, tuple[Witness, ...]], ...] = (
        ("confirmed", witnesses.confirm),
        ("refuted", witnesses.refute),
    )
    for standing, asked in standings:
        found = tuple(testimony(asked, facts, subject, target))
        if found:
            return Verdict(standing, cited(said for said, _ in found), frozenset(at for _, at in found))
    anywhere = tuple(_anywhere(witnesses.confirm, facts))
    if anywhere:
        return Verdict(
            "confirmed", cited(words for words, _ in anywhere), frozenset(at for _, at in anywhere)
        )
    return Verdict("open", cited(_unplaced(witnesses.confirm, facts)))


def _judge_refusal(
    witnesses: Witnesses, facts: Facts, subject: Subject, target: Target, *, holds: bool
) -> Verdict:
    """Judge a finding that predicts a refusal: see :mod:`trtlint.engine.refusals`."""
    assert subject.refusal is not None
    found = [*quotations(facts, subject, holds=holds)]
    errors = errors_in_log(facts, subject, holds=holds)
    ended = build_failed(facts) and any(not error.overcome for error in errors)
    found += ((at, words) for words, at in testimony(witnesses.confirm, facts, subject, target))
    if found:
        places = frozenset(at for at, _ in found)
        return Verdict("confirmed", cited(words for _, words in found), places, ended=ended)
    passed = success(facts, subject.refusal)
    if passed:
        return Verdict("refuted", (passed,))
    unplaced = (_unplaced_words(message) for message in nameless_errors(facts, subject.refusal))
    return Verdict("open", cited((*unplaced, *_unplaced(witnesses.confirm, facts))))


def quotations(facts: Facts, subject: Subject, *, holds: bool) -> Iterator[tuple[str, str]]:
    """Yield file and line of each error of the log at the refused nodes, and the error with both."""
    for message in errors_in_log(facts, subject, holds=holds):
        yield message.at, _quoted(message)


def testimony(
    witnesses: Iterable[Witness], facts: Facts, subject: Subject, target: Target
) -> Iterator[tuple[str, str]]:
    """What the witnesses say, each with the file and line of the message, empty for others."""
    for witness in witnesses:
        if witness.kind == "log":
            for message in _messages(facts, subject, witness.messages):
                names = _names(message, subject, target)
                if witness.where is None or witness.where.truth(names) is True:
                    yield _said(witness, names, _quoted(message)), message.at
        elif witness.where is not None:
            for said in _holding(witness, witness.where, facts, subject, target):
                yield said, ""


def _holding(
    witness: Witness, where: Expression, facts: Facts, subject: Subject, target: Target
) -> Iterator[str]:
    candidates = _candidates(witness, facts, subject)
    asked = [(fact, _names(fact, subject, target)) for fact in candidates]
    truths = [where.truth(names) for _, names in asked]
    if witness.kind in ("layers", "ranges") and any(truth is False for truth in truths):
        return
    answers = list(zip(asked, truths, strict=True))
    for (fact, names), truth in answers[:1] if witness.kind == "ranges" else answers:
        if truth is True:
            own = layer_in_words(fact) if isinstance(fact, LayerFact) else fact.place
            yield _said(witness, names, own)


def _candidates(witness: Witness, facts: Facts, subject: Subject) -> tuple[Fact, ...]:
    """The facts that a witness asks about a place; the widest of its ranges comes first."""
    if witness.kind == "build":
        return facts.of("build")
    if witness.kind in ("range", "ranges"):
        return ranges_of(facts, subject)
    return layers_of(facts, subject)


def _said(witness: Witness, names: Mapping[str, object], own: str) -> str:
    return own if witness.because is None else f"{own}: {witness.because.fill(names)}"


def _names(fact: Fact, subject: Subject, target: Target) -> dict[str, object]:
    common = {name: value for name, value in subject.values.items() if name in _COMMON}
    own = {name: getattr(fact, name) for name in field_names(fact.kind)}
    return {**common, **own, "target": target}


def _messages(facts: Facts, subject: Subject, names: frozenset[str]) -> Iterator[LogMessage]:
    known = facts.said.messages
    seen: set[int] = set()
    for node in subject.nodes:
        for message in known.get(node, ()):
            if message.name in names and message.line not in seen:
                seen.add(message.line)
                yield message


def _anywhere(witnesses: Iterable[Witness], facts: Facts) -> Iterator[tuple[str, str]]:
    """Messages that are about every place, as the log names none, each with file and line."""
    names = {name for witness in witnesses if witness.anywhere for name in witness.messages}
    if any(message.named and message.name in names for message in _all_messages(facts)):
        return
    for message in facts.said.nameless:
        if message.name in names:
            yield _unplaced_words(message), message.at


def _all_messages(facts: Facts) -> Iterator[LogMessage]:
    return (message for message in facts.of("log_message") if isinstance(message, LogMessage))


def _unplaced(witnesses: Iterable[Witness], facts: Facts) -> Iterator[str]:
    """Messages that would confirm, had the log said of which nodes they are."""
    names = {name for witness in witnesses for name in witness.messages}
    for message in facts.said.nameless:
        if message.name in names and message.first:
            yield _unplaced_words(message)


def _unplaced_words(message: LogMessage) -> str:
    return f"{_quoted(message)} (this log does not say of which nodes)"


def shown(places: Sequence[tuple[Subject, Verdict]], facts: Facts) -> Shown:
    """What the build says of the places of one finding, and the measured time of their blocks."""
    words = (words for subject, verdict in places for words in (*_citation(subject), *verdict.said))
    said = bounded(words, _CITED_IN_ALL)
    layers = {id(layer): layer for subject, _ in places for layer in layers_of(facts, subject)}
    timed = [layer for layer in layers.values() if layer.ms is not None and layer.share is not None]
    if not timed:
        return Shown(said)
    ms = sum(layer.ms or 0.0 for layer in timed)
    share = sum(layer.share or 0.0 for layer in timed)
    return Shown((*said, _time(timed, ms, share)), ms, share)


def _time(timed: Sequence[LayerFact], ms: float, share: float) -> str:
    """``layer conv1: 18 % of 4.1 ms``; of several layers, how many and the slowest."""
    total = f"{in_percent(share)} of {milliseconds(ms / share)}" if share else milliseconds(ms)
    slowest = max(timed, key=lambda layer: layer.ms or 0.0)
    if len(timed) == 1:
        return f"layer {shortened(slowest.name)}: {total}"
    return f"{len(timed)} layers: {total}, most of it in {shortened(slowest.name)}"


def _citation(subject: Subject) -> Iterator[str]:
    """Where a build says what a fact of it states: file, line and message."""
    if isinstance(subject.fact, LogMessage):
        yield _quoted(subject.fact)
        if subject.fact.cause_at is not None:
            yield f"{subject.fact.cause_at}: {shortened(subject.fact.cause or '')}"


def cited(words: Iterable[str]) -> tuple[str, ...]:
    """As many sentences as are cited at one place."""
    return bounded(words, _CITED)


def _quoted(message: LogMessage) -> str:
    """A message with file and line, its own lines joined: the reason is often on the second.

    Of a long one whose reason is on a later line, the sentence with the reason is quoted.
    """
    text = " ".join(message.message.split())
    late = len(text) > _SHORT and "\n" in message.message and "why" in message.groups
    return f"{message.at}: {shortened(message.reason if late else text)}"


def bounded(words: Iterable[str], most: int) -> tuple[str, ...]:
    """The first few of some sentences without repeats; the last of them says how many were left out."""
    found = tuple(dict.fromkeys(words))
    if len(found) <= most:
        return found
    return (*found[: most - 1], f"{found[most - 1]} (+{len(found) - most} more)")


def layer_in_words(layer: LayerFact) -> str:
    """A layer as a finding cites it: its name, type and share of the time."""
    parts = [f"layer {shortened(layer.name)}"]
    if layer.precision:
        parts.append(f" ({layer.precision})")
    if layer.ms is not None and layer.share is not None:
        parts.append(f", {in_percent(layer.share)} ({milliseconds(layer.ms)})")
    return "".join(parts)


def shortened(text: str) -> str:
    """A text cut where it is too long for a line."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def in_percent(share: float) -> str:
    """A share of the time in words."""
    return f"{share * 100:.0f} %" if share >= 0.095 else f"{share * 100:.1f} %"


def milliseconds(ms: float) -> str:
    """A time in words."""
    return f"{figure(ms)} ms"
