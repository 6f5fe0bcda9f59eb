"""The proposed rewrite of one node as a line of text."""

from __future__ import annotations

import re
from collections.abc import Mapping

import onnx
from onnx import numpy_helper

from tests.graphs import model_of
from trtlint.facts.base import Fact
from trtlint.fixes import proposer
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.graph import Node
from trtlint.model.load import Model

HEAD = '< ir_version: 10, opset_import: ["" : {}, "com.microsoft" : 1] > g '


def small(text: str, opset: int = 18) -> Model:
    """Read a graph in ONNX text without a header."""
    return model_of(HEAD.format(opset) + text)


def proposal(rewrite: str, text: str | Model, result: str, opset: int = 18) -> Patch | NotApplicable:
    """Return the proposed rewrite of the node with a given result, or the reason for none."""
    model = small(text, opset) if isinstance(text, str) else text
    value = model.graph.resolve(result)
    assert value is not None
    return proposed(rewrite, Fact(node=value.producer), model)


def proposed(rewrite: str, fact: Fact, model: Model) -> Patch | NotApplicable:
    """Return the proposed rewrite for a fact, or the reason for none."""
    try:
        return proposer(rewrite)(fact, model)
    except NotApplicable as why:
        return why


def outcome(rewrite: str, text: str | Model, result: str, opset: int = 18) -> str:
    """Return the rewritten form of the node with a given result, or the reason for none."""
    return spelled(proposal(rewrite, text, result, opset))


def whole(found: Patch | NotApplicable) -> str:
    """Return a patch as text with its title and all settings that differ from their defaults."""
    if isinstance(found, NotApplicable):
        return str(found)
    settings = [found.title]
    for name in ("remove", "around"):
        nodes: tuple[Node, ...] = getattr(found, name)
        if nodes:
            settings.append(f"{name} {', '.join(node.output.name for node in nodes)}")
    flags = ("folds", "keeps_a_key", "changes_results", "opset", "set_opset")
    tensors = ("retyped", "altered", "finite", "holds", "condition")
    settings += [f"{name} {setting}" for name in (*flags, *tensors) if (setting := getattr(found, name))]
    settings += [f"shape {value.name} {shape}" for value, shape in found.shapes]
    settings += [f"bound {each.tensor} {each.low:g} {each.high:g}" for each in found.bounds]
    settings += [f"part {whole(each)}" for each in found.parts]
    return "  ".join([spelled(found), "|", "; ".join(settings)])


def spelled(found: Patch | NotApplicable) -> str:
    """Return the new nodes as text, or the reason for a rejection.

    Nodes with changed inputs come last.  Stored tensors appear as numbers.  New names omit the node that
    they are based on.
    """
    if isinstance(found, NotApplicable):
        return str(found)
    stored = {tensor.name: str(numpy_helper.to_array(tensor).tolist()) for tensor in found.initializers}
    lines = [_node(node, stored) for node in found.insert]
    read = {name for node in found.insert for name in node.input}
    lines += [f"{name} = {numbers}" for name, numbers in stored.items() if name not in read]
    lines += [f"{node.op} reads {stored.get(name, name)} at {port}" for node, port, name in found.rewire]
    return re.sub(r"\b[A-Za-z]+_\d+/", "", "  ".join(lines))


def _node(node: onnx.NodeProto, stored: Mapping[str, str]) -> str:
    settings = ", ".join(
        f"{each.name} = {_setting(each)}" for each in sorted(node.attribute, key=lambda each: each.name)
    )
    inputs = ", ".join(stored.get(name, name) for name in node.input)
    return f"{', '.join(node.output)} = {node.op_type}{f' <{settings}>' if settings else ''} ({inputs})"


def _setting(attribute: onnx.AttributeProto) -> object:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return numpy_helper.to_array(attribute.t).tolist()
    if attribute.type != onnx.AttributeProto.GRAPH:
        return onnx.helper.get_attribute_value(attribute)
    ends = [", ".join(info.name for info in each) for each in (attribute.g.input, attribute.g.output)]
    return f"({ends[0]}) => ({ends[1]}) {{ {'  '.join(_node(each, {}) for each in attribute.g.node)} }}"
