"""Result of comparing a parsed network with its ONNX model, as plain data for reports."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PROBE = "probe"
"""Value of the option ``--compare`` for inputs that test edge cases.  Reports also contain this value."""
Outcome = Literal["agrees", "differs", "unclear", "not-compared"]


class TensorDifference(Struct, frozen=True):
    """A tensor that the parsed network and the ONNX model compute differently.

    Attributes:
        node: name of the ONNX node that computes the tensor; empty if unnamed.
        op: the type of this node.
        tensor: name of the tensor.
        layer: the layer of the network that computes the tensor.
        layer_kind: kind of this layer, such as ``REDUCE``.
        expected: ONNX's value of the element at ``place``; ONNX's shape if the shapes differ.
        got: the network's value of the element at ``place``; the network's shape if the shapes differ.
        place: index of the element with the largest difference; empty if the shapes differ.
        worst: largest absolute difference; None if the shapes differ or no difference is finite.
        differing: number of elements that differ.
        elements: number of elements.
        inputs: the set of inputs that shows the difference.
        others: operators of preceding nodes that were not compared, because their outputs have no name in the
            network.
        oracles: the source of ONNX's value: ``both`` for ONNX Runtime and ONNX's reference evaluator, or the
            name of one of them.
    """

    node: str
    op: str
    tensor: str
    layer: str
    layer_kind: str
    expected: str
    got: str
    place: tuple[int, ...]
    worst: float | None
    differing: int
    elements: int
    inputs: str
    others: tuple[str, ...] = ()
    oracles: Literal["both", "onnxruntime", "reference"] = "both"


class Uncomputed(Struct, frozen=True):
    """The number of tensors that could not be computed for one reason.

    Attributes:
        reason: the reason.
        tensors: number of tensors.
    """

    reason: str
    tensors: int


class Unclear(Struct, frozen=True):
    """A tensor for which ONNX Runtime and ONNX's reference evaluator give different values.

    Attributes:
        tensor: the name of the tensor.
        op: the operator that computes the tensor.
    """

    tensor: str
    op: str


class Agreement(Struct, frozen=True):
    """Result of comparing a parsed network with its ONNX model.

    Attributes:
        release: release of TensorRT-RTX whose parser created the network.
        reason: the reason if nothing was compared; empty otherwise.
        tensors: number of tensors that the nodes of the model compute.
        compared: number of compared tensors.
        unnamed: number of tensors whose names the network does not contain.
        uncomputed: number of tensors that trtlint could not compute in the network or in ONNX Runtime.
        reasons: reasons why tensors were not computed, each with the number of tensors.
        sets: number of sets of inputs.
        inputs: kind of inputs: ``made`` by trtlint, ``probe`` (also edge cases), or ``given`` by the user.
        differences: tensors that differ, in model order.
        unclear: tensors for which ONNX Runtime and ONNX's reference evaluator give different values.
        deviations: names of documented deviations that occurred.
        widened: true if ONNX Runtime computed 16-bit types in FP32.
        seconds: total time.
        onnxruntime_seconds: time of one run of the model in ONNX Runtime.
        peak: peak resident memory of the process in bytes; None if unknown.
    """

    release: str
    reason: str = ""
    tensors: int = 0
    compared: int = 0
    unnamed: int = 0
    uncomputed: int = 0
    reasons: tuple[Uncomputed, ...] = ()
    sets: int = 0
    inputs: str = "made"
    differences: tuple[TensorDifference, ...] = ()
    unclear: tuple[Unclear, ...] = ()
    deviations: tuple[str, ...] = ()
    widened: bool = False
    seconds: float = 0.0
    onnxruntime_seconds: float = 0.0
    peak: int | None = None

    @property
    def outcome(self) -> Outcome:
        """Return the result of the comparison. If no tensor was compared, the result is not "agrees"."""
        if self.differences:
            return "differs"
        if not self.compared:
            return "not-compared"
        return "unclear" if self.unclear else "agrees"

    @property
    def share(self) -> float:
        """Return the number of compared tensors, divided by the number of all tensors."""
        return self.compared / self.tensors if self.tensors else 0.0
