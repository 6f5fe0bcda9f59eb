"""Globs of model files, nodes and modules.

Names of nodes hold brackets and slashes, so only ``*`` and ``?`` mean anything in them.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?")
_WORDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


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
    return _path_pattern(glob).fullmatch(path) is not None


def covers_name(glob: str, name: str) -> bool:
    """Whether a glob covers the name of a node or the path of a module; ``*`` is any characters."""
    return _name_pattern(glob).match(name) is not None


@lru_cache(maxsize=1024)
def _path_pattern(glob: str) -> re.Pattern[str]:
    pattern, end = "", 0
    for match in _PARTS.finditer(glob):
        pattern += re.escape(glob[end : match.start()]) + _WORDS[match[0]]
        end = match.end()
    return re.compile(pattern + re.escape(glob[end:]), re.DOTALL)


@lru_cache(maxsize=1024)
def _name_pattern(glob: str) -> re.Pattern[str]:
    # Such a glob can come from a stranger's model; the pattern that fnmatch makes never backtracks
    # from one star to the one before it.
    return re.compile(fnmatch.translate(glob.replace("[", "[[]")))
