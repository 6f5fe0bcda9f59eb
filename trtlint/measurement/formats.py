"""The 16-bit floating-point formats that TensorRT builds for, as far as a rehearsal needs them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A narrow floating-point format.

    Attributes:
        name: as options have it, ``fp16`` or ``bf16``.
        label: as texts have it.
        element: the ONNX element type.
        largest: the largest finite number.
        infinite_from: the least magnitude that rounds to infinity: half a step beyond the largest number.
        zero_below: magnitudes up to this round to zero: half of the smallest subnormal number.
    """

    name: str
    label: str
    element: int
    largest: float
    infinite_from: float
    zero_below: float


FP16 = Format("fp16", "FP16", onnx.TensorProto.FLOAT16, 65504.0, 65520.0, 2.0**-25)
"""binary16 of IEEE 754: https://en.wikipedia.org/wiki/Half-precision_floating-point_format"""
BF16 = Format(
    "bf16",
    "BF16",
    onnx.TensorProto.BFLOAT16,
    float.fromhex("0x1.fep127"),
    float.fromhex("0x1.ffp127"),
    2.0**-134,
)
"""The upper half of an FP32 number: https://en.wikipedia.org/wiki/Bfloat16_floating-point_format"""

FORMATS: Mapping[str, Format] = {format_.name: format_ for format_ in (FP16, BF16)}
