"""Tests of one verdict from several kinds of evidence."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec import Struct

from trtlint.engine.evidence.base import BlockTimes, Evidence, Question, Verdict
from trtlint.engine.evidence.judge import judge, lines_of
from trtlint.engine.subjects import Subject
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.log_message import LogMessage


class Opinion(Evidence, Struct, frozen=True):
    """Evidence with a fixed verdict."""

    verdict: Verdict | None = None
    states_fact: bool = False
    time: BlockTimes | None = None

    def states(self, _: str) -> bool:
        return self.states_fact

    def judge(self, _: Question) -> Verdict | None:
        return self.verdict

    def times(self, *_: object) -> BlockTimes | None:
        return self.time


FACTS = cast("Facts", None)
PLACE = Subject(None, "", (), {})
OF_A_FACT = Subject(None, "", (), {}, fact=Fact())
OPEN = Verdict(said=("open",))
YES = Verdict("confirmed", ("yes",), frozenset({"log:1"}), ended=True)
AGAIN = Verdict("confirmed", ("again",), frozenset({"log:2"}))
ANYWHERE = Verdict("confirmed", ("anywhere",), frozenset({"log:3"}), everywhere=True)
NO = Verdict("refuted", ("no",), frozenset({"log:4"}))
FOR = [Verdict(said=(each,), support=cast("Any", each)) for each in ("low", "high", "medium")]
AGAINST = [Verdict(said=(each,), doubt=cast("Any", each)) for each in ("high", "low", "medium")]


def judged(*verdicts: Verdict | None) -> Verdict:
    """Return the verdict on one place from evidence with these verdicts."""
    question = Question(cast("Any", None), FACTS, PLACE, cast("Any", None), holds=True)
    return judge([Opinion(verdict) for verdict in verdicts], question)


@pytest.mark.parametrize("verdict", [OPEN, YES, ANYWHERE, NO, FOR[0], AGAINST[0]])
def test_one_verdict_stays(verdict: Verdict) -> None:
    assert judged(verdict) == verdict
    assert judged(None, verdict, None) == verdict


@pytest.mark.parametrize(
    ("verdicts", "joined"),
    [
        ((), Verdict()),
        ((OPEN, YES), YES),
        ((NO, YES), YES),
        ((NO, ANYWHERE), NO),
        ((ANYWHERE, OPEN), ANYWHERE),
        ((ANYWHERE, YES), YES),
        ((ANYWHERE, NO, YES), YES),
        ((OPEN, NO), NO),
        ((YES, AGAIN), Verdict("confirmed", ("yes", "again"), frozenset({"log:1", "log:2"}), ended=True)),
        ((OPEN, Verdict(said=("other",))), Verdict(said=("open", "other"))),
        (tuple(FOR), Verdict(said=("low", "high", "medium"), support="high")),
        (tuple(AGAINST), Verdict(said=("high", "low", "medium"), doubt="low")),
        (
            (NO, FOR[2], AGAINST[2]),
            Verdict("refuted", ("no",), frozenset({"log:4"}), support="medium", doubt="medium"),
        ),
    ],
)
def test_several_verdicts(verdicts: tuple[Verdict, ...], joined: Verdict) -> None:
    assert judged(*verdicts) == joined


def test_a_place_has_three_sentences() -> None:
    assert judged(Verdict(said=tuple("aabcde"))).said == ("a", "b", "c (+2 more)")


def test_evidence_that_states_a_fact_judges_it_alone() -> None:
    evidence = [Opinion(YES), Opinion(NO, states_fact=True), Opinion(None, states_fact=True)]
    for subject, expected in ((PLACE, YES), (OF_A_FACT, NO)):
        question = Question(cast("Any", None), FACTS, subject, cast("Any", None), holds=True)
        assert judge(evidence, question) == expected


def message() -> LogMessage:
    """Return a log message with three repetitions and a cause."""
    usual: dict[str, Any] = dict.fromkeys(
        field for field in LogMessage.__struct_fields__ if field not in ("node", "chain")
    )
    own = {"at": "log:1", "message": "a", "groups": {}, "cause_at": "log:9", "cause": "d"}
    return LogMessage(**{**usual, **own, "echoes": ("log:2: b", "log:3: c", "log:4: e")})


def test_lines_of_a_finding() -> None:
    slow, fast = BlockTimes("slow", 2.0, 0.5), BlockTimes("fast", 1.0, 0.25)
    evidence = [Opinion(), Opinion()]
    about = Subject(None, "", (), {}, fact=message())
    places = [(about, Verdict(said=("yes",))), (OF_A_FACT, Verdict(said=("no", "yes")))]
    said = ("log:1: a", "log:2: b", "log:3: c", "log:9: d", "yes", "no")
    assert lines_of(evidence, places, FACTS) == (said, None)
    timed = [*evidence, Opinion(time=slow), Opinion(time=fast)]
    assert lines_of(timed, places, FACTS) == ((*said, "slow"), slow)
    many = [(about, Verdict(said=tuple("efgh")))]
    assert lines_of(timed, many, FACTS)[0] == (
        "log:1: a",
        "log:2: b",
        "log:3: c",
        "log:9: d",
        "e",
        "f (+2 more)",
        "slow",
    )
