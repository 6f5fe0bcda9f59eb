"""The page of a rule: on the web, where there is an address, and on this machine.

The manual's address is a setting, ``TRTLINT_MANUAL``, or the ``Documentation`` URL in
``pyproject.toml``.  Without one, pages are the rule files in the repository, the ``Source`` URL there.
A repository without an owner has no address, so nothing links to it: ``trtlint rule ID`` explains each
rule.  Both URLs come with the metadata of the installed package.  Reading them takes longer than many a
lint, so only what prints an address asks.
"""

from __future__ import annotations

import os
from functools import cache

from trtlint.engine.rulebook import builtin_rules, rule_files

SETTING = "TRTLINT_MANUAL"
"""The environment variable with the address of the manual, for pages of your own."""
_NO_OWNER = "/OWNER/"
"""The placeholder for the owner of the repository in ``pyproject.toml``."""


@cache
def _url(name: str) -> str:
    """A URL of the project without a slash at its end; empty where the metadata have none.

    https://packaging.python.org/en/latest/specifications/core-metadata/#project-url-multiple-use
    """
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("trtlint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = (entry.partition(",") for entry in entries)
    urls = [url.strip() for key, _, url in named if key.strip().lower() == name]
    return urls[0].rstrip("/") if urls and _NO_OWNER not in f"{urls[0]}/" else ""


def address() -> str:
    """Address of the manual, with a slash at its end; empty where there is none."""
    base = os.environ.get(SETTING, "") or _url("documentation")
    return f"{base.rstrip('/')}/" if base.startswith("https://") else ""


@cache
def _builtin() -> dict[str, str]:
    """The file of each rule that comes with trtlint, by its id: ``accuracy/ACC102-....md``."""
    files = rule_files(builtin_rules())
    return {file.stem.partition("-")[0]: f"{file.parent.name}/{file.name}" for file in files}


def rule_page(rule: str) -> str:
    """Address of the page of a rule, given its id; empty where there is none, and for a rule of your own."""
    file = _builtin().get(rule)
    if file is None:
        return ""
    if manual := address():
        return f"{manual}rules/{rule}/"
    source = _url("source")
    return f"{source}/blob/main/rules/{file}" if source else ""


def explanation(rule: str) -> str:
    """Where a rule is explained: its page, else the command; empty for a rule of your own."""
    return rule_page(rule) or (f"trtlint rule {rule}" if rule in _builtin() else "")
