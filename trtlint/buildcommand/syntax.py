"""Parse Python scripts that may contain build commands."""

from __future__ import annotations

import ast
import warnings

_LARGEST = 1 << 20
"""Maximum length of a script, in characters."""
_MOST_NODES = 200_000
"""Maximum number of syntax nodes in a script."""


def nodes_of(text: str) -> list[ast.AST] | None:
    """Return the syntax nodes of a script, beginning with the module.

    The result is None if the text is not Python, or too large.
    """
    if len(text) > _LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            # Parsing warns about the script, for example about an invalid escape sequence.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes: list[ast.AST] = []
    for node in ast.walk(tree):
        nodes.append(node)
        if len(nodes) > _MOST_NODES:
            return None
    return nodes
