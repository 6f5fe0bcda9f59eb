"""Load an ONNX file as a :class:`Model`: read it, inline functions, infer types, build the graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import onnx
from msgspec import Struct, field

from trtlint.files.limits import LimitError, limit_work
from trtlint.model.dimensions import clean_bodies, clean_dimensions
from trtlint.model.errors import ModelError
from trtlint.model.graph import Graph
from trtlint.model.infer import InferenceError, infer
from trtlint.model.inline import NOTHING_INLINED, FunctionCall, InliningResult, inline
from trtlint.model.misreading import Misreading
from trtlint.model.protos import DTYPES, NOT_TENSORS, bodies_of, domain_of, opsets, text
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.retype import retype
from trtlint.model.scopes import add_outer_values, remove_outer_values
from trtlint.model.tensors import TensorStore
from trtlint.model.unique_names import make_names_unique, restore_names
from trtlint.model.values import Constants


class Model(Struct, frozen=True):
    """An ONNX model.  Its weights are not in memory.

    Attributes:
        path: the file, as the user named it.
        graph: the graph with inlined functions and inferred types.
        constants: values that do not depend on the inputs of the model.
        tensors: reads the values of stored tensors from the file.
        opsets: opset version by domain; the default domain is ``""``.
        ir_version: IR version of the file.
        producer: producer name and version, joined with a space.
        metadata: ``metadata_props`` of the model.
        declared: for each output of the model, by name, the element type that the file declares, such as
            ``f32``, or ``sequence``, ``map``, ``optional`` or ``sparse tensor``.  If the operators
            contradict a declared type, ``graph`` has a different type.
        calls: the model-local functions that the file calls; the graph contains their bodies.
        call_paths: the names of all calls of the functions in ``calls``.  The name of an inlined node begins
            with the name of its call.
        untyped: the limit that stopped the inference of types and shapes; empty if inference finished.
        misread: the calls that TensorRT's parser may interpret differently than ONNX.
    """

    path: Path
    graph: Graph
    constants: Constants
    tensors: TensorStore
    opsets: Mapping[str, int] = field(default_factory=dict)
    ir_version: int = 0
    producer: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[FunctionCall, ...] = ()
    call_paths: tuple[str, ...] = ()
    untyped: str = ""
    misread: tuple[Misreading, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about reading the file, such as missing external data.

        Reading more tensors can add notes.
        """
        return tuple(self.tensors.notes)

    @property
    def opset(self) -> int | None:
        """Opset version of ONNX's domain, or None if the model does not import this domain."""
        return self.opsets.get("")


class ModelSource(Protocol):
    """A reader of a model that is in memory or on another machine, not in a local file."""

    def read(self) -> RawModel:
        """Read the model without the elements of its large tensors.

        Raises:
            ModelError: the model cannot be read or linted.
        """


def load(path: Path, source: ModelSource | None = None) -> Model:
    """Load a model without its weights, within the limits of :mod:`trtlint.files.limits`.

    Args:
        path: path of a local file.  For a model in memory or a remote model: the name to show in reports.
        source: reads a model in memory or a remote model; None for a local file.

    Raises:
        ModelError: trtlint cannot lint the model, or reading it exceeded the limits.
    """
    try:
        with limit_work(path):
            raw = read(path) if source is None else source.read()
            data, declared, inlined = _inlined(raw)
            model = interpret(path, data, raw.tensors, declared, inlined)
    except LimitError as error:
        raise ModelError(error.message) from None
    return model


def empty_model(path: Path) -> Model:
    """Return a model without nodes, for a build log or engine that comes without its ONNX file.

    ``path`` is the path of the log or engine.
    """
    graph, tensors = Graph(onnx.GraphProto()), TensorStore(path)
    return Model(path, graph, Constants(graph, tensors), tensors)


def structure(path: Path) -> tuple[onnx.ModelProto, TensorStore]:
    """Read an ONNX file without the elements of large tensors.  Inline functions and infer types.

    Unlike :func:`load`, this function does not build a :class:`~trtlint.model.graph.Graph`.

    Returns:
        The model, and a store that reads its tensors from the file.

    Raises:
        ModelError: the file is not a model that trtlint can lint.
    """
    raw = read(path)
    data, _, _ = _inlined(raw)
    inferred = _infer(data, raw.tensors)
    restore_names(inferred.proto.graph, inferred.names)
    return inferred.proto, raw.tensors


def interpret(
    path: Path,
    data: bytes,
    tensors: TensorStore,
    declared: Mapping[str, onnx.TypeProto] = MappingProxyType({}),
    inlined: InliningResult = NOTHING_INLINED,
) -> Model:
    """Build a :class:`Model` from a serialized ModelProto.  Its functions must be inlined already.

    Args:
        path: the file, as the user named it.
        data: the ModelProto.  The elements of large tensors are missing.
        tensors: reads the missing elements.
        declared: declared types of intermediate values, by name.  ``data`` does not contain these types.
        inlined: the functions that the file calls.

    Raises:
        ModelError: trtlint cannot lint the model.
    """
    inferred = _infer(data, tensors)
    proto = inferred.proto
    if inferred.has_bodies and add_outer_values(proto):
        with suppress(InferenceError):
            proto = decode(infer(proto.SerializeToString()))
        remove_outer_values(proto.graph)
    restore_names(proto.graph, inferred.names)
    graph = Graph(proto.graph, declared)
    _check_external(graph, tensors)
    versions = opsets(proto)
    retype(graph, versions.get("", 1))
    if versions.get("", 0) > onnx.defs.onnx_opset_version():
        known = f"opset {onnx.defs.onnx_opset_version()}, the newest of onnx {onnx.__version__}"
        tensors.note(f"opset {versions['']} is newer than {known}: types may be unknown")
    return Model(
        path=path,
        graph=graph,
        constants=Constants(graph, tensors),
        tensors=tensors,
        opsets=versions,
        ir_version=proto.ir_version,
        producer=f"{text(proto.producer_name)} {text(proto.producer_version)}".strip(),
        metadata={text(entry.key): text(entry.value) for entry in proto.metadata_props},
        declared=inferred.declared,
        calls=inlined.calls,
        call_paths=inlined.paths,
        untyped=inferred.untyped if _lacks_types(graph) else "",
        misread=inlined.misread,
    )


