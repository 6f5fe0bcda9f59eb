"""Search for build commands in Python scripts, such as ``subprocess.run(["trtexec", "--onnx=a.onnx"])``.

Python code is only parsed, never run.  Computed parts of a command are shown as variables.
https://docs.python.org/3/library/subprocess.html
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand.command import BuildCommand, Tool, command, tool_of

_VARIABLE = "${_}"
"""Stands for a part of a word that the script computes."""
_MOST_NODES = 200_000
_LARGEST = 1 << 20
"""Maximum length of a script, in characters."""
_DEEPEST = 20
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
    }
    | {"warn", "warning", "write"}
)
"""Functions that show a text and run nothing."""
_GROWING = frozenset({"append", "extend", "insert", "remove"})
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_FORMAT = re.compile(r"%(?:\(\w+\))?[-+ 0#]*\d*(?:\.\d+)?[sdifr]")

Search = Callable[[str, str], Iterator[BuildCommand]]


class _Change(Struct, frozen=True):
    """A statement that adds words to a command: the added value, and whether the statement always runs."""

    value: ast.expr | None
    always: bool


def commands_in_python(text: str, source: str, search: Search) -> tuple[BuildCommand, ...] | None:
    """Return the build commands in a Python script, in order, or None if the text is not Python.

    Args:
        text: the script.
        source: the name of the file, for reports.
        search: the function that finds commands in the text of a shell command.
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
    reader = _Reader(tree, source, search)
    return tuple(sorted(reader.commands(), key=lambda each: each.line))


