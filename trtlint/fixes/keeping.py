"""Operators of a model in FP16 made to compute in FP32: Casts before their inputs and behind their outputs.

From TensorRT 11 on the types in the model count, so that what must stay in FP32 has to be so in the file:
https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/precision-control.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx
from onnx import defs

from trtlint.fixes.patch import Draft, Patch, onnx_type
from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import text
from trtlint.model.schemas import schema_at
from trtlint.model.widening import widen_node

NAME = "keep-fp32"
"""The rewrite's name in reports."""

TITLE = "computes in FP32 what was measured to need it"
"""What each of its patches is called."""
_NARROW = frozenset({"f16", "bf16"})
_NARROW_TYPES = frozenset({onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16})
_INSIDE = frozenset({"softmax_precision", "stash_type", "output_dtype"})
"""Attributes that name the type that an operator computes in, or gives, whatever it reads."""


@dataclass(frozen=True, slots=True)
class Widened:
    """Neighbours that compute in FP32 together.

    Attributes:
        nodes: the operators, in the order of the graph.
        patch: the edit.
    """

    nodes: tuple[Node, ...]
    patch: Patch


def widen(model: Model, paths: Iterable[str]) -> tuple[list[Widened], dict[str, str]]:
    """Let operators compute in FP32, those that read or compute a tensor in common without Casts between.

    Args:
        model: the model.
        paths: of the operators; stored constants among them stay as they are, as what reads them casts them.

    Returns:
        The edits, and by path the reason why an operator is left alone.
    """
    known = {node.path: node for node in model.graph.nodes}
    chosen, refused = [], {}
    for path in dict.fromkeys(paths):
        node = known.get(path)
        if node is not None and node.op == "Constant" and not node.domain:
            continue
        why = "the model has no such operator" if node is None else obstacle(node, model)
        if node is None or why:
            refused[path] = why
        else:
            chosen.append(node)
    return [Widened(tuple(group), in_fp32(model, group, TITLE)) for group in _groups(chosen)], refused


def _groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes that have narrow tensors in common, each group in the order of the graph."""
    import networkx

    graph: networkx.Graph[Node | Value] = networkx.Graph()
    graph.add_nodes_from(nodes)
    for node in nodes:
        graph.add_edges_from((node, value) for value in _values(node) if value.dtype in _NARROW)
    groups = [
        sorted((each for each in part if isinstance(each, Node)), key=lambda node: node.index)
        for part in networkx.connected_components(graph)
    ]
    return sorted(groups, key=lambda group: group[0].index)


def _values(node: Node) -> list[Value]:
    return [value for value in (*node.inputs, *node.outputs) if value is not None and value.name]


def obstacle(node: Node, model: Model) -> str:
    """Why an operator cannot be widened, empty where it can."""
    if node.scope:
        return "it is in the body of an If or a loop"
    if any(proto.HasField("g") or proto.graphs for proto in node.proto.attribute):
        return "it holds a body, whose types hang on what is in it"
    unknown = next((value.name for value in _values(node) if value.dtype is None), None)
    if unknown is not None:
        return f"the type of {unknown} is not known"
    if not any(value.dtype in _NARROW for value in _values(node)):
        return "nothing of it is in 16 bits"
    try:
        schema = schema_at(node.op, model.opsets.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        return f"{node.op} is none of ONNX's operators: whether it computes in FP32 is not known"
    return _refused_type(node, schema)


def _refused_type(node: Node, schema: defs.OpSchema) -> str:
    """Which tensor of an operator cannot be FP32, by ONNX's definition; empty where all can."""
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    follow = set()
    for values, ports, computed in (
        (node.inputs, schema.inputs, False),
        (node.outputs, schema.outputs, True),
    ):
        for port, value in enumerate(values):
            if value is None or not value.name or value.dtype not in _NARROW:
                continue
            kind = ports[min(port, len(ports) - 1)].type_str
            if "tensor(float)" not in allowed.get(kind, (kind,)):
                return f"{node.op} does not know FP32 for {value.name}"
            if not computed:
                follow.add(kind)
            elif kind not in follow and not _says_type(node):
                return f"the type of {value.name} does not follow from what {node.op} reads"
    return ""


def _says_type(node: Node) -> bool:
    """Whether the type of what an operator computes is in an attribute that widening changes."""
    before, after = onnx.NodeProto(), onnx.NodeProto()
    before.CopyFrom(node.proto)
    after.CopyFrom(node.proto)
    _widen(after)
    return before != after


def _widen(proto: onnx.NodeProto) -> None:
    widen_node(proto)
    for attribute in proto.attribute:
        if text(attribute.name) in _INSIDE and attribute.i in _NARROW_TYPES:
            attribute.i = onnx.TensorProto.FLOAT


def in_fp32(model: Model, nodes: Sequence[Node], title: str) -> Patch:
    """Let operators compute in FP32, with Casts where what they read comes in and what they give goes out.

    Args:
        model: the model.
        nodes: operators that :func:`obstacle` has nothing against, in the order of the graph.
        title: what it does, a clause without a subject.
    """
    draft = Draft(model, nodes[0])
    inside = set(nodes)
    wide: dict[Value, str] = {}

    def widened(value: Value | None) -> str:
        if value is None or value.dtype not in _NARROW:
            return "" if value is None else value.name
        if value not in wide:
            wide[value] = draft.op("Cast", value, to=onnx_type("f32"))
        return wide[value]

    for node in nodes:
        inputs = [widened(value) for value in node.inputs]
        computed = [value for value in node.outputs if value.name and value.dtype in _NARROW]
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
    """Whether all that an operator does is a Cast that nothing is left of in FP32."""
    first = node.input(0)
    return (
        node.op == "Cast"
        and node.output.dtype in _NARROW
        and first is not None
        and first.dtype in (*_NARROW, "f32")
    )
