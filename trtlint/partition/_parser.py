"""Find the nodes that NVIDIA's parser accepts, in a worker process.

The process works like ONNX Runtime's providers.  A provider passes a region of nodes to the parser, and the
parser returns smaller regions.  The provider passes these regions to the parser again, until the parser
accepts each region as a whole.  Subgraphs of If, Loop and Scan are divided first, as in ONNX Runtime.
https://github.com/microsoft/onnxruntime/blob/1f5e66666880/onnxruntime/core/providers/nv_tensorrt_rtx/nv_execution_provider.cc
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from msgspec import Struct, convert, to_builtins

from trtlint.errors import ExperimentError
from trtlint.model.contents import reads
from trtlint.model.graph import WITH_BODIES
from trtlint.model.inline import inline
from trtlint.model.protos import DTYPES
from trtlint.partition.origins import MARK, MOST_BODIES, Merged, bodies, mark, merged, path_of
from trtlint.partition.regions import NO_INTERFACE, UNTAKEN, Operator, Region, interface_words, join, runs
from trtlint.partition.result import ProviderSettings
from trtlint.partition.rewriting import rewritten as rewritten_by_onnxruntime
from trtlint.partition.rewriting import shapes_of

_MOST_CALLS = 3000
"""Largest number of parser calls for one model."""

Say = Callable[[Any], None]
Types = Mapping[str, onnx.TypeProto]


class _EndedError(ExperimentError):
    """Error: the parser returned a region unchanged, or there were too many (nested) parser calls."""


def work(request: dict[str, Any], say: Say) -> None:
    """Divide a model into parts, and send the parts to the parent process.

    Args:
        request: the keys ``model`` (a path), ``rewrite`` (whether to apply ONNX Runtime's rewrites),
            ``provider``, and ``settings`` (the fields of
            :class:`~trtlint.partition.result.ProviderSettings`).
        say: function that receives the stage, then the result.
    """
    path = Path(request["model"])
    say({"stage": "rewrite"})
    read = _read(path, rewrite=bool(request["rewrite"]))
    model = _inferred(read.model)
    say({"stage": "parse"})
    settings = convert(request["settings"], ProviderSettings)
    parser = _Parser(model, path, settings)
    scopes: list[dict[str, Any]] = []
    dividing = _GraphDivider(parser, settings, plugin=request["provider"] == "nv-tensorrt-rtx", found=scopes)
    dividing.graph(model.graph, {}, "", 0)
    say(
        {
            "scopes": scopes,
            "calls": parser.calls,
            "rewritten": read.rewritten,
            "merged": read.merged,
            "shapeless": parser.shapeless,
        }
    )


class _ProviderModel(Struct, frozen=True):
    """A model as execution providers get it from ONNX Runtime.

    Attributes:
        model: the model.  The nodes are marked with their paths in the file.
        rewritten: whether ONNX Runtime's rewrites were applied to the model.
        merged: the nodes in the file that the rewrites merged into other nodes.
    """

    model: onnx.ModelProto
    rewritten: bool
    merged: Merged


def _read(path: Path, *, rewrite: bool) -> _ProviderModel:
    """Read a model.  If ONNX Runtime can load the model, apply ONNX Runtime's rewrites."""
    model = onnx.load(path, load_external_data=False)
    if model.functions:
        inline(model)  # gives the nodes of functions the names that trtlint reports
    marked = mark(model.graph)
    if rewrite:
        found = rewritten_by_onnxruntime(model, path.parent)
        if found is not None:
            return _ProviderModel(found, True, merged(marked, found))
    _store_constants(model.graph)
    return _ProviderModel(model, False, {})


class _Parser:
    """Calls NVIDIA's parser for regions of one model.

    Attributes:
        calls: number of parser calls.
        shapeless: the first region input without a full shape; empty if there is none.
    """

    def __init__(self, model: onnx.ModelProto, path: Path, settings: ProviderSettings) -> None:
        self._trt: Any = importlib.import_module("tensorrt_rtx_bindings")
        self._logger = self._trt.Logger(self._trt.Logger.ERROR)
        self._builder = self._trt.Builder(self._logger)
        self.model, self._path, self._settings = model, path, settings
        self.calls = 0
        self.shapeless = ""

    def taken(
        self, nodes: Sequence[onnx.NodeProto], region: Region, around: _GraphContext
    ) -> Iterator[Region]:
        """Pass a region to the parser, and yield the smaller regions that the parser accepts as a whole.

        ``nodes`` are the nodes of the graph, and ``around`` contains further data about the graph.
        """
        # Each entry: a region, its depth in the tree of parser calls, and the region that contains it.
        pending: list[tuple[Region, int, Region | None]] = [(region, 1, None)]
        while pending:
            own, depth, outer = pending.pop()
            # The parser may return the same region again, so the number of calls is limited.
            if own == outer or depth > self._settings.max_rounds + 1 or self.calls >= _MOST_CALLS:
                raise _EndedError
            whole, listed = self._ask(self._built(nodes, own, around, strict=depth > 1))
            found = [tuple(own[each] for each in positions) for positions in listed]
            if whole:
                yield from found
            else:
                pending += [(each, depth + 1, own) for each in reversed(found)]

    def _ask(self, model: onnx.ModelProto) -> tuple[bool, list[list[int]]]:
        self.calls += 1
        network = self._builder.create_network(0)
        parser = self._trt.OnnxParser(network, self._logger)
        whole = bool(parser.supports_model_v2(model.SerializeToString(), str(self._path)))
        return whole, [list(parser.get_subgraph_nodes(each)) for each in range(parser.num_subgraphs)]

    def _built(
        self, all_nodes: Sequence[onnx.NodeProto], region: Region, around: _GraphContext, *, strict: bool
    ) -> onnx.ModelProto:
        """Build a model from the nodes of one region and the initializers that these nodes read.

        If ``strict`` is true, every input of the model needs a shape.
        """
        nodes = [all_nodes[position] for position in region]
        built = onnx.ModelProto(ir_version=onnx.IR_VERSION)  # the providers ignore the IR version of the file
        built.opset_import.extend(self.model.opset_import)
        built.functions.extend(self.model.functions)
        graph = built.graph
        graph.name = self.model.graph.name or "region"
        graph.node.extend(nodes)
        computed = {name for node in nodes for name in node.output if name}
        read = dict.fromkeys(name for node in nodes for name in reads(node))
        for name in read:
            if name in computed:
                continue
            if name in around.stored:
                graph.initializer.append(around.stored[name])
            elif name in around.sparse:
                graph.sparse_initializer.append(around.sparse[name])
            else:
                graph.input.append(self._value(name, around.types, strict=strict))
        own = frozenset(region)
        for name in dict.fromkeys(name for node in nodes for name in node.output if name):
            if name in around.outputs or name not in read or around.is_read_outside(name, own):
                graph.output.append(self._value(name, around.types, strict=False))
        return built

    def _value(self, name: str, types: Types, *, strict: bool) -> onnx.ValueInfoProto:
        known = types.get(name)
        if strict and not _has_shape(known):
            self.shapeless = self.shapeless or name
        value = onnx.ValueInfoProto(name=name)
        if known is not None:
            value.type.CopyFrom(known)
        return value


class _GraphContext:
    """The data about one graph that are needed to build a model for each region of the graph.

    Args:
        graph: the graph.
        types: types of the values in the graph and in the outer graphs.
        outer: the data about the outer graph; None for the main graph.
    """

    def __init__(self, graph: onnx.GraphProto, types: Types, outer: _GraphContext | None) -> None:
        self.types = types
        own = {each.name: each for each in graph.initializer}
        self.stored: dict[str, onnx.TensorProto] = own if outer is None else {**outer.stored, **own}
        self.sparse = {each.values.name: each for each in graph.sparse_initializer}
        self.outputs = {each.name for each in graph.output}
        self._readers: dict[str, set[int]] = {}
        for position, node in enumerate(graph.node):
            for name in reads(node):
                self._readers.setdefault(name, set()).add(position)

    def is_read_outside(self, name: str, region: Set[int]) -> bool:
        """Return whether a node outside of a region reads the value ``name``."""
        return not self._readers.get(name, set()) <= region


class _GraphDivider:
    """Divides a graph and the subgraphs of its nodes into parts, the innermost subgraph first."""

    def __init__(
        self, parser: _Parser, settings: ProviderSettings, *, plugin: bool, found: list[dict[str, Any]]
    ) -> None:
        self._parser, self._settings, self._plugin, self._found = parser, settings, plugin, found

    def graph(
        self, graph: onnx.GraphProto, types: Types, scope: str, depth: int, outer: _GraphContext | None = None
    ) -> bool:
        """Divide one graph into parts.  Return whether TensorRT accepts the whole graph.

        ``scope`` is the path of the graph, and ``outer`` has the data of the outer graph.
        """
        if depth > MOST_BODIES:
            return False
        own = {**types, **dict(_types(graph))}
        if depth == 0:
            own.update(shapes_of(self._parser.model, _lacking(graph, own)))
        _complete(graph, own)
        around = _GraphContext(graph, own, outer)
        nodes = list(graph.node)
        offered = [
            position
            for position, node in enumerate(nodes)
            if self._bodies_taken(node, position, own, scope, depth, around) and self._is_offered(node, own)
        ]
        regions: list[Region] = []
        rejected = _rejection(graph, own) if self._plugin else ""
        try:
            for region in () if rejected else runs(offered):
                regions += self._parser.taken(nodes, region, around)
        except _EndedError:
            regions = []
        joined = join([_operator(node) for node in nodes], regions, self._settings)
        whole = sum(map(len, joined.parts)) == len(nodes)
        self._found.append(
            {
                "scope": scope,
                "nodes": [[path_of(node, index, scope), node.op_type] for index, node in enumerate(nodes)],
                "added": [
                    path_of(node, index, scope)
                    for index, node in enumerate(nodes)
                    if not node.doc_string.startswith(MARK)
                ],
                **to_builtins(joined),
                "whole": whole,
                "rejected": rejected,
            }
        )
        return whole

    def _bodies_taken(
        self, node: onnx.NodeProto, position: int, types: Types, scope: str, depth: int, around: _GraphContext
    ) -> bool:
        if node.op_type not in WITH_BODIES or node.domain:
            return True
        path = path_of(node, position, scope)
        taken = [self.graph(each.g, types, f"{path}/{each.name}", depth + 1, around) for each in bodies(node)]
        return all(taken)

    def _is_offered(self, node: onnx.NodeProto, types: Types) -> bool:
        if node.op_type in self._settings.exclude:
            return False
        if not self._plugin:
            return True
        known = (types[name] for name in (*node.input, *node.output) if name in types)
        return not any(DTYPES.get(each.tensor_type.elem_type) in UNTAKEN for each in known)


def _operator(node: onnx.NodeProto) -> Operator:
    """Return a node as execution providers get it: name, operator, inputs and outputs."""
    return Operator(node.name, node.op_type, tuple(reads(node)), tuple(filter(None, node.output)))


def _rejection(graph: onnx.GraphProto, types: Types) -> str:
    """Return why the provider of TensorRT-RTX rejects a whole graph; empty if the provider accepts it."""
    stored = {tensor.name for tensor in graph.initializer}
    for value in (*graph.input, *graph.output):
        known = types.get(value.name, value.type).tensor_type
        dtype = DTYPES.get(known.elem_type)
        if value.name not in stored and dtype in NO_INTERFACE and known.shape.dim:
            return interface_words(value.name, str(dtype))
    return ""


def _store_constants(graph: onnx.GraphProto) -> None:
    """Convert Constant nodes to initializers, as ONNX Runtime does when it loads a model.

    The function calls itself for each subgraph. The depth is limited: protobuf reads at most 100 nested
    messages.
    """
    kept = []
    for node in graph.node:
        for each in bodies(node):
            _store_constants(each.g)
        stored = _held(node)
        if stored is None:
            kept.append(node)
        else:
            (stored.name,) = node.output
            graph.initializer.append(stored)
    if len(kept) < len(graph.node):
        del graph.node[:]
        graph.node.extend(kept)


def _held(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """Return a copy of the tensor in a Constant node, or None for other nodes."""
    if node.op_type != "Constant" or node.domain or len(node.attribute) != 1 or len(node.output) != 1:
        return None
    (given,) = node.attribute
    if given.name == "value":
        return onnx.TensorProto.FromString(given.t.SerializeToString())
    numbers: Mapping[str, Any] = {
        "value_float": np.float32(given.f),
        "value_int": np.int64(given.i),
        "value_floats": np.array(given.floats, np.float32),
        "value_ints": np.array(given.ints, np.int64),
    }
    found = numbers.get(given.name)
    return None if found is None else onnx.numpy_helper.from_array(np.asarray(found))


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with inferred types.  If inference fails, return the model unchanged."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        return model


def _types(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TypeProto]]:
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.HasField("type"):
            yield value.name, value.type


def _has_shape(known: onnx.TypeProto | None) -> bool:
    """Return whether a type has a shape in which every dimension has a size or a name."""
    if known is None or not known.tensor_type.HasField("shape"):
        return False
    return all(each.HasField("dim_value") or each.dim_param for each in known.tensor_type.shape.dim)


def _lacking(graph: onnx.GraphProto, types: Types) -> list[str]:
    """Return the names of the node outputs whose type or shape is unknown."""
    computed = (name for node in graph.node for name in node.output if name)
    return [each for each in computed if each not in types or not types[each].tensor_type.HasField("shape")]


def _complete(graph: onnx.GraphProto, types: dict[str, onnx.TypeProto]) -> None:
    """Add missing element types to ``types``.

    A value gets the type of an input of the operator that computes the value.

    Values of ONNX Runtime's own operators need this rule, because ONNX's type inference does not know these
    operators.
    """
    stored = {each.name: each.data_type for each in graph.initializer}
    for node in graph.node:
        known = (types[name].tensor_type.elem_type for name in node.input if name in types)
        element = next((each for each in known if each), None)
        if element is None:
            element = next((stored[name] for name in node.input if name in stored), onnx.TensorProto.FLOAT)
        for name in node.output:
            if name and not (name in types and types[name].tensor_type.elem_type):
                completed = types.get(name, onnx.TypeProto())
                completed.tensor_type.elem_type = element
                types[name] = completed
