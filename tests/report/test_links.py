"""Tests that every internal link of a report has a target on the page or in the manual."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest

from scripts.manual.rulepages import rule_pages
from tests.commands.test_report_formats import ROW
from tests.conftest import REPOSITORY
from tests.measurement.test_measuring import NORM
from tests.report import handmade
from trtlint.cli import run
from trtlint.engine.rulebook import load_builtin
from trtlint.report import manual
from trtlint.report.formats import TEXTS, Style
from trtlint.report.outputs import Outputs, ReportOutput

MANUAL = "https://manual.test/trtlint/"
ADDRESS = manual.address  # before the fixture for all tests replaces it
EXAMPLE = REPOSITORY / "examples" / "vit.onnx"


class Links(HTMLParser):
    """Reader of the links and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            elif name in ("href", "src", "for", "aria-labelledby") and value:
                self.links += [f"#{each}" for each in value.split()] if name[0] in "fa" else [value]


@pytest.fixture(autouse=True)
def _manual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "address", lambda: MANUAL)


@cache
def places() -> frozenset[str]:
    """Return the index and the rule pages by their addresses on the site."""
    return frozenset({"", *(page.removesuffix(".md") for page in rule_pages(load_builtin()))})


def check(text: str) -> int:
    """Check the links to the manual in a text, and return their number."""
    found = set(re.findall(re.escape(MANUAL) + r"[\w/.-]*", text.replace("\\/", "/").replace("<wbr>", "")))
    for url in found:
        assert url.removeprefix(MANUAL).rstrip("/") in places(), url
    assert "trtlint.example" not in text
    assert "/OWNER/" not in text
    return len(found)


def lint_formats() -> Iterator[tuple[str, str]]:
    for name in TEXTS:
        file = io.StringIO()
        writers = Outputs([ReportOutput(name)], Style(files=1, rules=(), root=None), file)
        writers.add(handmade.one_model().models, lambda finding: finding.severity == "error")
        writers.close()
        yield name, file.getvalue()


def test_links_of_every_format_of_lint_lead_to_pages_of_the_manual() -> None:
    counts = {name: check(text) for name, text in lint_formats()}
    assert {name for name, count in counts.items() if count} >= {"sarif", "markdown", "html", "rdjson"}


@pytest.mark.parametrize(
    "words",
    [
        ("lint", "vit.onnx", "--trt", "10.7"),
        ("upgrade", "vit.onnx", "a.onnx", "--from", "8.6"),
        ("fix", "vit.onnx", "--trt", "10.7", "--dry-run"),
        ("rules", "ACC"),
        ("facts", "vit.onnx"),
        ("measure", "norm.onnx", "--inputs", "x.npz"),
        ("convert", "norm.onnx", "--to", "fp16", "--no-measure", "--dry-run", "--diff"),
        ("trend", "a.jsonl", "a.jsonl"),
    ],
    ids=lambda words: words[0],
)
def test_links_within_a_page_have_a_target(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("vit.onnx", "a.onnx"):
        (tmp_path / name).write_bytes(EXAMPLE.read_bytes())
    onnx.save(onnx.parser.parse_model(NORM), "norm.onnx")
    np.savez("x.npz", x=np.ones((2, 16, 64), np.float32))
    Path("a.jsonl").write_text(json.dumps({**ROW, "fingerprint": "1"}) + "\n", encoding="utf-8")
    more = ("--isolated",) if words[0] in ("lint", "upgrade", "fix") else ()
    outputs = [f"{format}:report.{format}" for format in ("html", "markdown", "json")]
    assert run([*words, *more, *(word for each in outputs for word in ("--output", each))]) in (0, 1)
    text = Path("report.html").read_text(encoding="utf-8")
    page = Links(text)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith("https://") or link.removeprefix("#") in page.ids, link
    check(text)
    check(Path("report.markdown").read_text(encoding="utf-8"))
    check(json.dumps(json.loads(Path("report.json").read_text(encoding="utf-8"))))


def test_no_format_links_to_a_placeholder(
    project_urls: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable install keeps old metadata; the formats name the command instead."""
    project_urls("Documentation, https://trtlint.example/", "Source, https://github.com/OWNER/trtlint")
    monkeypatch.setattr(manual, "address", ADDRESS)
    monkeypatch.delenv(manual.SETTING, raising=False)
    texts = dict(lint_formats())
    assert ADDRESS() == ""
    for text in texts.values():
        check(text)
    named = {name for name, text in texts.items() if "trtlint rule ACC102" in text}
    assert named >= {"full", "github"}
