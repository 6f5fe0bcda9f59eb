"""What a patch is computed on: tensors at the boundary of the nodes that it changes.

Random tensors alone prove little.  A bound is not reached by small numbers, an epsilon is not noticed by
large ones, negative indices and rows in which everything is masked are rare: there are sets for each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from trtlint.fixes.patch import Bound, Patch, lowest, numpy_type
from trtlint.fixes.region import Region, RegionError
from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.sizes import Dimensions

_SEED = 20_240
_SIZES = (3, 2, 5, 1, 8)
"""Sizes for the dimensions that vary, tried in turn; equal names have equal sizes."""
_MORE_SIZES = 2
"""Further ones, which other dimensions of the region have."""
_LARGEST_SIZE = 64
_MOST_ELEMENTS = 1 << 24
_COMMON = {"random": 1.0, "positive": 1.0, "zeros": 0.0, "large": 3.0, "small": 0.01}
"""The sets that regions are computed on, and how large their numbers are."""
EMPTY = "empty"
"""The set whose dimensions that vary are all zero: an empty batch or length."""
_PLAIN = ("random", "positive", "zeros", "large")
_MENDING = ("away", "zeros", "tiny")
"""The sets for what is there to change results where a divisor is zero."""
_WHOLE = 40
"""Up to where whole numbers of no known meaning go in the set of large ones."""
_FARTHEST = {"f16": 1e4, "bf16": 1e6, "f32": 1e6, "f64": 1e6}
"""Bounds that are farther away are those of a type, which nothing is to reach."""
_BOUNDING = frozenset({"Clip", "Min", "Max", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
_WITHOUT_A_KEY = {"positive": 0, "large": -1}
"""In which sets a row of a BOOL mask has no key, and which one; in that of small numbers all have all."""
_BEYOND = 4
"""How large numbers are to be beyond a bound, in bounds."""
_QUANTIZED_TYPES = frozenset({"u8", "i8"})
_QUANTIZED = 256
"""Steps of a quantizer of eight bits."""
_INDEXED: Mapping[str, tuple[int, int, int | None]] = {
    **dict.fromkeys(("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"), (1, 0, None)),
    "RotaryEmbedding": (3, 1, 0),
    "Attention": (6, 1, -2),
}
"""Operators that read at indices, or up to them: the port of these, that of what is read, and its axis,
None for the one that an attribute names."""
_COUNTED = frozenset({"RotaryEmbedding", "Attention"})
"""Those of them that know no negative ones."""
_NEGATIVE_SINCE = 11
"""The opset from which indices count from the end where they are negative."""
_ADDED = frozenset(
    {"Add", "Where", "Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Slice"}
)
_EXPONENTIAL = frozenset({"Softmax", "LogSoftmax", "Exp", "ReduceLogSumExp"})
_SHIFTED = frozenset({"Softmax", "LogSoftmax"})
"""Those that first take the largest number away, so that none is too low for them."""
_WIDE = frozenset({"f32", "f64", "bf16"})
"""Types of scores that FP16 cannot hold."""
_FAR = -2e5
"""Where scores lie that FP16 cannot hold."""
_ATTENTION_MASK = 3
"""The port of what is added to the scores of an ``Attention``."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Feeds:
    """Tensors for the inputs of a region.

    Attributes:
        kind: what sort of numbers: one of the common ones, ``beyond`` bounds, ``masked`` rows, scores ``far``
            below what FP16 holds, up to the ``edge`` of what the patch holds for; ``away`` from zero, or
            ``tiny``; of random ones ``empty`` tensors.
        size: of the dimensions that vary.
        arrays: by name.
    """

    kind: str
    size: int
    arrays: dict[str, Array]

    @property
    def is_common(self) -> bool:
        """Whether the numbers are such that every result is to be finite in the types of the region."""
        return self.kind in _PLAIN


