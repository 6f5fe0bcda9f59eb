"""Tests of the manual site: generated pages, valid links and a strict build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="the manual is written and built with trtlint[docs]")

import trtlint
from scripts.manual.commandpage import command_page
from scripts.manual.links import LinkError, relinked
from scripts.manual.markdown import plain, portable, table
from scripts.manual.rulepages import rule_pages
from scripts.manual.site import DOCS, build, navigation, project, write
from tests.conftest import REPOSITORY
from tests.engine.rules import make_rule
from trtlint.cli import cli
from trtlint.engine.finding import SEVERITIES
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.kinds import kinds
from trtlint.keywords import Keywords
from trtlint.knowledge.redirects import Redirect
from trtlint.runs.exits import Exit

RULES = tuple(load_builtin())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manual")


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[str, str]:
    return write(site)


@pytest.mark.slow
def test_it_builds_strictly_and_dead_links_fail(
    site: Path, pages: Mapping[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert build(site) == 0
    assert (site / "site" / "rules" / "ACC102" / "index.html").is_file()
    shutil.copyfile(DOCS / "zensical.toml", tmp_path / "zensical.toml")
    small = tmp_path / "pages"  # the whole site takes seconds again
    small.mkdir()
    (small / "index.md").write_text("# T\n\n[a](index.md#t)\n")
    assert build(tmp_path) == 0
    (small / "dead.md").write_text("# T\n\n[a](nowhere.md) [b](index.md#nowhere)\n")
    assert build(tmp_path) == 1
    told = capfd.readouterr().err
    assert "page does not exist" in told
    assert "anchor does not exist" in told


def test_every_rule_has_a_page_and_is_in_every_index(pages: Mapping[str, str]) -> None:
    for rule in RULES:
        page = pages[f"rules/{rule.id}.md"]
        assert page.startswith(f"# {rule.id} {rule.name}\n")
        assert "| applies to |" in page
        assert all(f"<{url}>" in page for url in rule.references)
        sections = re.findall(r"^## (.+)$", page, re.MULTILINE)
        assert {"Advice", "Sources", "Fires", "Stays silent"} <= set(sections), rule.id
        assert len(sections) == len(set(sections)), rule.id
        for index in ("index", "by-severity", "by-evidence", "by-version", "by-status"):
            assert f"[{rule.id}]({rule.id}.md)" in pages[f"rules/{index}.md"], index


def test_the_page_of_a_rule_opens_with_its_summary(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, "## What it does\n\nFinds Relu.\n", summary="Relu, which is slow.")
    pages = rule_pages([rule])
    assert pages["rules/TST001.md"].startswith("# TST001 a-rule\n\nRelu, which is slow.\n\n|")
    assert "## Message\n\n> a `op`\n" in pages["rules/TST001.md"]
    assert "| Relu, which is slow. |" in pages["rules/by-severity.md"]


def test_examples_stand_in_the_page_as_they_are_run(pages: Mapping[str, str]) -> None:
    for rule in RULES:
        examples = rule.body.partition("\n## Fires\n")[2]
        code = [block.partition("\n")[2] for block in re.split(r"^```", examples, flags=re.MULTILINE)[1::2]]
        assert code
        assert all(block in pages[f"rules/{rule.id}.md"] for block in code), rule.id


def test_versions_are_told_where_a_rule_begins_and_ends(pages: Mapping[str, str]) -> None:
    rows = re.findall(r"^\| ([\d.]+) .*\| (.*) \| (.*) \|$", pages["rules/by-version.md"], re.MULTILINE)
    told = {version: (begin, ended) for version, begin, ended in rows if int(version.split(".")[0]) > 7}
    assert "ACC102" in told["10.7"][0]
    assert "ACC102" in told["10.8"][1]


def test_a_rule_that_is_gone_has_a_page_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = Redirect("OLD101", "old-name", "ACC102", "0.2.0", "the prefix was wrong")
    removed = Redirect("OLD102", "other-name", None, "0.3.0", "nobody builds with it")
    monkeypatch.setattr("scripts.manual.rulepages.redirects", lambda: (renamed, removed))
    pages = rule_pages(RULES)
    assert "is now [ACC102](ACC102.md), since trtlint 0.2.0" in pages["rules/OLD101.md"]
    assert "was removed, since trtlint 0.3.0" in pages["rules/OLD102.md"]
    assert "| OLD101 | old-name | [ACC102](ACC102.md) |" in pages["rules/by-status.md"]


def test_severities_are_those_of_findings(pages: Mapping[str, str]) -> None:
    assert re.findall(r"^## (.+)$", pages["rules/by-severity.md"], re.MULTILINE) == list(SEVERITIES)


def test_every_command_and_option_is_in_the_reference() -> None:
    page = command_page()
    for name, command in cli.commands.items():
        section = page.partition(f"## trtlint {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                hidden = getattr(parameter, "hidden", False)
                assert (f"`{parameter.opts[0]}" in section) is not hidden, (name, parameter.opts)
    assert "\b" not in page
    assert "\\b" not in page


def test_everything_public_is_in_the_reference_of_python(pages: Mapping[str, str]) -> None:
    named = re.findall(r"^###? (\w+)$", pages["reference/python.md"], re.MULTILINE)
    assert {name for name in trtlint.__all__ if not name.startswith("_")} <= set(named)
    assert (
        "find_facts(\n    model: AnyPath | Any,\n    *names: str,\n    target: "
        in pages["reference/python.md"]
    )


def test_every_keyword_is_in_the_reference_of_python(pages: Mapping[str, str]) -> None:
    section = pages["reference/python.md"].partition("\n## Keywords\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(Keywords.__annotations__)


def test_facts_and_exit_codes_are_complete(pages: Mapping[str, str]) -> None:
    told = re.findall(r"^### (.+)$", pages["reference/facts.md"], re.MULTILINE)
    assert sorted(told) == sorted(kinds())
    codes = re.findall(r"^\| `(\d+)` \| .+ \|$", pages["reference/exit-codes.md"], re.MULTILINE)
    assert codes == [str(code.value) for code in Exit]


def test_the_address_of_the_manual_is_in_one_place() -> None:
    address = project().get("Documentation")
    if address is None:
        pytest.skip("[project.urls] of pyproject.toml has no address of the manual yet")
    explained = subprocess.run(
        [sys.executable, "-m", "trtlint", "rule", "ACC102"], capture_output=True, text=True, check=True
    )
    assert f"   = docs: {address}rules/ACC102/\n" in explained.stdout
    named = subprocess.run(["git", "grep", "-lF", address], cwd=REPOSITORY, capture_output=True, text=True)
    assert named.stdout.split() == ["pyproject.toml"]


def test_the_navigation_has_the_groups_of_the_index_and_leaves_no_page_out() -> None:
    pages = {
        "index.md": "# Home",
        "faq.md": "# FAQ",
        "how-to/index.md": "# How to\n\n- [B](b.md)\n\n## A model\n\n- [A](a.md#x)\n- [B](b.md)\n",
        "how-to/a.md": "# A",
        "how-to/b.md": "# B",
        "how-to/new.md": "# New",
        "rules/index.md": "# Rules",
        "rules/ACC102.md": "# ACC102 name",
    }
    how_to = [
        {"How to": "how-to/index.md"},
        {"B": "how-to/b.md"},
        {"A model": [{"A": "how-to/a.md"}]},
        {"New": "how-to/new.md"},
    ]
    assert navigation(pages) == [
        {"Home": "index.md"},
        {"FAQ": "faq.md"},
        {"How-to guides": how_to},
        {"Rules": [{"Rules": "rules/index.md"}]},
    ]


def relink(text: str) -> str:
    return relinked(
        text,
        DOCS / "how-to" / "page.md",
        "how-to/page.md",
        docs=DOCS,
        root=REPOSITORY,
        pages={"rules/README.md": "reference/rule-files.md"},
        browse="https://example.org/blob/main",
    )


def test_links_of_the_repository_hold_on_the_site() -> None:
    assert relink("[a](other.md#b)") == "[a](other.md#b)"
    assert relink("[a](../../rules/README.md#builds)") == "[a](../reference/rule-files.md#builds)"
    assert relink("[a](../../action.yml)") == "[a](https://example.org/blob/main/action.yml)"
    assert relink("[a](https://example.com/x) [b](#c)") == "[a](https://example.com/x) [b](#c)"
    assert relink("```\n[a](../../nowhere)\n```\n") == "```\n[a](../../nowhere)\n```\n"


@pytest.mark.parametrize("to", ["../../nowhere.yml", "../../../outside", "../../docs/../nowhere"])
def test_a_dead_link_to_the_repository_is_an_error(to: str) -> None:
    with pytest.raises(LinkError, match=re.escape(to)):
        relink(f"see [a]({to})")


def test_markdown_of_github_becomes_that_of_the_site() -> None:
    assert portable('```onnx --trt 10.7 --build "a b"\n- x\n```\n') == (
        "```onnx title=\"--trt 10.7 --build 'a b'\"\n- x\n```\n"
    )
    assert portable("text\n- a\n- b\n") == "text\n\n- a\n- b\n"


def test_bars_and_marks_are_text() -> None:
    assert table(("a",), [("`x|y` z|w",)]) == "| a |\n| --- |\n| `x|y` z\\|w |"
    assert plain("a_b *c* `d_e` <f>") == "a\\_b \\*c\\* `d_e` \\<f>"
