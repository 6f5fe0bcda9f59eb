"""Provide random sets of inputs for a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
from msgspec import Struct

from trtlint.measurement.feeds import Array, Feeds, random_feeds
from trtlint.model.graph import Value
from trtlint.model.protos import NUMBERS

_KINDS = ("random", "random", "small", "zeros", "large", "ones", "masked", "random")
"""Kinds of random sets. A set of the kind ``masked`` masks all keys."""
MOST_BYTES = 1 << 30
"""Byte limit for random sets and their outputs. If a single set exceeds the limit, trtlint still generates
this set.
"""
_ATTEMPTS = 2
_SIZES = (4, 8, 2, 16)
_MIXED, _MOST_MIXED = (4, 2, 8), 3
"""Sizes to try in all combinations, if at most this number of dimensions are dynamic."""


class RandomSets(Struct, frozen=True):
    """Random sets of inputs with the same shapes. Each run of trtlint generates the same numbers.

    Attributes:
        inputs: the inputs of the model, with fixed sizes for some dynamic dimensions.
        attempt: index into the lists of default sizes, for the remaining dynamic dimensions.
        still: true if all integers are zero. Nonzero integers may be indices that are out of range.
        most: limit in bytes for all sets and their outputs together.
    """

    inputs: Sequence[Value]
    attempt: int = 0
    still: bool = False
    most: int = MOST_BYTES

    def first(self) -> list[Feeds]:
        """Return the first set, or an empty list if ``attempt`` exceeds the number of default sizes.

        The first set shows whether a model accepts the shapes.

        Raises:
            InputsError: the type or shape of an input is unknown.
        """
        return self._made(1)

    def all(self, beside: int = 0) -> list[Feeds]:
        """Return one set of inputs of each kind, such as zeros, or fewer sets if they exceed ``most``.

        Args:
            beside: bytes of memory that the outputs for one set need.
        """
        each = max(1, size_of(self.first()) + beside)
        return self._made(max(1, min(len(_KINDS), self.most // each)))

    def _made(self, count: int) -> list[Feeds]:
        made = random_feeds(self.inputs, count, self.attempt) or []
        sets = [
            {name: _of_kind(kind, array) for name, array in batch.items()}
            for kind, batch in zip(_KINDS, made, strict=False)
        ]
        if not self.still:
            return sets
        return [{name: _zeros(array) for name, array in batch.items()} for batch in sets]


def random_sets(inputs: Sequence[Value], most: int = MOST_BYTES) -> list[RandomSets]:
    """Return random sets with several shapes, the most likely shapes first.

    Args:
        inputs: the inputs of the model.
        most: for each choice of shapes, limit in bytes for all sets and their outputs together.
    """
    found = [RandomSets(inputs, attempt, most=most) for attempt in range(_ATTEMPTS)]
    for size in _SIZES:  # dimensions with different names may have to be equal
        equal = [_resized(value, dict.fromkeys(_dynamic_keys(value), size)) for value in inputs]
        found += [RandomSets(equal, most=most), RandomSets(equal, still=True, most=most)]
    names = list(dict.fromkeys(key for value in inputs for key in _dynamic_keys(value)))
    for sizes in product(_MIXED, repeat=len(names)) if 1 < len(names) <= _MOST_MIXED else ():
        if len(set(sizes)) > 1:  # a dimension may have to match another dimension
            mixed = dict(zip(names, sizes, strict=True))
            found.append(RandomSets([_resized(value, mixed) for value in inputs], most=most))
    return found


def _dynamic_keys(value: Value) -> Iterator[str]:
    """Yield a key for each dynamic dimension of an input: the name, or the position if unnamed."""
    for axis, dim in enumerate(value.shape or ()):
        if not isinstance(dim, int):
            yield dim or f"{value.name}/{axis}"


def size_of(batches: Iterable[Mapping[str, Any]]) -> int:
    """Return the size of all arrays in bytes."""
    return sum(np.asarray(array).nbytes for batch in batches for array in batch.values())


def _resized(value: Value, sizes: Mapping[str, int]) -> Value:
    """Return a copy of an input whose dynamic dimensions have the given sizes."""
    copy, varying = Value(value.name), _dynamic_keys(value)
    dims = [dim if isinstance(dim, int) else sizes[next(varying)] for dim in value.shape or ()]
    copy.set_type(onnx.helper.make_tensor_type_proto(NUMBERS[value.dtype or "f32"], dims))
    return copy


def _zeros(array: Array) -> Array:
    """Replace integers by zeros, because nonzero integers may be indices that are out of range."""
    return np.zeros_like(array) if array.dtype.kind in "iu" else array


def _of_kind(kind: str, array: Array) -> Array:
    if kind in ("zeros", "ones"):
        return np.full_like(array, kind == "ones")
    if array.dtype.kind != "f":
        return np.zeros_like(array) if kind == "masked" else array
    scale = {"small": 0.01, "large": 30.0}.get(kind, 1.0)
    return np.asarray(array * array.dtype.type(scale))
