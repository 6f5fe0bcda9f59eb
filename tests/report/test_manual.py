"""Tests of links to the manual in outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

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
        (["Source, https://a.test", "Documentation, https://b.test/x"], "https://b.test/x/"),
        (["documentation, https://b.test/"], "https://b.test/"),
        (["Source, https://a.test"], ""),
        (["Documentation, https://trtlint.example/"], ""),
        (["Documentation, https://docs.invalid/trtlint"], ""),
        (["Documentation, https://[docs"], ""),
        ([], ""),
    ],
)
def test_the_address_comes_from_the_metadata(
    entries: list[str], address: str, project_urls: Callable[..., None]
) -> None:
    project_urls(*entries)
    assert ADDRESS() == address


def test_the_address_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(manual.SETTING, "https://docs.a.test/trtlint")
    assert ADDRESS() == "https://docs.a.test/trtlint/"
    monkeypatch.setenv(manual.SETTING, "javascript:alert(1)")
    assert ADDRESS() == ""


@pytest.mark.parametrize(
    ("source", "page"),
    [
        (
            "https://git.a.test/team/trtlint",
            "https://git.a.test/team/trtlint/blob/main/rules/accuracy/ACC102-",
        ),
        ("https://github.com/OWNER/trtlint", ""),
    ],
)
def test_without_a_manual_the_page_is_the_rule_file(
    source: str, page: str, project_urls: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    project_urls(f"Source, {source}")
    monkeypatch.setattr(manual, "address", lambda: "")
    found = manual.rule_page("ACC102")
    assert found.startswith(page)
    assert bool(found) == bool(page)
    assert found.endswith(".md") or manual.explanation("ACC102") == "trtlint rule ACC102"


def test_nothing_in_the_project_links_to_an_address_that_is_none() -> None:
    root = Path(__file__).parents[2]
    texts = [root / "pyproject.toml", root / "README.md", *(root / "docs").rglob("*.md")]
    assert not [file for file in texts if "//trtlint.example" in file.read_text(encoding="utf-8")]


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
    render(handmade.one_model(), out)
    assert manual_address not in out.getvalue()
