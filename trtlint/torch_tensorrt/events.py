"""Find statements that change the value of a name: assignments and calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct


class Event(Struct, frozen=True):
    """A change of the value of a name by a statement.

    Attributes:
        kind: the kind of the change:
            - ``set``: a new value
            - ``item``: ``name[key] = value``
            - ``update``: an update with a dictionary
            - ``lost``: a change after which the value is unknown
        node: the new value; None if it is not an expression.
        key: the key, for ``item``.
        line: the line of the statement.
        block: the blocks that contain the statement, the outermost first.
    """

    kind: str
    node: ast.expr | None
    key: str
    line: int
    block: tuple[int, ...]


_SAFE = frozenset(
    {"print", "len", "dict", "str", "repr", "list", "sorted", "set", "tuple", "isinstance", "bool"}
)
"""Functions that do not change a dictionary argument."""


def statements_of(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, tuple[int, ...]]]:
    """Yield the statements of a scope in order, each with the blocks that contain it."""
    pending: list[tuple[ast.stmt, tuple[int, ...]]] = [(statement, ()) for statement in reversed(body)]
    while pending:
        statement, block = pending.pop()
        yield statement, block
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        inner: list[tuple[ast.stmt, tuple[int, ...]]] = []
        for number, part in enumerate(_bodies(statement)):
            # A `with` or `if __name__ == "__main__"` forms no block: its statements run like those around it.
            name = block if _runs_always(statement) else (*block, 8 * id(statement) + number)
            inner += [(each, name) for each in part]
        pending += reversed(inner)


def _bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    found = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(statement, "handlers", [])]
    found += [case.body for case in getattr(statement, "cases", [])]
    return [part for part in found if isinstance(part, list)]


def _runs_always(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.With | ast.AsyncWith):
        return True
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.left, ast.Name)
        and statement.test.left.id == "__name__"
        and not statement.orelse
    )


def events_of(statement: ast.stmt, block: tuple[int, ...]) -> Iterator[tuple[str, Event]]:
    """Yield each name that a statement changes, with the change.

    Changes in nested blocks of the statement are left out.
    """
    line = statement.lineno
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _assigned(target, statement.value, line, block)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _assigned(statement.target, statement.value, line, block)
    elif isinstance(statement, ast.AugAssign):
        both = isinstance(statement.op, ast.BitOr)
        for name in _names(statement.target):
            yield name, Event("update" if both else "lost", statement.value, "", line, block)
    elif isinstance(statement, ast.For | ast.AsyncFor):
        yield from _lost(statement.target, line, block)
    elif isinstance(statement, ast.With | ast.AsyncWith):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from _lost(item.optional_vars, line, block)
    elif isinstance(statement, ast.Delete):
        for target in statement.targets:
            yield from _lost(target, line, block)
    elif isinstance(statement, ast.Global | ast.Nonlocal):
        for name in statement.names:
            yield name, Event("lost", None, "", line, block)
    if isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        yield from _called(statement.value, line, block)


def _assigned(
    target: ast.expr, value: ast.expr, line: int, block: tuple[int, ...]
) -> Iterator[tuple[str, Event]]:
    if isinstance(target, ast.Name):
        yield target.id, Event("set", value, "", line, block)
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        key = target.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield target.value.id, Event("item", value, key.value, line, block)
        else:
            yield target.value.id, Event("lost", None, "", line, block)
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        if len(target.elts) == len(value.elts):
            for part, own in zip(target.elts, value.elts, strict=True):
                yield from _assigned(part, own, line, block)
        else:
            yield from _lost(target, line, block)
    else:
        yield from _lost(target, line, block)


def _called(node: ast.expr | None, line: int, block: tuple[int, ...]) -> Iterator[tuple[str, Event]]:
    """Yield the names that a call may change, such as ``spec`` in ``spec.update(...)`` and ``fill(spec)``."""
    if not isinstance(node, ast.Call):
        return
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        name = function.value.id
        if function.attr == "update" and len(node.args) <= 1:
            for argument in node.args:
                yield name, Event("update", argument, "", line, block)
            for keyword in node.keywords:
                kind = "update" if keyword.arg is None else "item"
                yield name, Event(kind, keyword.value, keyword.arg or "", line, block)
        elif function.attr in ("pop", "clear", "setdefault", "popitem", "add", "append", "remove", "discard"):
            yield name, Event("lost", None, "", line, block)
    elif isinstance(function, ast.Name) and function.id not in _SAFE:
        for argument in node.args:
            if isinstance(argument, ast.Name):
                yield argument.id, Event("lost", None, "", line, block)


def _lost(target: ast.expr, line: int, block: tuple[int, ...]) -> Iterator[tuple[str, Event]]:
    for name in _names(target):
        yield name, Event("lost", None, "", line, block)


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id
