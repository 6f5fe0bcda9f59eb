"""Compare the definitions of operators in two opsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import onnx
from onnx import defs

from trtlint.fixes.patch import opset_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import DTYPES
from trtlint.model.schemas import schema_at

_UNKNOWN = "?"
_DIVIDES_AS_ITS_SCALE = 23
"""First opset in which QuantizeLinear divides in the type of its scale.

Before that opset, ONNX Runtime divides in FP32.

https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""
_TYPE_NAMES: Mapping[str, str] = {
    short: onnx.TensorProto.DataType.Name(number).lower() for number, short in DTYPES.items()
}
"""ONNX's names of element types, by trtlint's short names."""


def has(op: str, opset: int) -> bool:
    """Return whether ONNX's default domain defines the operator type ``op`` in an opset."""
    try:
        schema_at(op, opset)
    except defs.SchemaError:
        return False
    return True


@cache
def same_but_types(op: str, one: int, other: int) -> bool:
    """Return whether an operator has equal definitions in two opsets. Supported element types may differ.

    The function compares only inputs, outputs, attributes and defaults. This is enough: every operator
    version that changes the computation also changes one of these parts.
    """
    return _attributes(op, one) == _attributes(op, other) and _formals(op, one) == _formals(op, other)


@cache
def raises(op: str, old: int, new: int) -> bool:
    """Return whether every node of type ``op`` keeps its meaning if the opset is raised to ``new``.

    This is true if the newer definition only adds optional inputs and optional attributes.
    """
    if op in _CHANGED:
        return same_but_types(op, old, new)
    before, after = _attributes(op, old), _attributes(op, new)
    added = [after[name][1] for name in after.keys() - before.keys()]
    kept = all(after.get(name) == each for name, each in before.items())
    inputs, outputs = _formals(op, old)
    new_inputs, new_outputs = _formals(op, new)
    more = new_inputs[len(inputs) :]
    optional = defs.OpSchema.FormalParameterOption.Optional
    return (
        kept
        and not any(added)
        and new_inputs[: len(inputs)] == inputs
        and all(option == optional for _, option in more)
        and new_outputs == outputs
    )


def difference(node: Node, old: int, new: int) -> str:
    """Return the reason why a node changes its meaning if opset ``new`` is lowered to ``old``.

    The result is an empty string if the meaning is the same.
    """
    op = node.op
    if not has(op, old):
        return f"opset {old} has no {op}"
    kind = _unsupported_type(node, old, new)
    if kind == _UNKNOWN:
        return f"{op} supports fewer types in opset {old}, and an input or output type is unknown"
    if kind:
        return f"{op} does not support {kind} in opset {old}"
    if op == "QuantizeLinear" and old < _DIVIDES_AS_ITS_SCALE <= new:
        scale = node.input(1)
        if scale is None or scale.dtype != "f32":
            return f"{op} divides in the type of the scale only since opset {_DIVIDES_AS_ITS_SCALE}"
    if same_but_types(op, old, new):
        return ""
    (inputs, _), (new_inputs, _) = _formals(op, old), _formals(op, new)
    added = node.inputs[len(inputs) :] if len(new_inputs) > len(inputs) else ()
    known = node.attributes.keys() <= _attributes(op, old).keys()
    if raises(op, old, new) and known and all(value is None for value in added):
        return ""
    return f"{op} has another definition in opset {old}"


def _unsupported_type(node: Node, old: int, new: int) -> str:
    """Return an element type in ``node`` that the operator does not support in opset ``old``.

    The result is an empty string if opset ``old`` supports all types of the node. The result is a question
    mark if a type is unknown and may be unsupported.
    """
    bound: dict[str, str] = {}
    for value, one, other in _with_formals(node, old, new):
        if value.dtype is None:
            if not other.types <= one.types:
                return _UNKNOWN
            continue
        kind = f"tensor({_TYPE_NAMES[value.dtype]})"
        shared = one.is_homogeneous and "(" not in one.type_str
        if kind not in one.types or (shared and bound.setdefault(one.type_str, kind) != kind):
            return value.dtype
    return ""


def _with_formals(
    node: Node, old: int, new: int
) -> Iterator[tuple[Value, defs.OpSchema.FormalParameter, defs.OpSchema.FormalParameter]]:
    """Yield the inputs and outputs of a node that both opsets define.

    Each item is the input or output, its definition in opset ``old``, and its definition in opset ``new``.
    """
    for side, values in (("inputs", node.inputs), ("outputs", node.outputs)):
        formals = [getattr(schema_at(node.op, opset), side) for opset in (old, new)]
        for port, value in enumerate(values):
            one, other = (_formal(each, port) for each in formals)
            if value is not None and value.name and one is not None and other is not None:
                yield value, one, other


def _formal(
    formals: Sequence[defs.OpSchema.FormalParameter], port: int
) -> defs.OpSchema.FormalParameter | None:
    """Return the definition of the input or output with index ``port``.

    If the last definition is variadic, it also applies to all higher indices.  The result is None if there is
    no definition.
    """
    variadic = defs.OpSchema.FormalParameterOption.Variadic
    if port < len(formals):
        return formals[port]
    return formals[-1] if formals and formals[-1].option == variadic else None


def same_meaning(op: str, old: int, new: int) -> bool:
    """Return whether the opset can be raised for an operator type.

    The opset can be raised if the operator type has the same meaning in both opsets, or if only the newer
    opset defines the type.
    """
    return has(op, new) and (not has(op, old) or raises(op, old, new))


def raisable(model: Model, least: int) -> bool:
    """Return whether a model has at least opset ``least``, or can get this opset without further changes.

    The function ignores operators that opset ``least`` does not define, because such operators belong to ONNX
    Runtime.
    """
    opset = opset_of(model)
    own = {node.op for node in model.graph.nodes if not node.domain} if opset < least else set()
    return all(same_meaning(op, opset, least) for op in own if has(op, least))


_CHANGED = frozenset({"GroupNormalization"})
"""Operators whose definition changed incompatibly in a newer opset.

Opset 21 added an attribute to GroupNormalization, and changed the shapes of its parameters.

https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""


def _attributes(op: str, opset: int) -> dict[str, tuple[object, bool, bytes]]:
    """Return the type of each attribute, whether it is required, and its serialized default, by name."""
    return {
        name: (each.type, each.required, each.default_value.SerializeToString())
        for name, each in schema_at(op, opset).attributes.items()
    }


def _formals(op: str, opset: int) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """Return the name and the option of each input and each output of an operator.

    An option is Single, Optional or Variadic.
    """
    schema = schema_at(op, opset)
    inputs: list[tuple[str, object]] = [(formal.name, formal.option) for formal in schema.inputs]
    return inputs, [(formal.name, formal.option) for formal in schema.outputs]
