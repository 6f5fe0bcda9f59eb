"""The sets of inputs that two models are compared on: the user's, or made-up ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

import numpy as np
import onnx

from trtlint.lean import dataclass
from trtlint.measurement.feeds import Array, Feeds, random_feeds
from trtlint.model.graph import Value
from trtlint.model.protos import DTYPES

_KINDS = ("random", "random", "small", "zeros", "large", "ones", "masked", "random")
"""What the sets are that are made up; ``masked`` has no key that is allowed."""
MOST_BYTES = 1 << 30
"""Bytes of sets that are made up, and of what a model makes of them; one is made whatever it takes."""
_ATTEMPTS = 2
_SIZES = (4, 8, 2, 16)
_MIXED, _MOST_MIXED = (4, 2, 8), 3
"""Sizes that dimensions have each on its own, and how many such dimensions there may be."""


class Sets(Protocol):
    """Sets of inputs of the same shapes."""

    def first(self) -> list[Feeds]:
        """The first one, to see whether a model takes it; none where there are none."""

    def all(self, beside: int = 0) -> list[Feeds]:
        """All of them; of those that are made up as many as may be, with so many bytes beside each."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gave."""

    batches: list[Feeds]

    def first(self) -> list[Feeds]:
        """The first one."""
        return self.batches[:1]

    def all(self, beside: int = 0) -> list[Feeds]:  # noqa: ARG002 - the user said how many
        """All of them."""
        return self.batches


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Sets that are made up for one choice of shapes, the same ones each time.

    Attributes:
        inputs: the model's inputs, with the dimensions that the choice settles.
        attempt: which of the likely sizes the others get.
        still: whether whole numbers, which may be positions, are zero.
        most: bytes of all sets, and of what a model makes of them.
    """

    inputs: Sequence[Value]
    attempt: int = 0
    still: bool = False
    most: int = MOST_BYTES

    def first(self) -> list[Feeds]:
        """The first one; none where there is no such choice.

        Raises:
            InputsError: an input whose type or shape is not known.
        """
        return self._made(1)

    def all(self, beside: int = 0) -> list[Feeds]:
        """One of each kind, as far as memory goes, with so many bytes beside each of them."""
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


def made_up(inputs: Sequence[Value], most: int = MOST_BYTES) -> list[MadeUp]:
    """Sets for one choice of shapes after the other, the likeliest first.

    Args:
        inputs: the model's inputs.
        most: bytes of all sets of a choice, and of what the model makes of them.
    """
    found = [MadeUp(inputs, attempt, most=most) for attempt in range(_ATTEMPTS)]
    for size in _SIZES:  # where dimensions of several names must be equal
        equal = [_resized(value, dict.fromkeys(_varying(value), size)) for value in inputs]
        found += [MadeUp(equal, most=most), MadeUp(equal, still=True, most=most)]
    names = list(dict.fromkeys(key for value in inputs for key in _varying(value)))
    for sizes in product(_MIXED, repeat=len(names)) if 1 < len(names) <= _MOST_MIXED else ():
        if len(set(sizes)) > 1:  # where one is to be that of another tensor
            mixed = dict(zip(names, sizes, strict=True))
            found.append(MadeUp([_resized(value, mixed) for value in inputs], most=most))
    return found


def _varying(value: Value) -> Iterator[str]:
    """What tells each dimension that varies from others: its name, else where it stands."""
    for axis, dim in enumerate(value.shape or ()):
        if not isinstance(dim, int):
            yield dim or f"{value.name}/{axis}"


def size_of(batches: Iterable[Mapping[str, Any]]) -> int:
    """Bytes of sets of inputs, or of outputs."""
    return sum(np.asarray(array).nbytes for batch in batches for array in batch.values())


def _resized(value: Value, sizes: Mapping[str, int]) -> Value:
    """An input whose dimensions that vary have sizes."""
    copy, varying = Value(value.name), _varying(value)
    dims = [dim if isinstance(dim, int) else sizes[next(varying)] for dim in value.shape or ()]
    elements = {name: number for number, name in DTYPES.items()}
    copy.set_type(onnx.helper.make_tensor_type_proto(elements[value.dtype or "f32"], dims))
    return copy


def _zeros(array: Array) -> Array:
    """Zeros in place of whole numbers, which may be positions."""
    return np.zeros_like(array) if array.dtype.kind in "iu" else array


def _of_kind(kind: str, array: Array) -> Array:
    if kind in ("zeros", "ones"):
        return np.full_like(array, kind == "ones")
    if array.dtype.kind != "f":
        return np.zeros_like(array) if kind == "masked" else array
    scale = {"small": 0.01, "large": 30.0}.get(kind, 1.0)
    return np.asarray(array * array.dtype.type(scale))
