"""URLs of the project, from the metadata of the installed package.

This module imports no other module of trtlint, because the handler of internal errors uses it.
"""

from __future__ import annotations

from functools import cache

_NO_OWNER = "/OWNER/"
"""The placeholder for the owner of the repository in ``pyproject.toml``."""
_NO_HOST = (".example", ".invalid")
"""Suffixes of host names that are reserved and never exist: https://www.rfc-editor.org/rfc/rfc2606#section-2

An editable install keeps old metadata. The old metadata may contain such hosts as placeholders.
"""


@cache
def project_url(name: str) -> str:
    """Return the project URL with the label ``name``, such as ``source``.

    Return an empty string if the package has no such URL, or if the URL is a placeholder.

    https://packaging.python.org/en/latest/specifications/core-metadata/#project-url-multiple-use
    """
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("trtlint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = (entry.partition(",") for entry in entries)
    urls = [url.strip() for key, _, url in named if key.strip().lower() == name]
    return "" if not urls or _is_placeholder(urls[0]) else urls[0].rstrip("/")


def _is_placeholder(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # the text is not an address
        return True
    return host.endswith(_NO_HOST) or _NO_OWNER in f"{url}/"
