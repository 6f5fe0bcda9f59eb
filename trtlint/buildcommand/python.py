"""Search for build commands in Python scripts, such as ``subprocess.run(["trtexec", "--onnx=a.onnx"])``.

Python code is only parsed, never run.  Computed parts of a command are shown as variables.
https://docs.python.org/3/library/subprocess.html
"""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand.command import COMPUTED, BuildCommand, Search, Tool, command, tool_of
from trtlint.buildcommand.syntax import last_name, nodes_of, single_values

_DEEPEST = 20
_LONGEST_TEXT = 20_000
"""Maximum length of a text, in characters.  A longer text counts as computed."""
_LONGEST = 2000
"""Maximum length of a word, in characters."""
_CALL = re.compile(
    r"(?:\btrtexec|\btensorrt_rtx|\$\{\w*\})(?:\.exe)?['\"]?\s+(?:\\\n\s*)?['\"]?--?\w", re.IGNORECASE
)
"""Pattern of a program and its first option in the text of a command."""
_WRAPPERS = frozenset({"Path", "fspath", "quote", "resolve", "str", "which"})
"""Functions whose result names the same program or file as their first argument."""
_PRINTERS = frozenset(
    {
        "add_argument",
        "ArgumentParser",
        "critical",
        "debug",
        "echo",
        "error",
        "exception",
        "info",
        "log",
        "print",
        "warn",
        "warning",
        "write",
    }
)
"""Functions that only print a text, and run nothing."""
_CHANGING = frozenset({"append", "extend", "insert", "remove"})
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_FORMAT = re.compile(r"%(?:\(\w+\))?[-+ 0#]*\d*(?:\.\d+)?[sdifr]")


class _Change(Struct, frozen=True):
    """A statement that adds words to a command, or removes a word.

    Attributes:
        value: the words; None if they are unknown.
        removes: whether the statement removes a word.
        always: whether the statement always runs.
    """

    value: ast.expr | None
    removes: bool = False
    always: bool = False


_Changes = Mapping[str, Sequence[tuple[int, _Change | None]]]
"""For each name, the changes of its value in a block.

Each entry has the index of a statement, and the change.  The change is None if the statement assigns a new
value.
"""


def commands_in_python(text: str, source: str, search: Search) -> tuple[BuildCommand, ...] | None:
    """Return the build commands in a Python script, in order, or None if the text is not Python.

    Args:
        text: the script.
        source: the name of the file, for reports.
        search: the function that finds commands in the text of a shell command.
    """
    nodes = nodes_of(text)
    if nodes is None:
        return None
    reader = _Reader(nodes, source, search)
    return tuple(sorted(reader.commands(), key=lambda each: each.line))


