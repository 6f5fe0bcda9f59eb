"""Find the first tensor whose values in the parsed network differ from the values that ONNX defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts


class NetworkDifference(Fact, frozen=True):
    """The first tensor, in graph order, with wrong values in the network that the parser made.

    Attributes:
        release: the release of TensorRT-RTX whose parser made the network.
        op: the operator of the node that computes the tensor.
        tensor: the name of the tensor.
        layer: the network layer that computes the tensor.
        layer_kind: the kind of this layer, such as ``REDUCE``.
        expected: the value that ONNX defines for the element that differs most. If the shapes differ, the
            shape that ONNX defines.
        got: the value of the same element in the network. If the shapes differ, the shape in the network.
        at: the position of this element, such as ``[0, 3]``; empty if the shapes differ.
        worst: the largest absolute difference; None if the difference is not a number.
        differing: number of elements that differ.
        elements: number of elements of the tensor.
        others: upstream operators that may cause the difference. trtlint did not compare their outputs,
            because these outputs have no name in the network.
        by: the runtime that computed the expected values.
        inputs: the input values for which the tensor differs.
        more: number of further tensors that differ.
        compared: number of tensors that trtlint compared.
        tensors: number of all tensors that the model computes.
    """

    roles: ClassVar[Mapping[str, str]] = {"differs": "the node whose output differs"}

    release: str
    op: str
    tensor: str
    layer: str
    layer_kind: str
    expected: str
    got: str
    at: str
    worst: float | None
    differing: int
    elements: int
    others: tuple[str, ...]
    by: str
    inputs: str
    more: int
    compared: int
    tensors: int

    @property
    def place(self) -> str:
        """The location in reports: the path of the node, or the name of the tensor if there is no node."""
        return self.node.path if self.node else self.tensor

    @property
    def scope(self) -> str:
        """The release whose parser made the network, as a text.  trtlint compared no other release."""
        return f"TensorRT-RTX {self.release}, the only release that was compared"


def find(facts: Facts) -> Iterator[NetworkDifference]:
    """Yield one fact about the first difference, or nothing if no compared tensor differs."""
    found = None if facts.dry is None else facts.dry.result.network
    if found is None or not found.differences:
        return
    first = found.differences[0]
    node = facts.names.computing(first.tensor)
    yield NetworkDifference(
        node=node,
        chain=() if node is None else (Step(node, "differs", label="differs"),),
        release=found.release,
        op=first.op,
        tensor=first.tensor,
        layer=first.layer,
        layer_kind=first.layer_kind,
        expected=first.expected,
        got=first.got,
        at=str(list(first.place)) if first.place else "",
        worst=first.worst,
        differing=first.differing,
        elements=first.elements,
        others=first.others,
        by="ONNX Runtime and ONNX's reference" if first.oracles == "both" else first.oracles,
        inputs=first.inputs,
        more=len(found.differences) - 1,
        compared=found.compared,
        tensors=found.tensors,
    )
