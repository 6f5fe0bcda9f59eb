"""Guess input sizes from the constants of a network.

A model with dynamic sizes can contain a table that allows only one size. An example is the position table of
a vision transformer. This table has ``(224 / 16) ** 2 + 1`` rows for images of 224 x 224. The build process
imports this module, so the module imports only msgspec and the standard library.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from math import isqrt
from operator import mul

from msgspec import Struct

_EXTRA_TOKENS = (0, 1, 2, 5)
"""Possible numbers of tokens besides the patches of an image:

- 0: no token
- 1: a class token
- 2: a class and a distillation token (https://arxiv.org/abs/2012.12877)
- 5: a class token and four registers (https://arxiv.org/abs/2309.16588)
"""
_LARGEST_STRIDE = 64
_SMALLEST, _LARGEST = 8, 32_000
"""Smallest and largest suggested size."""
FEW = 8
"""A stored tensor with more elements than this cannot be a list of sizes."""
_LAST_LAYERS = 4
"""Number of last convolutions to inspect. Their channels may be the features of a classifier."""
_MOST_SQUARES, _MOST_LINES = 12, 8
"""Maximum number of suggested image sizes, and of suggested sequence lengths."""
_ABOUT_SIZES = re.compile(
    r"conformable|broadcast|mismatch|volume|reshap|out[- ]of[- ]bounds|extent|spatial|negative|inconsistent"
    r"|dimension\w* (?:must|do not|are not)|too (?:large|small)|(?:larger|smaller|greater|less) than"
    r"|must (?:match|have the same|have same|be (?:equal|at least|divisible|a multiple))"
    r"|incompatible (?:dim|shape|size)",
    re.IGNORECASE,
)
_ABOUT_RANKS = re.compile(r"equal ranks?|rank mismatch|ranks? must|inputs\. Expected")
"""Errors about ranks. They mention dimensions, but other input sizes do not avoid them."""


class NetworkSizes(Struct, frozen=True):
    """Properties of a network that suggest input sizes.

    Attributes:
        tables: shapes of stored floating-point tensors.
        numbers: stored integers and reshape dimensions.
        strides: for each convolution and pooling, the largest stride of any axis.
        channels: output channels of convolutions.
    """

    tables: tuple[tuple[int, ...], ...] = ()
    numbers: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


class Hints(Struct, frozen=True):
    """Sizes to try, most likely first.

    Attributes:
        squares: heights and widths of images.
        lines: lengths of sequences and audio.
    """

    squares: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()


def hints_of(found: NetworkSizes) -> Hints:
    """Return the input sizes that the weights and layers of a network suggest."""
    strides = _strides(found.strides)
    squares = [size for shape in found.tables for size in _sizes_by_patches(shape, strides)]
    channels = tuple(dict.fromkeys(count for count in found.channels[-_LAST_LAYERS:] if count > 0))
    flat = [*found.numbers, *(dim for shape in found.tables if len(shape) == 2 for dim in shape)]
    squares += (size for elements in flat for size in _sizes_by_elements(elements, channels, strides))
    lines = [size for shape in found.tables for size in _lengths(shape, strides)]
    counted = Counter(number for number in found.numbers if _SMALLEST <= number <= _LARGEST)
    numbers = [number for number, _ in counted.most_common(_MOST_SQUARES)]
    return Hints(
        tuple(_bounded([*squares, *numbers], _MOST_SQUARES)), tuple(_bounded([*lines, *numbers], _MOST_LINES))
    )


def is_about_sizes(error: str) -> bool:
    """Return whether different input sizes may avoid an error of the builder."""
    return _ABOUT_SIZES.search(error) is not None and _ABOUT_RANKS.search(error) is None


def _strides(strides: Iterable[int]) -> tuple[int, ...]:
    """Return possible factors between the height of an input image and the height of its grid of patches.

    The factors are the strides, the products of the first two, three, ... strides, and 1, in descending
    order.
    """
    steps = [stride for stride in strides if stride > 1]
    products = takewhile(lambda product: product <= _LARGEST_STRIDE, accumulate(steps, mul))
    found = {*products, *(step for step in steps if step <= _LARGEST_STRIDE)}
    return (*sorted(found, reverse=True), 1)


def _sizes_by_patches(shape: tuple[int, ...], strides: tuple[int, ...]) -> Iterator[int]:
    """Yield image sizes whose number of patches matches the number of rows of a position table.

    Args:
        shape: the shape of the table, such as 1 x 197 x 768.
        strides: possible patch sizes.
    """
    if len(shape) == 3 and shape[0] == 1 and shape[1] > 1:
        for extra in _EXTRA_TOKENS:
            side = isqrt(max(0, shape[1] - extra))
            if side > 1 and side * side == shape[1] - extra:
                yield from (side * stride for stride in strides if stride > 1)
    elif len(shape) == 4 and shape[0] == 1:
        for height, width in (shape[2:], shape[1:3]):  # channels first, or last
            if height == width > 1:
                yield from (height * stride for stride in strides)


def _sizes_by_elements(elements: int, channels: tuple[int, ...], strides: tuple[int, ...]) -> Iterator[int]:
    """Yield image sizes for which the flattened features have a certain number of elements.

    Args:
        elements: the number of elements, such as the input size of a classifier.
        channels: possible numbers of channels of the features.
        strides: possible factors between image and features.
    """
    for count in (1, *channels):
        side = isqrt(max(0, elements // count))
        if side > 1 and side * side * count == elements:
            yield from (side * stride for stride in strides)


def _lengths(shape: tuple[int, ...], strides: tuple[int, ...]) -> Iterator[int]:
    """Yield sequence lengths that match the number of rows in a position table.

    Args:
        shape: the shape of the table, such as 1 x 1500 x 384.
        strides: possible factors between the input and the table.
    """
    if len(shape) == 3 and shape[0] == 1 and shape[1] > 1:
        yield from (shape[1] * stride for stride in reversed(strides))
    elif len(shape) == 4 and shape[0] == 1 and shape[2] == shape[3]:
        yield shape[2]


def _bounded(sizes: Iterable[int], most: int) -> list[int]:
    return list(dict.fromkeys(size for size in sizes if _SMALLEST <= size <= _LARGEST))[:most]
