"""Find statements that change the value of a name: assignments and calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct


class Event(Struct, frozen=True):
    """A change of the value of a name by a statement.

    Attributes:
        kind: the kind of the change:
            - ``set``: a new value
            - ``item``: ``name[key] = value``
            - ``update``: an update with a dictionary
            - ``call``: a call that may change the value if the value is a container
            - ``lost``: a change after which the value is unknown
        node: the new value; None if it is not an expression.
        key: the key, for ``item``.
        line: the line of the statement; for ``call``, the last line of the call.
        block: the blocks that contain the statement, the outermost first.
    """

    kind: str
    node: ast.expr | None
    key: str
    line: int
    block: tuple[int, ...]


_SAFE = frozenset(
    {"all", "any", "bool", "dict", "enumerate", "filter", "float", "frozenset", "getattr", "hasattr"}
    | {"id", "int", "isinstance", "iter", "len", "list", "map", "max", "min", "print", "range", "repr"}
    | {"reversed", "set", "sorted", "str", "sum", "tuple", "type", "zip"}
)
"""Functions that do not change their arguments."""
_SAFE_MODULES = ("torch.", "torch_tensorrt.")
"""Modules whose functions do not change containers."""
_MUTATORS = frozenset(
    {"add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update"}
    | {"pop", "popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update"}
)
"""Methods that change a container."""


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
            # A `with` or `if __name__ == "__main__"` forms no block, because its statements always run.
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


def nodes_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a statement, without nested statements."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]


def events_of(
    statement: ast.stmt, block: tuple[int, ...], imports: Mapping[str, str]
) -> Iterator[tuple[str, Event]]:
    """Yield each name that a statement changes, with the change.

    Changes in nested blocks of the statement are left out.

    Args:
        statement: the statement.
        block: the blocks that contain the statement, the outermost first.
        imports: the full dotted name of each imported name.
    """
    line = statement.lineno
    update = _update(statement)
    for node in nodes_of(statement):
        for name, bound in _bindings(node):
            yield name, Event("lost", None, "", bound, block)
        if isinstance(node, ast.Call) and node is not update:
            for name in _containers(node, imports):
                yield name, Event("call", None, "", node.end_lineno or node.lineno, block)
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _assigned(target, statement.value, line, block)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _assigned(statement.target, statement.value, line, block)
    elif isinstance(statement, ast.AugAssign):
        both = isinstance(statement.op, ast.BitOr) and isinstance(statement.target, ast.Name)
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
    if update is not None:
        yield from _update_events(update, line, block)


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


def _bindings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that ``:=``, ``except ... as`` or a pattern of ``match`` binds, with their lines."""
    if isinstance(node, ast.NamedExpr):
        yield node.target.id, node.lineno
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name, node.lineno
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, node.lineno


def _containers(call: ast.Call, imports: Mapping[str, str]) -> Iterator[str]:
    """Yield the names whose containers a call may change, such as ``a`` in ``a.pop()`` and ``fill(a)``."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.attr in _MUTATORS:
            yield function.value.id
    elif isinstance(function, ast.Name):
        module = imports.get(function.id, "")
        if function.id not in _SAFE and not module.startswith(_SAFE_MODULES):
            yield from (each.id for each in call.args if isinstance(each, ast.Name))


def _update(statement: ast.stmt) -> ast.Call | None:
    """Return the call of ``update`` in a statement such as ``spec.update(a=1)``, or None."""
    call = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.Return) else None
    if not isinstance(call, ast.Call) or len(call.args) > 1 or not isinstance(call.func, ast.Attribute):
        return None
    return call if call.func.attr == "update" and isinstance(call.func.value, ast.Name) else None


def _update_events(call: ast.Call, line: int, block: tuple[int, ...]) -> Iterator[tuple[str, Event]]:
    (name,) = _names(call.func)
    for argument in call.args:
        yield name, Event("update", argument, "", line, block)
    for keyword in call.keywords:
        kind = "update" if keyword.arg is None else "item"
        yield name, Event(kind, keyword.value, keyword.arg or "", line, block)


def _lost(target: ast.expr, line: int, block: tuple[int, ...]) -> Iterator[tuple[str, Event]]:
    for name in _names(target):
        yield name, Event("lost", None, "", line, block)


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id