def feeds_of(model: Model, patch: Patch, region: Region, *, plain: bool = False) -> Iterator[Feeds]:
    """Inputs of a region: for sizes that fit, of each kind.

    Args:
        model: the model.
        patch: what changes.
        region: that, cut out.
        plain: whether to leave out what some implementations of operators do not survive.

    Raises:
        RegionError: nothing is known of an input.
    """
    shapes = {value: model.constants.dimensions(value) for value in region.inputs}
    varies = any(not isinstance(dim, int) for shape in shapes.values() for dim in shape or ())
    kinds = [*(_PLAIN if plain else _MENDING if patch.mends else _COMMON)]
    if not (plain or patch.mends or patch.keeps_a_key):
        kinds += ["beyond"] * bool(_bounds(region, model))
        masking = [(value, op) for value in region.inputs if (op := _masking(value, region))]
        kinds += ["masked"] * bool(masking)
        kinds += ["far"] * any(op in _SHIFTED and value.dtype in _WIDE for value, op in masking)
        kinds += ["edge"] * any(
            value.name in {each.tensor for each in patch.bounds} for value in region.inputs
        )
    for size in _sizes(shapes.values()) if varies else _SIZES[:1]:
        made = _Boundary(model, patch, region, shapes, size, plain=plain)
        for kind in kinds:
            yield Feeds(kind, size, made.of_kind(kind))
    if varies:
        yield Feeds(EMPTY, 0, _Boundary(model, patch, region, shapes, 0, plain=plain).of_kind(kinds[0]))


def _sizes(shapes: Iterable[Dimensions | None]) -> list[int]:
    """The sizes to try: usual ones, and those of the dimensions that do not vary, as some must be equal."""
    there = Counter(dim for shape in shapes for dim in shape or () if isinstance(dim, int))
    more = [size for size, _ in there.most_common() if size not in _SIZES and size <= _LARGEST_SIZE]
    return [*_SIZES, *more[:_MORE_SIZES]]


