"""Extract the nodes that a patch changes into two small models, and find equal regions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np
import onnx
from msgspec import Struct
from onnx import helper

from trtlint.errors import TrtlintError
from trtlint.fixes.edit import EditError, needs, topological_order
from trtlint.fixes.patch import Patch
from trtlint.fixes.reference import part_of
from trtlint.model.graph import WITH_BODIES, Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.sizes import Dimensions

_MOST_NODES = 2000
"""Maximum number of nodes in a region.  A rewrite of a block usually changes tens of nodes."""


class RegionError(TrtlintError):
    """Error: the nodes of a patch cannot run without the rest of the model.

    The message is the reason.
    """


class Region(Struct, frozen=True):
    """The nodes that a patch changes, and the nodes between them.

    Attributes:
        before, after: models of the nodes before and after the patch. Both have the same inputs and outputs.
        nodes: the nodes before the patch.
        inputs: values that the nodes read but do not compute.
        outputs: names of computed values that nodes outside the region read, or that are outputs of the
            model.
    """

    nodes: tuple[Node, ...]
    before: onnx.ModelProto
    after: onnx.ModelProto
    inputs: tuple[Value, ...]
    outputs: tuple[str, ...]


def region_of(model: Model, patch: Patch) -> Region:
    """Extract the nodes that a patch changes, the nodes between them, and nodes that compute shapes.

    Raises:
        RegionError: the nodes cannot be extracted.
        EditError: the rewritten nodes form a cycle.
    """
    core = _convex([*patch.touched, *patch.around], patch)
    if not core:
        raise RegionError("no operator changes")
    nodes = _with_shapes(core, patch, model)
    computed = {value for node in nodes for value in node.outputs}
    removed = set(patch.remove)
    rewired = {(node, port): name for node, port, name in patch.rewire}
    before, after = [], list(patch.insert)
    for node in nodes:
        before.append(node.proto)
        if node not in removed:
            proto = deepcopy(node.proto)
            for (reader, port), name in rewired.items():
                if reader is node:
                    proto.input[port] = name
            after.append(proto)
    outputs = tuple(
        value.name
        for node in core
        for value in node.outputs
        if value.name
        and value.name not in patch.altered
        and (value.is_output or value.leaves_body or any(reader not in nodes for reader, _ in value.uses))
    )
    if not outputs:
        raise RegionError("no node reads the values that the rewrite changes")
    own = {name for node in patch.insert for name in node.output} | {t.name for t in patch.initializers}
    reads = [value for node in nodes for value in node.inputs if value is not None]
    protos = (*patch.insert, *(node.proto for node in nodes if node.op in WITH_BODIES))
    names = dict.fromkeys(name for proto in protos for name in needs(proto) if name not in own)
    reads += _resolved(names, core[0].scope, model)
    inputs = tuple(dict.fromkeys(value for value in reads if value not in computed))
    order = topological_order(after)
    if order is None:
        raise EditError("the rewritten nodes form a cycle")
    return Region(
        tuple(nodes),
        _model(before, (), inputs, outputs, model),
        _model([after[index] for index in order], patch.initializers, inputs, outputs, model),
        inputs,
        outputs,
    )


def _resolved(names: Iterable[str], scope: str, model: Model) -> list[Value]:
    """Return the values in ``names`` that are visible in a scope. Unknown names are skipped."""
    found = (model.graph.resolve(name, scope) for name in names)
    return [value for value in found if value is not None]


def _convex(nodes: Iterable[Node], patch: Patch) -> list[Node]:
    """Return, in graph order, ``nodes`` and all nodes on paths between them."""
    chosen = set(nodes)
    if not chosen:
        return []
    first, last = min(node.index for node in chosen), max(node.index for node in chosen)
    below, above = set(chosen), set(chosen)
    for reached, step in ((below, True), (above, False)):
        pending = list(chosen)
        while pending:
            node = pending.pop()
            values = node.outputs if step else [value for value in node.inputs if value is not None]
            for value in values:
                near = [n for n, _ in value.uses] if step else [value.producer] if value.producer else []
                for other in near:
                    if other not in reached and first <= other.index <= last:
                        reached.add(other)
                        pending.append(other)
            if len(reached) > 50 * _MOST_NODES:
                raise RegionError(f"the affected region has more than {50 * _MOST_NODES:,} nodes")
    return _checked(below & above, patch)


def _with_shapes(core: list[Node], patch: Patch, model: Model) -> list[Node]:
    """Return, in graph order, the nodes of ``core`` and the nodes that compute shapes for them."""
    found = set(core)
    reads = {name for node in patch.insert for name in node.input}
    pending = [v for node in core for v in node.inputs if v is not None]
    pending += _resolved(reads, core[0].scope, model)
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None or node in found or not model.constants.data_free(value):
            continue
        found.add(node)
        if node.op not in ("Shape", "Size"):
            pending += [v for v in node.inputs if v is not None]
    return _checked(found, patch)


def _checked(nodes: set[Node], patch: Patch) -> list[Node]:
    if len(nodes) > _MOST_NODES:
        raise RegionError(f"the affected region has more than {_MOST_NODES:,} nodes")
    if any(node.op in WITH_BODIES and node not in patch.remove for node in nodes):
        raise RegionError("the affected region contains an If or a loop")
    return sorted(nodes, key=lambda node: node.index)


def _model(
    nodes: Iterable[onnx.NodeProto],
    tensors: Sequence[onnx.TensorProto],
    inputs: Iterable[Value],
    outputs: Sequence[str],
    model: Model,
) -> onnx.ModelProto:
    """Return a model of the nodes before or after a patch.

    If the patch stores an output as a constant, ``/result`` is added to the name of the output.
    """
    stored = {tensor.name for tensor in tensors}
    results = [f"{name}/result" if name in stored else name for name in outputs]
    renamed = [
        helper.make_node("Identity", [name], [result])
        for name, result in zip(outputs, results, strict=True)
        if name != result
    ]
    return part_of(model, [*nodes, *renamed], [value.name for value in inputs], results, tensors)


def likeness(model: Model, patch: Patch, region: Region) -> bytes:
    """Return a hash of all data that can change the result of a patch's proof.

    In the hashed data, numbers replace the names. A name gets its number when it first appears.
    If a proof uses random elements instead of stored weights, the hash does not depend on the weights.

    Args:
        model: the model.
        patch: the patch.
        region: the nodes that the patch changes.
    """
    names = _NameNumbers()
    values = (getattr(patch, name) for name in patch.__struct_fields__)
    settings = [value for value in values if isinstance(value, int | str)]
    parts: list[object] = [settings, sorted(model.opsets.items())]
    for value in region.inputs:
        parts += [names.of(value.name), value.dtype, names.dims(model.constants.dimensions(value))]
        if value.dtype not in FLOAT_DTYPES:  # the readers of an integer tensor determine its valid values
            parts.append(sorted({reader.op for reader, _ in value.uses}))
        if model.constants.foldable(value):
            parts.append(_stored(model, patch, value))
    for tensor in patch.initializers:
        parts += [names.of(tensor.name), hashlib.sha256(_unnamed(tensor)).hexdigest()]
    for value, shape in patch.shapes:
        parts += [names.of(value.name), names.dims(value.shape), names.dims(shape)]
    for proto in (region.before, region.after):
        for node in proto.graph.node:
            parts += [node.domain, node.op_type]
            parts += sorted(each.SerializeToString(deterministic=True) for each in node.attribute)
            parts += [[names.of(name) for name in each] for each in (node.input, node.output)]
        parts.append([names.of(info.name) for info in proto.graph.output])
    parts += [[names.of(name) for name in each] for each in (patch.altered, patch.retyped, patch.finite)]
    parts += [(names.of(name), numbers) for name, numbers in patch.holds]
    parts += [(names.of(each.tensor), each.low, each.high) for each in patch.bounds]
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).digest()


def only_renames(patch: Patch) -> bool:
    """Return whether a patch only renames operators."""
    if patch.initializers or patch.rewire or patch.retyped or patch.opset or patch.set_opset:
        return False
    before = Counter(_unnamed(node.proto) for node in patch.remove)
    return bool(before) and before == Counter(map(_unnamed, patch.insert))


def _unnamed(proto: onnx.NodeProto | onnx.TensorProto) -> bytes:
    """Serialize a node or a tensor without its name.

    The result for a node contains the names of its inputs and outputs.
    """
    bare = deepcopy(proto)
    bare.ClearField("name")
    return bare.SerializeToString(deterministic=True)


class _NameNumbers:
    """Assigns a number to each name, in order of appearance."""

    def __init__(self) -> None:
        self._met: dict[str, int] = {"": 0}

    def of(self, name: str) -> int:
        return self._met.setdefault(name, len(self._met))

    def dims(self, shape: Dimensions | Iterable[int | str | None] | None) -> list[object] | None:
        """Return a shape in which numbers replace the names of dynamic dimensions."""
        if shape is None:
            return None
        return [dim if dim is None or isinstance(dim, int) else (self.of(f"dim {dim}"),) for dim in shape]


def _stored(model: Model, patch: Patch, value: Value) -> object:
    """Return the type and the shape of a constant, and a hash of its elements.

    The hash is empty if the proof uses random elements instead of the stored elements.
    """
    array = model.constants.payload(value)
    if array is None:
        array = model.constants.array(value)
    if array is None:
        return None
    drawn = array.dtype.kind == "f" and array.size > 1 and not patch.folds
    digest = "" if drawn else hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return array.dtype.str, array.shape, digest
