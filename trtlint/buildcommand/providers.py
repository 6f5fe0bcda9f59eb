"""Read options of ONNX Runtime's TensorRT providers from Python, JSON or a command line.

The result is a build command.  Python code is only parsed, never run.  Computed values are unknown.
https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trtlint.buildcommand.command import BuildCommand, CommandError, Option, provider_command
from trtlint.buildcommand.syntax import last_name, nodes_of, single_values
from trtlint.knowledge.providers import CLASSES, Provider, provider_options

PREFIXES: Mapping[Provider, str] = {"tensorrt": "trt_", "nv-tensorrt-rtx": "nv_"}
"""For each provider, the prefix of most of its options."""

_DEEPEST = 50
_LONGEST = 2000
"""Maximum length of a value, in characters."""


def of_command_line(provider: Provider, texts: Iterable[str]) -> BuildCommand:
    """Return ``--ep`` and ``--ep-options`` as a build command.

    Args:
        provider: the name of the provider.
        texts: the options as ``KEY=VALUE``. A text may contain several options, separated by white space.

    Raises:
        CommandError: a word is not an option.
    """
    options = []
    for word in (word for text in texts for word in text.split()):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise CommandError(f"--ep-options {word!r}: write KEY=VALUE, such as trt_engine_cache_enable=1")
        options.append(Option(name, value))
    # If the user gives no option at all, the options count as unknown, not as omitted on purpose.
    return provider_command(provider, options, "", 1, complete=bool(options))


def of_options(provider: Provider, options: Mapping[str, object]) -> BuildCommand:
    """Return a provider and its options as a build command."""
    return provider_command(provider, _options(options), "", 1, complete=bool(options))


def of_json(text: str, source: str = "") -> tuple[BuildCommand, ...]:
    """Return a build command for each provider that a JSON document configures.

    Raises:
        CommandError: the text is not JSON.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{source or 'the build command'}: not JSON: {str(error)[:200]}") from None
    return tuple(
        provider_command(provider, options, source, 1) for provider, options in _in_data(document, 0)
    )


def of_python(text: str, source: str = "") -> tuple[BuildCommand, ...]:
    """Return a build command for each provider that a Python script configures.

    The result is empty if the text is not Python.
    """
    nodes = nodes_of(text)
    if nodes is None:
        return ()
    reader = _Python(nodes)
    session, model = reader.session, reader.model
    # If a script configures a provider in several places, use the place with the most options.
    best: dict[Provider, tuple[_GivenOptions, int]] = {}
    for provider, given, line in reader.providers():
        if provider not in best or given.rank > best[provider][0].rank:
            best[provider] = given, line
    linked = {provider for provider, (given, _) in best.items() if given.options}
    for provider, given, line in reader.loose():
        if provider not in linked and (provider not in best or given.rank > best[provider][0].rank):
            best[provider] = given, line
    return tuple(
        provider_command(provider, [*given.options, *session], source, line, model, complete=given.complete)
        for provider, (given, line) in best.items()
    )


