"""Where the manual is, and in it the page of a rule.

The address is in ``pyproject.toml`` and comes here with the metadata of the installed package.  Reading
it takes longer than many a lint, so only what prints an address asks.
"""

from __future__ import annotations

from functools import cache

from trtlint.engine.rulebook import builtin_rules, rule_files

_NAME = "documentation"


@cache
def address() -> str:
    """Address of the manual, with a slash at its end; empty where the metadata have none.

    https://packaging.python.org/en/latest/specifications/core-metadata/#project-url-multiple-use
    """
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("trtlint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = (entry.partition(",") for entry in entries)
    urls = [url.strip() for name, _, url in named if name.strip().lower() == _NAME]
    return f"{urls[0].rstrip('/')}/" if urls else ""


@cache
def _builtin() -> frozenset[str]:
    return frozenset(file.stem.partition("-")[0] for file in rule_files(builtin_rules()))


def rule_page(rule: str) -> str:
    """Address of the page of a rule, given its id; empty for a rule that does not come with trtlint."""
    return f"{address()}rules/{rule}/" if rule in _builtin() and address() else ""
