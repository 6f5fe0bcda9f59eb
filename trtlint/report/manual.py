"""Web addresses of the documentation pages of rules.

The pages are in the first of these sources that exists:
- the manual at the address in the environment variable ``TRTLINT_MANUAL``
- the manual at the ``Documentation`` URL in ``pyproject.toml``
- the rule files in the repository at the ``Source`` URL in ``pyproject.toml``, if that URL names an owner

If no source exists, messages name the command ``trtlint rule ID``. trtlint reads the URLs from the metadata
of the installed package, but only on first use, because reading the metadata is slow.
"""

from __future__ import annotations

import os
from functools import cache

from trtlint.engine.rulebook import builtin_rules, rule_files

SETTING = "TRTLINT_MANUAL"
"""The environment variable with the address of a copy of the manual on another site."""
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


def address() -> str:
    """Return the address of the manual with a final slash, or an empty string if there is no address."""
    base = os.environ.get(SETTING, "") or project_url("documentation")
    return f"{base.rstrip('/')}/" if base.startswith("https://") else ""


@cache
def _builtin() -> dict[str, str]:
    """Return the files of the built-in rules by id: ``accuracy/ACC102-....md``."""
    files = rule_files(builtin_rules())
    return {file.stem.partition("-")[0]: f"{file.parent.name}/{file.name}" for file in files}


def rule_page(rule: str) -> str:
    """Return the address of the page about a built-in rule, or an empty string if there is no page."""
    file = _builtin().get(rule)
    if file is None:
        return ""
    if manual := address():
        return f"{manual}rules/{rule}/"
    source = project_url("source")
    return f"{source}/blob/main/rules/{file}" if source else ""


def explanation(rule: str) -> str:
    """Return the address of a rule's page, or a ``trtlint rule`` command if there is no page.

    The text is empty if the rule is not built in.
    """
    return rule_page(rule) or (f"trtlint rule {rule}" if rule in _builtin() else "")
