"""The comparison of a parsed network with its ONNX model, as plain data: reports carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from trtlint.lean import dataclass

PROBE = "probe"
"""The name of inputs that probe edge cases, which users give and reports show."""
Outcome = Literal["agrees", "differs", "unclear", "not-compared"]


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """A tensor that the network computes otherwise than ONNX says.

    Attributes:
        node: the node that computes it, by its name; empty where it has none.
        op: its operator.
        tensor: the name of the tensor.
        layer: the layer of the network that computes it.
        layer_kind: the kind of that layer, such as ``REDUCE``.
        expected: ONNX's value at the worst element; of tensors of different shapes, the shape.
        got: the network's value there.
        place: the position of the worst element; empty for tensors of different shapes.
        worst: the largest absolute difference, None where it has no number.
        differing: how many elements differ.
        elements: how many elements there are.
        others: the operators of nodes in front of it whose outputs have no name in the network.
        oracles: what computes ONNX's value: ``both``, ONNX Runtime and ONNX's reference, or the one of them
            that can.
        inputs: the inputs that show it.
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


@dataclass(frozen=True, slots=True)
class Uncomputed:
    """Why tensors were not computed.

    Attributes:
        reason: why.
        tensors: how many.
    """

    reason: str
    tensors: int


@dataclass(frozen=True, slots=True)
class Unclear:
    """A tensor on which ONNX Runtime and ONNX's reference disagree.

    Attributes:
        tensor: its name.
        op: the operator that computes it.
    """

    tensor: str
    op: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """What comparing a parsed network with its ONNX model found.

    Attributes:
        release: the release of TensorRT-RTX whose parser made the network.
        reason: why nothing was compared; empty where something was.
        tensors: how many tensors the nodes of the model compute.
        compared: how many of them were compared.
        unnamed: how many have no name in the network.
        uncomputed: how many were not computed, in the network or in ONNX Runtime.
        reasons: why tensors were not computed, each with its number of tensors.
        sets: how many sets of inputs were run.
        inputs: what the inputs were: ``made``, ``probe`` or ``given``.
        differences: the tensors that differ, in the order of the model.
        unclear: tensors on which ONNX Runtime and ONNX's reference disagree, with their operators.
        deviations: documented deviations that were met, by their names.
        widened: whether ONNX Runtime computed narrow types in FP32.
        seconds: how long it took.
        onnxruntime_seconds: of them, for one run of the model in ONNX Runtime.
        peak: bytes of the largest resident set of the process, None where the system does not tell.
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
        """What it found; a network of which nothing was compared does not agree."""
        if self.differences:
            return "differs"
        if not self.compared:
            return "not-compared"
        return "unclear" if self.unclear else "agrees"

    @property
    def share(self) -> float:
        """The share of tensors that were compared."""
        return self.compared / self.tensors if self.tensors else 0.0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Agreement:
        """Return the comparison that JSON data describe.

        Raises:
            TypeError, ValueError: the data do not describe one.
        """
        found = dict(document)
        for name in ("outcome", "share"):
            found.pop(name, None)
        found["differences"] = tuple(
            TensorDifference(**{**each, **{name: tuple(each.get(name, ())) for name in ("place", "others")}})
            for each in found.get("differences", ())
        )
        found["reasons"] = tuple(Uncomputed(**each) for each in found.get("reasons", ()))
        found["unclear"] = tuple(Unclear(**each) for each in found.get("unclear", ()))
        found["deviations"] = tuple(found.get("deviations", ()))
        return cls(**found)
