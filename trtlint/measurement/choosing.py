"""Find operators such as TopK, which choose elements by value, and compare their choices.

An example is a detector that returns the best 300 boxes. After a small rounding error, the operator can
choose other boxes, or the same boxes in another order. Then an element-wise comparison of the outputs would
compare different boxes. So in a simulation, the operator returns the elements that it chooses in FP32. See
:mod:`trtlint.measurement.choosing` for the exceptions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto, helper

from trtlint.files.problem import first_few
from trtlint.measurement.chosen import ChoiceShares
from trtlint.measurement.reach import affected, affecting
from trtlint.measurement.writing import FormulaWriter, GraphWriter
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.protos import FLOAT_DTYPES

INDICES = {"TopK": 1, "NonMaxSuppression": 0}
"""The operators that choose elements by value, each with the output that contains the indices."""
_GATHERS = 11
"""The first opset with GatherElements, which reads the chosen elements."""
_LISTED = 3
FREE = "after rounding, these operators can choose other elements or another order: "
"""Beginning of the note about operators whose choice trtlint cannot set."""

Array = np.ndarray[Any, np.dtype[Any]]
_DATA = {"TopK": 0, "NonMaxSuppression": 1}
"""For each operator, the input with the numbers that the operator compares to choose elements."""


class ChoosingNode(Struct, frozen=True):
    """An operator that chooses elements by value.

    Attributes:
        node: path of the operator.
        indices: name of the output that contains the indices of the chosen elements.
        axis: the axis of the chosen elements in this output; None if each row of the output is one chosen
            element.
    """

    node: str
    indices: str
    axis: int | None = None


class ChoosingNodes(Struct, frozen=True):
    """The operators whose choice affects outputs of a model that has a float output.

    Attributes:
        fixed: the operators that return the choice of FP32 in a simulation.
        free: paths of the operators that make a new choice in a simulation. They are in a subgraph, or the
            opset of the model is older than GatherElements.
        outputs: names of the outputs that the choices affect.
    """

    fixed: tuple[ChoosingNode, ...] = ()
    free: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def find_choices(graph: Graph, opset: int) -> ChoosingNodes:
    """Find the operators whose choice affects outputs of a model. Without float outputs, find none.

    Args:
        graph: the graph of the model.
        opset: the version of the default operator set.
    """
    if all(end.dtype not in FLOAT_DTYPES for end in graph.outputs):
        return ChoosingNodes()
    counted = affecting(graph, (end.producer for end in graph.outputs if end.producer is not None))
    fixed: list[ChoosingNode] = []
    free: list[str] = []
    readers: list[Node] = []
    listed: set[Value] = set()
    for node in graph.of_onnx(*INDICES):
        port = INDICES[node.op]
        indices = node.outputs[port] if port < len(node.outputs) else None
        if indices is None:
            continue
        reading = [reader for reader, _ in indices.uses if reader in counted]
        if not (reading or indices.is_output):
            continue
        listed.add(indices)
        readers += reading
        if node.scope or opset < _GATHERS:
            free.append(node.path)
        else:
            axis = node.attribute("axis", -1) if node.op == "TopK" else None
            fixed.append(ChoosingNode(node.path, indices.name, axis))
    reached = affected(graph, readers)
    names = tuple(end.name for end in graph.outputs if end.producer in reached or end in listed)
    return ChoosingNodes(tuple(fixed), tuple(free), names) if names else ChoosingNodes()


def input_of(indices: str) -> str:
    """Return the name of the input that sets a choice in a rewritten model."""
    return f"trtlint/chosen/{indices}"


class ChoiceCounter:
    """Counts how many elements an operator chooses in both of two runs."""

    def __init__(self, choices: ChoosingNodes) -> None:
        self._choices = {each.indices: each for each in choices.fixed}
        self._counts = {name: [0, 0, 0] for name in self._choices}

    def add(self, right: Mapping[str, Array], found: Mapping[str, Array]) -> None:
        """Count the choices of one batch.

        Args:
            right: the indices that FP32 chooses, by the name of the output.
            found: the indices that the simulation chooses.
        """
        for name in right.keys() & found.keys() & self._choices.keys():
            axis = self._choices[name].axis
            first, second = _numbered(right[name], axis), _numbered(found[name], axis)
            same = first == second if first.shape == second.shape else np.zeros(0)
            added = int(np.isin(first, second).sum()), int(same.sum()), max(first.size, second.size)
            self._counts[name] = [old + new for old, new in zip(self._counts[name], added, strict=True)]

    def shares(self) -> tuple[ChoiceShares, ...]:
        """Return the shares of equal choices of the operators that chose an element."""
        return tuple(
            ChoiceShares(self._choices[name].node, elements / count, positions / count)
            for name, (elements, positions, count) in self._counts.items()
            if count
        )


def _numbered(array: Array, axis: int | None) -> Array:
    """Return one number for each choice. The number is the same for the same element in both runs."""
    if axis is None:
        rows = np.ascontiguousarray(array, np.int64)
        return rows.view([("", np.int64)] * rows.shape[-1]).reshape(-1)
    moved = np.moveaxis(array, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    return (rows + (np.arange(len(rows)) << 32)[:, None]).reshape(-1)


def notes(choices: ChoosingNodes, changed: Mapping[str, ChoiceShares | None] | None = None) -> list[str]:
    """Return notes about operators that choose elements by value.

    Args:
        choices: the operators.
        changed: for each low-precision type, such as FP16, the operator whose choices differ most.
    """
    found = []
    metric = f"Use a metric such as mAP to judge these outputs: {first_few(choices.outputs, _LISTED)}"
    if choices.fixed:
        shares = "".join(f"In {label}, {each.words}. " for label, each in (changed or {}).items() if each)
        operators = first_few([each.node for each in choices.fixed], _LISTED)
        found.append(
            f"these operators choose elements by value: {operators}. Unless their inputs overflow, the "
            f"simulation uses the elements that they choose in FP32. {shares}{metric}"
        )
    if choices.free:
        found.append(
            f"{FREE}{first_few(choices.free, _LISTED)}. The errors can then be differences of unrelated "
            f"elements, such as two boxes. {metric}"
        )
    return found


def write_choice(node: Node, inputs: Sequence[str], write: FormulaWriter) -> tuple[str, str]:
    """Add an operator that chooses elements, and set its indices to the choice of FP32.

    The operator keeps its own choice in two cases:

    - A tensor has another shape than in FP32.
    - The operator compares numbers that are infinite or NaN.

    Args:
        node: the operator.
        inputs: names of its inputs in the rewritten model.
        write: writer of the graph.

    Returns:
        The name of the indices that the operator itself would choose, and the name of the chosen numbers. The
        second name is empty if the operator has no such output.
    """
    port = INDICES[node.op]
    result = node.outputs[port].name
    own = write.add_copy(node.proto, inputs)[port]
    given = input_of(result)
    data = inputs[_DATA[node.op]]
    size = write.add("Shape", [data])
    valid: list[str] = []
    axis = node.attribute("axis", -1)
    if node.op == "TopK":
        size = write.add("Gather", [size, write.constant(axis, np.int64)])
        valid.append(write.add("Equal", [write.add("Shape", [name]) for name in (own, given)]))
        numbers = write.add("GatherElements", [data, own], axis=axis)
    else:
        numbers = write.add("GatherND", [data, own])
    valid.append(write.add("Less", [given, size]))
    value = node.inputs[_DATA[node.op]]
    if value is not None and value.dtype in FLOAT_DTYPES:
        difference = write.add("Sub", [numbers, numbers])  # NaN for an infinite number
        valid += [write.add("Equal", [name, name]) for name in (data, difference)]
    wrong = [write.add("Cast", [write.add("Not", [name])], to=TensorProto.FLOAT) for name in valid]
    counts = [write.add("ReduceSum", [name], keepdims=0) for name in wrong]
    usable = write.add("Equal", [write.add("Sum", counts), write.constant(0)])
    branches = {"then_branch": _copy(given, write), "else_branch": _copy(own, write)}
    write.add("If", [usable], result, **branches)
    return own, write.add("GatherElements", [data, result], axis=axis) if node.op == "TopK" else ""


def _copy(name: str, write: GraphWriter) -> onnx.GraphProto:
    """Return a body for an If.  The body returns the tensor ``name``, which contains indices."""
    result = helper.make_tensor_value_info(write.fresh(), TensorProto.INT64, None)
    return helper.make_graph([helper.make_node("Identity", [name], [result.name])], "choice", [], [result])
