"""Replace calls of model-local functions by the bodies of the functions.

This module replaces ``onnx.inliner``, which has four gaps:

* It does not record the call from which a node comes.  Here, the name of the node begins with the path of the
  call, and a node without metadata gets the metadata of the call.
* It ignores default attributes of functions.
* It skips functions whose opset differs from the opset of the model.
* It has no size limit.  Here, the size is checked before anything is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx
from google.protobuf.message import DecodeError
from msgspec import Struct

from trtlint.model.errors import ModelError
from trtlint.model.misreading import Misreading, misreadings
from trtlint.model.protos import (
    FunctionKey,
    bodies_of,
    defined,
    function_key,
    functions_of,
    named_parts,
    opsets,
    text,
)
from trtlint.model.unique_names import UniqueNames

_MOST_NODES = 500_000
_DEEPEST = 64
"""Limit of nested function calls."""
_DEEPEST_BODY = 30
"""Depth limit of nested subgraphs after inlining.

Protobuf allows 100 nested messages, and each level of subgraphs needs three.
"""
_MOST_BYTES = 96 << 20
"""Limit of the bytes that inlining may copy or write for one model.

An export of 20,000 nodes with stack traces needs about half of this limit.
"""
_BYTES_PER_NODE = 100
"""Bytes that trtlint counts for each copied node, in addition to the bytes of its path."""
_LONGEST_PATH = 1000
"""Largest length of a call path in the name of an inlined node, in characters.

