"""Comparison of a parsed network with its ONNX model, as plain data for reports."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PROBE = "probe"
"""Option value for inputs that probe edge cases; reports also show it."""
Outcome = Literal["agrees", "differs", "unclear", "not-compared"]


class TensorDifference(Struct, frozen=True):
    """A tensor that the network computes differently from ONNX.

    Attributes:
        node: name of the node that computes it; empty if unnamed.
        op: its operator.
        tensor: name of the tensor.
        layer: network layer that computes it.
        layer_kind: kind of that layer, such as ``REDUCE``.
        expected: ONNX's value at the worst element, or its shape if the shapes differ.
        got: the network's value there.
        place: index of the worst element; empty if the shapes differ.
        worst: largest absolute difference; None if not numeric.
        differing: number of elements that differ.
        elements: number of elements.
        others: operators of preceding nodes whose outputs have no name in the network.
        oracles: source of ONNX's value: ``both`` (ONNX Runtime and ONNX's reference), or the only one that
            computes it.
        inputs: the inputs that show the difference.
    """

    node: str
    op: str
    tensor: str
    layer: str
    layer_kind: str
    expected: str
    got: str
    place: tuple[int, ...] = ()
    worst: float | None = None
    differing: int = 0
    elements: int = 0
    others: tuple[str, ...] = ()
    oracles: Literal["both", "onnxruntime", "reference"] = "both"
    inputs: str = ""


class Uncomputed(Struct, frozen=True):
    """Tensors that were not computed, and the reason.

    Attributes:
        reason: the reason.
        tensors: number of tensors.
    """

    reason: str
    tensors: int


class Unclear(Struct, frozen=True):
    """A tensor on which ONNX Runtime and ONNX's reference disagree.

    Attributes:
        tensor: its name.
        op: its operator.
    """

    tensor: str
    op: str


class Agreement(Struct, frozen=True):
    """Result of comparing a parsed network with its ONNX model.

    Attributes:
        release: release of TensorRT-RTX whose parser made the network.
        reason: reason why nothing was compared; empty otherwise.
        tensors: number of tensors that the model's nodes compute.
        compared: number of compared tensors.
        unnamed: number of tensors without a name in the network.
        uncomputed: number of tensors that the network or ONNX Runtime did not compute.
        reasons: reasons for tensors that were not computed.
        sets: number of sets of inputs.
        inputs: kind of inputs: ``made``, ``probe`` or ``given``.
        differences: tensors that differ, in model order.
        unclear: tensors on which ONNX Runtime and ONNX's reference disagree.
        deviations: names of documented deviations that occurred.
        widened: whether ONNX Runtime computed narrow types in FP32.
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
        """The verdict; a network without compared tensors does not agree."""
        if self.differences:
            return "differs"
        if not self.compared:
            return "not-compared"
        return "unclear" if self.unclear else "agrees"

    @property
    def share(self) -> float:
        """Share of tensors that were compared."""
        return self.compared / self.tensors if self.tensors else 0.0
