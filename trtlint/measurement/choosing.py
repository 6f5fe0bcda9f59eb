"""Find outputs whose elements an operator such as TopK chooses by value.

An example is a detector that returns the best 300 boxes. After a small rounding error, the operator can
choose other boxes, or the same boxes in another order. Then an element-wise comparison compares different
boxes.
"""

from __future__ import annotations

from trtlint.files.problem import first_few
from trtlint.measurement.reach import affected
from trtlint.model.graph import Graph, Node
from trtlint.model.protos import FLOAT_DTYPES

_INDICES = {"TopK": 1, "NonMaxSuppression": 0}
"""The operators that choose elements by value, each with the output that contains the indices."""
_LISTED = 3
CHOICE = "after rounding, these operators can choose other elements or another order: "
"""Beginning of the note about such operators."""


def choosers(graph: Graph) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the operators that choose elements of float outputs by value, and these outputs.

    Returns:
        The paths of the operators, and the names of the outputs. Both are empty if no operator affects a
        float output.
    """
    found: list[str] = []
    readers: list[Node] = []
    for node in graph.of_onnx(*_INDICES):
        port = _INDICES[node.op]
        uses = node.outputs[port].uses if port < len(node.outputs) else ()
        if uses:
            found.append(node.path)
            readers += (reader for reader, _ in uses)
    reached = affected(graph, readers)
    names = tuple(end.name for end in graph.outputs if end.dtype in FLOAT_DTYPES and end.producer in reached)
    return (tuple(found), names) if names else ((), ())


def sentence(graph: Graph) -> str:
    """Return a note about outputs whose elements an operator chooses by value, or an empty string."""
    operators, outputs = choosers(graph)
    if not operators:
        return ""
    return (
        f"{CHOICE}{first_few(operators, _LISTED)}. The errors of the outputs {first_few(outputs, _LISTED)} "
        "can then be differences of unrelated elements, such as two boxes. Judge these outputs by a metric "
        "such as mAP. With trtlint convert --tolerance 4, only operators that overflow stay in FP32, but the "
        "rehearsal then proves little about the outputs"
    )
