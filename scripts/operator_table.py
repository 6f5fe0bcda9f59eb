"""Regenerate trtlint/knowledge/operators.yaml from the operator documents of the ONNX parser.

The parser's repository has one document a release, docs/operators.md, which lists each operator as
supported (Y) or not (N).  The table's own ``documents`` say where each release's document is.

    python scripts/operator_table.py --fetch documents/                  download all, regenerate
    python scripts/operator_table.py documents/                          regenerate from a folder
    python scripts/operator_table.py documents/ --add 11.5 URL           a release more

A folder holds one file a release, ``<version>.md``.  A release without a document has the operators
of the one before it and those under ``announced``, which its release notes name.
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
    """Whether each operator that a document lists is supported.

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
    """The PEP 440 range of releases that support each operator, ``none`` for those that never did.

    Args:
        answers: by release, what its document lists; empty for a release without one.
        announced: by release, the operators that its notes add.
    """
    versions = sorted(answers, key=Version)
    names = {name for rows in answers.values() for name in rows}
    names.update(name for added in announced.values() for name in added)
    state: dict[str, bool] = {}
    history: dict[str, list[bool]] = {name: [] for name in names}
    for version in versions:
        state.update(answers[version])
        if answers[version]:  # a document is complete: what it leaves out is not supported
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
    """Download the document of each release that is not in the folder yet."""
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
    """The table with its ``operators`` read anew.

    Raises:
        OSError: a document is missing.
        ValueError: a document cannot be read.
    """
    answers = {
        version: {} if url is None else supported((folder / f"{version}.md").read_text(encoding="utf-8"))
        for version, url in table["documents"].items()
    }
    announced = {version: list(names) for version, names in table["announced"].items()}
    return {**table, "operators": ranges(answers, announced)}


def written(table: Mapping[str, Any]) -> str:
    """The table as YAML, with a comment that says how it came about."""
    head = TABLE.read_text(encoding="utf-8").split("documents:", 1)[0]
    body: str = yaml.safe_dump(dict(table), sort_keys=False, width=1000, default_style=None)
    return head + body


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; 0 if the table was written."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="documents, one <version>.md a release")
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
