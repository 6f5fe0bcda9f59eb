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
from trtlint.knowledge.projecturls import project_url

SETTING = "TRTLINT_MANUAL"
"""The environment variable with the address of a copy of the manual on another site."""


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
