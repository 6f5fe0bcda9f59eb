"""Tests of the JSON report and its schema."""

from __future__ import annotations

import json

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from tests import schemas
from tests.report import handmade
from trtlint.engine.finding import Report
from trtlint.report import json as json_report
from trtlint.report.json import dumps, to_json

REPORTS = [
    Report(),
    handmade.one_model(),
    handmade.several_targets(),
    handmade.hostile(),
    Report((handmade.unreadable(), handmade.clean_model())),
]


@pytest.mark.parametrize("report", REPORTS)
def test_reports_follow_the_schema(report: Report) -> None:
    jsonschema.validate(json.loads(dumps(report)), schemas.load("trtlint.report/1"))


def test_places_of_a_model_are_bounded_over_all_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = handmade.several_targets().models[:2]
    sites = [len(finding.sites) for model in (few, many) for finding in model.findings]
    assert sum(sites) > len(sites) > 1
    monkeypatch.setattr(json_report, "_MOST_SITES", len(sites))
    document = json.loads(dumps(Report((few, many))))
    jsonschema.validate(document, schemas.load("trtlint.report/1"))
    found = [finding for model in document["models"] for finding in model["findings"]]
    assert [len(finding["sites"]) for finding in found] == [1] * len(sites)
    assert sum(len(finding["sites"]) + finding.get("more_sites", 0) for finding in found) == sum(sites)


def test_schema_refuses_other_documents() -> None:
    for change in ({"schema": "trtlint.report/2"}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**to_json(handmade.one_model()), **change}, schemas.load("trtlint.report/1"))


def test_document(snapshot: SnapshotAssertion) -> None:
    assert dumps(handmade.one_model()) == snapshot


def test_order_does_not_depend_on_the_order_of_findings() -> None:
    (model,) = handmade.one_model().models
    turned = type(model)(
        model.path, model.target, model.findings[::-1], model.conditional[::-1], notes=model.notes
    )
    assert dumps(Report((turned,))) == dumps(handmade.one_model())


def test_document_is_ascii() -> None:
    assert all(dumps(report).isascii() for report in REPORTS)
