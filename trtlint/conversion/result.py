"""The result of a conversion as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from trtlint.errors import ExperimentError

SCHEMA = "trtlint.convert/1"
"""Name and version of the JSON document; incompatible changes raise the version."""
KEY = "trtlint.convert"
"""The metadata key of a converted model."""

Verdict = Literal["proven", "unproven", "failed"]


class ConversionError(ExperimentError):
    """Error: a model cannot be converted.  The message is the reason."""


class KeptOperator(Struct, frozen=True):
    """An operator that stays in FP32.

    Attributes:
        node: the path of the operator.
        op: the operator type.
        reason: the reason for keeping the operator in FP32.
        product: true if the operator is a matrix product or a convolution.
        share: FLOPs of the operator divided by the FLOPs of all products (matrix products and convolutions).
    """

    node: str
    op: str
    reason: str
    product: bool = False
    share: float = 0.0


class InsertedCast(Struct, frozen=True):
    """A Cast that the conversion inserts.

    Attributes:
        tensor: the tensor that the Cast reads.
        to: ``fp32``, ``fp16`` or ``bf16``.
        reason: the reason for the Cast.
        inside: true if the Cast is inside the model, false if it is at an input or output of the model.
    """

    tensor: str
    to: str
    reason: str
    inside: bool


class TensorOutOfRange(Struct, frozen=True):
    """A stored tensor with numbers that are too large or too small for the 16-bit type.

    Attributes:
        tensor: the name of the tensor.
        what: ``clamped`` if numbers are clamped to the range, ``kept`` if the tensor stays in FP32, or
            ``vanishing`` if many numbers round to zero.
        reason: a description of the numbers.
    """

    tensor: str
    what: str
    reason: str


class Magnitude(Struct, frozen=True):
    """The largest magnitude that an operator computes in FP32.

    Attributes:
        node: the path of the operator.
        op: the operator type.
        greatest: the magnitude, including squares and sums inside the operator.
    """

    node: str
    op: str
    greatest: float


class IslandSummary(Struct, frozen=True):
    """A group of operators that must get the same type, because TensorRT fuses them.

    Attributes:
        kind: ``attention``, ``norm`` or ``quantizers``.
        first: path of the first operator.
        operators: number of operators.
        type: the type of the operators; ``mixed`` if options of the user set different types.
    """

    kind: str
    first: str
    operators: int
    type: str


class ConversionCheck(Struct, frozen=True):
    """A check of the converted model.

    Attributes:
        name: ``checker``, ``rehearsal``, ``parser`` or ``builder``.
        verdict: the result: proven, failed or unproven.
        text: the result in words.
        figures: the numbers behind the result, with their names.
    """

    name: str
    verdict: Verdict
    text: str
    figures: Mapping[str, Any] = field(default_factory=dict)


class Conversion(Struct, frozen=True):
    """A converted model.

    Attributes:
        path: the source model, as the user named it.
        output: the written file; empty if no file was written.
        type: ``fp16`` or ``bf16``.
        io: the type of inputs and outputs, ``fp32`` or the same as ``type``.
        unchanged: the reason for not changing the model; empty for a converted model.
        operators: number of operators with FP32 tensors in the source.
        narrow: number of these operators that compute in 16 bits.
        share: FLOPs of the products in 16 bits divided by the FLOPs of all products; None if there are no
            products. Products are matrix products and convolutions.
        kept: the operators in FP32.
        casts: the Casts that were inserted.
        stored: the stored tensors whose numbers are too large or too small for the type.
        ranges: the operators that compute the largest numbers, the largest first.
        islands: groups of operators. All operators of a group must get the same type.
        rewrites: rewrites of the graph before the conversion, in words.
        opset: the opsets of the source and of the result.
        size: the sizes of the source and of the result in bytes.
        error: the largest error of an output in the simulation; None if there was no simulation or the error
            is not finite.
        proofs: the checks.
        advice: one line that recommends another type; empty without a recommendation.
        command: the build command.
        notes: sentences about limits of the result.
    """

    path: str
    output: str
    type: str
    io: str
    unchanged: str = ""
    operators: int = 0
    narrow: int = 0
    share: float | None = None
    kept: tuple[KeptOperator, ...] = ()
    casts: tuple[InsertedCast, ...] = ()
    stored: tuple[TensorOutOfRange, ...] = ()
    ranges: tuple[Magnitude, ...] = ()
    islands: tuple[IslandSummary, ...] = ()
    rewrites: tuple[str, ...] = ()
    opset: tuple[int, int] = (0, 0)
    size: tuple[int, int] = (0, 0)
    error: float | None = None
    proofs: tuple[ConversionCheck, ...] = ()
    advice: str = ""
    command: str = ""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Return the weakest result of all checks."""
        verdicts = [proof.verdict for proof in self.proofs]
        if "failed" in verdicts:
            return "failed"
        return "unproven" if "unproven" in verdicts else "proven"


def to_data(found: Conversion) -> dict[str, Any]:
    """Return a conversion as JSON data."""
    return {"schema": SCHEMA, **to_builtins(found), "verdict": found.verdict}