class _Reader:
    """Finds the commands in the syntax tree of a script."""

    def __init__(self, nodes: Sequence[ast.AST], source: str, search: Search) -> None:
        self._source = source
        self._search = search
        self._silent: set[int] = set()
        """The ids of the strings that the script only prints, raises or has as documentation."""
        self._known: dict[str, str] = {}
        """For each name that has exactly one value in the whole script, this value as text."""
        self._module = nodes[0]
        for name, value in single_values(nodes).items():
            text = self._text(value, 0)
            if text is not None:
                self._known[name] = text
        for node in nodes:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Record the strings that the script only prints, raises or has as documentation."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            self._silent.add(id(node.value))  # a documentation string
        elif isinstance(node, ast.Raise) and node.exc is not None:
            self._silent.update(map(id, ast.walk(node.exc)))
        elif isinstance(node, ast.Call) and last_name(node.func) in _PRINTERS:
            self._silent.update(map(id, ast.walk(node)))

    def commands(self) -> Iterator[BuildCommand]:
        """Yield the commands, without order."""
        bodies = list(_blocks(self._module))
        while bodies:
            body = bodies.pop()
            changes: _Changes | None = None
            for position, statement in enumerate(body):
                name, value = _assigned(statement)
                own: list[_Change] = []
                if value is not None and self._names_program(value):
                    changes = _changes(body) if changes is None else changes
                    own = list(_following(changes.get(name, ()), position))
                yield from self._in_statement(statement, value, own, bodies)

    def _names_program(self, value: ast.expr) -> bool:
        elements = _elements(value)
        if elements is not None:
            return any(self._tool(each) is not None for each in elements)
        return self._tool(value) is not None or _CALL.search(self._text(value, 0) or "") is not None

    def _in_statement(
        self,
        statement: ast.stmt,
        value: ast.expr | None,
        changes: Sequence[_Change],
        bodies: list[list[ast.stmt]],
    ) -> Iterator[BuildCommand]:
        """Yield the commands in a statement, and add the blocks of the statement to ``bodies``.

        ``changes`` are the changes of ``value``, which the statement assigns.
        """
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.expr) and id(node) not in self._silent:
                found = list(self._of(node, changes if node is value else []))
                yield from found
                if found:
                    continue
            blocks = list(_blocks(node))
            bodies += blocks
            inner = {id(each) for block in blocks for each in block}
            pending += [each for each in ast.iter_child_nodes(node) if id(each) not in inner]

    def _of(self, node: ast.expr, changes: Sequence[_Change]) -> Iterator[BuildCommand]:
        """Yield the command in an expression, which is a list of words or a text."""
        elements = _elements(node)
        if elements is not None:
            yield from self._of_list(elements, changes)
        elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            parts = [self._text(node, 0)]
            for change in changes:
                value = change.value if change.always else None
                parts.append(None if value is None else self._text(value, 0))
            text = None if parts[0] is None else _joined(parts, " ")
            if text is None or not _CALL.search(text):
                return
            for found in self._search(text, self._source):
                yield replace(found, line=node.lineno + found.line - 1)

    def _of_list(self, elements: Sequence[ast.expr], changes: Sequence[_Change]) -> Iterator[BuildCommand]:
        for position, element in enumerate(elements):
            tool = self._tool(element)
            if tool is not None:
                words = [self._word(each) for each in elements[position + 1 :]]
                for change in changes:
                    self._apply(change, words)
                found = command(words, tool, source=self._source, line=element.lineno)
                if any(option.name.startswith("--") for option in found.options) or not found.complete:
                    yield found
                return

    def _apply(self, change: _Change, words: list[str]) -> None:
        """Apply a change to the words of a command."""
        value, known = change.value, change.always and change.value is not None
        if value is not None and change.removes:
            removed = self._word(value)
            known = known and removed in words and removed != COMPUTED
            words[:] = [word for word in words if word != removed or word == COMPUTED]
        elif value is not None and change.always:
            elements = _elements(value)
            words += [self._word(each) for each in ([value] if elements is None else elements)]
        if not known:
            words.append(COMPUTED)

    def _tool(self, node: ast.expr) -> Tool | None:
        name = _variable(node)
        named = tool_of(f"${{{name}}}") if name else None
        if named is not None:
            return named
        text = self._text(node, 0)
        return None if text is None or "\n" in text else tool_of(text)

    def _word(self, node: ast.expr) -> str:
        text = None if isinstance(node, ast.Starred) else self._text(node, 0)
        return COMPUTED if text is None else text[:_LONGEST]

    def _text(self, node: ast.expr, depth: int) -> str | None:
        """Return the text of an expression, or None if the expression is not a text.

        Computed parts are written as variables.
        """
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return _joined([self._part(each, depth) for each in node.values], "")
        if isinstance(node, ast.Name):
            known = self._known.get(node.id)
            return f"${{{node.id}}}" if known is None or _CALL.search(known) else known
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, depth)
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        return f"${{{node.attr}}}" if isinstance(node, ast.Attribute) else None

    def _part(self, node: ast.expr, depth: int) -> str | None:
        if not isinstance(node, ast.FormattedValue):
            return self._text(node, depth + 1)
        return None if node.format_spec is not None else self._text(node.value, depth + 1)

    def _of_operation(self, node: ast.BinOp, depth: int) -> str | None:
        if isinstance(node.op, ast.Mod):
            left = self._text(node.left, depth + 1)
            return None if left is None else _FORMAT.sub(COMPUTED, left)
        if not isinstance(node.op, ast.Add | ast.Div):
            return None
        texts = [self._text(each, depth + 1) for each in _operands(node)]
        if all(text is None for text in texts):
            return None
        return _joined(texts, "" if isinstance(node.op, ast.Add) else "/")

    def _of_call(self, node: ast.Call, depth: int) -> str | None:
        called = last_name(node.func)
        if called == "format" and isinstance(node.func, ast.Attribute):
            text = self._text(node.func.value, depth + 1)
            return None if text is None else _PLACEHOLDER.sub(COMPUTED, text)
        if called in _WRAPPERS and node.args:
            return self._text(node.args[0], depth + 1)
        return None


