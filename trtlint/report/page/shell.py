"""HTML document around the content of a page, without scripts and external resources.

The content security policy of the page allows only the page's own style, by digest:
https://www.w3.org/TR/CSP3/#directive-style-src
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from trtlint import __version__
from trtlint.report.page.markup import Content, Markup, tag


def shell(title: str, header: Content, main: Content, style: str = "") -> Iterator[str]:
    """Yield the lines of an HTML document.

    Args:
        title: title of the window.
        header: the header with the heading of the page.
        main: the main content.
        style: additional CSS rules, which are not escaped.
    """
    own = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    whole = Markup(f"\n{own}{style}")
    digest = base64.b64encode(hashlib.sha256(whole.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"trtlint {__version__}"),
        tag("title", title),
        tag("style", whole),
    )
    yield "<body>"
    yield tag("a", "Skip to the findings", href="#main", class_="skip")
    yield tag("header", header)
    yield tag("main", main, id="main")
    yield tag(
        "footer",
        tag("p", f"Written by trtlint {__version__}. This page fetches nothing and runs no scripts."),
    )
    yield "</body>"
    yield "</html>"
