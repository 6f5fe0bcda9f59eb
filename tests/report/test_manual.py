"""Links to pages of the manual, where an output has room for one."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from email.message import Message

import pytest

from tests.report import handmade
from tests.report.test_rules import Terminal
from trtlint.engine.finding import Report
from trtlint.report import manual, rdjson
from trtlint.report.locations import overview
from trtlint.report.text import render

ADDRESS = manual.address  # as it is before the fixture for all tests puts another in its place


@pytest.mark.parametrize(
    ("entries", "address"),
    [
        (["Source, https://a.example", "Documentation, https://b.example/x"], "https://b.example/x/"),
        (["documentation, https://b.example/"], "https://b.example/"),
        (["Source, https://a.example"], ""),
        ([], ""),
    ],
)
def test_the_address_comes_from_the_metadata(
    entries: list[str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = Message()
    for entry in entries:
        message["Project-URL"] = entry
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: message)
    ADDRESS.cache_clear()
    try:
        assert ADDRESS() == address
    finally:
        ADDRESS.cache_clear()


def test_only_rules_that_come_with_trtlint_have_a_page(manual_address: str) -> None:
    assert manual.rule_page("ACC102") == f"{manual_address}rules/ACC102/"
    assert manual.rule_page("HOUSE001") == ""


def test_without_an_address_there_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "address", lambda: "")
    assert manual.rule_page("ACC102") == ""


def test_a_house_rule_keeps_its_first_reference(manual_address: str) -> None:
    report = handmade.one_model()
    entry, *_ = rdjson.to_rdjson(overview(report, None))["diagnostics"]
    assert entry["code"]["url"] == f"{manual_address}rules/ACC102/"
    (model,) = report.models
    house = replace(model.findings[0], rule="HOUSE001")
    report = Report((replace(model, findings=(house,)),))
    entry, *_ = rdjson.to_rdjson(overview(report, None))["diagnostics"]
    assert entry["code"]["url"] == house.references[0]


def test_a_terminal_gets_a_link_and_a_file_none(manual_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    render(handmade.one_model(), out)
    assert f";{manual_address}rules/ACC102/\x1b\\" in out.getvalue()
    monkeypatch.setattr(out, "isatty", lambda: False)
    out.seek(0)
    out.truncate()
    render(handmade.one_model(), out, width=100)
    assert manual_address not in out.getvalue()