class _GivenOptions(Struct, frozen=True):
    """The options that a script gives to a provider.

    Attributes:
        options: the known options.
        complete: whether the script certainly gives no other options.
    """

    options: tuple[Option, ...] = ()
    complete: bool = True

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key: the number of known options, then whether there may be unknown options."""
        return len(self.options), not self.complete


_UNKNOWN = _GivenOptions(complete=False)


def _text(value: object) -> str | None:
    """Return an option value as the text that ONNX Runtime receives, or None for a list or dictionary."""
    if isinstance(value, str | bool | int | float):
        return str(value)[:_LONGEST]
    return "" if value is None else None


def _options(given: Mapping[str, object]) -> list[Option]:
    found = []
    for name, value in given.items():
        text = _text(value)
        found.append(Option(str(name), text, known=text is not None))
    return found


def _in_data(data: Any, depth: int) -> Iterator[tuple[Provider, list[Option]]]:
    """Search JSON data, at all depths, for execution providers. Yield each provider with its options."""
    if depth > _DEEPEST:
        return
    if isinstance(data, dict):
        names, given = data.get("providers"), data.get("provider_options")
        if (
            isinstance(names, list)
            and isinstance(given, list)
            and all(isinstance(each, str) for each in names)
        ):
            for name, options in zip(names, given, strict=False):
                if name in CLASSES:
                    yield CLASSES[name], _options(options if isinstance(options, dict) else {})
            return
        for key, value in data.items():
            if key in CLASSES and isinstance(value, dict):
                yield CLASSES[key], _options(value)
            else:
                yield from _in_data(value, depth + 1)
    elif isinstance(data, list):
        if len(data) == 2 and isinstance(data[0], str) and isinstance(data[1], dict) and data[0] in CLASSES:
            yield CLASSES[data[0]], _options(data[1])
            return
        for value in data:
            if isinstance(value, str) and value in CLASSES:
                yield CLASSES[value], []
            else:
                yield from _in_data(value, depth + 1)


_BLOCKS = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.With)
"""Nodes whose statements always run when the node runs."""


_Item = tuple[str | None, ast.expr | None]
"""The key and the value of an option.  A computed key or value, or a conditional value, is None."""


class _Python:
    """Finds the execution providers in the syntax tree of a Python script."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self._nodes = nodes
        self._assigned = single_values(nodes)
        self._items: dict[str, list[_Item]] = defaultdict(list)
        """For each name, the items that the script sets after the assignment."""
        always: set[int] = set()
        for node in nodes:
            if isinstance(node, _BLOCKS):
                always.update(map(id, node.body))
            elif isinstance(node, ast.Expr) and id(node) in always:
                always.add(id(node.value))
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Delete | ast.Call):
                for name, key, value in self._changes(node):
                    self._items[name].append((key, value if id(node) in always else None))

    def _changes(
        self, node: ast.Assign | ast.AnnAssign | ast.Delete | ast.Call
    ) -> Iterator[tuple[str, str | None, ast.expr | None]]:
        """Yield the items that a node sets or removes: the name of the dictionary, the key and the value.

        The value of a removed item is None, so the option counts as unknown.
        """
        if isinstance(node, ast.Call):
            method = node.func
            if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
                return
            if method.attr in ("pop", "setdefault") and node.args:
                yield method.value.id, _string(node.args[0]), None
            elif method.attr == "update":
                for each in node.args:
                    for key, value in _pairs(self._value(each)) or [(None, None)]:
                        yield method.value.id, key, value
                yield from ((method.value.id, each.arg, each.value) for each in node.keywords)
            return
        value = None if isinstance(node, ast.Delete) else node.value
        for target in [node.target] if isinstance(node, ast.AnnAssign) else node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                yield target.value.id, _string(target.slice), value

    @property
    def model(self) -> str:
        """The model file that the script names.

        The result is empty if the script computes the name, or if it names several model files.
        """
        files = {
            node.args[0].value
            for node in self._calls("InferenceSession")
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
        }
        return next(iter(files)) if len(files) == 1 else ""

    @property
    def session(self) -> list[Option]:
        """The session options whose names begin with ``ep.context``.  They set how engines are saved."""
        found = []
        for node in self._calls("add_session_config_entry"):
            words = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if len(words) == 2 and str(words[0]).startswith("ep.context"):
                found.append(Option(str(words[0]), str(words[1])))
        return found

    def providers(self) -> Iterator[tuple[Provider, _GivenOptions, int]]:
        """Yield each execution provider with its options and its line in the script."""
        checks = self._checks()
        for node in self._nodes:
            if isinstance(node, ast.Tuple | ast.List):
                pairs = list(self._pair(node.elts))
                yield from pairs
                if not pairs and id(node) not in checks and _lists_providers(node):
                    yield from (
                        (CLASSES[name], _GivenOptions(), each.lineno)
                        for each in node.elts
                        if (name := _name(each))
                    )
            elif isinstance(node, ast.Call):
                yield from self._call(node)

    def _checks(self) -> set[int]:
        """Return the ids of the nodes that only check a name, such as the choices of an argument."""
        found: set[int] = set()
        for node in self._nodes:
            if isinstance(node, ast.Compare):
                found.update(map(id, node.comparators))
            elif isinstance(node, ast.Subscript):  # Literal["CPUExecutionProvider", "CUDAExecutionProvider"]
                found.add(id(node.slice))
            elif isinstance(node, ast.keyword) and node.arg == "choices":
                found.add(id(self._value(node.value)))
        return found

    def loose(self) -> Iterator[tuple[Provider, _GivenOptions, int]]:
        """Yield the dictionaries whose keys are options of a provider, wherever the script uses them.

        The script may add further options elsewhere, so the options are incomplete.
        """
        owners = {id(value): name for name, value in self._assigned.items()}
        for node in self._nodes:
            if not isinstance(node, ast.Dict) or not node.keys:
                continue
            owner = owners.get(id(node), "")
            given = self._dictionary(ast.Name(owner) if owner else node) or _UNKNOWN
            for provider, prefix in PREFIXES.items():
                options = tuple(each for each in given.options if each.name in provider_options(provider))
                if any(option.name.startswith(prefix) for option in options):
                    yield provider, _GivenOptions(options, complete=False), node.lineno

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in self._nodes:
            if isinstance(node, ast.Call) and last_name(node.func) == name:
                yield node

    def _pair(self, elements: list[ast.expr]) -> Iterator[tuple[Provider, _GivenOptions, int]]:
        if len(elements) == 2 and (name := _name(elements[0])):
            given = self._dictionary(elements[1])
            if given is not None:
                yield CLASSES[name], given, elements[0].lineno
            elif not isinstance(self._value(elements[1]), ast.Constant):
                yield CLASSES[name], _UNKNOWN, elements[0].lineno

    def _call(self, node: ast.Call) -> Iterator[tuple[Provider, _GivenOptions, int]]:
        named = {each.arg: self._value(each.value) for each in node.keywords if each.arg}
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called == "add_provider_for_devices" and len(node.args) > 1:
            given = self._dictionary(node.args[1])
            if given and any(option.name.startswith("nv_") for option in given.options):
                yield "nv-tensorrt-rtx", given, node.lineno
            return
        if called in ("add_provider", "set_providers"):
            listed = [self._value(each) for each in node.args]
            if called == "add_provider":
                yield from self._pair(listed)
                return
            names, options = [*listed, None, None][:2]
        else:
            names, options = named.get("providers"), named.get("provider_options")
        if isinstance(names, ast.List | ast.Tuple) and options is not None:
            values = options.elts if isinstance(options, ast.List | ast.Tuple) else ()
            for place, each in enumerate(names.elts):
                if name := _name(each):
                    found = self._dictionary(values[place]) if place < len(values) else None
                    yield CLASSES[name], found or _UNKNOWN, each.lineno

    def _value(self, node: ast.expr) -> ast.expr:
        return self._assigned.get(node.id, node) if isinstance(node, ast.Name) else node

    def _dictionary(self, node: ast.expr) -> _GivenOptions | None:
        """Return the provider options in a dictionary, or None if the expression is not a dictionary."""
        items = self._items.get(node.id, []) if isinstance(node, ast.Name) else []
        pairs = _pairs(self._value(node))
        if pairs is None:
            return None
        found = {}
        for key, value in (*pairs, *items):
            if key is not None:
                known = None if value is None else self._constant(value)
                found[key] = Option(key, known, known=known is not None)
        return _GivenOptions(tuple(found.values()), all(key is not None for key, _ in (*pairs, *items)))

    def _constant(self, node: ast.expr) -> str | None:
        """Return the text of a constant or of a product of constants, or None for any other expression."""
        node = self._value(node)
        if isinstance(node, ast.Constant):
            return _text(node.value)
        number = _number(node, 0)
        return None if number is None else str(number)


