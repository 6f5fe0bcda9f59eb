"""Globs of model files, nodes and modules.

Names of nodes hold brackets and slashes, so only ``*`` and ``?`` mean anything in them.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?")
_MOST_STARS = 64
"""Stars in the glob of a path; one with more of them covers nothing."""


def covers_path(glob: str, path: str) -> bool:
    """Whether a glob covers a file.

    ``*`` and ``?`` stay within a folder, ``**`` stands for any folders.  A glob without a ``/`` is
    compared with the file's name alone; one that ends in ``/`` covers everything below the folder.

    Args:
        glob: relative to the folder that ``path`` is relative to.
        path: with ``/`` between folders.
    """
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    if "/" not in glob and "**" not in glob:
        path = path.rpartition("/")[2]
    parts = _path_parts(glob)
    return len(parts) <= 2 * _MOST_STARS and _covers(parts, path)


def covers_name(glob: str, name: str) -> bool:
    """Whether a glob covers the name of a node or the path of a module; ``*`` is any characters."""
    return _name_pattern(glob).match(name) is not None


def _covers(parts: tuple[str, ...], path: str) -> bool:
    """Whether literals and wildcards cover a path.

    All places that what has been seen of the glob can end at are followed at once, so that it takes
    no longer than the glob times the path: a regular expression would try one star after the other.
    """
    ends = {0}
    for part in parts:
        if part == "*":
            ends = _within(ends, path)
        elif part == "**":
            ends = set(range(min(ends), len(path) + 1))
        elif part == "**/":
            ends |= {end for end in range(min(ends) + 1, len(path) + 1) if path[end - 1] == "/"}
        elif part == "?":
            ends = {start + 1 for start in ends if path[start : start + 1] not in ("", "/")}
        else:
            ends = {start + len(part) for start in ends if path.startswith(part, start)}
        if not ends:
            return False
    return len(path) in ends


def _within(starts: set[int], path: str) -> set[int]:
    """The places from some others on to the end of the component that each lies in."""
    found: set[int] = set()
    stop = -1
    for start in sorted(starts):
        if start > stop:
            slash = path.find("/", start)
            stop = len(path) if slash < 0 else slash
            found.update(range(start, stop + 1))
    return found


@lru_cache(maxsize=1024)
def _path_parts(glob: str) -> tuple[str, ...]:
    """The literals and wildcards of a glob in their order."""
    parts, end = [], 0
    for match in _PARTS.finditer(glob):
        parts += [glob[end : match.start()], match[0]]
        end = match.end()
    return tuple(part for part in (*parts, glob[end:]) if part)


@lru_cache(maxsize=1024)
def _name_pattern(glob: str) -> re.Pattern[str]:
    # Such a glob can come from a stranger's model; the pattern that fnmatch makes never backtracks
    # from one star to the one before it.
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))
