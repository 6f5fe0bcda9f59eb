"""An ``If`` whose condition is known, replaced by the branch that is taken.

https://onnx.ai/onnx/operators/onnx__If.html
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, Patch, Refusal
from trtlint.model.graph import Node
from trtlint.model.imported import decided_if
from trtlint.model.load import Model
from trtlint.model.protos import bodies, defined, text


def propose(fact: Fact, model: Model) -> Patch | Refusal:
    """Take a branch of the If at which a fact was found, or of the innermost one around it."""
    decided = decided_if(fact.node, model.graph, model.constants)
    if decided is None:
        return Refusal("which branch is taken is known at run time only")
    node, taken = decided
    return _inlined(node, model, "then_branch" if taken else "else_branch")


def _inlined(node: Node, model: Model, branch: str) -> Patch | Refusal:
    proto = node.attributes[branch].g if branch in node.attributes else None
    if proto is None or len(proto.output) != len(node.outputs):
        return Refusal("the branch does not give what the If gives")
    if proto.sparse_initializer:
        return Refusal("the branch stores a sparse tensor")
    draft = Draft(model, node)
    stored = {text(tensor.name) for tensor in proto.initializer}
    computed = {text(name) for inner in proto.node for name in inner.output if name}
    names = {name: draft.name(name) for name in dict.fromkeys((*stored, *computed))}
    given: list[tuple[str, str]] = []
    direct: set[str] = set()
    for output, value in zip(proto.output, node.outputs, strict=True):
        inner = text(output.name)
        if inner in computed and inner not in direct and value.name:
            names[inner] = value.name
            direct.add(inner)
        elif value.name:
            given.append((names.get(inner, inner), value.name))
    for index, inner_node in enumerate(proto.node):
        copy = onnx.NodeProto()
        copy.CopyFrom(inner_node)
        copy.name = draft.name(text(copy.name) or f"{text(copy.op_type)}_{index}")
        _rename(copy, names)
        draft.insert(copy)
    for tensor in proto.initializer:
        renamed = onnx.TensorProto()
        renamed.CopyFrom(tensor)
        renamed.name = names[text(tensor.name)]
        draft.store(renamed)
    for source, name in given:
        draft.op("Identity", names.get(source, source), out=name)
    which = "true" if branch == "then_branch" else "false"
    return draft.patch(f"takes the branch of an If that is always {which}", [node], folds=True)


def _rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Let a node and the bodies in it read and compute values under other names."""
    node.input[:] = [names.get(text(name), text(name)) for name in node.input]
    node.output[:] = [names.get(text(name), text(name)) for name in node.output]
    for attribute in node.attribute:
        for body in bodies(attribute):
            own = set(defined(body))
            outer = {name: new for name, new in names.items() if name not in own}
            for info in body.output:
                info.name = outer.get(text(info.name), text(info.name))
            for inner in body.node:
                _rename(inner, outer)
