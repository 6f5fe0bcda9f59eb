"""Choose default shapes for inputs with dynamic dimensions.

The builder needs a shape for every input with a dynamic dimension. The first shapes have these sizes:
- batch 1
- an image of 224 x 224, 128 tokens, or one second of audio
- the same size for dimensions with the same name

If the builder rejects these sizes, trtlint tries other sizes: sizes that constants suggest, half sizes,
one size for all axes, and common sizes. The build process imports this module, so the module imports only
msgspec, the standard library and :mod:`trtlint.dry_build.hints`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from math import prod

from msgspec import Struct

from trtlint.dry_build.hints import Hints

Shape = tuple[int, ...]
Range = tuple[Shape, Shape, Shape]
"""The smallest shape, the shape that kernels are optimized for, and the largest shape."""

_IMAGE, _VOLUME, _FRAMES, _TOKENS, _SOUND, _MEL = 224, 64, 8, 128, 16_000, 3_000
_ANY = 16
"""Size of an axis with unknown meaning."""
_CHANNELS = (1, 3, 4)
"""Channel counts of images."""
_MEL_BANDS = (64, 80, 128)
"""Mel bands of spectrograms in speech models."""
_HALVED = 4
"""Number of image sizes to try. Each size is half of the previous size: 224, 112, 56, 28."""
_SAME = (4, 2)
"""Sizes to try for all chosen dimensions at once, because equal sizes may be compatible."""
_CROSSED = 3
"""Number of suggested image sizes, and of suggested lengths, to try in all combinations."""
_COMMON_SQUARES = (256, 384, 512, 640, 64, 32, 96, 128, 160, 192, 320, 448, 518)
"""Common image sizes of trained models."""
_COMMON_LINES = (64, 256, 512, 77, 1024, 1500)
"""Common sequence lengths."""
MOST = 40
"""Maximum number of shapes to try."""
_SQUARES = (_IMAGE, 112, _VOLUME)
_LINES = (_TOKENS, _SOUND, _MEL)
"""Default lengths. In a retry, suggested or common lengths replace these default lengths.

