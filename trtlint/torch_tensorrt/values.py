"""Evaluate Python expressions without running them.

These expressions have a known value:
- constants and containers
- arithmetic on integers
- names that the file assigns once or directly before the use

All other values are :data:`UNKNOWN`.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from trtlint.torch_tensorrt.events import Event, events_of, statements_of

_DEEPEST = 40
"""Largest number of names and containers to follow for one value."""
_MOST_ITEMS = 1000
"""Largest number of entries in one container. The value of a larger container is unknown."""
_MOST_STEPS = 50_000
"""Largest number of evaluated expressions for one file."""
_MOST_EVENTS = 200
"""Largest number of statements that change one name. With more changes, the value of the name is unknown."""
_MOST_BITS = 256
_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}


class UnknownValue:
    """Stand-in for a value that is known only when the script runs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = UnknownValue()


class QualifiedName(Struct, frozen=True):
    """A name in an imported module, such as ``torch.float16``."""

    name: str


class DictEntry(Struct, frozen=True):
    """One entry of a dictionary: its key, the expression of its value, and the line of the expression."""

    key: str
    node: ast.expr
    line: int


class Entries(Struct, frozen=True):
    """The known entries of a dictionary.

    Attributes:
        entries: the last entry for each key.
        complete: true if the dictionary certainly has no other keys.
    """

    entries: Mapping[str, DictEntry]
    complete: bool

    def __or__(self, other: Entries) -> Entries:
        """Merge two sets of entries. If both sets have a key, use the entry of ``other``."""
        return Entries({**self.entries, **other.entries}, self.complete and other.complete)


NOTHING_KNOWN = Entries({}, False)
_EMPTY = Entries({}, True)


def entry(key: str, node: ast.expr, line: int | None = None) -> Entries:
    """Return one known entry. The default of ``line`` is the line of the expression."""
    return Entries({key: DictEntry(key, node, node.lineno if line is None else line)}, True)


