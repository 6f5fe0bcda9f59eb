"""Replace operators by the operators in their ONNX definition.

For example, ONNX defines ``Attention`` as a function. The body of the function states
the type of each step: FP32 or the type of the tensors (https://onnx.ai/onnx/operators/onnx__Attention.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import onnx
from onnx import FunctionProto, ModelProto, TensorProto, ValueInfoProto, defs, helper

from trtlint.measurement.writing import FormulaWriter
from trtlint.model.graph import Node
from trtlint.model.infer import InferenceError, infer
from trtlint.model.inline import inline
from trtlint.model.protos import text
from trtlint.model.schemas import schema_at
from trtlint.model.widening import widen_node

DEFINED = frozenset({"Attention"})
"""Operators that are replaced in every run, because their internal numbers are measured."""
ROUNDED_INSIDE = frozenset({"Gelu", "HardSwish", "Mish", "MeanVarianceNormalization"})
"""Operators that are replaced in a simulation, because their intermediate results are rounded."""
_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def definition(node: Node, inputs: Sequence[str], types: Sequence[int], write: FormulaWriter) -> str | None:
    """Replace an operator by the operators in its definition.

    Args:
        node: the operator.
        inputs: the names of the inputs.
        types: the ONNX element types that the inputs have in the build; 0 for a missing input or an unknown
            type.
        write: writer of the graph.

    Returns:
        The name of the first output before rounding, or None if ONNX does not define the operator as a
        function.
    """
    body = _body(node, types, write.opset)
    if body is None:
        return None
    narrow = {text(info.name) for info in body.graph.value_info if info.type.tensor_type.elem_type in _NARROW}
    names = {f"i{port}": name for port, name in enumerate(inputs) if name}
    for step in body.graph.node:
        widen_node(step)
        ports = [names.get(text(name), text(name)) for name in step.input]
        results = write.add_copy(step, ports)
        for name, result in zip(step.output, results, strict=True):
            final = text(name) == "o0"
            inner = text(name) in narrow and not final
            names[text(name)] = write.step(node, result, step.op_type) if inner else result
    return names.get("o0")


def _body(node: Node, types: Sequence[int], opset: int) -> ModelProto | None:
    """Return a model that contains the operators in the definition of ``node``, with inferred types.

    The result is None if ONNX does not define the operator as a function.
    """
    call = onnx.NodeProto()
    call.CopyFrom(node.proto)
    call.input[:] = [f"i{port}" if value is not None else "" for port, value in enumerate(node.inputs)]
    call.output[:] = ["o0"]
    call.name = ""
    infos = []
    for port, value in enumerate(node.inputs):
        if value is not None:
            shape = None if value.shape is None else list(value.shape)
            infos.append(helper.make_tensor_value_info(f"i{port}", types[port], shape))
    try:
        schema = schema_at(node.op, opset)
        function = _function(schema, call, infos, opset)
    except (defs.SchemaError, RuntimeError, ValueError):
        return None
    if function is None:
        return None
    given = {attribute.name for attribute in call.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.type:
            call.attribute.append(attribute.default_value)
    function.domain, function.name = "", node.op
    result = helper.make_tensor_value_info("o0", types[0], None)
    graph = helper.make_graph([call], "definition", infos, [result])
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)
    inline(model)
    with suppress(InferenceError):
        model = ModelProto.FromString(infer(model.SerializeToString()))
    return model


def _function(
    schema: defs.OpSchema, call: onnx.NodeProto, infos: Sequence[ValueInfoProto], opset: int
) -> FunctionProto | None:
    # The type stubs of onnx lack these functions.
    native: Any = schema
    if native.has_context_dependent_function:
        by_name = {info.name: info.type for info in infos}
        types = [by_name.get(name, onnx.TypeProto()).SerializeToString() for name in call.input]
        data = native.get_context_dependent_function_with_opset_version(
            schema.since_version, call.SerializeToString(), types
        )
        return FunctionProto.FromString(data)
    if native.has_function:
        # Use the body for the model's opset: operators in the bodies for newer opsets have different inputs.
        return FunctionProto.FromString(native.get_function_with_opset_version(opset))
    return None
