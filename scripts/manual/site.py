"""The site: its pages, their order, and its build."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from scripts.manual.apipages import api_pages
from scripts.manual.commandpage import command_page
from scripts.manual.links import relinked
from scripts.manual.markdown import portable
from scripts.manual.rulepages import rule_pages
from scripts.manual.schemapages import schema_pages
from trtlint.engine.rulebook import load_builtin

REPOSITORY = Path(__file__).resolve().parent.parent.parent
DOCS = REPOSITORY / "docs"
"""The folder of the handwritten pages."""
_ELSEWHERE = {
    "rules/README.md": "reference/rule-files.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "SECURITY.md": "explanation/security.md",
    "CHANGELOG.md": "reference/changelog.md",
    "CODE_OF_CONDUCT.md": "development/conduct.md",
}
"""Handwritten pages outside of ``docs/``, each with its path on the site."""
_MADE_FROM = {
    "trtlint/cli.py": "reference/commands.md",
    "trtlint/runs/exits.py": "reference/exit-codes.md",
    "trtlint/policy/schema/configuration.json": "reference/configuration.md",
    "trtlint/api.py": "reference/python.md",
    "trtlint/facts": "reference/facts.md",
}
"""Sources of generated pages. In a checkout, links lead to the source. On the site, they lead to the page."""
_SCHEMAS = REPOSITORY / "trtlint" / "report" / "schema"
_SECTIONS = {
    "how-to": "How-to guides",
    "rules": "Rules",
    "reference": "Reference",
    "explanation": "Explanation",
    "development": "Development",
}
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_LINKED = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]*)?\)")
_HEADED = re.compile(r"^## (.+)$", re.MULTILINE)
_FIRST = ("index.md", "installation.md", "quickstart.md", "tutorial.md", "faq.md", "found.md")
"""Pages at the top of the navigation, in their order."""


def project() -> Mapping[str, str]:
    """Return the URLs of the project."""
    data = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    urls: Mapping[str, str] = data["project"]["urls"]
    return urls


def write(to: Path) -> dict[str, str]:
    """Write all pages and the configuration of the site to a folder.

    Args:
        to: the folder for the configuration. The pages are written to its subfolder ``pages``.

    Returns:
        The pages by path on the site.

    Raises:
        LinkError: a handwritten page links to a missing file.
    """
    pages = all_pages()
    for name, text in pages.items():
        file = to / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for file in DOCS.rglob("*"):
        if file.is_file() and file.suffix not in {".md", ".toml"}:
            there = to / "pages" / file.relative_to(DOCS)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, there)
    base = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    address = project().get("Documentation")
    site_url = f"site_url = {json.dumps(address)}\n" if address else ""
    added = f"[project]\n{site_url}nav = {_toml(navigation(pages))}\n"
    (to / "zensical.toml").write_text(base.replace("[project]\n", added, 1), encoding="utf-8")
    return pages


def build(to: Path) -> int:
    """Build the site in a folder with strict checks, and return the exit code."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "zensical.toml"]
    return subprocess.run(command, cwd=to, check=False).returncode


def all_pages() -> dict[str, str]:
    """Return all pages by path on the site: handwritten and generated pages."""
    rules = list(load_builtin())
    made = {
        **rule_pages(rules),
        **schema_pages(),
        **api_pages(),
        "reference/commands.md": command_page(),
    }
    files = {file.relative_to(DOCS).as_posix(): file for file in sorted(DOCS.rglob("*.md"))}
    files |= {page: REPOSITORY / name for name, page in _ELSEWHERE.items() if (REPOSITORY / name).is_file()}
    places = {file: page for file, page in _ELSEWHERE.items() if page in files}
    places |= {rule.path.relative_to(REPOSITORY).as_posix(): f"rules/{rule.id}.md" for rule in rules}
    places["rules"] = "rules/index.md"
    places |= _MADE_FROM
    schemas = sorted(_SCHEMAS.glob("*.json"))
    places |= {file.relative_to(REPOSITORY).as_posix(): f"reference/json/{file.stem}.md" for file in schemas}
    browse = f"{project()['Source']}/blob/main"
    by_hand = {}
    for page, file in files.items():
        text = file.read_text(encoding="utf-8")
        text = relinked(text, file, page, docs=DOCS, root=REPOSITORY, pages=places, browse=browse)
        by_hand[page] = portable(text)
    if twice := by_hand.keys() & made.keys():
        raise ValueError(f"pages are both handwritten and generated: {', '.join(sorted(twice))}")
    return {**by_hand, **made}


def navigation(pages: Mapping[str, str]) -> list[object]:
    """Return the pages in the order of the navigation.

    The index of a section gives the order of its pages. Pages without a link in the index follow. A
    heading in the index becomes a group. The pages of single rules are left out because there are
    hundreds; readers find them with the search and the indexes of rules.
    """
    places = [name for name in pages if name.endswith(".md")]
    nav: list[object] = [_entry(name, pages) for name in _FIRST if name in pages]
    for folder, title in _SECTIONS.items():
        members = [name for name in places if name.startswith(f"{folder}/")]
        if folder == "rules":
            members = [name for name in members if not re.search(r"\d\.md$", name)]
        if members:
            nav.append({title: _section(f"{folder}/index.md", members, pages)})
    return nav


def _section(index: str, members: Sequence[str], pages: Mapping[str, str]) -> list[object]:
    """Return the pages of a section: the index, its linked pages by heading, then all other pages."""
    folder = index.partition("/")[0]
    left = dict.fromkeys(sorted(members))
    entries: list[object] = [_entry(index, pages)] if index in left else []
    left.pop(index, None)
    loose, *headed = _HEADED.split(pages.get(index, ""))
    for heading, text in [("", loose), *zip(headed[::2], headed[1::2], strict=True)]:
        linked = dict.fromkeys(f"{folder}/{to}" for to in _LINKED.findall(text))
        group = [_entry(name, pages) for name in linked if name in left]
        left = {name: None for name in left if name not in linked}
        if heading and group:
            entries.append({heading: group})
        else:
            entries += group
    return [*entries, *(_entry(name, pages) for name in left)]


def _entry(name: str, pages: Mapping[str, str]) -> object:
    """Return the navigation entry of a page: its title and its path."""
    title = _TITLE.search(pages[name])
    return {title[1] if title else name: name}


def _toml(value: object) -> str:
    """Format a list, a text, or a table with one key as TOML."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
