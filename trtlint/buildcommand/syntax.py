"""Parse Python scripts that may contain build commands."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterable

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


def last_name(node: ast.expr) -> str:
    """Return the last part of a name, such as ``run`` for ``subprocess.run``; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def single_values(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """Return the values of the names that get exactly one value in the whole script.

    Parameters of functions, targets of loops and imported names count as further values.
    """
    bound: Counter[str] = Counter()
    assigned: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.alias):
            bound[node.asname or node.name.partition(".")[0]] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assigned.update((each.id, node.value) for each in targets if isinstance(each, ast.Name))
    return {name: value for name, value in assigned.items() if bound[name] == 1}
