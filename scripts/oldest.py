"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

python scripts/oldest.py > constraints.txt
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from packaging.requirements import Requirement

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_RUN_TIME = ("dask", "measure", "verify")
"""Run-time extras, whose oldest versions are tested. The remaining extras use the newest versions."""


def oldest(requirements: Iterable[str]) -> Iterator[str]:
    """Yield each requirement that has a lower bound, pinned to this bound."""
    for text in requirements:
        requirement = Requirement(text)
        for bound in requirement.specifier:
            if bound.operator in (">=", "=="):
                marker = f"; {requirement.marker}" if requirement.marker else ""
                yield f"{requirement.name}=={bound.version}{marker}"


def constraints(project: dict[str, Any], extras: Iterable[str] = _RUN_TIME) -> list[str]:
    """Return the constraints of a project.

    Args:
        project: the parsed pyproject.toml.
        extras: the extras whose dependencies are included.
    """
    table = project["project"]
    wanted = [*table["dependencies"]]
    for extra in extras:
        wanted += table["optional-dependencies"].get(extra, ())
    return list(dict.fromkeys(oldest(wanted)))


if __name__ == "__main__":
    print("\n".join(constraints(tomllib.loads(PROJECT.read_text("utf-8")))))
