"""Generate random tensors to test a patch: one array for each input of the changed nodes.

One kind of random numbers is not enough. Small numbers do not reach the bound of a Clip, and large numbers
hide an epsilon. Random tensors rarely contain negative indices or fully masked rows. So trtlint generates a
separate set of inputs for each kind of numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.fixes.patch import Bound, Patch, lowest, numpy_type, opset_of
from trtlint.fixes.region import Region, RegionError
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.sizes import Dimensions

_SEED = 20_240
_SIZES = (3, 2, 5, 1, 8)
"""Sizes to try for dynamic dimensions. In one set of inputs, all dynamic dimensions have the same size."""
_MORE_SIZES = 2
"""Number of further sizes to try for dynamic dimensions. These sizes equal static dimensions of inputs."""
_LARGEST_SIZE = 64
_MOST_ELEMENTS = 1 << 24
_COMMON = {"random": 1.0, "positive": 1.0, "zeros": 0.0, "large": 3.0, "small": 0.01}
"""Kinds of inputs for most patches, each with the factor by which its random numbers are scaled."""
EMPTY = "empty"
"""Kind of inputs in which all dynamic dimensions are zero: an empty batch or length."""
_PLAIN = ("random", "positive", "zeros", "large")
_CHANGING = ("away", "zeros", "tiny")
"""Kinds of inputs for patches that intentionally change the results of a division by zero."""
_WHOLE = 40
"""Largest magnitude of integers of kind ``large``. For indices, the size of the indexed axis is the limit."""
_FARTHEST = {"f16": 1e4, "bf16": 1e6, "f32": 1e6, "f64": 1e6}
"""For each element type, the largest bound for which trtlint generates numbers outside the bound.

Bounds are limits of Clips and constants in comparisons. trtlint ignores a larger bound, because such a bound
is only the limit of the type.
"""
_BOUNDING = frozenset({"Clip", "Min", "Max", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
_WITHOUT_A_KEY = {"positive": 0, "large": -1}
"""Kinds of inputs whose masks have a fully masked row, each with the index of this row."""
_BEYOND = 4
"""Scale of the numbers outside a bound, as a multiple of the bound."""
_QUANTIZED_TYPES = frozenset({"u8", "i8"})
_QUANTIZED = 256
"""Number of steps of an 8-bit quantizer."""
_INDEXED: Mapping[str, tuple[int, int, int | None]] = {
    **dict.fromkeys(("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"), (1, 0, None)),
    "RotaryEmbedding": (3, 1, 0),
    "Attention": (6, 1, -2),
}
"""Operators with index or length inputs.

For each operator: the position of the input with indices or lengths, the position of the data input, and the
indexed axis. If the axis is None, the ONNX attribute ``axis`` contains it.
"""
_COUNTED = frozenset({"RotaryEmbedding", "Attention"})
"""Operators of ``_INDEXED`` that reject negative indices."""
_NEGATIVE_SINCE = 11
"""First opset in which operators accept negative indices, which count from the end."""
_ADDED = frozenset(
    {"Add", "Where", "Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Slice"}
)
_EXPONENTIAL = frozenset({"Softmax", "LogSoftmax", "Exp", "ReduceLogSumExp"})
_SHIFTED = frozenset({"Softmax", "LogSoftmax"})
"""Operators that first subtract the largest element, so that low scores do not underflow."""
_WIDE = frozenset({"f32", "f64", "bf16"})
"""Element types that can hold scores outside the range of FP16."""
_FAR = -2e5
"""Score outside the range of FP16."""
_ATTENTION_MASK = 3
"""Index of the ``Attention`` input with the mask.  The mask is added to the scores."""


class Feeds(Struct, frozen=True):
    """One array for each input of the nodes that a patch changes.

    Attributes:
        kind: kind of numbers. The kind is a key of ``_COMMON``, or one of these words:

            - ``beyond``: numbers outside the bounds of Clips, comparisons and quantizers in the model.
            - ``masked``: fully masked rows.
            - ``far``: scores below the FP16 range.
            - ``edge``: numbers near both ends of the ranges in ``Patch.bounds``.
            - ``away``: numbers of at least 1.
            - ``tiny``: numbers near zero.
            - ``empty``: empty tensors.
        size: size of all dynamic dimensions.
        arrays: the arrays by input name.
    """

    kind: str
    size: int
    arrays: dict[str, Array]

    @property
    def is_common(self) -> bool:
        """True if these inputs must give finite results in the model's own types, such as FP16."""
        return self.kind in _PLAIN


