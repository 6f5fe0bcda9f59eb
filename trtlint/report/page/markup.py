"""HTML and SVG in which text can only ever be text.

Names in a model are arbitrary text.  Whatever is put into an element or an attribute is escaped, unless it
is :class:`Markup`, which only this module makes: https://html.spec.whatwg.org/multipage/syntax.html
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from trtlint.report.escape import clean

_VOID = frozenset({"input", "meta", "link", "br", "hr", "wbr"})
_EMPTY = frozenset({"path", "rect", "line", "circle"})
"""Elements of SVG that are drawn without a content; they may close themselves."""
_URL = re.compile(r"https://[A-Za-z0-9._~/#?=&%+,;:@()!-]+")
_NO_ID = re.compile(r"[^A-Za-z0-9_.-]+")


class Markup(str):
    """Text that is markup and safe."""

    __slots__ = ()


Content = str | float | None | Iterable["Content"]
"""What an element holds: text, numbers, markup, nothing, or several of these."""


def text(plain: str) -> Markup:
    """Plain text as markup; what would be a command to a CI system that prints the page, too."""
    return Markup(html.escape(clean(plain)).replace("##", "&#35;#"))


def join(*content: Content) -> Markup:
    """Pieces one after another."""
    return Markup("".join(_pieces(content)))


def tag(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: its name, of ours.
        content: what it holds.
        attributes: by name, of ours, in which a trailing ``_`` falls away and others are hyphens; one that
            is None is left out.
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
    """A reference that can be followed, if it is an address of the web and nothing else."""
    if not _URL.fullmatch(url):
        return text(url)
    shown = Markup("/<wbr>".join(map(text, url.removeprefix("https://").split("/"))))
    return tag("a", shown, href=url, rel="noreferrer noopener")


def identifier(words: str) -> str:
    """A text as the id of an element, in characters that need no escape."""
    return _NO_ID.sub("-", words).strip("-") or "x"


def rule_class(rule: str) -> str:
    """The class of everything about a rule, in characters that a selector takes as they are."""
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
