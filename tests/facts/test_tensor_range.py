"""Tests of measured tensors as facts: confirmed and refuted findings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.graphs import model_of
from tests.measurement.test_measuring import NORM
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import Finding
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.measurement.chosen import ChoiceShares
from trtlint.measurement.measuredtext import MeasuredTextError, measurement_of_text
from trtlint.target.target import Target

MODEL = model_of(NORM)
FP16 = Target(version="10.7", asked=frozenset({"fp16"}))


def facts_of(text: str) -> Facts:
    return Facts(MODEL, evidence=[RangeEvidence(measurement_of_text(text, MODEL))])


def findings(text: str) -> dict[str, Finding]:
    report = evaluate(load_builtin(), facts_of(text), FP16)
    return {finding.rule: finding for finding in report.findings}


def test_a_tensor_has_what_was_measured_and_what_its_node_reads() -> None:
    found = facts_of("d -312 300\nsquare 0 97344 origin\nvariance 0 900 sum=57600\nharm").of("tensor_range")
    _, square, variance = (fact for fact in found if isinstance(fact, TensorRange))
    assert (square.op, square.fits, square.origin, square.words) == ("Pow", "overflow", True, "97,344")
    assert (square.operands, square.harm, square.origins) == (312.0, True, 1)
    assert (variance.inside, variance.greatest, variance.operands) == ("sum", 57600.0, 97344.0)


def test_there_are_none_where_nothing_was_measured() -> None:
    assert Facts(MODEL).of("tensor_range") == ()
    assert "trial" not in Facts(MODEL).grounds


def test_an_overflow_confirms_what_was_found_in_the_graph() -> None:
    found = findings("d -312 300\nsquare 0 97344 origin\nharm")["ACC101"]
    assert (found.standing, found.confidence, found.severity) == ("confirmed", "confirmed", "warning")
    assert "the largest square is 97,344 (1 batch of batch.npz); the limit of FP16 is 65,504" in found.said[0]


@pytest.mark.slow
def test_ranges_within_refute_it() -> None:
    found = findings("d -30 34\nsquare 0 1156\nvariance 0 90\nshifted 0 90\nroot 0 9.5\ny -3 3\nharmless")[
        "ACC101"
    ]
    assert (found.standing, found.severity) == ("refuted", "note")
    assert (
        "values in the norm reach at most 1,156 on 1 batch of batch.npz; the limit of FP16 is 65,504"
        in found.said[0]
    )


def test_made_up_inputs_refute_nothing() -> None:
    assert findings("d -30 34\nsquare 0 1156\nmade up")["ACC101"].standing == "open"


def test_harm_is_in_the_severity() -> None:
    for words, severity in (("harm", "error"), ("harmless", "note"), ("", "warning")):
        assert findings(f"square 0 97344 origin\n{words}")["NUM102"].severity == severity


@pytest.mark.parametrize("text", ["nothing 0 1", "square", "square 0", "square a b"])
def test_a_text_that_is_no_measurement_is_refused(text: str) -> None:
    with pytest.raises(MeasuredTextError):
        measurement_of_text(text, model_of(NORM))


def test_harm_is_unknown_if_nothing_was_compared() -> None:
    found = replace(measurement_of_text("square 0 97344 origin\nharmless", MODEL), outputs=())
    facts = Facts(MODEL, evidence=[RangeEvidence(found)]).of("tensor_range")
    assert [fact.harm for fact in facts if isinstance(fact, TensorRange)] == [None]


@pytest.mark.parametrize(
    ("words", "positions", "harm"), [("harmless", 1, False), ("harmless", 0.5, None), ("harm", 0.5, True)]
)
def test_harm_is_unknown_if_a_choice_changes(words: str, positions: float, harm: bool | None) -> None:
    measured = measurement_of_text(f"square 0 97344 origin\n{words}", MODEL)
    found = replace(measured, choices=(ChoiceShares("top", 1, positions),))
    facts = Facts(MODEL, evidence=[RangeEvidence(found)]).of("tensor_range")
    assert [fact.harm for fact in facts if isinstance(fact, TensorRange)] == [harm]