In the same way, suggested or common image sizes replace the sizes in ``_SQUARES``.
"""

_SIZES: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(words, re.ASCII), size)
    for words, size in (
        (r"batch", 1),
        (r"height|width|^(h|w|hh|ww)$|^img|image", _IMAGE),
        (r"depth", _VOLUME),
        (r"(audio|wave|pcm|sample)", _SOUND),
        (r"frame|mel", _MEL),
        (r"past|cache", _TOKENS),
        (r"seq|len|token|time|^(t|s|l)$", _TOKENS),
        (r"channel|^c$", 3),
    )
)
"""Patterns for the name of a dimension, each with a default size. The first matching pattern counts."""


class Input(Struct, frozen=True):
    """An input of the parsed network.

    Attributes:
        name: the name of the input.
        dims: the dimensions, -1 for a dynamic dimension.
        symbols: the name of each dimension; None or empty if a dimension has no name.
        integer: true if the type is integer or boolean.
        is_shape: true if the input is a shape tensor. The builder then needs the range of its values.
    """

    name: str
    dims: Shape
    symbols: tuple[str | None, ...]
    integer: bool
    is_shape: bool

    @property
    def varies(self) -> bool:
        """Return whether a dimension is dynamic."""
        return -1 in self.dims


class ShapeRange(Struct, frozen=True):
    """Shapes that the user gives for one or several inputs.

    Attributes:
        name: the name of the input; ``*`` matches any characters.
        shapes: the smallest, usual and largest shape; for a shape tensor, the values.
    """

    name: str
    shapes: Range


class ShapeChoice(Struct, frozen=True):
    """The input shapes of one build.

    Attributes:
        shapes: for each dynamic input, by name, its smallest, usual and largest shape.
        values: for each shape tensor, by name, its smallest, usual and largest values.
        chosen: inputs whose shape trtlint chose.
    """

    shapes: Mapping[str, Range]
    values: Mapping[str, Range]
    chosen: tuple[str, ...]


class _Way(Struct, frozen=True):
    """Sizes to use for dynamic dimensions in one attempt.

    Attributes:
        divisor: number by which default sizes are divided.
        same: size for all axes; None for default sizes.
        square: height and width of images; None for the default.
        line: sequence length; None for the default.
    """

    divisor: int = 1
    same: int | None = None
    square: int | None = None
    line: int | None = None

    def size(self, likely: int) -> int:
        """Return the size to use for an axis whose default size is ``likely``."""
        if self.same is not None:
            return self.same
        if self.square is not None and likely in _SQUARES:
            return self.square
        if self.line is not None and likely in _LINES:
            return self.line
        return max(1, likely // self.divisor)


def _ways(hints: Hints) -> Iterator[_Way]:
    yield _Way()
    yield from (_Way(square=size) for size in hints.squares)
    yield from (_Way(line=size) for size in hints.lines)
    for square in hints.squares[:_CROSSED]:
        yield from (_Way(square=square, line=line) for line in hints.lines[:_CROSSED])
    yield from (_Way(divisor=2**attempt) for attempt in range(1, _HALVED))
    yield from (_Way(same=size) for size in _SAME)
    yield from (_Way(square=size) for size in _COMMON_SQUARES)
    yield from (_Way(line=size) for size in _COMMON_LINES)


def choices(
    inputs: Sequence[Input], given: Sequence[ShapeRange], hints: Hints | None = None
) -> Iterator[ShapeChoice]:
    """Yield input shapes to try, the most likely first.

    If the user gave all shapes, the function yields only these shapes.

    Args:
        inputs: the inputs of the network.
        given: shape ranges from the user. If several ranges match an input, the last range applies.
        hints: sizes that the network suggests.
    """
    user_shapes = {each.name: shapes for each in inputs if (shapes := _user_shape(each, given)) is not None}
    sizes: dict[str, int] = {}
    for each in inputs:  # the user's sizes of one input also fix symbols in other inputs
        if each.name in user_shapes and not each.is_shape:
            sizes.update(_read_off(each, user_shapes[each.name][1]))
    open_ = [each for each in inputs if each.name not in user_shapes and (each.varies or each.is_shape)]
    tried: list[ShapeChoice] = []
    for way in _ways(hints or Hints()):
        choice = _choice(inputs, user_shapes, open_, sizes, way)
        if choice not in tried:
            tried.append(choice)
            yield choice
        if len(tried) == MOST:
            return


def _user_shape(input_: Input, given: Sequence[ShapeRange]) -> Range | None:
    if not (input_.varies or input_.is_shape):
        return None
    found = None
    for each in given:
        pattern = each.name.replace("[", "[[]").replace("?", "[?]")
        rank = len(each.shapes[1]) == len(input_.dims) or input_.is_shape
        if rank and fnmatchcase(input_.name, pattern):
            found = each.shapes
    return found


def _read_off(input_: Input, shape: Shape) -> Iterator[tuple[str, int]]:
    for dim, symbol, size in zip(input_.dims, input_.symbols, shape, strict=True):
        if dim < 0 and symbol:
            yield symbol, size


def _choice(
    inputs: Sequence[Input],
    user_shapes: Mapping[str, Range],
    open_: Sequence[Input],
    known: Mapping[str, int],
    way: _Way,
) -> ShapeChoice:
    sizes = dict(known)
    fixed = [each for each in inputs if each.name in user_shapes]
    shapes = {each.name: user_shapes[each.name] for each in fixed if not each.is_shape}
    values = {each.name: user_shapes[each.name] for each in fixed if each.is_shape}
    for each in open_:
        if each.is_shape:
            filled = (way.same or 1,) * prod(each.dims)
            values[each.name] = (filled, filled, filled)
        else:
            shape = tuple(_sizes(each, sizes, way))
            shapes[each.name] = (shape, shape, shape)
    return ShapeChoice(shapes, values, tuple(each.name for each in open_))


def _sizes(input_: Input, sizes: dict[str, int], way: _Way) -> Iterator[int]:
    for axis, (dim, symbol) in enumerate(zip(input_.dims, input_.symbols, strict=True)):
        if dim >= 0:
            yield dim
        elif not symbol:
            yield way.size(_default_size(input_, axis))
        else:
            if symbol not in sizes:
                sizes[symbol] = _size_of_sum(symbol, sizes) or way.size(_by_name(input_, axis, symbol))
            yield sizes[symbol]


def _size_of_sum(symbol: str, sizes: Mapping[str, int]) -> int | None:
    """Return the size of a dimension named ``past + sequence``, if the sizes of both parts are known."""
    parts = [part.strip() for part in symbol.split("+")]
    if len(parts) > 1 and all(part in sizes or part.isdecimal() for part in parts):
        return sum(sizes[part] if part in sizes else int(part) for part in parts)
    if "total" in symbol.lower():
        past = [size for name, size in sizes.items() if "past" in name.lower()]
        now = [size for name, size in sizes.items() if "seq" in name.lower() and "past" not in name.lower()]
        if past and now:
            return past[0] + now[0]
    return None


def _by_name(input_: Input, axis: int, symbol: str) -> int:
    name = symbol.lower()
    if axis == 0 and len(input_.dims) > 1 and not re.search(r"seq|len|token|time|frame", name):
        return 1
    for pattern, size in _SIZES:
        if pattern.search(name):
            # The "width" of an input with fewer than three axes is not an image width.
            return size if size != _IMAGE or len(input_.dims) >= 3 else _ANY
    return _default_size(input_, axis)


def _default_size(input_: Input, axis: int) -> int:
    """Return the default size of an axis, derived from its index, the rank and the other dimensions."""
    dims, rank = input_.dims, len(input_.dims)
    if axis == 0:
        return 1 if rank > 1 else _ANY if input_.integer else 1
    if rank == 2:
        return _TOKENS if input_.integer else _SOUND if "aud" in input_.name.lower() else _TOKENS
    if rank == 3:
        if axis == 2 and not input_.integer and dims[1] in (1, 2):
            return _SOUND
        return _MEL if axis == 2 and dims[1] in _MEL_BANDS else _TOKENS
    if rank == 4:
        if (
            dims[1] in _CHANNELS
            or dims[3] in _CHANNELS
            or (dims[1] == -1 and dims[2] == -1 and dims[3] == -1)
        ):
            channels_last = dims[3] in _CHANNELS and dims[1] not in _CHANNELS
            spatial = (1, 2) if channels_last else (2, 3)
            return _IMAGE if axis in spatial else 3
        # Image features if both sizes are dynamic, else attention heads.
        return 64 if dims[2] == -1 and dims[3] == -1 and axis != 1 else _TOKENS if axis == 2 else _ANY
    if rank == 5:
        return _VOLUME if dims[1] == 1 else _FRAMES if axis == 2 else 112 if axis > 2 else 3
    return _ANY
