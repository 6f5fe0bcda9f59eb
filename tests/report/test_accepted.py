"""Tests that hidden findings are still counted."""

from __future__ import annotations

from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import StaleBaselineEntry, Suppression
from trtlint.report.counts import HiddenFindings, gone_notes

BY_TEAM = Suppression("configuration", "trtlint.toml: suppress[0]", "measured")
BY_MODEL = Suppression("model", "vit.onnx", "measured")
KNOWN = Suppression("baseline", "baseline.json")


def test_findings_are_counted_once_for_all_targets_and_by_why_they_are_accepted() -> None:
    suppressed = tuple(
        replace(finding, suppression=why)
        for finding, why in (
            (handmade.SCALE, BY_TEAM),
            (handmade.SCALE, BY_MODEL),
            (handmade.CLIP, KNOWN),
            (replace(handmade.CLIP, sites=()), KNOWN),
        )
    )
    model = replace(handmade.clean_model(), suppressed=suppressed, withheld=2)
    accepted = HiddenFindings()
    accepted.add([model, replace(model, target="TensorRT 10.8", withheld=1)])
    assert accepted.line == (
        "2 findings suppressed (1 by metadata of the model), 1 place in the baseline, "
        "2 findings below --min-confidence (see them with --min-confidence low)"
    )
    accepted.add([replace(handmade.clean_model(), gone=(StaleBaselineEntry("ACC102", "f", "blocks.1"),))] * 2)
    assert accepted.line.endswith(", 1 stale place in the baseline (remove with --update-baseline)")


def test_nothing_accepted_is_no_line() -> None:
    accepted = HiddenFindings()
    accepted.add([handmade.clean_model()])
    assert accepted.line == ""


def test_what_is_gone_is_named_up_to_a_few() -> None:
    gone = tuple(StaleBaselineEntry("ACC102", f"{i}", f"blocks.{i}" if i else "") for i in range(8))
    lines = list(gone_notes([replace(handmade.clean_model(), gone=gone)] * 2))
    assert lines[:2] == [
        "ACC102 no longer occurs, but is still in the baseline",
        "ACC102 at blocks.1 no longer occurs, but is still in the baseline",
    ]
    assert lines[5:] == ["further stale places in the baseline: 3"]
