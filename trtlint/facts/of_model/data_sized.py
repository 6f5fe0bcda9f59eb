"""Find operators whose output size depends on the data, and the operators that use this output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Graph, Node, Value

_SOURCES = ("NonMaxSuppression", "NonZero", "Unique")
_COMPUTING = frozenset(
    {
        *("Attention", "Conv", "ConvTranspose", "Einsum", "Gemm", "LayerNormalization", "MatMul", "Softmax"),
        *("LSTM", "GRU", "RNN", "InstanceNormalization"),
    }
)
"""Operators that TensorRT compiles with their neighbours (in a Myelin island), or runs in a fixed layout."""


class DataSized(Fact, frozen=True):
    """An operator whose output size depends on the values of its input.

    Attributes:
        op: ``NonMaxSuppression``, ``NonZero`` or ``Unique``.
        outputs: names of the model outputs whose size depends on the operator.
        computing: types of the compute operators, such as ``MatMul``, that read a tensor of this
            data-dependent size. They are in graph order, without repeats.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "source": "computes a tensor whose size depends on input values, such as NonZero",
        "computing": "computes with a tensor whose size depends on input values",
    }

    op: str
    outputs: tuple[str, ...]
    computing: tuple[str, ...]


def find(facts: Facts) -> Iterator[DataSized]:
    """Yield, in graph order, a fact for each operator whose output size depends on the data.

    Each model output and each compute operator is in only one fact, even if it depends on several operators
    with a data-dependent output size. If a node reads several such outputs, only the first of them counts.
    """
    graph = facts.model.graph
    sources = graph.of_onnx(*_SOURCES)
    if not sources:
        return
    sized, computing = _reached(graph, sources)
    for node in sources:
        users = computing.get(node, [])
        yield DataSized(
            node=node,
            chain=(Step(node, "source"), *(Step(user, "computing") for user in users[:1])),
            op=node.op,
            outputs=tuple(value.name for value in graph.outputs if sized.get(value) is node),
            computing=tuple(dict.fromkeys(user.op for user in users)),
        )


def _reached(graph: Graph, sources: list[Node]) -> tuple[Mapping[Value, Node], Mapping[Node, list[Node]]]:
    """Return the values whose sizes depend on the ``sources``, and the operators that use them.

    The first result maps each value with a data-dependent size to the source of this size. The second result
    maps each source to the operators that compute with these values.
    """
    names = {dim for value in graph.inputs for dim in value.shape or () if isinstance(dim, str)}
    sized: dict[Value, Node] = {}
    computing: dict[Node, list[Node]] = {source: [] for source in sources}
    for node in graph.nodes:
        source = node if node in computing else next((sized[v] for v in node.inputs if v in sized), None)
        if source is None:
            continue
        if node.op in _COMPUTING and not node.domain:
            computing[source].append(node)
        for value in node.outputs:
            dims = (None,) if value.shape is None else value.shape
            if any(not isinstance(dim, int) and dim not in names for dim in dims):
                sized[value] = source
    return sized, computing
