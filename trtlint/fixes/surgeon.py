"""Export applied rewrites as a Python script for onnx-graphsurgeon.

https://github.com/NVIDIA/TensorRT/tree/main/tools/onnx-graphsurgeon
"""

from __future__ import annotations

import math

import onnx
from onnx import helper, numpy_helper

from trtlint.errors import TrtlintError
from trtlint.fixes.outcome import FixOutcome
from trtlint.fixes.patch import Patch
from trtlint.model.graph import Node
from trtlint.model.protos import text

_MOST_ELEMENTS = 4096
"""Largest constant, in elements, that is written into a script."""
_HEAD = '''"""Rewrites of {name} by trtlint fix, for new exports: python {script} model.onnx fixed.onnx"""

import sys

import onnx
import onnx_graphsurgeon as gs
from numpy import array, inf, nan

graph = gs.import_onnx(onnx.load(sys.argv[1]))
tensors = graph.tensors()


def tensor(name):
    """Get a tensor by name; create it if it does not exist."""
    return tensors.setdefault(name, gs.Variable(name)) if name else gs.Variable.empty()


def rewrite(opset=0, remove=(), constants=(), add=(), replace_inputs=()):
    """Apply one rewrite; the name of its first output identifies a node."""
    graph.opset = opset or graph.opset
    for output in remove:
        node = tensors[output].inputs[0]
        node.inputs.clear()
        node.outputs.clear()
        graph.nodes.remove(node)
    for name, values in constants:
        tensor(name).to_constant(values)
    for op, name, domain, attributes, inputs, outputs in add:
        results = [tensor(each) for each in outputs]
        for result in results:
            result.inputs.clear()
        sources = [tensor(each) for each in inputs]
        graph.nodes.append(gs.Node(op, name, attributes, sources, results, domain or None))
    for output, port, name in replace_inputs:
        tensors[output].inputs[0].inputs[port] = tensor(name)

'''
_TAIL = "\n\ngraph.cleanup().toposort()\nonnx.save(gs.export_onnx(graph), sys.argv[2])\n"


class SurgeonError(TrtlintError):
    """Error: the rewrites cannot be expressed as a script. The message is the reason."""


def script(outcome: FixOutcome, name: str, own: str) -> str:
    """Return a Python script that applies the same rewrites with onnx-graphsurgeon.

    Args:
        outcome: the result of fixing the model.
        name: file name of the model.
        own: file name of the script itself, for the usage line in the script.

    Raises:
        SurgeonError: the model calls model-local functions, a rewrite is in the body of an If or a loop, or a
            rewrite adds a tensor that is too large for a script.
    """
    if outcome.before.model.calls:
        raise SurgeonError("the model calls model-local functions, which the script cannot inline")
    calls = (_call(patch) for _, patches in outcome.rounds for patch in patches)
    return _HEAD.format(name=_inside(name), script=_inside(own)) + "\n".join(calls) + _TAIL


def _inside(words: str) -> str:
    """Escape text for string literals and comments, because names from the model must never become code."""
    return repr(words)[1:-1].replace('"', r"\"")


def _call(patch: Patch) -> str:
    if any(node.scope for node in patch.touched):
        raise SurgeonError("a rewrite is in the body of an If or a loop")
    for tensor in patch.initializers:
        if (count := math.prod(tensor.dims)) > _MOST_ELEMENTS:
            what = f"the new tensor has {count:,} elements, more than {_MOST_ELEMENTS:,}"
            raise SurgeonError(f"{patch.title}: {what}")
    arguments = {
        "remove": [repr(_key(node)) for node in patch.remove],
        "constants": [f"({text(tensor.name)!r}, {_array(tensor)})" for tensor in patch.initializers],
        "add": [_node(proto, patch.title) for proto in patch.insert],
        "replace_inputs": [repr((_key(node), port, name)) for node, port, name in patch.rewire],
    }
    indented = {name: "".join(f"        {each},\n" for each in items) for name, items in arguments.items()}
    lines = [f"    {name}=[\n{items}    ],\n" for name, items in indented.items() if items]
    if patch.set_opset or patch.opset:
        lines.append(f"    opset={patch.set_opset or f'max(graph.opset, {patch.opset})'},\n")
    return f"\n# {_inside(patch.title)}\nrewrite(\n{''.join(lines)})"


def _array(tensor: onnx.TensorProto) -> str:
    array = numpy_helper.to_array(tensor)
    values = array.ravel().tolist()
    same = len(values) > 8 and len(set(values)) == 1
    listed = f"[{values[0]!r}] * {len(values)}" if same else repr(values)
    return f"array({listed}, {array.dtype.name!r}).reshape({array.shape})"


def _node(proto: onnx.NodeProto, title: str) -> str:
    if any(attribute.HasField("g") for attribute in proto.attribute):
        raise SurgeonError(f"{title}: the rewrite inserts an If or a loop, which the script cannot contain")
    attributes = ", ".join(f"{attribute.name!r}: {_value(attribute)}" for attribute in proto.attribute)
    inputs, outputs = ([text(name) for name in names] for names in (proto.input, proto.output))
    names = f"{proto.op_type!r}, {text(proto.name)!r}, {proto.domain!r}"
    return f"({names}, {{{attributes}}}, {inputs}, {outputs})"


def _value(attribute: onnx.AttributeProto) -> str:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return f"gs.Constant('value', {_array(value)})"
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "replace"))
    return repr(value if isinstance(value, int | float | str) else list(value))


def _key(node: Node) -> str:
    """Return the name of a node's first output, by which the script finds the node."""
    return next(value.name for value in node.outputs if value.name)
