"""Print the section of CHANGELOG.md for a tag such as ``v1.2.3``; fail if the tag does not match the version.

python scripts/release_notes.py v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


class NotesError(Exception):
    """Error: the tag, the version and the change log do not match."""


def notes(tag: str, version: str, changes: str) -> str:
    """Return the section of a release.

    Args:
        tag: the letter ``v`` and the version.
        version: the version of the package.
        changes: the text of the change log.

    Raises:
        NotesError: the tag has another version, or the section is missing or empty.
    """
    if tag != f"v{version}":
        raise NotesError(f"the tag {tag} is not v{version}, the version of the package")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    parts = re.split(heading, changes, maxsplit=1, flags=re.MULTILINE)
    if len(parts) != 2:
        raise NotesError(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    section = re.split(r"^(?:## |\[[^\]]+\]: )", parts[1], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not section:
        raise NotesError(f"the section of {version} in CHANGELOG.md is empty")
    return section


def main(arguments: list[str]) -> int:
    """Print the section; return 1 if there is none."""
    from trtlint import __version__

    try:
        print(notes(arguments[0], __version__, CHANGELOG.read_text("utf-8")))
    except NotesError as error:
        print(f"release_notes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
