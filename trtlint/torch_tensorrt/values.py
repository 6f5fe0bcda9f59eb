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
from collections.abc import Callable, Iterator, Mapping, Sequence

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


class Dotted(Struct, frozen=True):
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


class ScriptScope:
    """The names of a script, or of a function in a script.

    Args:
        body: the statements.
        parameters: names of the function's parameters, whose values the caller sets.
        outer: the outer scope; None for a script.
        imports: the full dotted name of each imported name.

    Attributes:
        scripts: true if the file calls ``torch.jit``.
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
        self.scripts: bool = False if outer is None else outer.scripts
        self._steps: list[int] = [_MOST_STEPS] if outer is None else outer._steps
        for statement, block in statements_of(body):
            for name, event in events_of(statement, block):
                self.events.setdefault(name, []).append(event)

    def statements(self, body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, tuple[int, ...]]]:
        """Yield the statements of the scope in order, each with the blocks that contain it."""
        return statements_of(body)

    def dotted(self, node: ast.expr) -> str:
        """Return the full name of an imported function, or an empty string for other expressions."""
        return dotted(node, self.imports)

    def value(self, node: ast.expr, block: tuple[int, ...], line: int, depth: int = 0) -> object:
        """Return the value of an expression in a block at a line, or :data:`UNKNOWN` if it is uncertain.

        Containers become tuples of their values. Imported names become :class:`Dotted`.
        """
        if depth > _DEEPEST or not self._may_go_on():
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            return self._items(node.elts, block, line, depth)
        if isinstance(node, ast.Dict):
            return UNKNOWN if node.keys else ()
        if isinstance(node, ast.Attribute):
            name = self.dotted(node)
            return Dotted(name) if name else UNKNOWN
        if isinstance(node, ast.Name):
            return self._named(node, block, line, depth)
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            return self._number(node, block, line, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in ("set", "frozenset", "list", "tuple") and not node.args:
                return ()
            if node.func.id in ("set", "frozenset", "list", "tuple") and len(node.args) == 1:
                found = self.value(node.args[0], block, line, depth + 1)
                return found if isinstance(found, tuple) else UNKNOWN
        return UNKNOWN

    def entries(self, node: ast.expr, block: tuple[int, ...], line: int, depth: int = 0) -> Entries:
        """Return the entries of the dictionary that an expression computes."""
        if depth > _DEEPEST or not self._may_go_on():
            return NOTHING_KNOWN
        if isinstance(node, ast.Dict):
            return self._dictionary(node, block, line, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return self._dict_call(node, block, line, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left = self.entries(node.left, block, line, depth + 1)
            return left | self.entries(node.right, block, line, depth + 1)
        if isinstance(node, ast.Name):
            found = self._events_before(node.id, block, line)
            if found is not None:
                return self._replayed(found, depth)
            if self.outer is not None and node.id not in self.events and node.id not in self.parameters:
                return self.outer.entries(node, (), _LAST_LINE, depth + 1)
        return NOTHING_KNOWN

    def assigned(self, node: ast.expr, block: tuple[int, ...], line: int) -> ast.expr | None:
        """Return the expression that was last assigned to a name, or None if the expression is uncertain."""
        if not isinstance(node, ast.Name):
            return node
        found = self._events_before(node.id, block, line)
        if found is None or found[-1].kind != "set":
            return None
        return found[-1].node

    def setting(self, name: str, block: tuple[int, ...], line: int) -> tuple[ScriptScope, Event] | None:
        """Return the last statement that set a name, and its scope, or None if both are uncertain."""
        found = self._events_before(name, block, line)
        if found is not None:
            return (self, found[-1]) if found[-1].kind == "set" else None
        if self.outer is not None and self._is_free(name):
            return self.outer.setting(name, (), _LAST_LINE)
        return None

    def _items(
        self, nodes: Sequence[ast.expr], block: tuple[int, ...], line: int, depth: int
    ) -> tuple[object, ...] | UnknownValue:
        if len(nodes) > _MOST_ITEMS or any(isinstance(node, ast.Starred) for node in nodes):
            return UNKNOWN
        found = tuple(self.value(node, block, line, depth + 1) for node in nodes)
        return UNKNOWN if UNKNOWN in found else found

    def _named(self, node: ast.Name, block: tuple[int, ...], line: int, depth: int) -> object:
        if node.id in self.imports and node.id not in self.events:
            return Dotted(self.imports[node.id])
        found = self._events_before(node.id, block, line)
        if found is not None and len(found) == 1 and found[0].node is not None and found[0].kind == "set":
            event = found[0]
            assert event.node is not None
            return self.value(event.node, event.block, event.line, depth + 1)
        if found is None and self.outer is not None and self._is_free(node.id):
            return self.outer.value(node, (), _LAST_LINE, depth + 1)
        return UNKNOWN

    def _may_go_on(self) -> bool:
        self._steps[0] -= 1
        return self._steps[0] >= 0

    def _is_free(self, name: str) -> bool:
        return name not in self.events and name not in self.parameters

    def _number(self, node: ast.UnaryOp | ast.BinOp, block: tuple[int, ...], line: int, depth: int) -> object:
        if isinstance(node, ast.UnaryOp):
            only = self.value(node.operand, block, line, depth + 1)
            if isinstance(node.op, ast.Not) and isinstance(only, bool):
                return not only
            return -only if isinstance(node.op, ast.USub) and isinstance(only, int | float) else UNKNOWN
        left, right = (self.value(each, block, line, depth + 1) for each in (node.left, node.right))
        compute = _BINARY.get(type(node.op))
        if compute is None or not isinstance(left, int) or not isinstance(right, int):
            return UNKNOWN
        # These limits keep every result below the square of 2 ** _MOST_BITS.
        if left.bit_length() > _MOST_BITS or right.bit_length() > _MOST_BITS:
            return UNKNOWN
        if isinstance(node.op, ast.LShift) and not 0 <= right <= _MOST_BITS:
            return UNKNOWN
        return UNKNOWN if isinstance(node.op, ast.FloorDiv) and right == 0 else compute(left, right)

    def _events_before(self, name: str, block: tuple[int, ...], line: int) -> list[Event] | None:
        """Return the changes that determine the value of a name.

        The first change in the result sets the name, in a block that contains the use. The other changes run
        after it and before the use. If the order is uncertain, the result is one change of the kind ``lost``.
        The result is None if no statement of this scope changes the name before the use.
        """
        known = self.events.get(name, ())
        if len(known) > _MOST_EVENTS:
            return [Event("lost", None, "", line, block)]
        before = [event for event in known if event.line < line]
        for start in range(len(before) - 1, -1, -1):
            if before[start].kind == "set" and _encloses(before[start].block, block):
                found = before[start:]
                sure = all(_encloses(each.block, block) and each.kind != "lost" for each in found)
                return found if sure else [Event("lost", None, "", line, block)]
        return [Event("lost", None, "", line, block)] if before else None

    def _replayed(self, events: Sequence[Event], depth: int) -> Entries:
        known = NOTHING_KNOWN
        for event in events:
            if event.kind == "set" and event.node is not None:
                known = self.entries(event.node, event.block, event.line, depth + 1)
            elif event.kind == "item" and event.node is not None:
                known |= Entries({event.key: DictEntry(event.key, event.node, event.line)}, True)
            elif event.kind == "update" and event.node is not None:
                known |= self.entries(event.node, event.block, event.line, depth + 1)
            else:
                return NOTHING_KNOWN
        return known

    def _dictionary(self, node: ast.Dict, block: tuple[int, ...], line: int, depth: int) -> Entries:
        if len(node.keys) > _MOST_ITEMS:
            return NOTHING_KNOWN
        known = _EMPTY
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                known |= self.entries(value, block, line, depth + 1)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                known |= Entries({key.value: DictEntry(key.value, value, value.lineno)}, True)
            else:
                known |= NOTHING_KNOWN
        return known

    def _dict_call(self, node: ast.Call, block: tuple[int, ...], line: int, depth: int) -> Entries:
        if len(node.keywords) > _MOST_ITEMS or len(node.args) > 1:
            return NOTHING_KNOWN
        known = _EMPTY
        for argument in node.args:
            known |= self.entries(argument, block, line, depth + 1)
        for keyword in node.keywords:
            if keyword.arg is None:
                known |= self.entries(keyword.value, block, line, depth + 1)
            else:
                entry = DictEntry(keyword.arg, keyword.value, keyword.value.lineno)
                known |= Entries({keyword.arg: entry}, True)
        return known


_LAST_LINE = sys.maxsize
"""Line number after every real line.  With this number, a function sees all names of its module."""


def dotted(node: ast.expr, imports: Mapping[str, str]) -> str:
    """Return the full name of an imported function, or an empty string for other expressions."""
    parts: list[str] = []
    for _ in range(_DEEPEST):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            known = imports.get(node.id)
            return "" if known is None else ".".join([known, *reversed(parts)])
        else:
            return ""
    return ""


def _encloses(outer: tuple[int, ...], inner: tuple[int, ...]) -> bool:
    return inner[: len(outer)] == outer