def _lists_providers(node: ast.Tuple | ast.List) -> bool:
    """Return whether all texts in a list are names of execution providers."""
    texts = (_string(each) for each in node.elts)
    return all(text is None or text.endswith("ExecutionProvider") for text in texts)


def _name(node: ast.expr) -> str:
    """Return the execution provider that an expression names, or an empty string for other expressions."""
    value = _string(node) or ""
    return value if value in CLASSES else ""


def _string(node: ast.expr | None) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _pairs(node: ast.expr) -> list[_Item] | None:
    """Return the items of a dictionary, or None if the expression is not a dictionary."""
    if isinstance(node, ast.Dict):
        return [(_string(key), value) for key, value in zip(node.keys, node.values, strict=True)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return [*((each.arg, each.value) for each in node.keywords), *((None, each) for each in node.args)]
    return None


def _number(node: ast.expr, depth: int) -> int | None:
    """Compute an expression of constants, such as ``2 * 1024 ** 3``.

    The result is None if the expression is not constant, or if its value is very large.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and abs(node.value) < 1 << 63 else None
    if not isinstance(node, ast.BinOp) or depth > 10:
        return None
    left, right = _number(node.left, depth + 1), _number(node.right, depth + 1)
    if left is None or right is None or right < 0:
        return None
    if isinstance(node.op, ast.Mult):
        value = left * right
    elif isinstance(node.op, ast.LShift | ast.Pow) and right < 64 and abs(left) <= 1 << 20:
        value = left << right if isinstance(node.op, ast.LShift) else left**right
    else:
        return None
    return value if abs(value) < 1 << 63 else None
