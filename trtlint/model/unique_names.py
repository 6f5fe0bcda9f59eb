"""Give values names that are unique in the whole model, for shape inference.

ONNX lets two bodies of one ``If`` use the same value names
(https://github.com/onnx/onnx/blob/main/docs/IR.md#names-within-a-graph).  ONNX's inference stores the
elements of shape tensors by name, in one table for all graphs
(https://github.com/onnx/onnx/blob/main/onnx/shape_inference/implementation.cc).  So without unique names,
inference would use a shape from one body for the other body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence

import onnx

from trtlint.model.protos import bodies_of, defined, named_parts, text

_Renames = list[Mapping[str, str]]
"""The renamed values of a graph and of its outer graphs.  The innermost graph is last."""


def make_names_unique(graph: onnx.GraphProto) -> Mapping[str, str]:
    """Rename each value in a body if another graph of the model uses the same name.

    Names in the main graph do not change.  The inputs of operators are renamed in the same way, so every
    operator reads the same value as before.

    Args:
        graph: the main graph; the bodies of its operators are changed in place.

    Returns:
        The original names, by the new names.  The mapping is empty if all names are unique.
    """
    originals: dict[str, str] = {}
    taken = set(defined(graph))
    for body in _bodies(graph):
        _rename_body(body, [], taken, originals)
    return originals


def restore_names(graph: onnx.GraphProto, originals: Mapping[str, str]) -> None:
    """Restore the original names of the values in bodies.

    ``originals`` is the result of :func:`make_names_unique`.
    """
    if not originals:
        return
    for body in _bodies(graph):
        _apply(body, lambda name: originals.get(name, name))
        restore_names(body, originals)


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    return (body for node in graph.node for body in bodies_of(node))


def _rename_body(body: onnx.GraphProto, around: _Renames, taken: set[str], originals: dict[str, str]) -> None:
    own: dict[str, str] = {}
    for name in dict.fromkeys(defined(body)):
        if name in taken and name:
            # No exporter writes a NUL into a name, and each number is used once, so the name is unique.
            own[name] = f"{name}\0{len(originals)}"
            originals[own[name]] = name
    taken.update(defined(body))
    renames = [*around, own] if own else around
    if renames:
        _apply(body, lambda name: _renamed(name, renames))
    for inner in _bodies(body):
        _rename_body(inner, renames, taken, originals)


def _renamed(name: str, renames: _Renames) -> str:
    for names in reversed(renames):
        if name in names:
            return names[name]
    return name


def _apply(body: onnx.GraphProto, name_of: Callable[[str], str]) -> None:
    """Rename the values in one body.  Bodies nested in it are not changed."""
    for node in body.node:
        _replace(node.input, name_of)
        _replace(node.output, name_of)
    for part in named_parts(body):
        new = name_of(text(part.name))
        if new != text(part.name):
            part.name = new


def _replace(names: MutableSequence[str], name_of: Callable[[str], str]) -> None:
    for position, name in enumerate(names):
        new = name_of(text(name))
        if new != text(name):
            names[position] = new
