"""Links between pages, and from pages to files of the repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

_LINK = re.compile(r"(?<=\]\()(?P<to>[^()\s#][^()\s]*)(?=\))")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
_FENCED = re.compile(r"(^(?P<fence>`{3,}).*?^(?P=fence)[ ]*$)", re.DOTALL | re.MULTILINE)


class LinkError(ValueError):
    """Error: a page links to a missing file."""


def relinked(
    text: str, source: Path, page: str, *, docs: Path, root: Path, pages: Mapping[str, str], browse: str
) -> str:
    """Convert the links of a page: links in the repository become links on the site.

    Args:
        text: the page, as Markdown.
        source: the file that contains the page.
        page: the path of the page on the site.
        docs: the folder whose files have the same paths on the site.
        root: the repository.
        pages: files and folders of the repository, with the pages generated from them.
        browse: base URL for files of the repository that have no page.

    Raises:
        LinkError: a linked file outside of ``docs`` is missing.
    """

    def link(match: re.Match[str]) -> str:
        to, hash_, anchor = match["to"].partition("#")
        if _SCHEME.match(to):
            return match[0]
        file = Path(os.path.normpath(source.parent / to))
        if file.is_relative_to(docs):
            inside = file.relative_to(docs).as_posix()
        elif not file.is_relative_to(root) or not file.exists():
            raise LinkError(f"{source.relative_to(root)}: no file {to}")
        else:
            name = file.relative_to(root).as_posix()
            if name not in pages:
                return f"{browse}/{name}"
            inside = pages[name]
        return f"{_relative(inside, page)}{hash_}{anchor}"

    pieces = _FENCED.split(text)
    # Each fenced block gives two groups: the whole block, which stays unchanged, and the fence.
    kept = (_LINK.sub(link, piece) if index % 3 == 0 else piece for index, piece in enumerate(pieces))
    return "".join(piece for index, piece in enumerate(kept) if index % 3 != 2)


def _relative(to: str, page: str) -> str:
    return PurePosixPath(os.path.relpath(to, PurePosixPath(page).parent)).as_posix()
