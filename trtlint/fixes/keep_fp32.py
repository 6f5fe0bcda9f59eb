"""Run single operators of a 16-bit model in FP32, with Casts at their inputs and outputs.

Since TensorRT 11, the types in the model set the precision. So FP32 operators need FP32 types in the file:
https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/precision-control.html

A measurement of errors may list only some nodes of a norm. Before TensorRT 11, Casts around only these nodes
are not enough, because ``--fp16`` lets the builder run FP32 layers in FP16. A finding about the norm covers
all nodes of the norm. So trtlint first applies the rewrite for this finding. This rewrite converts all nodes
of the norm. https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/inference-library/precision-control.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import onnx
from msgspec import Struct
from onnx import defs

from trtlint.fixes.patch import Draft, Patch, onnx_type
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import text
from trtlint.model.schemas import schema_at
from trtlint.model.widening import widen_node

NAME = "keep-fp32"
"""Name of the rewrite in reports."""

TITLE = "computes in FP32 the nodes that a measurement lists"
"""Title of this rewrite's patches: a verb phrase."""
COVERING = frozenset({"widen-norm", "widen-chain", "widen-node", "fuse-norm"})
"""Rewrites that make operators compute in FP32.

``fuse-norm`` is one of them, because TensorRT computes a LayerNormalization in FP32.
"""
NARROW = frozenset({"f16", "bf16"})
"""16-bit float types."""
_NARROW_TYPES = frozenset({onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16})
_INSIDE = frozenset({"stash_type", "output_dtype"})
"""Attributes that set the computation or output type independently of the input types."""


def to_fp32(model: Model, paths: Iterable[str]) -> tuple[list[Patch], dict[str, str]]:
    """Create patches that convert operators to FP32.

    One patch converts all operators that share 16-bit tensors. ``Patch.remove`` contains these operators in
    graph order.

    Args:
        model: the model.
        paths: paths of the operators. Paths of Constant operators are ignored, because Casts at the readers
            of a constant convert the constant.

    Returns:
        A tuple of the patches and a dict. The dict contains the paths of the remaining operators, each with
        the reason why the operator cannot run in FP32.
    """
    known = {node.path: node for node in model.graph.nodes}
    chosen, refused = [], {}
    for path in dict.fromkeys(paths):
        node = known.get(path)
        if node is not None and node.op == "Constant" and not node.domain:
            continue
        why = "the model has no operator with this path" if node is None else obstacle(node, model)
        if node is None or why:
            refused[path] = why
        else:
            chosen.append(node)
    return [in_fp32(model, group, TITLE) for group in adjacent(chosen)], refused


def adjacent(nodes: Sequence[Node]) -> list[list[Node]]:
    """Group nodes that share 16-bit tensors. The nodes of each group are in graph order."""
    import networkx

    graph: networkx.Graph[Node | Value] = networkx.Graph()
    graph.add_nodes_from(nodes)
    for node in nodes:
        graph.add_edges_from((node, value) for value in _values(node) if value.dtype in NARROW)
    groups = [
        sorted((each for each in part if isinstance(each, Node)), key=lambda node: node.index)
        for part in networkx.connected_components(graph)
    ]
    return sorted(groups, key=lambda group: group[0].index)


def _values(node: Node) -> list[Value]:
    return [value for value in (*node.inputs, *node.outputs) if value is not None and value.name]


