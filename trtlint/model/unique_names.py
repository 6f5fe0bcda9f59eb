"""Make value names unique in the whole model during shape inference.

ONNX lets two bodies of one ``If`` use the same value names
(https://github.com/onnx/onnx/blob/main/docs/IR.md#names-within-a-graph).  The inference library stores the
elements of shape tensors by name alone, for all graphs together
(https://github.com/onnx/onnx/blob/main/onnx/shape_inference/implementation.cc).  So it would use a shape
computed in one body for the other body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableSequence

import onnx

from trtlint.model.protos import bodies, defined, text

_Renames = list[Mapping[str, str]]
"""The renamed values of a graph and of its outer graphs, the innermost last."""


def make_names_unique(graph: onnx.GraphProto) -> Mapping[str, str]:
    """Rename the values of bodies whose names exist in another graph.

    Names of the main graph do not change. Every reader still reads the same value, which is the value of the
    innermost graph that defines the name.

    Args:
        graph: the main graph; its bodies are changed in place.

    Returns:
        The original names by the new names; empty if no name is repeated.
    """
    originals: dict[str, str] = {}
    taken = set(defined(graph))
    for body in _bodies(graph.node):
        _rename_body(body, [], taken, originals)
    return originals


def restore_names(graph: onnx.GraphProto, originals: Mapping[str, str]) -> None:
    """Restore the original names of the values in bodies."""
    if not originals:
        return
    for body in _bodies(graph.node):
        _apply(body, lambda name: originals.get(name, name))
        restore_names(body, originals)


def _bodies(nodes: Iterable[onnx.NodeProto]) -> Iterable[onnx.GraphProto]:
    """Return the bodies of operators, without nested ones."""
    return (body for node in nodes for attribute in node.attribute for body in bodies(attribute))


def _rename_body(body: onnx.GraphProto, around: _Renames, taken: set[str], originals: dict[str, str]) -> None:
    own: dict[str, str] = {}
    for name in dict.fromkeys(defined(body)):
        if name in taken and name:
            # A NUL cannot clash with names of exporters, and each number is used once.
            own[name] = f"{name}\0{len(originals)}"
            originals[own[name]] = name
    taken.update(defined(body))
    renames = [*around, own] if own else around
    if renames:
        _apply(body, lambda name: _renamed(name, renames))
    for inner in _bodies(body.node):
        _rename_body(inner, renames, taken, originals)


def _renamed(name: str, renames: _Renames) -> str:
    for names in reversed(renames):
        if name in names:
            return names[name]
    return name


def _apply(body: onnx.GraphProto, name_of: Callable[[str], str]) -> None:
    """Replace the names of values in one body, not in nested bodies."""
    for node in body.node:
        _replace(node.input, name_of)
        _replace(node.output, name_of)
    stored = [*body.initializer, *(sparse.values for sparse in body.sparse_initializer)]
    named: list[onnx.ValueInfoProto | onnx.TensorProto] = [
        *body.input,
        *body.output,
        *body.value_info,
        *stored,
    ]
    for each in named:
        new = name_of(text(each.name))
        if new != text(each.name):
            each.name = new


def _replace(names: MutableSequence[str], name_of: Callable[[str], str]) -> None:
    for position, name in enumerate(names):
        new = name_of(text(name))
        if new != text(name):
            names[position] = new