class ScriptScope:
    """The names of a script, or of a function in a script.

    Args:
        body: the statements.
        parameters: names of the function's parameters, whose values the caller sets.
        outer: the outer scope; None for a script.
        imports: the full dotted name of each imported name.

    Attributes:
        scripts: true if the file calls ``torch.jit``.
        classes: names of the classes of modules that the file defines.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        parameters: frozenset[str],
        outer: ScriptScope | None,
        imports: Mapping[str, str],
    ) -> None:
        self.parameters = parameters
        self.outer = outer
        self.imports = imports
        self.events: dict[str, list[Event]] = {}
        self._bound: set[str] = set()
        self.scripts: bool = False if outer is None else outer.scripts
        self.classes: frozenset[str] = frozenset() if outer is None else outer.classes
        self._steps: list[int] = [_MOST_STEPS] if outer is None else outer._steps
        for statement, block in statements_of(body):
            for name, event in events_of(statement, block, imports):
                self.events.setdefault(name, []).append(event)
                if event.kind != "call":
                    self._bound.add(name)

    def binds(self, name: str) -> bool:
        """Return whether a statement in the scope, other than a call, may change a name."""
        return name in self._bound

    def may_go_on(self) -> bool:
        """Count a step.  Return False if the steps for the file exceed the limit."""
        self._steps[0] -= 1
        return self._steps[0] >= 0


class Place(Struct, frozen=True, eq=False):
    """A position in a script.  The values of names depend on the position.

    Attributes:
        scope: the scope.
        block: the blocks that contain the place, the outermost first.
        line: the line.
    """

    scope: ScriptScope
    block: tuple[int, ...]
    line: int

    def dotted(self, node: ast.expr) -> str:
        """Return the full name of an imported function, or an empty string for other expressions."""
        return dotted(node, self.scope.imports)

    def value(self, node: ast.expr, depth: int = 0) -> object:
        """Return the value of an expression at this place, or :data:`UNKNOWN` if it is uncertain.

        Containers become tuples of their values. Imported names become :class:`QualifiedName`.
        """
        if depth > _DEEPEST or not self.scope.may_go_on():
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            return self._items(node.elts, depth)
        if isinstance(node, ast.Dict):
            return UNKNOWN if node.keys else ()
        if isinstance(node, ast.Attribute):
            name = self.dotted(node)
            return QualifiedName(name) if name else UNKNOWN
        if isinstance(node, ast.Name):
            return self._named(node, depth)
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            return self._number(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in ("set", "frozenset", "list", "tuple") and not node.args:
                return ()
            if node.func.id in ("set", "frozenset", "list", "tuple") and len(node.args) == 1:
                found = self.value(node.args[0], depth + 1)
                return found if isinstance(found, tuple) else UNKNOWN
        return UNKNOWN

    def entries(self, node: ast.expr, depth: int = 0) -> Entries:
        """Return the entries of the dictionary that an expression computes."""
        if depth > _DEEPEST or not self.scope.may_go_on():
            return NOTHING_KNOWN
        if isinstance(node, ast.Dict):
            return self._dictionary(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return self._dict_call(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.entries(node.left, depth + 1) | self.entries(node.right, depth + 1)
        if isinstance(node, ast.Name):
            found = self._events_before(node.id)
            if found is not None:
                return self._replayed(found, depth)
            outer = self._outer(node.id)
            if outer is not None:
                return outer.entries(node, depth + 1)
        return NOTHING_KNOWN

    def keywords(self, call: ast.Call, depth: int = 0) -> Entries:
        """Return the keyword arguments of a call."""
        known = _EMPTY
        for keyword in call.keywords:
            if keyword.arg is None:
                known |= self.entries(keyword.value, depth)
            else:
                known |= entry(keyword.arg, keyword.value)
        return known

    def assigned(self, node: ast.expr) -> ast.expr | None:
        """Return the expression that was last assigned to a name, or None if the expression is uncertain.

        Assignments in outer scopes are uncertain.  An expression that is not a name is returned as it is.
        """
        if not isinstance(node, ast.Name):
            return node
        found = self._events_before(node.id)
        return None if found is None or found[-1].kind != "set" else found[-1].node

    def setting(self, name: str) -> tuple[ast.expr, Place] | None:
        """Return the expression that was last assigned to a name, and its place.

        The result is None if the assignment is uncertain.
        """
        found = self._events_before(name)
        if found is None:
            outer = self._outer(name)
            return None if outer is None else outer.setting(name)
        last = found[-1]
        return None if last.kind != "set" or last.node is None else (last.node, self._at(last))

    def _at(self, event: Event) -> Place:
        return Place(self.scope, event.block, event.line)

    def _outer(self, name: str) -> Place | None:
        """Return the place from which to look up a name in the outer scope: the end of that scope.

        Return None if this scope may set the name, or if there is no outer scope.
        """
        scope = self.scope
        if scope.outer is None or scope.binds(name) or name in scope.parameters:
            return None
        outer = Place(scope.outer, (), _LAST_LINE)
        if any(event.line < self.line for event in scope.events.get(name, ())):
            found = outer.setting(name)
            return None if found is None or _may_change(found[0]) else outer
        return outer

    def _items(self, nodes: Sequence[ast.expr], depth: int) -> tuple[object, ...] | UnknownValue:
        if len(nodes) > _MOST_ITEMS or any(isinstance(node, ast.Starred) for node in nodes):
            return UNKNOWN
        found = tuple(self.value(node, depth + 1) for node in nodes)
        return UNKNOWN if UNKNOWN in found else found

    def _named(self, node: ast.Name, depth: int) -> object:
        if node.id in self.scope.imports and not self.scope.binds(node.id):
            return QualifiedName(self.dotted(node))
        found = self._events_before(node.id)
        if found is None:
            outer = self._outer(node.id)
            return UNKNOWN if outer is None else outer.value(node, depth + 1)
        event = found[0]
        if len(found) > 1 or event.node is None or event.kind != "set":
            return UNKNOWN
        return self._at(event).value(event.node, depth + 1)

    def _number(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> object:
        if isinstance(node, ast.UnaryOp):
            only = self.value(node.operand, depth + 1)
            if isinstance(node.op, ast.Not) and isinstance(only, bool):
                return not only
            return -only if isinstance(node.op, ast.USub) and isinstance(only, int | float) else UNKNOWN
        left, right = (self.value(each, depth + 1) for each in (node.left, node.right))
        compute = _BINARY.get(type(node.op))
        if compute is None or not isinstance(left, int) or not isinstance(right, int):
            return UNKNOWN
        # These limits keep every result below the square of 2 ** _MOST_BITS.
        if left.bit_length() > _MOST_BITS or right.bit_length() > _MOST_BITS:
            return UNKNOWN
        if isinstance(node.op, ast.LShift) and not 0 <= right <= _MOST_BITS:
            return UNKNOWN
        return UNKNOWN if isinstance(node.op, ast.FloorDiv) and right == 0 else compute(left, right)

    def _events_before(self, name: str) -> list[Event] | None:
        """Return the changes that determine the value of a name.

        The first change in the result sets the name, in a block that contains the place. The remaining
        changes run between the first change and the place. If the order is uncertain, the result is one
        change of the kind ``lost``. The result is None if no statement of this scope changes the name before
        the place.
        """
        lost = [Event("lost", None, "", self.line, self.block)]
        known = self.scope.events.get(name, ())
        if len(known) > _MOST_EVENTS:
            return lost
        before = [event for event in known if event.line < self.line]
        for start in range(len(before) - 1, -1, -1):
            first = before[start]
            if first.kind == "set" and self._is_inside(first.block):
                found = before[start:]
                if not _may_change(first.node):
                    found = [each for each in found if each.kind != "call"]
                sure = all(
                    self._is_inside(each.block) and each.kind not in ("lost", "call") for each in found
                )
                return found if sure else lost
        return lost if any(each.kind != "call" for each in before) else None

    def _is_inside(self, block: tuple[int, ...]) -> bool:
        return self.block[: len(block)] == block

    def _replayed(self, events: Sequence[Event], depth: int) -> Entries:
        known = NOTHING_KNOWN
        for event in events:
            if event.kind == "set" and event.node is not None:
                known = self._at(event).entries(event.node, depth + 1)
            elif event.kind == "item" and event.node is not None:
                known |= entry(event.key, event.node, event.line)
            elif event.kind == "update" and event.node is not None:
                known |= self._at(event).entries(event.node, depth + 1)
            else:
                return NOTHING_KNOWN
        return known

    def _dictionary(self, node: ast.Dict, depth: int) -> Entries:
        if len(node.keys) > _MOST_ITEMS:
            return NOTHING_KNOWN
        known = _EMPTY
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                known |= self.entries(value, depth + 1)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                known |= entry(key.value, value)
            else:
                known |= NOTHING_KNOWN
        return known

    def _dict_call(self, node: ast.Call, depth: int) -> Entries:
        if len(node.keywords) > _MOST_ITEMS or len(node.args) > 1:
            return NOTHING_KNOWN
        known = _EMPTY
        for argument in node.args:
            known |= self.entries(argument, depth + 1)
        return known | self.keywords(node, depth + 1)


_LAST_LINE = sys.maxsize
"""A number above all line numbers.  A lookup at this line sees all names that the module sets anywhere."""


def _may_change(node: ast.expr | None) -> bool:
    """Return whether an expression may be a container, whose value a call can change."""
    if isinstance(node, ast.Tuple):
        return len(node.elts) > _MOST_ITEMS or any(map(_may_change, node.elts))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("dict", "list", "set", "tuple")
    return isinstance(node, ast.Dict | ast.List | ast.Name | ast.Set)


_PRIVATE_MODULES: Mapping[str, str] = {
    "torch_tensorrt._Device": "torch_tensorrt",
    "torch_tensorrt._Input": "torch_tensorrt",
    "torch_tensorrt._compile": "torch_tensorrt",
    "torch_tensorrt._enums": "torch_tensorrt",
    "torch_tensorrt.dynamo._compiler": "torch_tensorrt.dynamo",
    "torch_tensorrt.dynamo._tracer": "torch_tensorrt.dynamo",
    "torch_tensorrt.dynamo.runtime._MutableTorchTensorRTModule": "torch_tensorrt.dynamo.runtime",
    "torch_tensorrt.ts._compiler": "torch_tensorrt.ts",
}
"""For each private module, the public module that exports its names:

- https://github.com/pytorch/TensorRT/blob/v2.12.1/py/torch_tensorrt/__init__.py
- https://github.com/pytorch/TensorRT/blob/v2.12.1/py/torch_tensorrt/dynamo/__init__.py
"""


def dotted(node: ast.expr, imports: Mapping[str, str]) -> str:
    """Return the full public name of an imported function, or an empty string for other expressions."""
    parts: list[str] = []
    for _ in range(_DEEPEST):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            known = imports.get(node.id)
            return "" if known is None else _public(".".join([known, *reversed(parts)]))
        else:
            return ""
    return ""


def _public(name: str) -> str:
    for private, public in _PRIVATE_MODULES.items():
        if name.startswith(f"{private}."):
            return f"{public}{name.removeprefix(private)}"
    return name
