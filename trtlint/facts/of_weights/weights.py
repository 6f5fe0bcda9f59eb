"""Count elements of stored float tensors that are NaN, infinite, or outside the normal range of FP16.

Each tensor is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.protos import ElementType
from trtlint.model.streaming import Streamer

_COMPUTE = frozenset({"Attention", "Conv", "ConvTranspose", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"})


class BitLayout(Struct, frozen=True):
    """Bit patterns of a float type that separate classes of numbers, such as NaN and infinity.

    Attributes:
        magnitude: bit mask of all bits except the sign bit.
        infinite: the bits of infinity, without the sign.  Larger bit patterns are NaN.
        largest: the bits of the largest number that is finite in FP16.
        normal: the bits of 2**-14, the smallest normal number of FP16.
        least: the bits of 2**-25.  This number and smaller numbers round to zero in FP16.
        number: NumPy's float type; None if NumPy has no such type.
    """

    magnitude: int
    infinite: int
    largest: int
    normal: int
    least: int
    number: str | None


_LAYOUTS: Mapping[str, BitLayout] = {
    "f32": BitLayout(0x7FFFFFFF, 0x7F800000, 0x477FE000, 0x38800000, 0x33000000, "<f4"),
    "f64": BitLayout(
        0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000, 0x40EFFC0000000000, 0x3F10000000000000, 0x3E60000000000000,
        "<f8",
    ),
    "f16": BitLayout(0x7FFF, 0x7C00, 0x7BFF, 0x0400, 0x0000, "<f2"),
    "bf16": BitLayout(0x7FFF, 0x7F80, 0x477F, 0x3880, 0x3300, None),
}  # fmt: skip


class Weights(Fact, frozen=True):
    """A stored float tensor.  The fact exists only if trtlint reads all weights (``--weights``).

    ``node`` is the ``Constant`` node that stores the tensor, or the first node that reads the initializer.

    Attributes:
        name: name of the tensor.
        dtype: element type.
        shape: dimensions.
        size: number of elements.
        readers: types of the operators that read the tensor, sorted.
        compute: whether a convolution, matrix product or recurrent layer reads the tensor.
        nan: number of NaN elements.
        infinite: number of infinite elements.
        beyond_fp16: number of finite elements with a magnitude above 65504, the largest FP16 number.
        subnormal_fp16: number of elements that are subnormal in FP16 (below 6.1e-5) and do not round to zero.
        vanishing_fp16: number of non-zero elements that FP16 rounds to zero.
        subnormal_share: the share of all elements that are subnormal or round to zero in FP16, 0 to 1.
        largest: largest finite magnitude; None if no element is finite.
    """

    roles: ClassVar[Mapping[str, str]] = {"reader": "the node that stores or reads the tensor"}

    name: str
    dtype: ElementType
    shape: tuple[int, ...]
    size: int
    readers: tuple[str, ...]
    compute: bool
    nan: int
    infinite: int
    beyond_fp16: int
    subnormal_fp16: int
    vanishing_fp16: int
    subnormal_share: float
    largest: float | None


def find(facts: Facts) -> Iterator[Weights]:
    """Yield the stored float tensors of a model that at least one node reads.

    The tensors are in the order of the first nodes that read them.
    """
    graph, constants = facts.model.graph, facts.model.constants
    streamer = Streamer(facts.model.tensors)
    stored = (value for values in graph.values.values() for value in values if value.initializer is not None)
    found = [(value.uses[0][0], value) for value in stored if value.uses]
    held = (node for node in graph.of_onnx("Constant") if node.output.uses)
    found += [(node, node.output) for node in held if constants.stored(node.output) is not None]
    for node, value in sorted(found, key=lambda pair: pair[0].index):
        tensor = constants.stored(value)
        dtype = value.dtype
        parts = None if tensor is None or dtype not in _LAYOUTS else streamer.parts(tensor)
        if tensor is None or dtype is None or parts is None:
            continue
        yield _fact(node, value, dtype, tuple(tensor.dims), _counted(parts, _LAYOUTS[dtype]))


class _Counts(Struct):
    nan: int = 0
    infinite: int = 0
    beyond: int = 0
    subnormal: int = 0
    vanishing: int = 0
    largest: int = -1


def _counted(parts: Iterable[np.ndarray[Any, np.dtype[Any]]], layout: BitLayout) -> _Counts:
    counts = _Counts()
    buffer: np.ndarray[Any, np.dtype[Any]] | None = None
    for part in parts:
        mask = part.dtype.type(layout.magnitude)
        if buffer is None or buffer.size < part.size:
            buffer = np.empty(part.size, part.dtype)
        bits = np.bitwise_and(part, mask, out=buffer[: part.size])
        if not bits.size:
            continue
        top = int(bits.max())
        if top > layout.largest:
            special = bits[bits > layout.largest]
            counts.nan += int(np.count_nonzero(special > layout.infinite))
            counts.infinite += int(np.count_nonzero(special == layout.infinite))
            finite = special[special < layout.infinite]
            counts.beyond += int(finite.size)
            top = int(finite.max()) if finite.size else _largest_below(bits, layout)
        counts.largest = max(counts.largest, top)
        small = int(np.count_nonzero(bits < layout.normal))
        if small:
            zeros = int(bits.size - np.count_nonzero(bits))
            gone = int(np.count_nonzero(bits <= layout.least)) - zeros if small > zeros else 0
            counts.vanishing += gone
            counts.subnormal += small - zeros - gone
    return counts


def _largest_below(bits: np.ndarray[Any, np.dtype[Any]], layout: BitLayout) -> int:
    finite = bits[bits < layout.infinite]
    return int(finite.max()) if finite.size else -1


def _number(bits: int, layout: BitLayout) -> float | None:
    """Return the number whose bits are ``bits``, or None if ``bits`` is negative.

    For BF16, the function uses the bits as the upper half of an FP32 number.
    """
    if bits < 0:
        return None
    if layout.number is None:
        return float(np.array([bits << 16], "<u4").view("<f4")[0])
    number = np.dtype(layout.number)
    return float(np.array([bits], f"<u{number.itemsize}").view(number)[0])


def _fact(node: Node, value: Value, dtype: ElementType, shape: tuple[int, ...], counts: _Counts) -> Weights:
    size = prod(shape)
    readers = tuple(sorted({reader.op for reader, _ in value.uses}))
    small = counts.subnormal + counts.vanishing
    return Weights(
        node=node,
        chain=(Step(node, "reader", detail=f"{value.name} {value.type_text}", label="reads the tensor"),),
        name=value.name,
        dtype=dtype,
        shape=shape,
        size=size,
        readers=readers,
        compute=not _COMPUTE.isdisjoint(readers),
        nan=counts.nan,
        infinite=counts.infinite,
        beyond_fp16=counts.beyond,
        subnormal_fp16=counts.subnormal,
        vanishing_fp16=counts.vanishing,
        subnormal_share=small / size if size else 0.0,
        largest=_number(counts.largest, _LAYOUTS[dtype]),
    )
