"""Regenerate trtlint/knowledge/operators.yaml from the operator documents of the ONNX parser.

The parser's repository has one document for each release, docs/operators.md. The document lists each operator
as supported (Y) or not (N). The key ``documents`` of the table gives the URL of each document.

    python scripts/operator_table.py --fetch documents/                  download all, regenerate
    python scripts/operator_table.py documents/                          regenerate from a folder
    python scripts/operator_table.py documents/ --add 11.5 URL           add a release

A folder contains one file for each release, ``<version>.md``. A release without a document gets the operators
of the previous release, and the operators that its own release notes announce (``announced``).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml
from packaging.version import Version

TABLE = Path(__file__).resolve().parent.parent / "trtlint" / "knowledge" / "operators.yaml"
_ROW = re.compile(r"^\|\s*([A-Za-z_]\w*)\s*\|\s*([YN])\b", re.MULTILINE)


def supported(document: str) -> dict[str, bool]:
    """Return whether each operator of a document is supported.

    Raises:
        ValueError: the document has no table of operators.
    """
    rows = {name: answer == "Y" for name, answer in _ROW.findall(document)}
    if len(rows) < 100:
        raise ValueError(f"only {len(rows)} operators found: has the form of the document changed?")
    return rows


def ranges(
    answers: Mapping[str, Mapping[str, bool]], announced: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the releases that support each operator, as a PEP 440 range; ``none`` if no release does.

    Args:
        answers: for each release, the operators of its document; empty for a release without a document.
        announced: for each release, the operators that its release notes add.
    """
    versions = sorted(answers, key=Version)
    names = {name for rows in answers.values() for name in rows}
    names.update(name for added in announced.values() for name in added)
    state: dict[str, bool] = {}
    history: dict[str, list[bool]] = {name: [] for name in names}
    for version in versions:
        state.update(answers[version])
        if answers[version]:  # a document is complete: a missing operator is not supported
            state.update(dict.fromkeys(state.keys() - answers[version].keys(), False))
        state.update(dict.fromkeys(announced.get(version, ()), True))
        for name in names:
            history[name].append(state.get(name, False))
    return {name: _range(versions, history[name]) for name in sorted(names)}


def _range(versions: Sequence[str], yes: Sequence[bool]) -> str:
    if not any(yes):
        return "none"
    first, last = yes.index(True), len(yes) - 1 - yes[::-1].index(True)
    parts = [] if first == 0 else [f">={versions[first]}"]
    parts += [f"!={versions[i]}.*" for i in range(first, last) if not yes[i]]
    parts += [] if last == len(yes) - 1 else [f"<{versions[last + 1]}"]
    return ",".join(parts) or "*"


def fetch(documents: Mapping[str, str | None], folder: Path) -> None:
    """Download the documents that are missing in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for version, url in documents.items():
        path = folder / f"{version}.md"
        if url is not None and not path.exists():
            raw = url.replace("https://github.com/", "https://raw.githubusercontent.com/").replace(
                "/blob/", "/"
            )
            with urlopen(raw, timeout=30) as answer:
                path.write_bytes(answer.read())


def regenerate(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table with new ``operators``.

    Raises:
        OSError: a document is missing.
        ValueError: a document cannot be parsed.
    """
    answers = {
        version: {} if url is None else supported((folder / f"{version}.md").read_text(encoding="utf-8"))
        for version, url in table["documents"].items()
    }
    announced = {version: list(names) for version, names in table["announced"].items()}
    return {**table, "operators": ranges(answers, announced)}


def written(table: Mapping[str, Any]) -> str:
    """Return the table as YAML, with a comment about its origin."""
    head = TABLE.read_text(encoding="utf-8").split("documents:", 1)[0]
    body: str = yaml.safe_dump(dict(table), sort_keys=False, width=1000, default_style=None)
    return head + body


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 if the table was written."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder with one document <version>.md for each release")
    parser.add_argument("--fetch", action="store_true", help="download documents that are missing")
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("VERSION", "URL"))
    options = parser.parse_args(arguments)
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    for version, url in options.add:
        table["documents"][str(Version(version))] = url
    try:
        if options.fetch:
            fetch(table["documents"], options.folder)
        text = written(regenerate(table, options.folder))
    except (OSError, ValueError) as error:
        print(f"operator_table: {error}", file=sys.stderr)
        return 1
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