The beginning of a longer path is cut off.
"""

_Nodes = Iterable[onnx.NodeProto]


class FunctionCall(Struct, frozen=True):
    """A model-local function, with the name of its first call.

    Attributes:
        name: name of the function, which is the operator type of the call.
        domain: domain of the function; empty for ONNX's domain.
        path: name of the call.  The inlined nodes of the function have names such as ``path/name``.
    """

    name: str
    domain: str
    path: str


class InliningResult(Struct, frozen=True):
    """Result of inlining.

    Attributes:
        notes: notes for the user about uncertain results.
        calls: the functions that the graph calls directly.
        paths: the names of all calls.  The name of an inlined node begins with the name of its call.
        misread: the calls that TensorRT's parser may interpret differently than ONNX.
    """

    notes: tuple[str, ...]
    calls: tuple[FunctionCall, ...]
    paths: tuple[str, ...]
    misread: tuple[Misreading, ...]


NOTHING_INLINED = InliningResult((), (), (), ())
"""The inlining result for a model without functions."""


def inline(proto: onnx.ModelProto) -> InliningResult:
    """Replace all calls of model-local functions by the bodies of the functions, in place.

    Raises:
        ModelError: a function calls itself, or the result would exceed a limit.
    """
    inliner = _Inliner(proto)
    misread = misreadings(proto)
    try:
        inliner.graph(proto.graph)
    except (DecodeError, RecursionError):  # functions with too deeply nested graph attributes
        raise _too_deep() from None
    del proto.functions[:]
    if any(level > _DEEPEST_BODY for _, level in _walk(proto.graph.node)):
        raise _too_deep()
    return InliningResult(tuple(inliner.notes), tuple(inliner.calls.values()), tuple(inliner.paths), misread)


class _Inliner:
    def __init__(self, proto: onnx.ModelProto) -> None:
        self.functions = functions_of(proto)
        self.notes: list[str] = []
        self.calls: dict[FunctionKey, FunctionCall] = {}
        self.paths: list[str] = []
        self._depth = 0
        self._value_names = UniqueNames(_names(proto.graph))
        self._left = _MOST_BYTES
        self._import_opsets(proto)
        self._check_size(proto)

    def _import_opsets(self, proto: onnx.ModelProto) -> None:
        versions = opsets(proto)
        for function in proto.functions:
            for domain, version in opsets(function).items():
                own = versions.setdefault(domain, version)
                if own != version:
                    note = (
                        f"function {text(function.name)!r} uses opset {version} of "
                        f"{domain or 'ai.onnx'!r}, but the model uses opset {own}; trtlint "
                        f"reads the function with opset {own}"
                    )
                    self.notes.append(note)
        known = opsets(proto)
        for domain, version in versions.items():
            if domain not in known:
                proto.opset_import.add(domain=domain, version=version)

    def _check_size(self, proto: onnx.ModelProto) -> None:
        nodes, height = self._size(proto.graph.node, (), {})
        if nodes > _MOST_NODES:
            raise ModelError(f"model-local functions expand to more than {_MOST_NODES:,} nodes")
        if height > _DEEPEST_BODY:
            raise _too_deep()

    def _size(
        self, nodes: _Nodes, calls: tuple[FunctionKey, ...], sizes: dict[FunctionKey, tuple[int, int]]
    ) -> tuple[int, int]:
        """Return the number of nodes and the nesting depth of bodies, both after inlining.

        ``calls`` are the functions on the current call stack, outermost first.  ``nodes`` are
        the nodes of the innermost function.
        """
        total = height = 0
        for node, level in _walk(nodes):
            total += 1
            height = max(height, level)
            key = function_key(node)
            if key not in self.functions:
                continue
            if key in calls:
                raise ModelError(
                    f"the model-local function {key[1]!r} calls itself", node=text(node.name) or None
                )
            if len(calls) >= _DEEPEST:
                raise ModelError(f"calls of model-local functions are nested more than {_DEEPEST} deep")
            if key not in sizes:
                sizes[key] = self._size(self.functions[key].node, (*calls, key), sizes)
            total += sizes[key][0]
            height = max(height, level + sizes[key][1])
        return total, height

    def _spend(self, size: int) -> None:
        """Subtract ``size`` bytes from the remaining size limit, before these bytes are written.

        Raises:
            ModelError: the limit is exceeded.
        """
        self._left -= size
        if self._left < 0:
            raise ModelError(f"model-local functions expand to more than {_MOST_BYTES >> 20} MiB")

    def graph(self, graph: onnx.GraphProto) -> None:
        inlined: list[onnx.NodeProto] = []
        for index, node in enumerate(graph.node):
            inlined += self._node(node, graph, text(node.name) or f"{text(node.op_type)}_{index}")
        del graph.node[:]
        graph.node.extend(inlined)

    def _node(self, node: onnx.NodeProto, graph: onnx.GraphProto, path: str) -> Iterator[onnx.NodeProto]:
        function = self.functions.get(function_key(node))
        if function is not None:
            yield from self._call(node, function, graph, path)
            return
        for body in bodies_of(node):
            self.graph(body)
        yield node

    def _call(
        self, call: onnx.NodeProto, function: onnx.FunctionProto, graph: onnx.GraphProto, path: str
    ) -> Iterator[onnx.NodeProto]:
        path = path[-_LONGEST_PATH:]
        if not self._depth:
            key = function_key(call)
            self.calls.setdefault(key, FunctionCall(key[1], key[0], path))
            self.paths.append(path)
        self._spend(function.ByteSize())
        inherited = sum(entry.ByteSize() for entry in call.metadata_props)
        names = dict(_zip(function.input, call.input))
        results = _zip(function.output, call.output)
        names.update((formal, actual or self._fresh(formal, path)) for formal, actual in results)
        outputs = [text(output) for node in function.node for output in node.output]
        own = {name: self._fresh(name, path) for name in dict.fromkeys(outputs) if name and name not in names}
        names.update(own)
        attributes = {text(attribute.name): attribute for attribute in function.attribute_proto}
        attributes.update((text(attribute.name), attribute) for attribute in call.attribute)
        for info in function.value_info:
            if text(info.name) in own:
                graph.value_info.add().CopyFrom(info)
                graph.value_info[-1].name = own[text(info.name)]
        self._depth += 1
        for index, original in enumerate(function.node):
            self._spend(_BYTES_PER_NODE + len(path))
            node = onnx.NodeProto()
            node.CopyFrom(original)
            node.name = f"{path}/{text(original.name) or f'{text(original.op_type)}_{index}'}"
            if not node.metadata_props:
                self._spend(inherited)
                node.metadata_props.extend(call.metadata_props)
            self._bind(node, names, attributes, path)
            yield from self._node(node, graph, node.name)
        self._depth -= 1

    def _bind(
        self,
        node: onnx.NodeProto,
        names: Mapping[str, str],
        attributes: Mapping[str, onnx.AttributeProto],
        path: str,
    ) -> None:
        """In ``node``, a node of a function, replace the function's parameters by the call's arguments."""
        node.input[:] = [names.get(text(name), text(name)) for name in node.input]
        node.output[:] = [names.get(text(name), text(name)) for name in node.output]
        self._spend(sum(map(len, node.input)) + sum(map(len, node.output)))
        bound: list[onnx.AttributeProto] = []
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                actual = attributes.get(text(attribute.ref_attr_name))
                if actual is None:
                    continue  # an optional attribute that the call omits
                name = text(attribute.name)
                self._spend(actual.ByteSize())
                attribute.CopyFrom(actual)
                attribute.name = name
            bound.append(attribute)
        if len(bound) < len(node.attribute):
            del node.attribute[:]
            node.attribute.extend(bound)
        for body in bodies_of(node):
            self._bind_body(body, names, attributes, path)

    def _bind_body(
        self,
        body: onnx.GraphProto,
        names: Mapping[str, str],
        attributes: Mapping[str, onnx.AttributeProto],
        path: str,
    ) -> None:
        # Also rename the values of the body.  Otherwise, they could hide a value that the call passes to the
        # function.
        own = {name: self._fresh(name, path) for name in dict.fromkeys(defined(body)) if name}
        inner = {**names, **own}
        for part in named_parts(body):
            part.name = inner.get(text(part.name), text(part.name))
        for node in body.node:
            self._bind(node, inner, attributes, path)

    def _fresh(self, name: str, path: str) -> str:
        """Return a value name that does not exist in the model."""
        base = f"{path}/{name}"
        self._spend(len(base))
        return self._value_names.add(base)


def _zip(formals: Iterable[str], actuals: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each parameter name of a function with its argument name.

    The argument name is empty if the call omits the argument.
    """
    given = iter(actuals)
    for formal in formals:
        yield text(formal), text(next(given, ""))


def _too_deep() -> ModelError:
    return ModelError(f"calls of model-local functions nest If, Loop and Scan more than {_DEEPEST_BODY} deep")


def _walk(nodes: _Nodes) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Yield all nodes, including nested ones, with their nesting depth."""
    waiting = [(nodes, 0)]
    while waiting:
        some, level = waiting.pop()
        for node in some:
            yield node, level
            waiting += ((body.node, level + 1) for body in bodies_of(node))


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names of the values defined in a graph and in its nested bodies."""
    yield from defined(graph)
    for node in graph.node:
        for body in bodies_of(node):
            yield from _names(body)
