"""Export of rewrites as an onnx-graphsurgeon script for an export pipeline.

https://github.com/NVIDIA/TensorRT/tree/main/tools/onnx-graphsurgeon
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx
from onnx import helper, numpy_helper

from trtlint.errors import TrtlintError
from trtlint.fixes.outcome import FixOutcome
from trtlint.fixes.patch import Patch
from trtlint.model.graph import Node
from trtlint.model.protos import text

_MOST_ELEMENTS = 4096
"""Largest constant, in elements, that a script spells out."""

_HEAD = '''"""Rewrites of {name} by trtlint fix; run this script on each new export of the model.

    python {script} model.onnx fixed.onnx
"""

import sys

import numpy as np
import onnx
import onnx_graphsurgeon as gs

graph = gs.import_onnx(onnx.load(sys.argv[1]))
tensors = graph.tensors()


def tensor(name):
    """Get a tensor by name; create it if it does not exist."""
    return tensors.setdefault(name, gs.Variable(name))


def constant(name, values, dtype, shape):
    """Store a tensor; replace a computed one of the same name."""
    array = np.array(values, dtype=dtype).reshape(shape)
    if name in tensors:
        tensors[name].to_constant(array)
    else:
        tensors[name] = gs.Constant(name, array)


def node_of(output):
    """Find the node that computes a tensor."""
    return tensors[output].inputs[0]


def add(op, name, inputs, outputs, domain="", **attrs):
    """Insert a node; it replaces the previous producers of its outputs."""
    results = [tensor(each) for each in outputs]
    for result in results:
        result.inputs.clear()
    sources = [tensor(each) if each else gs.Variable.empty() for each in inputs]
    graph.nodes.append(gs.Node(op, name, attrs, sources, results, domain=domain or None))


def remove(output):
    """Remove the node that computes a tensor."""
    node = node_of(output)
    node.inputs.clear()
    node.outputs.clear()
    graph.nodes.remove(node)


def read_instead(output, port, name):
    """Replace one input of the node that computes a tensor."""
    node_of(output).inputs[port] = tensor(name)

'''
_TAIL = """

graph.cleanup().toposort()
onnx.save(gs.export_onnx(graph), sys.argv[2])
"""


class SurgeonError(TrtlintError):
    """Rewrites without an equivalent script; the text gives the reason."""


def script(outcome: FixOutcome, name: str, own: str) -> str:
    """Convert the rewrites of an outcome to a Python script.

    Args:
        outcome: the outcome.
        name: the model's file name.
        own: the script's file name.

    Raises:
        SurgeonError: a rewrite is in a body or adds a tensor that is too large to spell out, or the model has
            functions.
    """
    if outcome.before.model.calls:
        raise SurgeonError("the model calls functions of its own, which the script cannot inline")
    lines = [_HEAD.format(name=_inside(name), script=_inside(own))]
    for _, patches in outcome.rounds:
        for patch in patches:
            lines += ["", f"# {_inside(patch.title)}"]
            lines += _edits(patch)
    return "\n".join(lines) + _TAIL


def _inside(words: str) -> str:
    """Escape text for quotes and comments, because untrusted names must never become code."""
    return repr(words)[1:-1].replace('"', r"\"")


def _edits(patch: Patch) -> Iterator[str]:
    if any(node.scope for node in patch.touched):
        raise SurgeonError("a rewrite is in the body of an If or a loop")
    for tensor in patch.initializers:
        if math.prod(tensor.dims) > _MOST_ELEMENTS:
            count = math.prod(tensor.dims)
            raise SurgeonError(
                f"{patch.title}: the new tensor has {count:,} elements, more than {_MOST_ELEMENTS:,}"
            )
    for node in patch.remove:
        yield f"remove({_key(node)!r})"
    for tensor in patch.initializers:
        array = numpy_helper.to_array(tensor)
        flat = _numbers(array.reshape(-1).tolist())
        yield f"constant({text(tensor.name)!r}, {flat}, {array.dtype.name!r}, {tuple(array.shape)!r})"
    for proto in patch.insert:
        if any(attribute.HasField("g") for attribute in proto.attribute):
            raise SurgeonError(f"{patch.title}: the new operator contains a body")
        yield _added(proto)
    for node, port, name in patch.rewire:
        yield f"read_instead({_key(node)!r}, {port}, {name!r})"
    if patch.set_opset or patch.opset:
        least = patch.set_opset or f"max(graph.opset, {patch.opset})"
        yield f"graph.opset = {least}"


def _numbers(values: Sequence[Any]) -> str:
    """Spell out a list of numbers; abbreviate repeats."""
    infinite = {math.inf: "np.inf", -math.inf: "-np.inf"}
    inside = ", ".join(infinite.get(value, repr(value)) for value in values)
    if len(values) > 8 and len(set(values)) == 1:
        return f"[{values[0]!r}] * {len(values)}"
    return f"[{inside}]"


def _added(proto: onnx.NodeProto) -> str:
    attributes = "".join(
        f", {a.name}={_value(a)}" if _is_word(a.name) else f", **{{{a.name!r}: {_value(a)}}}"
        for a in proto.attribute
    )
    domain = f", domain={proto.domain!r}" if proto.domain else ""
    inputs, outputs = _list(proto.input), _list(proto.output)
    return f"add({proto.op_type!r}, {text(proto.name)!r}, {inputs}, {outputs}{domain}{attributes})"


def _is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _list(names: Iterable[str]) -> str:
    return repr([text(name) for name in names])


def _value(attribute: onnx.AttributeProto) -> str:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        array = numpy_helper.to_array(value)
        return f"gs.Constant('value', np.array({array.tolist()!r}, dtype={array.dtype.name!r}))"
    if attribute.name == "to":
        return f"onnx.TensorProto.{onnx.TensorProto.DataType.Name(value)}"
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "replace"))
    return repr(list(value)) if not isinstance(value, int | float | str) else repr(value)


def _key(node: Node) -> str:
    """Name of a node's first output, which identifies it in the script."""
    return next(value.name for value in node.outputs if value.name)
