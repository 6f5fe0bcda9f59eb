"""HTML and SVG in which all text is escaped.

Names in a model are arbitrary text.  The content of an element or attribute is escaped, unless it is a
:class:`Markup` object. Only this module creates :class:`Markup` objects:
https://html.spec.whatwg.org/multipage/syntax.html
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from trtlint.report.escape import clean

_VOID = frozenset({"input", "meta", "link", "br", "hr", "wbr"})
_EMPTY = frozenset({"path", "rect", "line", "circle"})
"""SVG elements without content, which may be self-closing."""
_URL = re.compile(r"https://[A-Za-z0-9._~/#?=&%+,;:@()!-]+")
_NO_ID = re.compile(r"[^A-Za-z0-9_.-]+")
LONGEST = 1500
"""Largest number of characters of one text on the page."""
_CLASSES = {
    **dict.fromkeys(("Errors", "Warnings", "Notes", "Places", "ms"), "figure"),
    **dict.fromkeys(("Models", "Rules", "Facts", "New", "Gone", "Remaining"), "figure"),
    **dict.fromkeys(("First place", "Target"), "place"),
}
"""The CSS class of the heading of a column, by the text of the heading."""


class Markup(str):
    """A piece of HTML or SVG in which all text is escaped."""

    __slots__ = ()


Content = str | float | None | Iterable["Content"]
"""Content of an element: text, numbers, markup, None, or a sequence of these."""


def text(plain: str) -> Markup:
    """Escape plain text for HTML. Also escape CI commands, because a CI log may show the page."""
    return Markup(html.escape(clean(plain)).replace("##", "&#35;#"))


def join(*content: Content) -> Markup:
    """Join several pieces of content.  Plain text is escaped."""
    return Markup("".join(_pieces(content)))


def tag(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an HTML or SVG element.

    Args:
        name: the name of the element, which is not escaped.
        content: the content of the element.
        attributes: the attributes, whose names are not escaped. A trailing ``_`` is removed, and the
            remaining underscores become hyphens. An attribute with the value None is omitted.
    """
    given = "".join(
        f' {_attribute(key)}="{text(str(value))}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    inside = join(*content)
    if not inside and name in _EMPTY:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{inside}</{name}>")


def scrolling(content: Content, label: str, role: str = "group", class_: str = "scroll") -> Markup:
    """Return an element that scrolls if its content is too wide."""
    return tag("div", content, class_=class_, tabindex=0, role=role, aria_label=label)


def table(heads: Sequence[str], rows: Sequence[Markup], label: str, class_: str = "table") -> Markup:
    """Return a table inside an element that scrolls if the table is too wide."""
    cells = [tag("th", head, scope="col", class_=_CLASSES.get(head)) for head in heads]
    inside = tag("table", tag("thead", tag("tr", cells)), tag("tbody", rows))
    return scrolling(inside, label, "region", class_)


def clipped(words: str, most: int = LONGEST) -> str:
    """Shorten a text to a number of characters."""
    return words if len(words) <= most else f"{words[:most]} …"


def link(url: str) -> Markup:
    """Return a link if the text is a web address, or else the escaped text."""
    if not _URL.fullmatch(url):
        return text(url)
    shown = Markup("/<wbr>".join(map(text, url.removeprefix("https://").split("/"))))
    return tag("a", shown, href=url, rel="noreferrer noopener")


def identifier(words: str) -> str:
    """Convert a text to an id for an HTML element.  The id has no characters that need escapes."""
    return _NO_ID.sub("-", words).strip("-") or "x"


def rule_class(rule: str) -> str:
    """Return the CSS class of a rule.  The class has no characters that need escapes in a selector."""
    return f"of-{identifier(rule).replace('.', '-')}"


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _pieces(content: Iterable[Content]) -> Iterable[str]:
    for piece in content:
        if piece is None:
            continue
        if isinstance(piece, Markup):
            yield piece
        elif isinstance(piece, str | int | float):
            yield text(str(piece))
        else:
            yield from _pieces(piece)
