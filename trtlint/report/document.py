"""Reports as a :class:`Document`, which is converted to GitHub Markdown or HTML.

A document consists of parts. A part consists of paragraphs, tables and lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from trtlint.report.markdowntext import code as code_span
from trtlint.report.markdowntext import fenced
from trtlint.report.markdowntext import text as plain
from trtlint.report.page.markup import Content, Markup, clipped, tag
from trtlint.report.page.markup import table as grid
from trtlint.report.page.shell import shell

ROWS = 400
"""Largest number of rows of a table, and of entries of a list."""
_NARROW = 3
"""Largest number of table columns that fit side by side on a narrow screen."""
_LONGEST = 1000
"""Largest number of characters of one text; longer texts are shortened."""


class Code(Struct, frozen=True):
    """Text of a document in a fixed-width font, such as the name of a file or a node."""

    text: str


class Drawing(Struct, frozen=True):
    """A picture or a coloured text of the HTML page.  Markdown shows ``text`` instead, which may be empty."""

    markup: Markup
    text: str = ""


Piece = str | Code | Drawing
Words = Piece | int | Sequence[Piece]
"""Text of a paragraph, an entry or a cell."""


class Nested(Struct, frozen=True):
    """An entry of a list that has further entries below it."""

    words: Words
    below: Sequence[Words]


class DocumentTable(Struct, frozen=True):
    """A table of a document.

    Attributes:
        heads: the text above each column.
        rows: cells of each row.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Words]]


class Items(Struct, frozen=True):
    """A list of entries in a document."""

    entries: Sequence[Words | Nested]


class Listing(Struct, frozen=True):
    """Lines of a document in a fixed-width font, such as a command or a diff."""

    text: str
    language: str = "text"


Block = DocumentTable | Items | Listing | Words


class Part(Struct, frozen=True):
    """A part of a document with its heading.

    A part without content is left out, unless :attr:`empty` is true.
    """

    title: Words
    blocks: Sequence[Block] = ()
    empty: bool = False
    """True to show the heading even if the part has no content."""


class Document(Struct, frozen=True):
    """A report as a document.

    Attributes:
        command: the command that wrote the report, such as ``trend``.
        title: the heading of the document.
        parts: the parts, each below its own heading.
        lead: paragraphs below the heading of the document.
    """

    command: str
    title: str
    parts: Sequence[Part] = ()
    lead: Sequence[Words] = field(default_factory=tuple)


def render(document: Document, format: str) -> str:
    """Return a document in the format ``markdown`` or ``html``."""
    return markdown(document) if format == "markdown" else html(document)


def markdown(document: Document) -> str:
    """Return a document as GitHub Markdown."""
    return "\n".join(_markdown(document)) + "\n"


def html(document: Document) -> str:
    """Return a document as one HTML page without external resources."""
    title = clipped(document.title, 300)
    header = [
        tag("p", f"trtlint {document.command}", class_="brand"),
        tag("h1", title),
        [tag("p", _content(words), class_="target") for words in document.lead],
    ]
    main = [
        tag("section", tag("h2", _content(part.title)), list(map(_element, part.blocks)), class_="overview")
        for part in _shown(document)
    ]
    return "\n".join(shell(f"trtlint {document.command}: {title}", header, main)) + "\n"


def _shown(document: Document) -> Iterator[Part]:
    for part in document.parts:
        if part.empty or any(
            not isinstance(block, (DocumentTable, Items)) or _size(block) for block in part.blocks
        ):
            yield part


def _size(block: DocumentTable | Items) -> int:
    return len(block.rows if isinstance(block, DocumentTable) else block.entries)


def _pieces(words: Words) -> Sequence[Piece]:
    if isinstance(words, int):
        return (f"{words:,}",)
    return (words,) if isinstance(words, (str, Code, Drawing)) else words


def _markdown(document: Document) -> Iterator[str]:
    yield f"## {plain(clipped(document.title, 300))}"
    for words in document.lead:
        yield from ("", _inline(words))
    for part in _shown(document):
        yield from ("", f"### {_inline(part.title)}")
        for block in part.blocks:
            lines = list(_lines(block))
            if lines:
                yield from ("", *lines)


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Listing):
        yield from fenced(block.text, block.language)
    elif isinstance(block, DocumentTable):
        if not block.rows:
            return
        yield f"| {' | '.join(map(plain, block.heads))} |"
        columns = zip(*block.rows, strict=True)
        numeric = (any(isinstance(cell, int) for cell in column) for column in columns)
        yield f"|{''.join('--:|' if each else '---|' for each in numeric)}"
        yield from (f"| {' | '.join(map(_inline, row))} |" for row in block.rows[:ROWS])
        yield from (f"\n{line}" for line in _left(len(block.rows)))
    elif isinstance(block, Items):
        for entry in block.entries[:ROWS]:
            below: Sequence[Words] = entry.below if isinstance(entry, Nested) else ()
            yield f"* {_inline(entry.words if isinstance(entry, Nested) else entry)}"
            yield from (f"  * {_inline(words)}" for words in below)
        yield from (f"* {line}" for line in _left(len(block.entries)))
    elif words := _inline(block):
        yield words


def _inline(words: Words) -> str:
    texts = ((each, each if isinstance(each, str) else each.text) for each in _pieces(words))
    return "".join(
        (code_span if isinstance(each, Code) else plain)(clipped(text, _LONGEST)) for each, text in texts
    )


def _left(number: int) -> Iterator[str]:
    if number > ROWS:
        yield f"and {number - ROWS:,} more"


def _element(block: Block) -> Content:
    if isinstance(block, Listing):
        return tag("pre", [[line, Markup("\n")] for line in block.text.splitlines()])
    if isinstance(block, DocumentTable):
        rows = [tag("tr", list(map(_cell, row, block.heads))) for row in block.rows[:ROWS]]
        label = next(filter(None, block.heads), "Table")
        # A narrow screen shows the cells of a wide table below each other.
        shape = "table stacked" if len(block.heads) > _NARROW else "table"
        shown = grid(block.heads, rows, label, shape) if rows else None
        return [shown, *map(_note, _left(len(block.rows)))]
    if isinstance(block, Items):
        entries = list(map(_entry, block.entries[:ROWS]))
        return [tag("ul", entries) if entries else None, *map(_note, _left(len(block.entries)))]
    return block.markup if isinstance(block, Drawing) else tag("p", _content(block))


def _entry(entry: Words | Nested) -> Markup:
    if isinstance(entry, Nested):
        below = [tag("li", _content(words)) for words in entry.below]
        return tag("li", _content(entry.words), tag("ul", below) if below else None)
    return tag("li", _content(entry))


def _cell(words: Words, head: str) -> Markup:
    if isinstance(words, int):
        return tag("td", _content(words), class_="figure", data_unit=head.lower())
    return tag("td", _content(words))


def _note(words: str) -> Markup:
    return tag("p", words, class_="notes")


def _content(words: Words) -> Content:
    return [_markup(each) for each in _pieces(words) if not isinstance(each, Code) or each.text]


def _markup(piece: Piece) -> Content:
    if isinstance(piece, Drawing):
        return piece.markup
    return tag("code", clipped(piece.text, _LONGEST)) if isinstance(piece, Code) else clipped(piece, _LONGEST)