def obstacle(node: Node, model: Model) -> str:
    """Return the reason why an operator cannot compute in FP32, or an empty string if it can."""
    if node.scope:
        return f"{node.op} is in the body of an If or a loop"
    if any(proto.HasField("g") or proto.graphs for proto in node.proto.attribute):
        return f"{node.op} contains a body, and the operators in the body determine the types"
    unknown = next((value.name for value in _values(node) if value.dtype is None), None)
    if unknown is not None:
        return f"the type of {unknown} is unknown"
    if not any(value.dtype in NARROW for value in _values(node)):
        return f"{node.op} has no 16-bit inputs or outputs"
    try:
        schema = schema_at(node.op, model.opsets.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        return f"{node.op} is not an ONNX operator, so trtlint does not know whether it supports FP32"
    return _refused_type(node, schema)


def _refused_type(node: Node, schema: defs.OpSchema) -> str:
    """Return the reason why ONNX forbids FP32 for a 16-bit input or output of a node.

    The result is an empty string if ONNX allows FP32 for all 16-bit inputs and outputs.
    """
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    follow = set()
    for values, ports, computed in (
        (node.inputs, schema.inputs, False),
        (node.outputs, schema.outputs, True),
    ):
        for port, value in enumerate(values):
            if value is None or not value.name or value.dtype not in NARROW:
                continue
            kind = ports[min(port, len(ports) - 1)].type_str
            if "tensor(float)" not in allowed.get(kind, (kind,)):
                return f"{node.op} does not support FP32 for {value.name}"
            if not computed:
                follow.add(kind)
            elif kind not in follow and not _sets_output_type(node):
                return f"the inputs of {node.op} do not determine the type of {value.name}"
    return ""


def _sets_output_type(node: Node) -> bool:
    """Return whether an attribute of a node names a 16-bit type. Such an attribute must change to FP32."""
    widened = deepcopy(node.proto)
    _widen(widened)
    return bool(widened != node.proto)


def _widen(proto: onnx.NodeProto) -> None:
    widen_node(proto)
    for attribute in proto.attribute:
        if text(attribute.name) in _INSIDE and attribute.i in _NARROW_TYPES:
            attribute.i = onnx.TensorProto.FLOAT


class KeptGroups(Struct, frozen=True):
    """Nodes that must run in FP32.

    A rewrite can rename nodes, but keeps the names of the outputs. So the output names identify the nodes.

    Attributes:
        paths: the requested node paths, such as ``/model/norm/Sqrt``.
        nodes: the nodes of the model at these paths.
        groups: groups of the nodes that can run in FP32. Nodes that share a 16-bit tensor are in the same
            group.
    """

    paths: tuple[str, ...]
    nodes: tuple[Node, ...]
    groups: tuple[frozenset[Node], ...]

    def covered(self, patch: Patch) -> bool:
        """Return whether ``patch`` converts at least one group to FP32, and splits no group.

        A split group has nodes in FP32 and nodes in FP16. A Cast between two such nodes could overflow.
        """
        inside = frozenset((*patch.remove, *patch.around))
        met = [group for group in self.groups if group & inside]
        return bool(met) and all(group <= inside for group in met)

    def left(self, after: Model) -> list[str]:
        """Return the paths that no rewrite has converted yet, and the paths that the model never had.

        ``after`` is the rewritten model.
        """
        known = {(node.scope, _first(node), node.op): node.path for node in after.graph.nodes}
        of = {node.path: (node.scope, _first(node), node.op) for node in self.nodes}
        kept = (known.get(of[path]) if path in of else path for path in self.paths)
        return list(dict.fromkeys(path for path in kept if path is not None))


def kept_groups(model: Model, paths: Sequence[str]) -> KeptGroups:
    """Find the nodes at ``paths``, and put nodes that share a 16-bit tensor into one group."""
    wanted = frozenset(paths)
    nodes = tuple(node for node in model.graph.nodes if node.path in wanted)
    groups = adjacent([node for node in nodes if not obstacle(node, model)])
    return KeptGroups(tuple(paths), nodes, tuple(map(frozenset, groups)))


def _first(node: Node) -> str:
    return next((value.name for value in node.outputs if value.name), node.path)


def in_fp32(model: Model, nodes: Sequence[Node], title: str) -> Patch:
    """Create a patch that runs operators in FP32, with Casts at their inputs and outputs.

    Args:
        model: the model.
        nodes: operators without an :func:`obstacle`, in graph order.
        title: description of the change without a subject, such as ``computes the norm in FP32``.
    """
    draft = Draft(model, nodes[0])
    inside = set(nodes)
    wide: dict[Value, str] = {}

    def widened(value: Value | None) -> str:
        if value is None or value.dtype not in NARROW:
            return "" if value is None else value.name
        if value not in wide:
            wide[value] = draft.op("Cast", value, to=onnx_type("f32"))
        return wide[value]

    for node in nodes:
        inputs = [widened(value) for value in node.inputs]
        computed = [value for value in node.outputs if value.name and value.dtype in NARROW]
        if _only_narrows(node):
            wide[node.output] = inputs[0]
        else:
            wide.update((value, draft.name(node.op.lower())) for value in computed)
            _widen(draft.again(node, inputs, [wide.get(value, value.name) for value in node.outputs]))
        for value in computed:
            if value.is_output or value.leaves_body or any(reader not in inside for reader, _ in value.uses):
                draft.op("Cast", wide[value], to=onnx_type(value.dtype or "f16"), out=value.name)
    return draft.patch(title, nodes)


def _only_narrows(node: Node) -> bool:
    """Return whether a node is a Cast from a float type to a 16-bit type.

    If the node before this Cast runs in FP32, the Cast is not needed.
    """
    first = node.input(0)
    return (
        node.op == "Cast"
        and node.output.dtype in NARROW
        and first is not None
        and first.dtype in (*NARROW, "f32")
    )