class _Boundary:
    """Tensors for one choice of sizes."""

    def __init__(
        self,
        model: Model,
        patch: Patch,
        region: Region,
        shapes: Mapping[Value, Dimensions | None],
        size: int,
        *,
        plain: bool,
    ) -> None:
        self.model = model
        self.patch = patch
        self.region = region
        self.shapes = shapes
        self.size = size
        self.bound = _fitting(patch)
        self.holds = dict(patch.holds)
        self.plain = plain
        self.rng = np.random.default_rng(_SEED + size)
        self.fixed = {value: self._stored(value) for value in region.inputs}
        least = _smallest(patch)
        self.bounds = {each.tensor: each for each in patch.bounds}
        self.scales = {**_COMMON, "masked": 1.0, "far": 1.0, "edge": 1.0, "away": 1.0, "tiny": least}
        self.scales["small"] = min(_COMMON["small"], least**0.5)  # squares beside what is added to them
        self.scales["beyond"] = _BEYOND * max(_bounds(region, model), default=0.0)

    def of_kind(self, kind: str) -> dict[str, Array]:
        """A tensor for each input."""
        feeds = {}
        for value in self.region.inputs:
            known = self.fixed[value]
            if known is not None:
                is_drawn = known.dtype.kind == "f" and known.size > 1 and not self.patch.folds
                feeds[value.name] = np.abs(known) if kind == "positive" and is_drawn else known
                continue
            array = self._random(value, kind)
            if self.patch.keeps_a_key and array.dtype.kind in "biu":
                array[..., :1] = 1
            feeds[value.name] = array
        return feeds

    def _random(self, value: Value, kind: str) -> Array:
        """A tensor of the type of a value."""
        shape, rng = self._sized(value, self.shapes[value]), self.rng
        dtype = numpy_type(value.dtype)
        if value.name in self.holds:
            chosen = rng.integers(0, 2, size=shape)
            if chosen.ndim > 1 and kind in _WITHOUT_A_KEY:
                chosen[..., _WITHOUT_A_KEY[kind], :] = 0
            return np.asarray(np.where(chosen, *self.holds[value.name])).astype(dtype)
        if value.dtype == "bool":
            chosen = rng.integers(0, 2, size=shape).astype(bool)
            if kind in ("zeros", "small"):
                return np.full(shape, kind == "small")
            if chosen.ndim > 1 and kind in _WITHOUT_A_KEY:
                chosen[..., _WITHOUT_A_KEY[kind], :] = False
            return chosen
        if value.dtype in FLOAT_DTYPES:
            numbers = np.asarray(rng.normal(size=shape)) * self.scales[kind]
            if kind in ("positive", "tiny", "away"):
                numbers = np.abs(numbers) + (kind == "away")
            if kind == "far" and value.dtype in _WIDE and _masking(value, self.region) in _SHIFTED:
                numbers = _FAR * (1 + 0.1 * numbers)
            if kind == "edge" and value.name in self.bounds:
                numbers = _within(self.bounds[value.name], numbers, value.dtype)
            if kind == "beyond":  # on both sides, however few numbers there are
                numbers = np.abs(numbers) * (1 - 2 * (np.arange(numbers.size) % 2)).reshape(shape)
            is_masked = kind == "masked" and shape[-1:] > [1] and value.name not in self.patch.finite
            reader = _masking(value, self.region) if is_masked else ""
            if reader:
                rows = numbers.reshape(-1, shape[-1])  # what is written to it is written to the numbers
                rows[:, ::2] = -np.inf
                rows[:-1][:1] = -np.inf
                rows[1:-1][:1] = -np.inf if reader == "Exp" else lowest(value.dtype)
            return numbers.astype(dtype)
        if value.dtype in _QUANTIZED_TYPES and not any(op in _INDEXED for op in _ops(value.uses)):
            return self._whole(dtype, shape, kind)
        low, high = (0, 2) if self.plain or self.patch.keeps_a_key else self._reach(value, kind)
        if dtype.kind == "u":
            low = max(low, 0)
        return np.asarray(rng.integers(low, max(high, low + 1), size=shape)).astype(dtype)

    def _whole(self, dtype: np.dtype[Any], shape: list[int], kind: str) -> Array:
        """Numbers of a quantized tensor, over the whole range of its type, and both ends of it."""
        ends = np.iinfo(dtype)
        if kind in ("random", "masked"):
            return self.rng.integers(ends.min, ends.max, size=shape, endpoint=True).astype(dtype)
        if kind == "positive":
            return np.asarray(self.rng.choice([ends.min, ends.max], size=shape)).astype(dtype)
        return np.full(shape, {"zeros": 0, "small": ends.min}.get(kind, ends.max), dtype)

    def _reach(self, value: Value, kind: str) -> tuple[int, int]:
        """Between which whole numbers a tensor lies; those of indices are the positions that there are."""
        found = []
        for reader, port in value.uses:
            if reader.op == "OneHot" and port == 0:
                depth_of = reader.input(1)
                count = None if depth_of is None else self.model.constants.scalar(depth_of)
                found += [] if count is None or count < 1 else [int(count)]
                continue
            indices, data, along = _INDEXED.get(reader.op, (-1, -1, None))
            read = reader.input(data) if port == indices and reader in self.region.nodes else None
            shape = None if read is None else self.model.constants.dimensions(read)
            if read is None or not shape:
                continue
            sizes = self._sized(read, shape)
            depth = self._sized(value, self.shapes[value])[-1:] if reader.op.endswith("ND") else []
            axis = int(reader.number("axis", 0)) if along is None else along
            if depth:
                found.append(min(sizes[: depth[0]], default=1))
            elif -len(sizes) <= axis < len(sizes):
                found.append(sizes[axis])
        if found and kind != "zeros":
            signed = (self.model.opset or 0) >= _NEGATIVE_SINCE and not _COUNTED & _ops(value.uses)
            return (-min(found) if signed else 0), min(found)
        return (-_WHOLE, _WHOLE) if kind == "large" and not found else (0, 2)

    def _sized(self, value: Value, shape: Dimensions | None) -> list[int]:
        """The shape of a value with a size for each dimension that varies."""
        if shape is None or value.dtype is None:
            raise RegionError(f"the shape of {value.name} is not known")
        sizes = []
        for axis, dim in enumerate(shape):
            key = dim if isinstance(dim, str) else (value.name, axis)
            sizes.append(dim if isinstance(dim, int) else self.bound.get(key, self.size))
        if math.prod(sizes) > _MOST_ELEMENTS:
            raise RegionError(f"{value.name} is too large")
        return sizes

    def _stored(self, value: Value) -> Array | None:
        """The elements of a constant; random ones for a parameter, whose own may be all one or all zero."""
        model = self.model
        if not model.constants.foldable(value):
            return None
        if math.prod(dim if isinstance(dim, int) else 1 for dim in value.shape or ()) > _MOST_ELEMENTS:
            raise RegionError(f"{value.name} is too large")
        array = model.constants.payload(value)
        if array is None:
            folded = model.constants.array(value)
            array = None if folded is None else np.asarray(folded)
        if array is None:
            raise RegionError(f"the values of {value.name} cannot be read")
        if array.dtype.kind == "f" and array.size > 1 and not self.patch.folds:
            return np.asarray(self.rng.normal(size=array.shape)).astype(array.dtype)
        return np.asarray(array)