def _joined(texts: Sequence[str | None], between: str) -> str | None:
    """Join texts, with a variable for each None.  If the result is too long, return None."""
    parts = [COMPUTED if text is None else text for text in texts]
    return between.join(parts) if sum(map(len, parts)) <= _LONGEST_TEXT else None


def _variable(node: ast.expr) -> str:
    """Return the name of a variable, such as ``trtexec`` for ``str(self.trtexec)``."""
    while isinstance(node, ast.Call) and last_name(node.func) in _WRAPPERS and node.args:
        node = node.args[0]
    return last_name(node)


def _assigned(node: ast.AST) -> tuple[str, ast.expr | None]:
    """Return the name that a statement assigns, and the value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return "", None
    return (target.id, node.value) if isinstance(target, ast.Name) else ("", None)


def _operands(node: ast.BinOp) -> list[ast.expr]:
    """Return the operands of a chain such as ``a + b + c``."""
    operands = [node.right]
    left = node.left
    while isinstance(left, ast.BinOp) and type(left.op) is type(node.op):
        operands.append(left.right)
        left = left.left
    return [left, *reversed(operands)]


def _elements(node: ast.expr) -> list[ast.expr] | None:
    """Return the elements of a list, a tuple or a sum of lists, or None for other expressions.

    In a sum, an operand that is not a list becomes an element with a star: ``*operand``.
    """
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    operands = _operands(node)
    if not any(isinstance(each, ast.List | ast.Tuple) for each in operands):
        return None
    found: list[ast.expr] = []
    for each in operands:
        found += each.elts if isinstance(each, ast.List | ast.Tuple) else [ast.Starred(each)]
    return found


def _changes(body: Sequence[ast.stmt]) -> _Changes:
    """For each name, return the statements of a block that change or set its value."""
    found: dict[str, list[tuple[int, _Change | None]]] = defaultdict(list)
    for position, statement in enumerate(body):
        name, _ = _assigned(statement)
        before = len(found[name])
        for node in ast.walk(statement):
            direct = node is statement or (isinstance(statement, ast.Expr) and node is statement.value)
            for changed, change in _changes_at(node):
                found[changed].append((position, replace(change, always=direct)))
        if name and len(found[name]) == before:
            found[name].append((position, None))
    return found


def _following(places: Sequence[tuple[int, _Change | None]], position: int) -> Iterator[_Change]:
    """Yield the changes of a name after a statement, until a statement assigns a new value."""
    for _, change in places[bisect(places, position, key=lambda each: each[0]) :]:
        if change is None:
            return
        yield change


def _changes_at(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    """Yield the names whose values a node changes, and the changes."""
    name, value = _assigned(node)
    if value is not None:
        operands = _operands(value) if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) else []
        if operands and isinstance(operands[0], ast.Name) and operands[0].id == name:
            yield from ((name, _Change(each)) for each in operands[1:])
        elif any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(value)):
            yield name, _Change(None)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, _Change(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner, method = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and method in _CHANGING:
            yield owner.id, _Change(node.args[-1], removes=method == "remove")


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements in a node."""
    for _, part in ast.iter_fields(node):
        if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
            yield part
