"""Inline the bodies of ``If`` and ``Loop`` into the surrounding graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

import onnx

from trtlint.fixes.patch import Draft
from trtlint.model.graph import Node, Value
from trtlint.model.protos import bodies_of, defined, text
from trtlint.model.walks import search

_MOST_VISITED = 10_000
"""Maximum number of values that a search visits.

If a search reaches this limit, trtlint assumes that the value in question depends on tensor sizes.
"""


def store(draft: Draft, body: onnx.GraphProto) -> dict[str, str]:
    """Copy the stored tensors of an If or Loop body into the surrounding graph.

    Return the new name of each stored tensor, by its old name.
    """
    names = {text(tensor.name): draft.name(text(tensor.name)) for tensor in body.initializer}
    for tensor in body.initializer:
        renamed = deepcopy(tensor)
        renamed.name = names[text(tensor.name)]
        draft.store(renamed)
    return names


def copy(
    draft: Draft,
    body: onnx.GraphProto,
    given: Mapping[str, str],
    wanted: Mapping[str, str],
    *,
    varies: bool = False,
) -> dict[str, str]:
    """Insert a copy of all operators of an If or Loop body into the surrounding graph.

    Args:
        draft: the draft.
        body: the body.
        given: names in the surrounding graph for the inputs and stored tensors of the body.
        wanted: required names in the surrounding graph for computed values of the body.
        varies: True if shapes differ between the copies of one body. The function then removes declared
            shapes.

    Returns:
        A dict from the names of values in the body to the new names in the surrounding graph.
    """
    computed = dict.fromkeys(text(name) for inner in body.node for name in inner.output if name)
    names = {**given, **{name: wanted.get(name) or draft.name(name) for name in computed}}
    for index, inner in enumerate(body.node):
        node = deepcopy(inner)
        node.name = draft.name(text(node.name) or f"{text(node.op_type)}_{index}")
        _rename(node, names)
        if varies:
            _forget_shapes(node)
        draft.insert(node)
    return names


def _rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Rename the inputs and outputs of a node, and the values that its bodies read."""
    node.input[:] = [names.get(text(name), text(name)) for name in node.input]
    node.output[:] = [names.get(text(name), text(name)) for name in node.output]
    for body in bodies_of(node):
        own = set(defined(body))
        outer = {name: new for name, new in names.items() if name not in own}
        for info in body.output:
            info.name = outer.get(text(info.name), text(info.name))
        for inner in body.node:
            _rename(inner, outer)


def _forget_shapes(node: onnx.NodeProto) -> None:
    """Remove the declared shapes of values in the bodies of a node."""
    for body in bodies_of(node):
        del body.value_info[:]
        for info in body.output:
            info.type.tensor_type.ClearField("shape")
        for inner in body.node:
            _forget_shapes(inner)


def hangs_on_sizes(value: Value) -> bool:
    """Return whether a value in a loop body depends on the sizes of tensors in this body.

    Such sizes may change in each iteration.
    """
    for number, (made, _) in enumerate(search(value, _inside, _MOST_VISITED + 1)):
        node = made.producer
        if number > _MOST_VISITED or (node is not None and node.scope and node.op in ("Shape", "Size")):
            return True
    return False


def _inside(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node in a body, so that a search with this function stops at the main graph."""
    return node.inputs if node.scope else ()
