"""Describe every node of the graph, for rules about one operator and its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import onnx

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.protos import DTYPES

LATEST_OPSET = 1000
"""Opset of a model that does not state the opset of ONNX's domain.  Every real opset is smaller."""


class Attributes(Mapping[str, Any]):
    """The attributes that the file stores for a node, by name.

    An attribute is converted to Python data when it is read.
    """

    __slots__ = ("_node", "_read")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            if name not in self._node.attributes:
                raise KeyError(name)
            self._read[name] = _readable(self._node.attribute(name))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._node.attributes)

    def __len__(self) -> int:
        return len(self._node.attributes)

    def __repr__(self) -> str:
        return repr(dict(self))


def _readable(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return f"{DTYPES.get(value.data_type, '?')}[{','.join(map(str, value.dims))}]"
    if isinstance(value, onnx.GraphProto):
        return value.name
    if isinstance(value, onnx.SparseTensorProto | onnx.TypeProto):
        return type(value).__name__
    return value


def names_of(node: Node) -> dict[str, object]:
    """Return the names that an expression about a node can use, such as ``inputs``, with their values."""
    return {
        "op": node.op,
        "domain": node.domain,
        "inputs": node.inputs,
        "outputs": node.outputs,
        "attributes": Attributes(node),
    }


class NodeFact(Fact, frozen=True):
    """A node of the graph, or of a body of ``If``, ``Loop`` or ``Scan``.

    Attributes:
        op: operator type, such as ``GridSample``.
        domain: operator domain, empty for ``ai.onnx``.
        inputs: the input values, each with ``dtype``, ``shape`` and ``rank``; None for an
            omitted optional input.
        outputs: the output values.
        attributes: the attributes that the file stores for the node.  Attributes that the file omits are
            missing, because their defaults depend on the operator and the opset.  The value of a tensor
            attribute is the type of the tensor, such as ``f32[3]``.  The value of a body is the name of its
            graph.
    """

    roles: ClassVar[Mapping[str, str]] = {"node": "the operator"}

    op: str
    domain: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Any]


def find(facts: Facts) -> Iterator[NodeFact]:
    """Yield all nodes in topological order."""
    for node in facts.model.graph.nodes:
        yield NodeFact(
            node=node,
            chain=(Step(node, "node"),),
            op=node.op,
            domain=node.domain,
            inputs=node.inputs,
            outputs=node.outputs,
            attributes=Attributes(node),
        )
