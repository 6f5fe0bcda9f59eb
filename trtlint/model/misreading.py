"""Find function calls that TensorRT's parser interprets differently than ONNX.

The functions are model-local.  The parser has one table of tensor names for all scopes.  The parser finds a
function by its name, and ignores the domain.  It looks up an attribute reference only in the innermost call.

Sources:

- ``LocalFunctionImporter`` in https://github.com/onnx/onnx-tensorrt/blob/eb43908b02a2/onnxOpImporters.cpp
- https://github.com/onnx/onnx-tensorrt/blob/eb43908b02a2/OnnxAttrs.cpp
- the rules of ONNX: https://github.com/onnx/onnx/blob/main/docs/IR.md#functions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import onnx
from msgspec import Struct

from trtlint.model.protos import (
    FunctionKey,
    bodies_of,
    defined,
    domain_of,
    function_key,
    functions_of,
    opsets,
    text,
)
from trtlint.model.schemas import schema_at

Reason = Literal["operator", "domain", "crossed", "shadowed", "attribute"]

_MOST_VISITED = 500_000
"""Limit of visited operators and names.  The operators and names in a function count again for every call."""
_MOST_FOUND = 1000
_DEEPEST = 64


class Misreading(Struct, frozen=True):
    """A function call that TensorRT's parser may interpret differently than ONNX.

    Attributes:
        reason: the cause:

            - ``operator``: the parser may support an operator with the name of the function.  Then the parser
              imports this operator instead of the function.
            - ``domain``: the parser calls a function with the same name in another domain.
            - ``crossed``: an argument has the name of an earlier parameter.  For example, the function
              ``f(a, b)`` is called as ``f(x, a)``.
            - ``shadowed``: a parameter has the same name as another tensor of the model.
            - ``attribute``: the parser loses an attribute of an operator in the function.
        name: function name.
        domain: function domain.
        path: name of the call.  The inlined nodes of the function have names such as ``path/name``.
        detail: further data, depending on ``reason``:

            - ``operator``: empty.
            - ``domain``: the domain of the function that the parser calls.
            - ``crossed`` and ``shadowed``: the name that is used twice.
            - ``attribute``: the operator and its attribute.
        value: for the reason ``attribute``, the value of the attribute according to ONNX; else empty.
    """

    reason: Reason
    name: str
    domain: str
    path: str
    detail: str
    value: str = ""


def misreadings(proto: onnx.ModelProto) -> tuple[Misreading, ...]:
    """Return, in call order, the function calls that the parser may interpret differently than ONNX.

    The functions of ``proto`` must not be inlined yet, and must not be recursive.
    """
    walk = _CallWalk(proto)
    found: list[Misreading] = []
    for each in walk.graph(proto.graph):
        if len(found) >= _MOST_FOUND:
            break
        found.append(each)
    return tuple(dict.fromkeys(found))


class _Binding(Struct, frozen=True):
    """The value of a function attribute in one call, and whether the parser loses this value."""

    value: onnx.AttributeProto | None
    lost: bool


_Environment = Mapping[str, _Binding]


class _CallWalk:
    def __init__(self, proto: onnx.ModelProto) -> None:
        self.functions = functions_of(proto)
        self.by_name: dict[str, onnx.FunctionProto] = {}
        self._others: set[FunctionKey] = set()
        for function in proto.functions:
            first = self.by_name.setdefault(text(function.name), function)
            if first is not function and list(first.node) != list(function.node):
                self._others.add(function_key(function))
        self.versions = opsets(proto)
        self.tensors: set[str] = set()
        self.left = _MOST_VISITED
        self._seen: set[FunctionKey] = set()

    def graph(self, graph: onnx.GraphProto) -> Iterator[Misreading]:
        """Yield the misinterpreted function calls in a graph and in its nested bodies."""
        names = (*(i.name for i in graph.input), *(i.name for i in graph.initializer))
        added = self._add(map(text, names))
        yield from self._nodes(graph.node, "", {}, 0, added)
        self.tensors.difference_update(added)

    def _nodes(
        self, nodes: Iterable[onnx.NodeProto], prefix: str, given: _Environment, depth: int, added: set[str]
    ) -> Iterator[Misreading]:
        for index, node in enumerate(nodes):
            self.left -= 1
            if self.left < 0:
                return
            path = prefix + (text(node.name) or f"{text(node.op_type)}_{index}")
            function = self.functions.get(function_key(node))
            if function is not None and depth < _DEEPEST:
                yield from self._call(node, function, path, given, depth)
            elif function is None:
                if depth:
                    yield from self._lost(node, path, given)
                for body in bodies_of(node):
                    inner = self._add(defined(body))
                    yield from self._nodes(body.node, prefix if depth else "", given, depth, inner)
                    self.tensors.difference_update(inner)
            added |= self._add(map(text, node.output))

    def _call(
        self,
        call: onnx.NodeProto,
        function: onnx.FunctionProto,
        path: str,
        given: _Environment,
        depth: int,
    ) -> Iterator[Misreading]:
        name, domain = text(function.name), domain_of(function.domain)
        key = function_key(function)
        if key not in self._seen:
            self._seen.add(key)
            yield Misreading("operator", name, domain, path, "")
        if key in self._others:
            yield Misreading("domain", name, domain, path, domain_of(self.by_name[name].domain))
        formals = [text(each) for each in function.input]
        actuals = [text(each) for each in call.input][: len(formals)]
        renamed: set[str] = set()
        for formal, actual in zip(formals, actuals, strict=False):
            if actual in renamed:
                yield Misreading("crossed", name, domain, path, actual)
            if actual and actual != formal:
                renamed.add(formal)
                if formal in self.tensors:
                    yield Misreading("shadowed", name, domain, path, formal)
        added = self._add(formals)
        inner = _environment(call, function, given)
        yield from self._nodes(function.node, f"{path}/", inner, depth + 1, added)
        self.tensors.difference_update(added)

    def _lost(self, node: onnx.NodeProto, path: str, given: _Environment) -> Iterator[Misreading]:
        """Yield a misreading for each attribute that the parser reads as 0 or as an empty text."""
        for attribute in node.attribute:
            reference = text(attribute.ref_attr_name)
            if not reference:
                continue
            known = given.get(reference, _Binding(None, lost=True))
            name = text(attribute.name)
            value = known.value or self._default(node, name)
            if known.lost and value is not None and (number := onnx.helper.get_attribute_value(value)):
                shown = number.decode("utf-8", "replace") if isinstance(number, bytes) else f"{number:g}"
                called = path.rpartition("/")[0]
                detail = f"{text(node.op_type)}.{name}"
                yield Misreading("attribute", called.rpartition("/")[2], "", called, detail, shown)

    def _default(self, node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
        """Return ONNX's default value of a number or string attribute, or None if there is no default."""
        domain = domain_of(node.domain)
        try:
            schema = schema_at(text(node.op_type), self.versions.get(domain, 1), domain)
        except onnx.defs.SchemaError:
            return None
        declared = schema.attributes.get(name)
        value = None if declared is None else declared.default_value
        return value if value is not None and value.type in _SCALARS else None

    def _add(self, names: Iterable[str]) -> set[str]:
        """Add names to the parser's table of tensors.  Return the names that were not yet in the table."""
        given = {name for name in names if name}
        self.left -= len(given)
        added = given - self.tensors
        self.tensors |= added
        return added


_SCALARS = (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING)


def _environment(call: onnx.NodeProto, function: onnx.FunctionProto, given: _Environment) -> _Environment:
    """Return the attributes of a function in one call, by name.

    ``given`` has the attributes of the calling function.  The parser loses an attribute that refers to an
    attribute of the calling function.
    """
    found = {text(each.name): _Binding(_scalar(each), lost=False) for each in function.attribute_proto}
    for attribute in call.attribute:
        reference = text(attribute.ref_attr_name)
        if reference:
            outer = given.get(reference)
            found[text(attribute.name)] = _Binding(None if outer is None else outer.value, lost=True)
        else:
            found[text(attribute.name)] = _Binding(_scalar(attribute), lost=False)
    return found


def _scalar(attribute: onnx.AttributeProto) -> onnx.AttributeProto | None:
    return attribute if attribute.type in _SCALARS else None
