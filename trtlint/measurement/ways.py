"""Names of the rounding models: the assumptions about the numbers that a build rounds.

A kernel that fuses several operators rounds only the tensors that it writes to memory. So an engine rounds
fewer tensors than the model has.  Matrix products and convolutions run on tensor cores, so their operands
always have the narrow type. The sums are FP32, or FP16 if a kernel accumulates in FP16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Way = Literal["rounded", "fused", "accumulated"]
WAYS: tuple[Way, ...] = ("rounded", "fused", "accumulated")
"""``rounded``: every operator rounds its result.

``fused``: only products and model outputs are rounded.
``accumulated``: every operator rounds its result, and products accumulate in FP16.
"""

_OPERANDS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("MatMul", "Gemm", "Conv", "ConvTranspose", "DeformConv"), frozenset({0, 1})),
    **dict.fromkeys(("RNN", "GRU", "LSTM", "Attention"), frozenset({0, 1, 2})),
    "Einsum": frozenset(range(64)),
}


def operands(op: str, domain: str) -> frozenset[int]:
    """Return the indices of the operands among the inputs of a matrix product or convolution.

    The result is empty for any other operator.

    >>> sorted(operands("Gemm", ""))
    [0, 1]
    """
    return frozenset() if domain else _OPERANDS.get(op, frozenset())
