"""Shapes to build a model for where nobody has said any.

The builder wants a shape for every input with a dimension that varies.  What is chosen here is plain:
one size for each symbol, batch 1, and for the rest the size that such an axis has in the models of the
field (an image of 224 x 224, 128 tokens, a second of sound).  Where the builder refuses a choice, the
sizes come next that constants of the network suggest, then halves, other common sizes, and at last one
size for everything.  Only the standard library is used: the process that builds imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from trtlint.dry_build.hints import Hints
from trtlint.lean import dataclass

Shape = tuple[int, ...]
Range = tuple[Shape, Shape, Shape]
"""The smallest shape, the one that kernels are chosen for, and the largest."""

_IMAGE, _VOLUME, _FRAMES, _TOKENS, _SOUND, _MEL = 224, 64, 8, 128, 16_000, 3_000
_ANY = 16
"""A size for an axis of which nothing tells what it is."""
_CHANNELS = (1, 3, 4)
"""How many channels images have."""
_MEL_BANDS = (64, 80, 128)
"""How many bands the spectrograms of speech models have."""
_HALVED = 4
"""How many sizes are tried that are each half of the one before: 224, 112, 56, 28."""
_SAME = (4, 2)
"""Sizes that are tried last for everything that was chosen: what has to fit together may do so."""
_CROSSED = 3
"""Suggested sizes of images that are tried with as many suggested lengths."""
_COMMON_SQUARES = (256, 384, 512, 640, 64, 32, 96, 128, 160, 192, 320, 448, 518)
"""Sizes of images that models of the field are trained for."""
_COMMON_LINES = (64, 256, 512, 77, 1024, 1500)
"""Lengths of sequences, likewise."""
MOST = 40
"""Choices that are tried."""
_SQUARES = (_IMAGE, 112, _VOLUME)
_LINES = (_TOKENS, _SOUND, _MEL)
"""The likely sizes of both kinds: the others, such as batch and channels, stay as they are."""

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
"""What the names of symbols tell, the first that fits."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input as the parser sees it.

    Attributes:
        name: its name.
        dims: its dimensions, -1 where one varies.
        symbols: the names of the dimensions, None or empty where one has none.
        integer: whether it holds whole numbers or truth values.
        is_shape: whether the build needs its values.
    """

    name: str
    dims: Shape
    symbols: tuple[str | None, ...]
    integer: bool
    is_shape: bool

    @property
    def varies(self) -> bool:
        """Whether a dimension varies."""
        return -1 in self.dims


@dataclass(frozen=True, slots=True)
class Given:
    """A shape that somebody has said for an input.

    Attributes:
        name: the input, perhaps with ``*`` for any characters.
        shapes: what was said; of an input whose values the build needs, these values.
    """

    name: str
    shapes: Range


@dataclass(frozen=True, slots=True)
class Choice:
    """The shapes of one build.

    Attributes:
        shapes: by name, what inputs that vary are built for.
        values: by name, the values of inputs that the build needs.
        chosen: the inputs of which nobody had said anything.
    """

    shapes: Mapping[str, Range]
    values: Mapping[str, Range]
    chosen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """How sizes are chosen.

    Attributes:
        divisor: what likely sizes are divided by.
        same: one size for everything, None for likely sizes.
        square: the size of images, None for the likely one.
        line: the length of sequences, None for the likely one.
    """

    divisor: int = 1
    same: int | None = None
    square: int | None = None
    line: int | None = None

    def size(self, likely: int) -> int:
        """Return the size for an axis of a likely size."""
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


def choices(inputs: Sequence[Input], given: Sequence[Given], hints: Hints | None = None) -> Iterator[Choice]:
    """Yield the shapes to try, the likeliest first; one only where nothing was chosen here.

    Args:
        inputs: the inputs of the network.
        given: what was said of them; the last one that means an input counts.
        hints: the sizes that the network suggests.
    """
    said = {each.name: shapes for each in inputs if (shapes := _said(each, given)) is not None}
    sizes: dict[str, int] = {}
    for each in inputs:  # what was said of one input is known of the symbols of the others
        if each.name in said and not each.is_shape:
            sizes.update(_read_off(each, said[each.name][1]))
    open_ = [each for each in inputs if each.name not in said and (each.varies or each.is_shape)]
    tried: list[Choice] = []
    for way in _ways(hints or Hints()):
        choice = _choice(inputs, said, open_, sizes, way)
        if choice not in tried:
            tried.append(choice)
            yield choice
        if len(tried) == MOST:
            return


def _said(input_: Input, given: Sequence[Given]) -> Range | None:
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
    said: Mapping[str, Range],
    open_: Sequence[Input],
    known: Mapping[str, int],
    way: _Way,
) -> Choice:
    sizes = dict(known)
    shapes = {each.name: said[each.name] for each in inputs if each.name in said and not each.is_shape}
    values = {each.name: said[each.name] for each in inputs if each.name in said and each.is_shape}
    for each in open_:
        if each.is_shape:
            filled = (way.same or 1,) * (each.dims[0] if each.dims else 1)
            values[each.name] = (filled, filled, filled)
        else:
            shape = tuple(_sizes(each, sizes, way))
            shapes[each.name] = (shape, shape, shape)
    return Choice(shapes, values, tuple(each.name for each in open_))


def _sizes(input_: Input, sizes: dict[str, int], way: _Way) -> Iterator[int]:
    for axis, (dim, symbol) in enumerate(zip(input_.dims, input_.symbols, strict=True)):
        if dim >= 0:
            yield dim
        elif not symbol:
            yield way.size(_by_place(input_, axis))
        else:
            if symbol not in sizes:
                sizes[symbol] = _of_sum(symbol, sizes) or way.size(_by_name(input_, axis, symbol))
            yield sizes[symbol]


def _of_sum(symbol: str, sizes: Mapping[str, int]) -> int | None:
    """The size of ``past + sequence`` where both are known, or of the total of them."""
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
            # "width" of a table of numbers is no image
            return size if size != _IMAGE or len(input_.dims) >= 3 else _ANY
    return _by_place(input_, axis)


def _by_place(input_: Input, axis: int) -> int:
    """The size of an axis by where it is, and what is around it."""
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
        # Features of an image where both sizes vary, else heads of a sequence.
        return 64 if dims[2] == -1 and dims[3] == -1 and axis != 1 else _TOKENS if axis == 2 else _ANY
    if rank == 5:
        return _VOLUME if dims[1] == 1 else _FRAMES if axis == 2 else 112 if axis > 2 else 3
    return _ANY