def _within(bound: Bound, numbers: Array, dtype: str) -> Array:
    """Numbers up to the ends of a bound, and close to them, as far as a type of floats goes."""
    least = lowest(dtype)
    low, high = max(bound.low, least), min(bound.high, -least)
    shares = 1 - np.minimum(np.abs(numbers), 1) / 100  # rows are apart, and both ends are reached
    ends = low if high == -least else np.where(numbers < 0, low, high)
    return np.asarray(ends * shares)


def _ops(uses: Iterable[tuple[Node, int]]) -> set[str]:
    return {node.op for node, _ in uses}


def _fitting(patch: Patch) -> Mapping[tuple[str, int] | str, int]:
    """The sizes that dimensions must have, by their names, or by those of the value and the axis."""
    found: dict[tuple[str, int] | str, int] = {}
    for value, shape in patch.shapes:
        for axis, (dim, size) in enumerate(zip(value.shape or (), shape, strict=False)):
            if isinstance(size, int):
                found[dim if isinstance(dim, str) else (value.name, axis)] = size
    return found


def _smallest(patch: Patch) -> float:
    """The smallest number that a patch stores, or adds in a norm."""
    from onnx import numpy_helper

    arrays = (numpy_helper.to_array(tensor) for tensor in patch.initializers)
    found = [abs(float(each.reshape(-1)[0])) for each in arrays if each.dtype.kind == "f" and each.size]
    found += [setting.f for node in patch.insert for setting in node.attribute if setting.name == "epsilon"]
    return min((number for number in found if number > 0), default=1.0)


def _bounds(region: Region, model: Model) -> list[float]:
    """The magnitudes of the bounds that numbers are held to, or compared with, as far as they are stored."""
    found = []
    for node in region.nodes:
        ends: list[float] = []
        if node.op in _BOUNDING:
            ends = [abs(end) for value in node.inputs if (end := model.constants.scalar(value)) is not None]
            ends += [abs(float(node.number(name, 0))) for name in ("min", "max") if name in node.attributes]
        elif node.op == "QuantizeLinear":
            scale = model.constants.array(node.input(1))
            ends = [] if scale is None else [_QUANTIZED * float(np.max(np.abs(np.asarray(scale))))]
        dtype = next((v.dtype for v in node.inputs if v is not None and v.dtype in FLOAT_DTYPES), None)
        found += [end for end in ends if end <= _FARTHEST.get(dtype or "", 0.0)]
    return found


def _masking(value: Value, region: Region) -> str:
    """The operator that takes an exponential of what a tensor is only added to, so that -inf masks."""
    if value.dtype not in FLOAT_DTYPES:
        return ""
    pending, met = [value], {value}
    while pending:
        for reader, port in pending.pop().uses:
            if reader not in region.nodes:
                continue
            if reader.op in _EXPONENTIAL or (reader.op == "Attention" and port == _ATTENTION_MASK):
                return reader.op
            if reader.op in _ADDED:
                fresh = [each for each in reader.outputs if each not in met]
                met.update(fresh)
                pending += fresh
    return ""
