"""Tests of the tables of models, findings and changes, row by row."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import ModelReport
from trtlint.report.page import tables
from trtlint.report.page.card import CardEntry
from trtlint.report.page.sections import Section
from trtlint.report.page.tables import of_changes, of_findings, of_models


def entry(finding: Any, id_: str, *, conditional: bool = False) -> CardEntry:
    """Return a finding of a page."""
    return CardEntry(finding, "", id_, "m.onnx", conditional)


def section(path: str, *entries: CardEntry, number: int = 1, report: ModelReport | None = None) -> Section:
    """Return a model of a page."""
    reports = (report or handmade.clean_model(path),)
    return Section(path, path, f"model-{number}", reports, entries)


def rows(html: object) -> list[str]:
    """Return the rows of tables, with ``|`` between cells, links as ``[text](target)``, and other texts."""
    text = re.sub(r'<a href="([^"]*)"[^>]*>(.*?)</a>', r"[\2](\1)", str(html))
    text = re.sub(r'<td[^>]*data-unit="([^"]*)"[^>]*>([^<]+)</td>', r"<td>\2 \1</td>", text)
    text = re.sub(r"</t[dh]>", "|", text).replace("</tr>", "\n").replace("</h2>", "\n")
    return [re.sub(r"<[^>]+>", "", row) for row in text.splitlines() if re.sub(r"<[^>]+>", "", row)]


ERROR, NOTE = entry(handmade.SCALE, "e1"), entry(handmade.CLIP, "n1")
OPEN = entry(handmade.FLAG, "f1", conditional=True)
TIMED = entry(replace(handmade.CLIP, ms=1.25, sites=()), "t1")


def test_models() -> None:
    found = [
        section("a.onnx", ERROR, NOTE, NOTE, OPEN),
        section("b.onnx", number=2),
        section("c.onnx", number=3, report=handmade.unreadable("c.onnx")),
        section("d.onnx", entry(replace(handmade.FLAG, depends=()), "w1"), number=4),
    ]
    assert rows(of_models(found)) == [
        "Models",
        "Model|Target|Errors|Warnings|Notes|",
        "[a.onnx](#model-1)|TensorRT 10.7|1 error||2 notes|",
        "b.onnx|no findings||||",
        "[c.onnx](#model-3)|cannot be linted||||",
        "[d.onnx](#model-4)|TensorRT 10.7||1 warning||",
    ]


def test_findings_of_one_model() -> None:
    one = section("dir/a.onnx", ERROR, TIMED, OPEN)
    assert rows(of_findings([(one, ERROR), (one, TIMED), (one, OPEN)], {"e1", "f1"}, several=False)) == [
        "Most severe first",
        "Severity|Rule|What|First place|Places|ms|",
        f"error|[ACC102](#e1)|{handmade.SCALE.message}|blocks.0.attn|12 places||",
        f"note|ACC104|{handmade.CLIP.message}|||1.25 ms|",
        f"conditional|[ACC101](#f1)|{handmade.FLAG.message}|n7|1 place||",
    ]


def test_findings_of_several_models() -> None:
    models = [section(path) for path in ("a/m.onnx", "b/m.onnx", "c.onnx")]
    found = rows(of_findings([(model, ERROR) for model in (*models, models[0])], set(), several=True))
    assert found[1] == "Severity|Rule|What|Model|First place|Places|"
    assert [row.split("|")[3] for row in found[2:]] == ["a/m.onnx", "b/m.onnx", "c.onnx", "a/m.onnx"]


def test_changes() -> None:
    assert rows(of_changes(handmade.several_targets().models)) == [
        "From target to target||Finding|",
        "10.6 → 10.7|new|error[ACC102] sdpa-scale-on-both-operands|",
        "10.7 → 10.8|gone|error[ACC102] sdpa-scale-on-both-operands|",
        "10.8 → 11.0|new|warning[ACC101] fp16-decomposed-norm|",
    ]
    assert of_changes(handmade.one_model().models) is None


@pytest.mark.parametrize(("most", "more"), [(3, True), (4, False)])
def test_rows_beyond_the_limit_are_counted(most: int, more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MODELS", "_FINDINGS"):
        monkeypatch.setattr(tables, name, most)
    models = [section(f"{at}.onnx", ERROR) for at in range(4)]
    for html, words in (
        (of_models(models), "models"),
        (of_findings([(each, ERROR) for each in models], set(), several=True), "findings"),
    ):
        found = rows(html)
        assert len(found) == 2 + most + more
        assert (words in found[-1]) is more


def test_the_first_place_of_a_finding() -> None:
    first, second = (replace(handmade.CLIP.sites[0], node=node) for node in ("/a", "/b"))
    one = section("a.onnx")
    for sites, place in (
        ((first, second), "/a"),
        ((replace(first, module="m"), second), "m"),
        ((replace(first, node=""), second), ""),
    ):
        found = entry(replace(handmade.CLIP, sites=sites), "n1")
        row = rows(of_findings([(one, found)], set(), several=False))[2]
        assert row.split("|")[3] == place
