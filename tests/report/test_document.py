"""Tests of documents as Markdown and HTML."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from trtlint.report import document as module
from trtlint.report.document import (
    Block,
    Code,
    Document,
    DocumentTable,
    Drawing,
    Items,
    Listing,
    Nested,
    Part,
    html,
    markdown,
)
from trtlint.report.page import markup

TABLE = DocumentTable(["Rule", "New"], [["ACC1", 1234], [Code("a|b"), ""], [["see ", Code("x")], 0]])
ITEMS = Items(["one", ["two ", Code("2")], Code("three")])


@pytest.mark.slow
def test_a_document_needs_no_model_reader() -> None:
    """Commands such as ``trtlint rules`` import this module for all formats."""
    code = "import sys, trtlint.report.document; print('onnx' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def lines(*blocks: Block, title: str = "Part") -> list[str]:
    """Return the lines of a part as Markdown."""
    text = markdown(Document("trend", "Title", [Part(title, blocks)]))
    assert text.splitlines()[:4] == ["## Title", "", f"### {title}", ""]
    return text.splitlines()[4:]


def elements(*blocks: Block) -> str:
    """Return the HTML of the blocks of a part."""
    text = html(Document("trend", "Title", [Part("Part", blocks)]))
    found = re.search(r"<h2>Part</h2>(.*)</section>", text, re.DOTALL)
    return found[1] if found else ""


def test_a_document_as_markdown() -> None:
    parts = [
        Part("Empty"),
        Part("Heading only", empty=True),
        Part(Code("file"), ["words", Listing("a\nb"), TABLE]),
        Part("No rows", [DocumentTable(["A"], []), Items([])]),
        Part("Both", [Items([]), ITEMS]),
    ]
    assert markdown(Document("trend", "A *title*", parts, ["lead", Code("second")])).splitlines() == [
        "## A &#42;title&#42;",
        "",
        "lead",
        "",
        "`second`",
        "",
        "### Heading only",
        "",
        "### `file`",
        "",
        "words",
        "",
        "```text",
        "a",
        "b",
        "```",
        "",
        "| Rule | New |",
        "|---|--:|",
        "| ACC1 | 1,234 |",
        "| `a\\|b` |  |",
        "| see `x` | 0 |",
        "",
        "### Both",
        "",
        "* one",
        "* two `2`",
        "* `three`",
    ]
    assert lines(Listing("x", "diff")) == ["```diff", "x", "```"]


def test_a_document_as_html() -> None:
    text = html(Document("trend", "A <title>", [Part("Empty"), Part(Code("file"), ["words"])], ["lead"]))
    assert "<title>trtlint trend: A &lt;title&gt;</title>" in text
    assert (
        '<header><p class="brand">trtlint trend</p><h1>A &lt;title&gt;</h1>'
        '<p class="target">lead</p></header>'
    ) in text
    assert (
        '<main id="main"><section class="overview"><h2><code>file</code></h2><p>words</p></section></main>'
    ) in text
    assert text.endswith("</html>\n")


def test_blocks_as_html() -> None:
    assert elements("words", Code("name"), ["a ", Code(""), Code("b")]) == (
        "<p>words</p><p><code>name</code></p><p>a <code>b</code></p>"
    )
    assert elements(Listing("a\n<b>")) == "<pre>a\n&lt;b&gt;\n</pre>"
    assert elements(Items(["one", Code("2")])) == "<ul><li>one</li><li><code>2</code></li></ul>"
    assert elements("x", Items([]), DocumentTable(["A"], [])) == "<p>x</p>"
    assert elements(TABLE) == (
        '<div class="table" tabindex="0" role="region" aria-label="Rule"><table><thead><tr>'
        '<th scope="col">Rule</th><th scope="col" class="figure">New</th></tr></thead><tbody>'
        '<tr><td>ACC1</td><td class="figure" data-unit="new">1,234</td></tr>'
        "<tr><td><code>a|b</code></td><td></td></tr>"
        '<tr><td>see <code>x</code></td><td class="figure" data-unit="new">0</td></tr></tbody></table></div>'
    )


@pytest.mark.parametrize(
    ("heads", "class_", "label"),
    [
        (["", "B", "C"], "table", "B"),
        (["A", "B", "C", "D"], "table stacked", "A"),
        (["", ""], "table", "Table"),
    ],
)
def test_a_wide_table_is_stacked_on_a_narrow_screen(heads: list[str], class_: str, label: str) -> None:
    text = elements(DocumentTable(heads, [["x"] * len(heads)]))
    assert f'<div class="{class_}" tabindex="0" role="region" aria-label="{label}">' in text


@pytest.mark.parametrize(("most", "left"), [(3, []), (2, ["and 1 more"]), (1, ["and 2 more"])])
def test_rows_beyond_the_limit_are_counted(
    most: int, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", most)
    rows = ["| ACC1 | 1,234 |", "| `a\\|b` |  |", "| see `x` | 0 |"][:most]
    assert lines(TABLE)[2:] == [*rows, *(["", *left] if left else [])]
    assert lines(ITEMS) == [*["* one", "* two `2`", "* `three`"][:most], *(f"* {line}" for line in left)]
    notes = [f'<p class="notes">{line}</p>' for line in left]
    for text, tag in ((elements(TABLE), "<tr><td>"), (elements(ITEMS), "<li>")):
        assert (text.count(tag), text.endswith("".join(notes))) == (most, True)
        assert text.count("more") == len(left)


def test_long_texts_are_shortened() -> None:
    assert markdown(Document("x", 300 * "t")) == f"## {300 * 't'}\n"
    assert markdown(Document("x", 301 * "t")) == f"## {300 * 't'} …\n"
    assert f"<h1>{300 * 't'}</h1>" in html(Document("x", 300 * "t"))
    assert f"<h1>{300 * 't'} …</h1>" in html(Document("x", 301 * "t"))
    assert lines(1000 * "t", Code(1000 * "c")) == [1000 * "t", "", f"`{1000 * 'c'}`"]
    assert lines(1001 * "t", Code(1001 * "c")) == [f"{1000 * 't'} …", "", f"`{1000 * 'c'} …`"]
    assert elements(1001 * "t", Code(1001 * "c")) == (
        f"<p>{1000 * 't'} …</p><p><code>{1000 * 'c'} …</code></p>"
    )


def test_pictures_and_nested_entries() -> None:
    drawing = Drawing(markup.tag("svg"), "a picture")
    items = Items([Nested("one", ["below", Code("x")])])
    parts = [Part("Both", [Drawing(markup.tag("hr")), ["see ", drawing], items])]
    document = Document("trend", "T", parts)
    lines = markdown(document).splitlines()
    assert lines[lines.index("### Both") + 1 :] == ["", "see a picture", "", "* one", "  * below", "  * `x`"]
    shown = html(document)
    assert "<p>see <svg" in shown
    assert "<li>one<ul><li>below</li><li><code>x</code></li></ul></li>" in shown
