"""What operators mean in one opset and in another."""

from __future__ import annotations

from functools import cache

from onnx import defs

from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.schemas import schema_at


def has(op: str, opset: int) -> bool:
    """Whether an opset of the default domain has an operator."""
    try:
        schema_at(op, opset)
    except defs.SchemaError:
        return False
    return True


@cache
def same_but_types(op: str, one: int, other: int) -> bool:
    """Whether an operator that two opsets have differs at most in the element types that it takes.

    Versions of an operator that change what it computes change its inputs, its attributes or their
    defaults with it.
    """
    return _attributes(op, one) == _attributes(op, other) and _formals(op, one) == _formals(op, other)


@cache
def raises(op: str, old: int, new: int) -> bool:
    """Whether a node means the same in a newer opset, which may have added what can be left out."""
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


def means_the_same(node: Node, old: int, new: int) -> bool:
    """Whether a node of a newer opset means the same in an older one: it uses nothing that was added."""
    op = node.op
    if not has(op, old):
        return False
    if same_but_types(op, old, new):
        return True
    (inputs, _), (new_inputs, _) = _formals(op, old), _formals(op, new)
    added = node.inputs[len(inputs) :] if len(new_inputs) > len(inputs) else ()
    known = node.attributes.keys() <= _attributes(op, old).keys()
    return raises(op, old, new) and known and all(value is None for value in added)


def same_meaning(op: str, old: int, new: int) -> bool:
    """Whether an operator is the same in two opsets, or only in the newer one."""
    return has(op, new) and (not has(op, old) or raises(op, old, new))


def raisable(model: Model, least: int) -> bool:
    """Whether a model has an opset, or can get it without any other operator changing by that.

    Operators that no opset of ONNX has do not count: they are ONNX Runtime's own.
    """
    opset = model.opset or 1
    own = {node.op for node in model.graph.nodes if not node.domain} if opset < least else set()
    return all(same_meaning(op, opset, least) for op in own if has(op, least) or has(op, opset))


_CHANGED = frozenset({"GroupNormalization"})
"""Opset 21 gave it an attribute, and gain and bias of another shape:
https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""


def _attributes(op: str, opset: int) -> dict[str, tuple[object, bool, bytes]]:
    """Type, need and default of each attribute of an operator."""
    return {
        name: (each.type, each.required, each.default_value.SerializeToString())
        for name, each in schema_at(op, opset).attributes.items()
    }


def _formals(op: str, opset: int) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """Names and options of the inputs and outputs of an operator."""
    schema = schema_at(op, opset)
    inputs: list[tuple[str, object]] = [(formal.name, formal.option) for formal in schema.inputs]
    return inputs, [(formal.name, formal.option) for formal in schema.outputs]
