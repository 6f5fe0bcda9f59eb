"""``python -m scripts.manual``: write the pages and build the site; exit code 1 for a dead link."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from scripts.manual.links import LinkError
from scripts.manual.site import REPOSITORY, build, write


def main() -> int:
    """Write the pages, build the site, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.manual", description=__doc__)
    parser.add_argument("--to", type=Path, default=REPOSITORY / "build" / "manual", help="folder to write to")
    parser.add_argument("--pages", action="store_true", help="only write the pages, as Markdown")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.to, ignore_errors=True)
    try:
        pages = write(arguments.to.resolve())
    except LinkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{len(pages)} pages in {arguments.to}")
    return 0 if arguments.pages else build(arguments.to)


if __name__ == "__main__":
    sys.exit(main())
