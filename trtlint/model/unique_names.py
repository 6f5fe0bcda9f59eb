"""Make names unique.

For shape inference, the names of values must be unique in the whole model.  But ONNX lets two bodies of one
``If`` use the same value names (https://github.com/onnx/onnx/blob/main/docs/IR.md#names-within-a-graph).
ONNX's inference stores the elements of shape tensors by name, in one table for all graphs
(https://github.com/onnx/onnx/blob/main/onnx/shape_inference/implementation.cc).  So without unique names,
inference would use a shape from one body for the other body.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, MutableSequence

import onnx

from trtlint.model.protos import bodies_of, defined, named_parts, text


class UniqueNames:
    """Makes names unique by a number: the second ``a`` becomes ``a#2``, the third ``a#3``.

    Args:
        taken: names that are already in use.

    Attributes:
        repeats: for each name that was already in use, the number of suffixes that were tried.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self.repeats: Counter[str] = Counter()

    def add(self, name: str) -> str:
        """Return the name, with a number if it is already in use."""
        unique = name
        while unique in self._taken:
            self.repeats[name] += 1
            unique = f"{name}#{self.repeats[name] + 1}"
        self._taken.add(unique)
        return unique


def make_names_unique(graph: onnx.GraphProto) -> Mapping[str, str]:
    """Rename each value in a body if another graph of the model uses the same name.

    Names in the main graph do not change.  The inputs of operators are renamed in the same way, so every
    operator reads the same value as before.

    Args:
        graph: the main graph; the bodies of its operators are changed in place.

    Returns:
        A mapping of new names to original names.  It is empty if all names are unique.
    """
    originals: dict[str, str] = {}
    taken = set(defined(graph))
    for body in _bodies(graph):
        _rename_body(body, ChainMap(), taken, originals)
    return originals


def restore_names(graph: onnx.GraphProto, originals: Mapping[str, str]) -> None:
    """Restore the original names of the values in bodies.

    ``originals`` is the result of :func:`make_names_unique`.
    """
    if not originals:
        return
    for body in _bodies(graph):
        _rename(body, originals)
        restore_names(body, originals)


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    return (body for node in graph.node for body in bodies_of(node))


def _rename_body(
    body: onnx.GraphProto, around: ChainMap[str, str], taken: set[str], originals: dict[str, str]
) -> None:
    """Rename the values of a body and of its nested bodies.

    ``around`` has the new names of the values in outer graphs.
    """
    own: dict[str, str] = {}
    for name in dict.fromkeys(defined(body)):
        if name in taken and name:
            # No exporter writes a NUL into a name, and each number is used once, so the name is unique.
            own[name] = f"{name}\0{len(originals)}"
            originals[own[name]] = name
    taken.update(defined(body))
    renames = around.new_child(own) if own else around
    if renames:
        _rename(body, renames)
    for inner in _bodies(body):
        _rename_body(inner, renames, taken, originals)


def _rename(body: onnx.GraphProto, renames: Mapping[str, str]) -> None:
    """Rename the values in one body.  Bodies nested in it are not changed."""
    for node in body.node:
        _replace(node.input, renames)
        _replace(node.output, renames)
    for part in named_parts(body):
        new = renames.get(text(part.name))
        if new is not None:
            part.name = new


def _replace(names: MutableSequence[str], renames: Mapping[str, str]) -> None:
    for position, name in enumerate(names):
        new = renames.get(text(name))
        if new is not None:
            names[position] = new
