"""Safe HTML and SVG, where text is always escaped.

Names in a model are arbitrary text.  All content of an element or an attribute is escaped, unless it
is :class:`Markup`, which only this module makes: https://html.spec.whatwg.org/multipage/syntax.html
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from trtlint.report.escape import clean

_VOID = frozenset({"input", "meta", "link", "br", "hr", "wbr"})
_EMPTY = frozenset({"path", "rect", "line", "circle"})
"""SVG elements without content, which may be self-closing."""
_URL = re.compile(r"https://[A-Za-z0-9._~/#?=&%+,;:@()!-]+")
_NO_ID = re.compile(r"[^A-Za-z0-9_.-]+")


class Markup(str):
    """Safe markup."""

    __slots__ = ()


Content = str | float | None | Iterable["Content"]
"""Content of an element: text, numbers, markup, None, or a sequence of these."""


def text(plain: str) -> Markup:
    """Escape plain text, including commands to a CI system that prints the page."""
    return Markup(html.escape(clean(plain)).replace("##", "&#35;#"))


def join(*content: Content) -> Markup:
    """Join pieces of content."""
    return Markup("".join(_pieces(content)))


def tag(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an element.

    Args:
        name: the name of the element, a trusted text.
        content: the content.
        attributes: attributes by trusted names. A trailing ``_`` is removed, and other underscores become
            hyphens. An attribute with the value None is omitted.
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


def link(url: str) -> Markup:
    """Return a link for a web address, or escaped text for anything else."""
    if not _URL.fullmatch(url):
        return text(url)
    shown = Markup("/<wbr>".join(map(text, url.removeprefix("https://").split("/"))))
    return tag("a", shown, href=url, rel="noreferrer noopener")


def identifier(words: str) -> str:
    """Convert a text to an element id, in characters that need no escape."""
    return _NO_ID.sub("-", words).strip("-") or "x"


def rule_class(rule: str) -> str:
    """Return the CSS class of a rule, in characters that need no escape in a selector."""
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