def feeds_of(model: Model, patch: Patch, region: Region, *, plain: bool = False) -> Iterator[Feeds]:
    """Yield one set of inputs for each size of the dynamic dimensions and each kind of numbers.

    Args:
        model: the model.
        patch: the patch.
        region: the nodes that the patch changes.
        plain: True to omit the kinds of numbers that make some operator implementations crash.

    Raises:
        RegionError: the type or shape of an input is unknown.
    """
    shapes = {value: model.constants.dimensions(value) for value in region.inputs}
    varies = any(not isinstance(dim, int) for shape in shapes.values() for dim in shape or ())
    kinds = [*(_PLAIN if plain else _CHANGING if patch.changes_results else _COMMON)]
    if not (plain or patch.changes_results or patch.keeps_a_key):
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
    """Return the sizes to try for dynamic dimensions: the default sizes, and sizes of static dimensions.

    The model may require that a dynamic dimension is equal to a static dimension.
    """
    there = Counter(dim for shape in shapes for dim in shape or () if isinstance(dim, int))
    more = [size for size, _ in there.most_common() if size not in _SIZES and size <= _LARGEST_SIZE]
    return [*_SIZES, *more[:_MORE_SIZES]]


class _Boundary:
    """Generator of input arrays in which all dynamic dimensions have the same size."""

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
        self.bound = _required_sizes(patch)
        self.holds = dict(patch.holds)
        self.plain = plain
        self.rng = np.random.default_rng(_SEED + size)
        self.fixed = {value: self._stored(value) for value in region.inputs}
        least = _smallest(patch)
        self.bounds = {each.tensor: each for each in patch.bounds}
        self.scales = {**_COMMON, "masked": 1.0, "far": 1.0, "edge": 1.0, "away": 1.0, "tiny": least}
        self.scales["beyond"] = _BEYOND * max(_bounds(region, model), default=0.0)
        self.scales["small"] = min(_COMMON["small"], least**0.5)  # so that an epsilon affects squares

    def of_kind(self, kind: str) -> dict[str, Array]:
        """Return an array for each input, by name. For ``kind``, see :class:`Feeds`."""
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
        """Return a random array with the type and shape of ``value``. For ``kind``, see :class:`Feeds`."""
        shape, rng = self._static_shape(value, self.shapes[value]), self.rng
        dtype = numpy_type(value.dtype)
        if value.name in self.holds or value.dtype == "bool":
            chosen = rng.integers(0, 2, size=shape).astype(bool)
            if chosen.ndim > 1 and kind in _WITHOUT_A_KEY:
                chosen[..., _WITHOUT_A_KEY[kind], :] = False
            if value.name in self.holds:
                return np.asarray(np.where(chosen, *self.holds[value.name])).astype(dtype)
            return np.full(shape, kind == "small") if kind in ("zeros", "small") else chosen
        if value.dtype in FLOAT_DTYPES:
            numbers = np.asarray(rng.normal(size=shape)) * self.scales[kind]
            if kind in ("positive", "tiny", "away"):
                numbers = np.abs(numbers) + (kind == "away")
            if kind == "far" and value.dtype in _WIDE and _masking(value, self.region) in _SHIFTED:
                numbers = _FAR * (1 + 0.1 * numbers)
            if kind == "edge" and value.name in self.bounds:
                numbers = _scaled_to(self.bounds[value.name], numbers, value.dtype)
            if kind == "beyond":  # exceed both bounds, even with few elements
                numbers = np.abs(numbers) * (1 - 2 * (np.arange(numbers.size) % 2)).reshape(shape)
            is_masked = kind == "masked" and shape[-1:] > [1] and value.name not in self.patch.finite
            reader = _masking(value, self.region) if is_masked else ""
            if reader:
                rows = numbers.reshape(-1, shape[-1])  # a view: writing to it changes the numbers
                rows[:, ::2] = -np.inf
                rows[:-1][:1] = -np.inf
                rows[1:-1][:1] = -np.inf if reader == "Exp" else lowest(value.dtype)
            return numbers.astype(dtype)
        if value.dtype in _QUANTIZED_TYPES and not any(op in _INDEXED for op in _ops(value.uses)):
            return self._quantized_integers(dtype, shape, kind)
        low, high = (0, 2) if self.plain or self.patch.keeps_a_key else self._integer_range(value, kind)
        if dtype.kind == "u":
            low = max(low, 0)
        return np.asarray(rng.integers(low, max(high, low + 1), size=shape)).astype(dtype)

    def _quantized_integers(self, dtype: np.dtype[Any], shape: list[int], kind: str) -> Array:
        """Return integers of a quantized type.  Their range depends on ``kind``, see :class:`Feeds`."""
        ends = np.iinfo(dtype)
        if kind in ("random", "masked"):
            return self.rng.integers(ends.min, ends.max, size=shape, endpoint=True).astype(dtype)
        if kind == "positive":
            return np.asarray(self.rng.choice([ends.min, ends.max], size=shape)).astype(dtype)
        return np.full(shape, {"zeros": 0, "small": ends.min}.get(kind, ends.max), dtype)

    def _integer_range(self, value: Value, kind: str) -> tuple[int, int]:
        """Return the range (low, high) of random integers for a tensor.

        If a Gather or a similar operator uses the tensor as indices, the range contains only valid indices.
        """
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
            sizes = self._static_shape(read, shape)
            depth = self._static_shape(value, self.shapes[value])[-1:] if reader.op.endswith("ND") else []
            axis = reader.integer("axis", 0) if along is None else along
            if depth:
                found.append(min(sizes[: depth[0]], default=1))
            elif -len(sizes) <= axis < len(sizes):
                found.append(sizes[axis])
        if found and kind != "zeros":
            signed = opset_of(self.model) >= _NEGATIVE_SINCE and not _COUNTED & _ops(value.uses)
            return (-min(found) if signed else 0), min(found)
        return (-_WHOLE, _WHOLE) if kind == "large" and not found else (0, 2)

    def _static_shape(self, value: Value, shape: Dimensions | None) -> list[int]:
        """Return ``shape`` with a size for each dynamic dimension."""
        if shape is None or value.dtype is None:
            raise RegionError(
                f"trtlint cannot check the rewrite: the shape or type of {value.name} is unknown"
            )
        sizes = []
        for axis, dim in enumerate(shape):
            key = dim if isinstance(dim, str) else (value.name, axis)
            sizes.append(dim if isinstance(dim, int) else self.bound.get(key, self.size))
        _require_small(value, sizes)
        return sizes

    def _stored(self, value: Value) -> Array | None:
        """Return the elements of a constant, or None if the value is not a constant.

        Random elements replace float weights. Stored weights that are all one or zero would hide errors of
        the rewrite.

        Raises:
            RegionError: the constant cannot be read, or is too large.
        """
        model = self.model
        if not model.constants.foldable(value):
            return None
        _require_small(value, [dim for dim in value.shape or () if isinstance(dim, int)])
        array = model.constants.payload(value)
        if array is None:
            array = model.constants.array(value)
        if array is None:
            raise RegionError(f"the values of {value.name} cannot be read")
        if array.dtype.kind == "f" and array.size > 1 and not self.patch.folds:
            return np.asarray(self.rng.normal(size=array.shape)).astype(array.dtype)
        return np.asarray(array)


