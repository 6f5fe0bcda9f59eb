"""Find parts of a script that affect the compilation.

Such parts are shape ranges of inputs, operators in modules, and calls that export or trace a model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from trtlint.torch_tensorrt.values import Place, ScriptScope, dotted

Kind = Literal["range", "operator", "export", "trace"]
_MOST_MARKS = 500
_RANGE = ("min_shape", "opt_shape", "max_shape")


class ScriptMark(Struct, frozen=True):
    """One part of a script that affects the compilation.

    Attributes:
        kind: one of four kinds:
            - ``range``: ``torch_tensorrt.Input`` with a range of shapes
            - ``operator``: a call in a method of a module
            - ``export``: ``torch.export.export`` or ``torch.export.load``
            - ``trace``: ``torch_tensorrt.dynamo.trace``
        name: the called function, such as ``torch.sort``; a method name begins with a
            dot, such as ``.index_copy_``.
        shapes: the smallest, the usual and the largest shape of a range; empty tuples if unknown.
        arguments: the arguments of an operator, by position or keyword. A constant is stored as its value,
            and an imported name as its full name. Any other expression is stored as an empty tuple.
        line: the line.
        source: the file; empty for a call given as text.
    """

    kind: Kind
    name: str
    line: int
    shapes: tuple[tuple[int, ...], ...] = ()
    arguments: Mapping[str, object] = {}
    source: str = ""


def mark_of(node: ast.Call, place: Place) -> ScriptMark | None:
    """Return the mark for a call that sets a range, exports or traces; None for any other call."""
    name = place.dotted(node.func)
    if name == "torch_tensorrt.Input":
        given = {each.arg: each.value for each in node.keywords if each.arg}
        if not all(part in given for part in _RANGE):
            return None
        shapes = tuple(_shape(place.value(given[part])) for part in _RANGE)
        return ScriptMark("range", name, node.lineno, shapes)
    if name in ("torch.export.export", "torch.export.load"):
        return ScriptMark("export", name, node.lineno)
    if name == "torch_tensorrt.dynamo.trace":
        return ScriptMark("trace", name, node.lineno)
    return None


def _shape(value: object) -> tuple[int, ...]:
    if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        return value
    return ()


def operators_in(tree: ast.Module, script: ScriptScope) -> Iterator[ScriptMark]:
    """Yield the calls in the methods of the modules that a script defines."""
    count = 0
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.ClassDef) or owner.name not in script.classes:
            continue
        for node in ast.walk(owner):
            if not isinstance(node, ast.Call):
                continue
            name = dotted(node.func, script.imports)
            if not name and isinstance(node.func, ast.Attribute):
                name = f".{node.func.attr}"
            if not name or any(isinstance(each, ast.Starred) for each in node.args):
                continue
            if any(each.arg is None for each in node.keywords):
                continue
            yield ScriptMark("operator", name, node.lineno, arguments=_written(node, script.imports))
            count += 1
            if count >= _MOST_MARKS:
                return


def _written(node: ast.Call, imports: Mapping[str, str]) -> dict[str, object]:
    given: list[tuple[str, ast.expr]] = [(str(position), each) for position, each in enumerate(node.args)]
    given += [(each.arg, each.value) for each in node.keywords if each.arg]
    return {name: _constant(value, imports) for name, value in given}


def _constant(node: ast.expr, imports: Mapping[str, str]) -> object:
    """Return a constant, the full name of an imported name, or an empty tuple for any other expression."""
    if isinstance(node, ast.Constant):
        return node.value
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        value = node.operand.value
        return -value if isinstance(value, (int, float)) else ()
    return dotted(node, imports) or ()
