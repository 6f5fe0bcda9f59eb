"""Write applied rewrites as a Python script for onnx-graphsurgeon."""

import math

from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from trtlint.fixes.outcome import FixOutcome
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.protos import text

_MOST_ELEMENTS = 4096
_SCRIPT = '''"""Rewrites of {model} by trtlint fix, for new exports: python {script} model.onnx fixed.onnx"""
import sys
import onnx
import onnx_graphsurgeon as gs
from numpy import array, inf, nan

graph = gs.import_onnx(onnx.load(sys.argv[1]))
tensors = graph.tensors()

def tensor(name):
    return tensors.setdefault(name, gs.Variable(name)) if name else gs.Variable.empty()

def rewrite(opset=0, remove=(), constants=(), add=(), replace_inputs=()):
    """Apply one rewrite. The name of a node's first output identifies the node."""
    graph.opset = opset or graph.opset
    for output in remove:
        graph.nodes.remove(node := tensors[output].inputs[0])
        node.outputs.clear()
    for name, values in constants:
        tensor(name).to_constant(values)
    for op, name, domain, attributes, *ports in add:
        inputs, outputs = ([*map(tensor, names)] for names in ports)
        graph.nodes.append(gs.Node(op, name, attributes, inputs, outputs, domain or None))
    for output, port, name in replace_inputs:
        tensors[output].inputs[0].inputs[port] = tensor(name)
{calls}
graph.cleanup().toposort()
onnx.save(gs.export_onnx(graph), sys.argv[2])
'''


def script(outcome: FixOutcome, model: str, script: str) -> str:
    """Return a script that repeats the rewrites.  ``model`` and ``script`` are file names.

    Raises:
        NotApplicable: the script cannot repeat a rewrite, for one of these reasons:

            - The model calls model-local functions.
            - The rewrite changes an ``If``, a loop, or operators in their bodies.
            - The rewrite adds a large tensor.
    """
    if outcome.before.model.calls:
        raise NotApplicable("the model calls model-local functions, which the script cannot inline")
    calls = "".join(_call(patch) for _, patches in outcome.rounds for patch in patches)
    return _SCRIPT.format(model=_inside(model), script=_inside(script), calls=calls)


def _inside(words: str) -> str:
    """Escape text for string literals and comments, because names from the model must never become code."""
    return repr(words)[1:-1].replace('"', r"\"")


def _call(patch: Patch) -> str:
    attributes = [each for proto in patch.insert for each in proto.attribute]
    if any(node.scope for node in patch.touched) or any(each.HasField("g") for each in attributes):
        raise NotApplicable(f"{patch.title}: the script cannot change an If, a loop or their bodies")
    if any(math.prod(tensor.dims) > _MOST_ELEMENTS for tensor in patch.initializers):
        raise NotApplicable(f"{patch.title}: a new tensor has more than {_MOST_ELEMENTS:,} elements")
    keys = {node: next(value.name for value in node.outputs if value.name) for node in patch.touched}
    lists = {
        "remove": [repr(keys[node]) for node in patch.remove],
        "constants": [f"({text(each.name)!r}, {_array(each)})" for each in patch.initializers],
        "add": [_node(proto) for proto in patch.insert],
        "replace_inputs": [repr((keys[node], port, name)) for node, port, name in patch.rewire],
    }
    separator, opset = ",\n        ", patch.set_opset or (patch.opset and f"max(graph.opset, {patch.opset})")
    lines = [
        f"    {name}=[\n        {separator.join(each)},\n    ],\n" for name, each in lists.items() if each
    ]
    lines += [f"    opset={opset},\n"] if opset else []
    return f"\n# {_inside(patch.title)}\nrewrite(\n{''.join(lines)})\n"


def _array(tensor: TensorProto) -> str:
    array = numpy_helper.to_array(tensor)
    return f"array({array.ravel().tolist()}, {array.dtype.name!r}).reshape({array.shape})"


def _node(proto: NodeProto) -> str:
    attributes = ", ".join(f"{each.name!r}: {_value(each)}" for each in proto.attribute)
    inputs, outputs = ([text(name) for name in names] for names in (proto.input, proto.output))
    names = f"{proto.op_type!r}, {text(proto.name)!r}, {proto.domain!r}"
    return f"({names}, {{{attributes}}}, {inputs}, {outputs})"


def _value(attribute: AttributeProto) -> str:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, TensorProto):
        return f"gs.Constant('value', {_array(value)})"
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return repr(value if isinstance(value, int | float | str) else list(value))
