"""Match globs for model files, nodes and modules.

Node names contain brackets and slashes, so only ``*`` and ``?`` are special in globs for nodes.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?")
_MOST_STARS = 64
"""Largest number of stars in a path glob.  A glob with more stars matches nothing."""


def matches_path(glob: str, path: str) -> bool:
    """Return whether a glob matches a file path.

    ``*`` and ``?`` do not match ``/``, and ``**`` matches any folders. A glob without ``/`` matches the file
    name only. A glob that ends in ``/`` names a folder, and matches everything below this folder.

    Args:
        glob: the glob, relative to the same folder as ``path``.
        path: the path, with ``/`` between folders.
    """
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    if "/" not in glob and "**" not in glob:
        path = path.rpartition("/")[2]
    parts = _path_parts(glob)
    return len(parts) <= 2 * _MOST_STARS and _matches(parts, path)


def matches_name(glob: str, name: str) -> bool:
    """Return whether a glob matches the name of a node or the path of a module.

    ``*`` matches any characters, including ``/``.
    """
    return _name_pattern(glob).match(name) is not None


def _matches(parts: tuple[str, ...], path: str) -> bool:
    """Return whether a glob matches a path.  ``parts`` are the literals and wildcards of the glob.

    For each part of the glob, the search stores the set of possible end positions in the path. So the time
    is at most proportional to the length of the glob times the length of the path. A regular expression could
    take exponential time.
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
    """Return all positions at which ``*`` can end.

    The ``*`` begins at a position in ``starts``, and matches up to the next ``/`` at most.
    """
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
    """Split a glob into literals and wildcards, in order."""
    parts, end = [], 0
    for match in _PARTS.finditer(glob):
        parts += [glob[end : match.start()], match[0]]
        end = match.end()
    return tuple(part for part in (*parts, glob[end:]) if part)


@lru_cache(maxsize=1024)
def _name_pattern(glob: str) -> re.Pattern[str]:
    # The glob may come from an untrusted model.  The pattern of fnmatch does not backtrack from one star
    # to an earlier one.
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))
