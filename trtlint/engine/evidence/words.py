"""Sentences of evidence, and how many of them a report shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
"""Characters of a message or a layer's name in a finding."""
CITED = 3
"""Sentences that a report shows for one place."""
CITED_IN_ALL = 6
"""Sentences that a report shows for one finding."""


def said_under(condition: EvidenceCondition, names: Mapping[str, object], own: str) -> str:
    """The sentence for what fulfils a condition: its own words, and the reason that the rule gives."""
    return own if condition.because is None else f"{own}: {condition.because.fill(names)}"


def names_of(fact: Fact, subject: Subject, target: Target) -> dict[str, object]:
    """The names that a condition on a fact can use, with their values at a place."""
    common = {name: value for name, value in subject.values.items() if name in _COMMON}
    own = {name: getattr(fact, name) for name in field_names(fact.kind)}
    return {**common, **own, "target": target}


def quoted(message: LogMessage) -> str:
    """A message with file and line, its own lines joined: the reason is often on the second.

    Of a long one whose reason is on a later line, the sentence with the reason is quoted.
    """
    text = " ".join(message.message.split())
    late = len(text) > _SHORT and "\n" in message.message and "why" in message.groups
    return f"{message.at}: {shortened(message.reason if late else text)}"


def quoted_without_place(message: LogMessage) -> str:
    """A message of a log that does not name its nodes."""
    return f"{quoted(message)} (this log does not say of which nodes)"


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
