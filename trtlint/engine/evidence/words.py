"""Format evidence as sentences in reports, and limit the number and length of the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trtlint.engine.evidence.base import Question
from trtlint.engine.evidence.conditions import EvidenceCondition
from trtlint.engine.scope import field_names
from trtlint.engine.subjects import Subject
from trtlint.facts.base import Fact
from trtlint.facts.figures import figure
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.target.target import Target

_COMMON = frozenset({"model", "build", "constants"})
_SHORT = 160
"""Largest length of a message or a layer's name in a finding, in characters."""
_ECHOES = 2
"""Largest number of log lines that a finding cites as repetitions of the same failure."""
CITED = 3
"""Largest number of sentences about one node."""
CITED_IN_ALL = 6
"""Largest number of sentences for one finding."""


def said_under(condition: EvidenceCondition, names: Mapping[str, object], own: str) -> str:
    """Return the sentence that a report shows if a condition is true.

    The sentence is the text ``own``, such as a quoted message.  If the condition has a ``because``, its text
    follows.
    """
    return own if condition.because is None else f"{own}: {condition.because.fill(names)}"


def fulfilling(condition: EvidenceCondition, facts: Sequence[Fact], question: Question) -> Iterator[str]:
    """Yield a sentence for each layer, range or build for which a condition is true.

    A condition of the kind ``layers`` or ``ranges`` is about all of ``facts``: if it is false for one fact,
    there is no sentence. For ``ranges``, only the first fact can give a sentence.
    """
    if condition.where is None:
        return
    names = [names_of(fact, question.subject, question.target) for fact in facts]
    truths = [condition.where.truth(each) for each in names]
    if condition.kind in ("layers", "ranges") and any(truth is False for truth in truths):
        return
    answers = list(zip(facts, names, truths, strict=True))
    for fact, own, truth in answers[:1] if condition.kind == "ranges" else answers:
        if truth is True:
            place = layer_in_words(fact) if isinstance(fact, LayerFact) else fact.place
            yield said_under(condition, own, place)


def names_of(fact: Fact, subject: Subject, target: Target) -> dict[str, object]:
    """Return the names that a condition on a fact can use, with their values.

    Some names are fields of the fact.  The others are ``target``, and the subject's ``model``, ``build`` and
    ``constants``.
    """
    common = {name: value for name, value in subject.values.items() if name in _COMMON}
    own = {name: getattr(fact, name) for name in field_names(fact.kind)}
    return {**common, **own, "target": target}


def quoted(message: LogMessage) -> str:
    """Quote a message in one line, with file and line number.

    The lines of the message are joined, because the reason is often on the second line.  If a message is long
    and the reason is on a later line, only the sentence with the reason is quoted.
    """
    text = " ".join(message.message.split())
    late = len(text) > _SHORT and "\n" in message.message and "why" in message.groups
    return f"{message.at}: {shortened(message.reason if late else text)}"


def cited_message(subject: Subject) -> Iterator[str]:
    """Yield the log message that a finding is about, then its repetitions, then its cause.

    Each line begins with ``file:line``.  A finding that is not about a log message gives no lines.
    """
    if isinstance(subject.fact, LogMessage):
        yield quoted(subject.fact)
        yield from map(shortened, subject.fact.echoes[:_ECHOES])
        if subject.fact.cause_at is not None:
            yield f"{subject.fact.cause_at}: {shortened(subject.fact.cause or '')}"


def quoted_without_place(message: LogMessage) -> str:
    """Quote a message, with a remark that it does not name a node."""
    return f"{quoted(message)} (the log does not name the nodes of this message)"


def bounded(words: Iterable[str], most: int) -> tuple[str, ...]:
    """Return at most ``most`` sentences, without duplicates.

    If sentences are left out, the last sentence ends with their number: ``(+3 more)``.
    """
    found = tuple(dict.fromkeys(words))
    if len(found) <= most:
        return found
    return (*found[: most - 1], f"{found[most - 1]} (+{len(found) - most} more)")


def layer_in_words(layer: LayerFact) -> str:
    """Describe a layer: name, type and share of the total time."""
    parts = [f"layer {shortened(layer.name)}"]
    if layer.precision:
        parts.append(f" ({layer.precision})")
    if layer.ms is not None and layer.share is not None:
        parts.append(f", {in_percent(layer.share)} ({milliseconds(layer.ms)})")
    return "".join(parts)


def shortened(text: str) -> str:
    """Shorten a text that is too long for a line of a report."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def in_percent(share: float) -> str:
    """Format a share of the total time, 0 to 1, as percent."""
    return f"{share * 100:.0f} %" if share >= 0.095 else f"{share * 100:.1f} %"


def milliseconds(ms: float) -> str:
    """Format a time in milliseconds."""
    return f"{figure(ms)} ms"
