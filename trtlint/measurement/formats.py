"""Floating-point formats of TensorRT that are narrower than FP32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import onnx
from msgspec import Struct

Range = Literal["overflow", "underflow", "ok"]
"""Result of comparing a number with the range of a format."""


class Format(Struct, frozen=True):
    """A floating-point format that is narrower than FP32.

    Attributes:
        name: the value of ``--type``: ``fp16``, ``bf16`` or ``tf32``.
        label: the name in messages, such as ``FP16``.
        element: the ONNX element type that tensors are stored in.
        largest: the largest finite number.
        infinite_from: the smallest magnitude that rounds to infinity. This magnitude is half a step above the
            largest number.
        zero_below: the largest magnitude that rounds to zero. This magnitude is half of the smallest
            subnormal number.
        bits: significant bits of a number, including the hidden bit.
        operands_only: true if TensorRT rounds only the operands of matrix products and convolutions, as for
            TF32.
    """

    name: str
    label: str
    element: int
    largest: float
    infinite_from: float
    zero_below: float
    bits: int
    operands_only: bool = False

    def fits(self, magnitude: float) -> Range:
        """Return ``overflow`` if a number becomes infinite, ``underflow`` if it becomes 0, else ``ok``."""
        if magnitude >= self.infinite_from:
            return "overflow"
        return "underflow" if 0 < magnitude <= self.zero_below else "ok"


FP16 = Format("fp16", "FP16", onnx.TensorProto.FLOAT16, 65504.0, 65520.0, 2.0**-25, 11)
"""binary16 of IEEE 754: https://en.wikipedia.org/wiki/Half-precision_floating-point_format"""
BF16 = Format(
    "bf16",
    "BF16",
    onnx.TensorProto.BFLOAT16,
    float.fromhex("0x1.fep127"),
    float.fromhex("0x1.ffp127"),
    2.0**-134,
    8,
)
"""A BF16 number is the upper half of an FP32 number:
https://en.wikipedia.org/wiki/Bfloat16_floating-point_format
"""
TF32 = Format(
    "tf32",
    "TF32",
    onnx.TensorProto.FLOAT,
    float.fromhex("0x1.ffcp127"),
    float("inf"),
    0.0,
    11,
    operands_only=True,
)
"""The range of FP32, but only 10 bits of mantissa. In TF32 mode, products round only their operands; all
other numbers are FP32:
https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/accuracy-considerations.html
"""

FORMATS: Mapping[str, Format] = {format_.name: format_ for format_ in (FP16, BF16, TF32)}