def _inlined(raw: RawModel) -> tuple[bytes, Mapping[str, onnx.TypeProto], InliningResult]:
    """Inline the model-local functions of a model.

    Returns:
        The serialized ModelProto, the declared types of intermediate values by name, and the inlined
        functions.
    """
    data = raw.data
    inlined = NOTHING_INLINED
    declared = {text(info.name): info.type for info in decode(raw.declared).graph.value_info}
    if raw.has_functions or (declared and raw.domains):
        proto = decode(data)
        if raw.has_functions:
            inlined = inline(proto)
            for note in inlined.notes:
                raw.tensors.note(note)
        _declare_foreign(proto.graph, declared)
        data = proto.SerializeToString()
    return data, declared, inlined


def undeclared(proto: onnx.ModelProto) -> tuple[bytes, Mapping[str, onnx.TypeProto]]:
    """Separate a model into the arguments ``data`` and ``declared`` of :func:`interpret`.

    Returns:
        Two results: the serialized model without the declared types of intermediate values, and these types
        by value name.
    """
    declared = {text(info.name): info.type for info in proto.graph.value_info}
    if not declared:
        return proto.SerializeToString(), declared
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.value_info[:]
    _declare_foreign(copy.graph, declared)
    return copy.SerializeToString(), declared


class _InferredModel(Struct, frozen=True):
    """A model with inferred types and shapes.

    Attributes:
        proto: the model; its value names are unique.
        has_bodies: whether an operator contains a graph.
        names: for renamed values, a mapping of the unique names to the original names.
        declared: the declared types of the model's outputs, by name.
        untyped: the limit that stopped the inference; empty if inference finished.
    """

    proto: onnx.ModelProto
    has_bodies: bool
    names: Mapping[str, str]
    declared: Mapping[str, str]
    untyped: str = ""


def _infer(data: bytes, tensors: TensorStore) -> _InferredModel:
    """Infer types and shapes.

    If the declared types contradict the operators, inference ignores the declared types.
    """
    proto = decode(data)
    declared = _output_types(proto)
    has_bodies = any(True for node in proto.graph.node for _ in bodies_of(node))
    changed, notes = clean_dimensions(proto.graph)
    for note in notes:
        tensors.note(note)
    names: Mapping[str, str] = {}
    if has_bodies:
        changed |= clean_bodies(proto.graph)
        names = make_names_unique(proto.graph)
    if changed or names:
        data = proto.SerializeToString()
    try:
        return _InferredModel(decode(infer(data)), has_bodies, names, declared)
    except InferenceError as error:
        failure = error
    if failure.refused:
        del proto.graph.value_info[:]
        for output in proto.graph.output:
            output.ClearField("type")
        with suppress(InferenceError):
            inferred = decode(infer(proto.SerializeToString()))
            tensors.note(f"declared types contradict the operators and were ignored: {failure}")
            return _InferredModel(inferred, has_bodies, names, declared)
        proto = decode(data)
    tensors.note(f"shape inference failed, so only declared types are known: {failure}")
    return _InferredModel(proto, has_bodies, names, declared, untyped="" if failure.refused else str(failure))


def _lacks_types(graph: Graph) -> bool:
    """Return whether an ONNX operator computes a value of unknown type or shape."""
    return any(
        value.name and (value.dtype is None or value.shape is None)
        for node in graph.nodes
        if not node.domain
        for value in node.outputs
    )


def _output_types(proto: onnx.ModelProto) -> dict[str, str]:
    found: dict[str, str] = {}
    for info in proto.graph.output:
        kind = info.type.WhichOneof("value")
        if kind in NOT_TENSORS:
            found[text(info.name)] = NOT_TENSORS[kind]
        elif info.type.tensor_type.elem_type in DTYPES:
            found[text(info.name)] = DTYPES[info.type.tensor_type.elem_type]
    return found


def _declare_foreign(graph: onnx.GraphProto, declared: Mapping[str, onnx.TypeProto]) -> None:
    """In place, declare the result types of operators that ONNX does not define."""
    for node in graph.node:
        if not domain_of(node.domain):
            continue
        for name in map(text, node.output):
            if name in declared:
                info = graph.value_info.add(name=name)
                info.type.CopyFrom(declared[name])


def _check_external(graph: Graph, tensors: TensorStore) -> None:
    for values in graph.values.values():
        for value in values:
            if value.initializer is not None:
                tensors.check(value.initializer, value.name)
    for node in graph.nodes:
        stored = node.attribute("value") if node.op in ("Constant", "ConstantOfShape") else None
        if isinstance(stored, onnx.TensorProto) and not node.domain:
            tensors.check(stored, node.output.name or node.path)
