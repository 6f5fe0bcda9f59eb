"""Combine all evidence about a finding into one verdict, and into the lines of a report."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from trtlint.engine.evidence.base import BlockTimes, Evidence, Question, Verdict
from trtlint.engine.evidence.words import CITED, CITED_IN_ALL, bounded, cited_message
from trtlint.engine.finding import CONFIDENCES
from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts


def judge(evidence: Sequence[Evidence], question: Question) -> Verdict:
    """Judge a finding at one node by all evidence.  A confirmation takes precedence over a refutation.

    Some facts, such as log messages, come from a piece of evidence.  A finding about such a fact is judged
    only by this piece of evidence.
    """
    fact = question.subject.fact
    own = () if fact is None else tuple(each for each in evidence if each.states(fact.kind))
    found = [verdict for each in own or evidence if (verdict := each.judge(question)) is not None]
    joined = _joined(found)
    return replace(joined, said=bounded(joined.said, CITED))


def _joined(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of several pieces of evidence about the same finding at one node."""
    sides = (
        [each for each in verdicts if each.standing == "confirmed" and not each.everywhere],
        [each for each in verdicts if each.standing == "refuted"],
        [each for each in verdicts if each.standing == "confirmed"],
    )
    heard = next((side for side in sides if side), verdicts)
    supports = [each.support for each in verdicts if each.support is not None]
    doubts = [each.doubt for each in verdicts if each.doubt is not None]
    return Verdict(
        standing=heard[0].standing if heard else "open",
        said=tuple(words for each in heard for words in each.said),
        cited=frozenset().union(*(each.cited for each in heard)),
        support=min(supports, key=CONFIDENCES.index, default=None),
        doubt=max(doubts, key=CONFIDENCES.index, default=None),
        ended=any(each.ended for each in heard),
        everywhere=bool(heard) and all(each.everywhere for each in heard),
    )


def lines_of(
    evidence: Sequence[Evidence], places: Sequence[tuple[Subject, Verdict]], facts: Facts
) -> tuple[tuple[str, ...], BlockTimes | None]:
    """Return the lines that evidence adds to a finding, and the measured time of the finding's operators."""
    words = (line for subject, verdict in places for line in (*cited_message(subject), *verdict.said))
    said = bounded(words, CITED_IN_ALL)
    subjects = [subject for subject, _ in places]
    times = next((found for each in evidence if (found := each.times(subjects, facts)) is not None), None)
    return said if times is None else (*said, times.words), times
