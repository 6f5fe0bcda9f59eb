"""Compute the output shapes of operators.  A dimension is a number, a name, or None if unknown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from trtlint.model.protos import Dimension

Dimensions = tuple[Dimension, ...]

_PRODUCT = re.compile(r"(?:[1-9]\d{0,17}\*)?[^\W\d]\w*(?:\*[^\W\d]\w*)*")
"""Pattern of a dimension name such as ``4*s77``, as PyTorch writes products."""
_TO_THE_END = (1 << 31) - 1
"""Smallest slice end that means "to the end".  Exporters write this number or a larger number."""


def merge_shapes(known: Dimensions | None, inferred: Dimensions | None) -> Dimensions | None:
    """Return ``known`` with its unknown dimensions replaced by the dimensions of ``inferred``.

    If one shape is None, the other shape is returned.  If the ranks differ, ``known`` is returned.
    """
    if known is None or inferred is None or len(known) != len(inferred):
        return inferred if known is None else known
    return tuple(b if a is None else a for a, b in zip(known, inferred, strict=True))


def broadcast_shape(shapes: Sequence[Dimensions]) -> Dimensions | None:
    """Return the shape of operands after broadcasting, or None if they cannot be broadcast."""
    rank = max(map(len, shapes))
    together: list[Dimension] = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        wide = {size for size in sizes if size != 1}
        numbers = {size for size in wide if isinstance(size, int)}
        if len(numbers) > 1:
            return None
        if numbers:  # a named or unknown dimension is 1 or equal to this number
            together += numbers
        else:
            together.append((wide.pop() if wide else 1) if len(wide) < 2 else None)
    return tuple(together)


def matmul_shape(left: Dimensions, right: Dimensions) -> Dimensions | None:
    """Return the shape of a matrix product, or None if an operand is a vector."""
    if len(left) < 2 or len(right) < 2:
        return None
    batch = broadcast_shape([left[:-2], right[:-2]])
    return None if batch is None else (*batch, left[-2], right[-1])


def pad_shape(data: Dimensions, pads: Dimensions) -> Dimensions | None:
    """Return the output shape of ``Pad``.  ``pads`` has all begin values, then all end values.

    The result is None if the length of ``pads`` is not twice the rank of ``data``.
    """
    if len(pads) != 2 * len(data):
        return None
    both = zip(data, pads[: len(data)], pads[len(data) :], strict=True)
    return tuple(
        dim
        if before == after == 0
        else dim + before + after
        if isinstance(dim, int) and isinstance(before, int) and isinstance(after, int)
        else None
        for dim, before, after in both
    )


def tile_shape(data: Dimensions, times: Dimensions) -> Dimensions | None:
    """Return the output shape of ``Tile``, or None if the length of ``times`` is not the rank of ``data``."""
    if len(data) != len(times):
        return None
    pairs = zip(data, times, strict=True)
    return tuple(
        dim if n == 1 else dim * n if isinstance(dim, int) and isinstance(n, int) else None
        for dim, n in pairs
    )


def slice_shape(data: Dimensions, bounds: Sequence[Dimensions | None]) -> Dimensions | None:
    """Return the output shape of ``Slice``, or None if it cannot be computed.

    ``bounds`` are starts, ends, and optionally axes and steps.
    """
    if len(bounds) < 2 or None in bounds:
        return None
    starts, ends, *rest = (bound or () for bound in bounds)
    axes = rest[0] if rest else tuple(range(len(starts)))
    steps = rest[1] if len(rest) > 1 else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    left = list(data)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if not isinstance(axis, int) or not -len(data) <= axis < len(data):
            return None
        left[axis] = _slice_axis(left[axis], start, end, step)
    return tuple(left)


def _slice_axis(size: Dimension, start: Dimension, end: Dimension, step: Dimension) -> Dimension:
    if (start, step) == (0, 1) and (end == size or (isinstance(end, int) and end >= _TO_THE_END)):
        return size
    if not (isinstance(size, int) and isinstance(start, int) and isinstance(end, int)) or size < 0:
        return None
    if not isinstance(step, int) or step == 0:
        return None
    return len(range(*slice(start, end, step).indices(size)))


def unsqueeze_shape(data: Dimensions, axes: Sequence[int]) -> Dimensions:
    """Return the output shape of ``Unsqueeze``, which inserts axes of size 1."""
    rank = len(data) + len(axes)
    rest, new = iter(data), {axis % rank for axis in axes}
    return tuple(1 if axis in new else next(rest, None) for axis in range(rank))


def concat_shape(parts: Sequence[Dimensions], axis: int) -> Dimensions | None:
    """Return the output shape of ``Concat``, or None for scalars or inputs of different ranks."""
    if len({len(part) for part in parts}) != 1 or not parts[0]:
        return None
    sizes = [part[axis % len(part)] for part in parts]
    known = [size for size in sizes if isinstance(size, int)]
    total: Dimension = sum(known) if len(known) == len(sizes) else None
    if total is None and None not in sizes:
        total = "+".join(map(str, sizes))
    return tuple(total if i == axis % len(parts[0]) else dim for i, dim in enumerate(parts[0]))


def quotient(dividend: Dimensions, divisor: Sequence[Dimension]) -> Dimension:
    """Divide the product of ``dividend`` by the product of ``divisor``.  Return None if unknown.

    >>> quotient(("batch", 4, 17, 8), [17, 8])
    '4*batch'
    """
    if None in dividend or None in divisor:
        return None
    (number, names), (through, gone) = _factors(dividend), _factors(divisor)
    if through == 0 or number % through or not gone <= names:
        return None
    left, size = [*(names - gone).elements()], number // through
    if not left or size == 0:
        return size
    whole = left if size == 1 else [str(size), *left]
    if len(whole) > 1 and any(_PRODUCT.fullmatch(name) is None for name in left):
        return None  # for example a sum, which cannot be a factor of a name
    return "*".join(whole)


def _factors(dims: Iterable[Dimension]) -> tuple[int, Counter[str]]:
    """Return two results: the product of the numbers in a shape, and the count of each name in the shape."""
    numbers, names = [1], Counter[str]()
    for dim in dims:
        if isinstance(dim, int):
            numbers.append(dim)
        elif dim is not None and _PRODUCT.fullmatch(dim):
            parts = dim.split("*")
            numbers += [int(part) for part in parts if part.isdecimal()]
            names.update(part for part in parts if not part.isdecimal())
        elif dim is not None:
            names[dim] += 1
    return math.prod(numbers), names
