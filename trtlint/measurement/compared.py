"""Find the float tensors to compare in a model whose outputs have no float type.

An example is a segmentation network that ends in ArgMax. Its output contains integers, which have no error.
So trtlint compares the input of the ArgMax.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from trtlint.files.problem import shorten
from trtlint.measurement.reach import affected
from trtlint.model.graph import WITH_BODIES, Graph, Node, Value
from trtlint.model.operators import RANDOM, SHAPE_READERS
from trtlint.model.protos import FLOAT_DTYPES

_LISTED = 3
"""Largest number of operators in a sentence."""
_UNREAD: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(SHAPE_READERS, frozenset({0})),
    "CastLike": frozenset({1}),
    "EyeLike": frozenset({0}),
    "OptionalHasElement": frozenset({0}),
    "SequenceLength": frozenset({0}),
}
"""Indices of inputs whose elements an operator does not read. For example, Shape reads only the shape."""


class ComparedTensors(Struct, frozen=True):
    """The float tensors that trtlint compares instead of the outputs.

    Attributes:
        reads: the names of the tensors. A key has two parts: the name of a value without a float type, and
            an index. The operator that computes the value reads the tensor as its input with this index. A
            conversion does not change the names of these values.
        sentence: the tensors, and why trtlint compares them. The sentence is empty if the model has a float
            output, or no such tensors.
        decides: true if the outputs are computed only from these tensors, from constants, and from inputs
            without a float type.
    """

    reads: Mapping[tuple[str, int], str] = field(default_factory=dict)
    sentence: str = ""
    decides: bool = True

    @property
    def noun(self) -> str:
        """Return ``tensor`` if trtlint compares tensors instead of the outputs, or else ``output``."""
        return "tensor" if self.sentence else "output"


def find_compared(graph: Graph) -> ComparedTensors:
    """Return the last float tensors that the outputs of a model are computed from.

    The result is empty if an output has a float type. Tensors do not count if only their shapes are read, or
    if they do not depend on the elements of an input. The search ends at values of unknown type, because
    these values may be floats.
    """
    if not graph.outputs or any(output.dtype in FLOAT_DTYPES for output in graph.outputs):
        return ComparedTensors()
    reads: dict[tuple[str, int], str] = {}
    readers: dict[tuple[Node, Value], list[str]] = {}
    inputs = {value.name for value in graph.inputs}
    reached = affected(graph, (n for n in graph.nodes if any(v and v.name in inputs for v in n.inputs)))
    decides = True
    for output in graph.outputs:
        for value, node in _computed(output):
            decides = decides and node is not None and node.op not in WITH_BODIES | RANDOM
            if node is None:
                continue
            for port, source in _read(node):
                if source.dtype not in FLOAT_DTYPES:
                    continue
                decides = decides and not source.is_input
                if source.producer in reached:
                    reads[value.name, port] = source.name
                    names = readers.setdefault((node, output), [])
                    if source.name not in names:
                        names.append(source.name)
    return ComparedTensors(reads, _sentence(graph, readers, decides), decides) if reads else ComparedTensors()


def _computed(output: Value) -> Iterator[tuple[Value, Node | None]]:
    """Yield the values without a float type that an output is computed from, each with its operator.

    For a value of unknown type, the operator is None.
    """
    seen, left = {output}, deque([output])
    while left:
        value = left.popleft()
        if value.dtype is None:
            yield value, None
        if value.dtype is None or value.producer is None:
            continue
        yield value, value.producer
        for _, source in _read(value.producer):
            if source.dtype not in FLOAT_DTYPES and source not in seen:
                seen.add(source)
                left.append(source)


def _read(node: Node) -> Iterator[tuple[int, Value]]:
    """Yield the inputs whose elements an operator reads, each with its index."""
    unread = _UNREAD.get(node.op, frozenset()) if not node.domain else frozenset()
    for port, value in enumerate(node.inputs):
        if value is not None and port not in unread:
            yield port, value


def _sentence(graph: Graph, readers: Mapping[tuple[Node, Value], list[str]], decides: bool) -> str:
    first, *others = graph.outputs
    why = "no output has a float type" if others else f"{first.name} has {_kind(first)} type"
    parts = []
    for (node, output), names in readers.items():
        *before, last = names
        tensors = f"tensors {', '.join(before)} and {last}" if before else f"tensor {last}"
        verb = "computes" if output in node.outputs else "and later operators compute"
        parts.append(f"the {tensors}, from which {node.op} ({node.path}) {verb} {output.name}")
    more = len(parts) - _LISTED
    if more > 0:
        counted = "1 more operator" if more == 1 else f"{more} more operators"
        parts[_LISTED:] = [f"the inputs of {counted}"]
    rest = "" if decides else "; the outputs also depend on values that trtlint does not compare"
    return shorten(f"{why}, so trtlint compares {'; '.join(parts)}{rest}")


def _kind(value: Value) -> str:
    dtype = value.dtype or ""
    return "a boolean" if dtype == "bool" else "an integer" if dtype[:1] in ("i", "u") else "no float"