class _Reader:
    """Finds the commands in the syntax tree of a script."""

    def __init__(self, tree: ast.Module, source: str, search: Search) -> None:
        self._tree = tree
        self._source = source
        self._search = search
        self._silent: set[int] = set()
        self._names: dict[str, list[ast.expr]] = {}

    def commands(self) -> Iterator[BuildCommand]:
        """Yield the commands, without order."""
        for count, node in enumerate(ast.walk(self._tree)):
            if count > _MOST_NODES:
                return
            self._note(node)
        yield from self._in_body(self._tree.body)

    def _note(self, node: ast.AST) -> None:
        """Record assigned names, and the texts that the script only shows."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._names.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._names.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            self._silent.add(id(node.value))  # a documentation string
        elif isinstance(node, ast.Raise) and node.exc is not None:
            self._silent.update(map(id, ast.walk(node.exc)))
        elif isinstance(node, ast.Call) and _called(node) in _PRINTERS:
            self._silent.update(map(id, ast.walk(node)))

    def _in_body(self, body: Sequence[ast.stmt]) -> Iterator[BuildCommand]:
        for position, statement in enumerate(body):
            name, value = _assigned(statement)
            changes = list(_changes(name, body[position + 1 :])) if name and self._is_command(value) else []
            pending: list[ast.AST] = [statement]
            while pending:
                node = pending.pop()
                if isinstance(node, ast.expr) and id(node) not in self._silent:
                    found = list(self._of(node, changes if node is value else []))
                    yield from found
                    if found:
                        continue
                blocks = [part for _, part in ast.iter_fields(node) if _is_block(part)]
                inner = {id(each) for block in blocks for each in block}
                pending += [each for each in ast.iter_child_nodes(node) if id(each) not in inner]
                for block in blocks:
                    yield from self._in_body(block)

    def _is_command(self, value: ast.expr | None) -> bool:
        return value is not None and any(True for _ in self._of(value, []))

    def _of(self, node: ast.expr, changes: Sequence[_Change]) -> Iterator[BuildCommand]:
        """Yield the command that an expression is."""
        if isinstance(node, ast.List | ast.Tuple):
            yield from self._of_list(node, changes)
        elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            text = self._text(node, 0)
            if text is None or not _CALL.search(text):
                return
            for change in changes:
                added = None if change.value is None else self._text(change.value, 0)
                text = f"{text} {added if added is not None and change.always else _VARIABLE}"
            for found in self._search(text, self._source):
                yield replace(found, line=node.lineno + found.line - 1)

    def _of_list(self, node: ast.List | ast.Tuple, changes: Sequence[_Change]) -> Iterator[BuildCommand]:
        for position, element in enumerate(node.elts):
            tool = self._tool(element)
            if tool is not None:
                words = [self._word(each) for each in node.elts[position + 1 :]]
                for change in changes:
                    words += self._added(change)
                found = command(words, tool, source=self._source, line=node.elts[position].lineno)
                if any(option.name.startswith("--") for option in found.options) or not found.complete:
                    yield found
                return

    def _added(self, change: _Change) -> list[str]:
        value = change.value
        if value is None or not change.always:
            return [_VARIABLE]
        if isinstance(value, ast.List | ast.Tuple):
            return [self._word(each) for each in value.elts]
        return [self._word(value)]

    def _tool(self, node: ast.expr) -> Tool | None:
        name = _last_name(node)
        named = tool_of(f"${{{name}}}") if name else None
        if named is not None:
            return named
        text = self._text(node, 0)
        return None if text is None or "\n" in text else tool_of(text)

    def _word(self, node: ast.expr) -> str:
        text = None if isinstance(node, ast.Starred) else self._text(node, 0)
        return _VARIABLE if text is None else text[:_LONGEST]

    def _text(self, node: ast.expr, depth: int) -> str | None:
        """Return an expression as text, with variables for computed parts, or None if it is no text."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return "".join(self._part(each, depth) for each in node.values)
        if isinstance(node, ast.Name):
            values = self._names.get(node.id, ())
            known = self._text(values[0], depth + 1) if len(values) == 1 else None
            return f"${{{node.id}}}" if known is None or _CALL.search(known) else known
        if isinstance(node, ast.BinOp):
            return self._joined(node, depth)
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        return f"${{{node.attr}}}" if isinstance(node, ast.Attribute) else None

    def _part(self, node: ast.expr, depth: int) -> str:
        if isinstance(node, ast.FormattedValue):
            text = None if node.format_spec is not None else self._text(node.value, depth + 1)
            return _VARIABLE if text is None else text
        return self._text(node, depth + 1) or ""

    def _joined(self, node: ast.BinOp, depth: int) -> str | None:
        left = self._text(node.left, depth + 1)
        if isinstance(node.op, ast.Mod):
            return None if left is None else _FORMAT.sub(_VARIABLE, left)
        right = self._text(node.right, depth + 1)
        if left is None and right is None:
            return None
        between = {ast.Add: "", ast.Div: "/"}.get(type(node.op))
        return None if between is None else f"{left or _VARIABLE}{between}{right or _VARIABLE}"

    def _of_call(self, node: ast.Call, depth: int) -> str | None:
        called = _called(node)
        if called == "format" and isinstance(node.func, ast.Attribute):
            text = self._text(node.func.value, depth + 1)
            return None if text is None else _PLACEHOLDER.sub(_VARIABLE, text)
        if called in _WRAPPERS and node.args:
            return self._text(node.args[0], depth + 1)
        return None


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _last_name(node: ast.expr) -> str:
    """Return the name of a variable, such as ``trtexec`` for ``str(self.trtexec)``."""
    while isinstance(node, ast.Call) and _called(node) in _WRAPPERS and node.args:
        node = node.args[0]
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name that a statement assigns, and the value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return "", None
    return (target.id, statement.value) if isinstance(target, ast.Name) else ("", None)


def _changes(name: str, following: Sequence[ast.stmt]) -> Iterator[_Change]:
    """Yield the changes of a command in the statements after its assignment."""
    for statement in following:
        found = [change for node in ast.walk(statement) if (change := _change(name, node)) is not None]
        if not found and _assigned(statement)[0] == name:
            return
        always = isinstance(statement, ast.Expr | ast.AugAssign | ast.Assign)
        yield from (_Change(each, always) for each in found)


def _change(name: str, node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
        return node.value
    if isinstance(node, ast.Assign) and _assigned(node)[0] == name and isinstance(node.value, ast.BinOp):
        left = node.value.left
        return node.value.right if isinstance(left, ast.Name) and left.id == name else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return None
    owner = node.func.value
    if not isinstance(owner, ast.Name) or owner.id != name or node.func.attr not in _GROWING:
        return None
    return node.args[-1]


def _is_block(part: object) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], ast.stmt)