def _require_small(value: Value, sizes: Iterable[int]) -> None:
    """Raise RegionError if ``value`` has too many elements. ``sizes`` are the sizes of its axes."""
    if math.prod(sizes) > _MOST_ELEMENTS:
        raise RegionError(
            f"{value.name} has more than {_MOST_ELEMENTS:,} elements, too many to check the rewrite"
        )


def _scaled_to(bound: Bound, numbers: Array, dtype: str) -> Array:
    """Scale random numbers to the range of ``bound``, but at most to the range of ``dtype``.

    The result contains numbers near both ends of the range.
    """
    least = lowest(dtype)
    low, high = max(bound.low, least), min(bound.high, -least)
    shares = 1 - np.minimum(np.abs(numbers), 1) / 100  # rows differ, and numbers are near both ends
    ends = low if high == -least else np.where(numbers < 0, low, high)
    return np.asarray(ends * shares)


def _ops(uses: Iterable[tuple[Node, int]]) -> set[str]:
    return {node.op for node, _ in uses}


def _required_sizes(patch: Patch) -> Mapping[tuple[str, int] | str, int]:
    """Return a dict of the sizes that a patch requires for dynamic dimensions.

    A key is the name of a dimension. If the dimension has no name, the key is the tensor name and the index
    of the dimension.
    """
    found: dict[tuple[str, int] | str, int] = {}
    for value, shape in patch.shapes:
        for axis, (dim, size) in enumerate(zip(value.shape or (), shape, strict=False)):
            if isinstance(size, int):
                found[dim if isinstance(dim, str) else (value.name, axis)] = size
    return found


def _smallest(patch: Patch) -> float:
    """Return the smallest positive number that a patch adds, such as an epsilon, or 1.0 if it adds none."""
    from onnx import numpy_helper

    arrays = (numpy_helper.to_array(tensor) for tensor in patch.initializers)
    found = [abs(float(each.ravel()[0])) for each in arrays if each.dtype.kind == "f" and each.size]
    found += [setting.f for node in patch.insert for setting in node.attribute if setting.name == "epsilon"]
    return min((number for number in found if number > 0), default=1.0)


def _bounds(region: Region, model: Model) -> list[float]:
    """Return the magnitudes of the constants that act as bounds.

    The bounds are limits of Clips, constants in comparisons, and ranges of quantizers.
    """
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
    """Return the type of the operator, such as ``Softmax``, that exponentiates a tensor.

    The result is an empty string if there is no such operator. Only additions and operators that move
    elements may be between the tensor and this operator. So the tensor can be an attention mask, in which an
    element of -inf masks a score.
    """
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
