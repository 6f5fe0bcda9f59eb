"""The proof of one patch: what it changes, computed before and after, apart from the rest of the model.

Comparing whole models is weak: what is wrong in one block is lost behind the next.  Here only the changed
nodes are computed, on random tensors at their boundary, with random parameters in place of gains of one
and biases of zero, on zeros and on large values.  Equality is judged in FP64, where rounding hides
nothing; what is in FP16 is computed in numpy's half precision as well, as FP16 kernels round, and may not
be farther from FP64 than before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trtlint.fixes.foreignproof import is_foreign, prove_foreign
from trtlint.fixes.opsets import has, raises
from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Patch, numpy_type
from trtlint.fixes.region import Region, RegionError, region_of
from trtlint.model.graph import Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES, domain_of, opsets
from trtlint.model.sizes import Dimensions

_SEED = 20_240
_SIZES = (3, 2, 5, 1, 8)
"""Sizes for the dimensions that vary, tried in turn; equal names have equal sizes."""
_MOST_ELEMENTS = 1 << 24
_TOLERANCE: Mapping[str, float] = {"f64": 1e-9, "f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
"""By the narrowest float type that takes part, how far results may be from each other, relative to the
largest: constants are rounded to that type, and a softmax makes more of it."""
_SETS: tuple[tuple[str, float], ...] = (("random", 1.0), ("again", 1.0), ("zeros", 0.0), ("large", 3.0))
_FLOATS = frozenset({1, 10, 11, 16})
_OPSETS = (19, 21, 23)
"""Opsets in which the reference has operators that it lacks in older ones."""

Array = np.ndarray[Any, np.dtype[Any]]


def prove(model: Model, patch: Patch) -> Proof:
    """Compute what a patch changes before and after, and compare."""
    if patch.set_opset or not patch.touched:
        return Proof(True, "no operator changes", {})
    if patch.mends:
        return Proof(None, "it is there to change results", {})
    try:
        region = region_of(model, patch)
        if is_foreign(region):
            return prove_foreign(patch, region, _feeds(model, patch, region))
        return _compared(model, patch, region)
    except RegionError as error:
        return Proof(None, f"not proven on its own: {error}", {})


def _compared(model: Model, patch: Patch, region: Region) -> Proof:
    kinds = {value.dtype for value in region.inputs} | {
        value.dtype for node in patch.touched for value in node.outputs
    }
    narrowest = max((k for k in kinds if k in FLOAT_DTYPES), key=lambda k: _TOLERANCE[k or ""], default="f32")
    tolerance = _TOLERANCE[narrowest or "f32"]
    doubled = [widened(proto) for proto in (region.before, region.after)]
    worst = 0.0
    halves = [0.0, 0.0]
    count = 0
    failure = "no inputs could be made"
    guessed = any(None in (model.constants.dimensions(value) or ()) for value in region.inputs)
    for feeds in _feeds(model, patch, region):
        wide_feeds = {name: wide(array) for name, array in feeds.items()}
        try:
            before = run_reference(doubled[0], wide_feeds)
        except Exception as error:  # noqa: BLE001 - sizes that do not fit each other, or no implementation
            failure = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            continue
        try:
            after = run_reference(doubled[1], wide_feeds)
        except Exception as error:  # noqa: BLE001 - what ran before must run after
            if guessed:  # sizes that do not belong together, which the reference did not notice before
                failure = "the shapes of what it reads are not known"
                continue
            return Proof(False, f"it cannot be computed: {error}".splitlines()[0][:200], {})
        count += 1
        difference = _difference(before, after)
        worst = max(worst, difference)
        if not difference <= tolerance:
            words = f"differs by {difference:.2g} of the largest result in FP64 (allowed: {tolerance:.0e})"
            return Proof(False, words, {"difference": difference})
        if narrowest == "f16":
            for index, proto in enumerate((region.before, region.after)):
                halves[index] = max(halves[index], _half_error(proto, feeds, before))
    if not count:
        raise RegionError(failure)
    figures: dict[str, float | int | str] = {"sets": count, "difference": worst}
    words = f"{count} sets of inputs, largest difference {worst:.1e} of the largest result in FP64"
    if narrowest == "f16":
        figures |= {"half_before": halves[0], "half_after": halves[1]}
        words += f"; in half precision off by {halves[0]:.1e} before and {halves[1]:.1e} after"
        if halves[1] > 4 * max(halves[0], tolerance):
            return Proof(False, words, figures)
    return Proof(True, words, figures)


def run_reference(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The results, by ONNX's reference; in a newer opset where it lacks an operator in the model's."""
    from onnx.reference import ReferenceEvaluator

    own = opsets(proto).get("", 1)
    ops = {node.op_type for node in proto.graph.node if not node.domain}
    for opset in (own, *_OPSETS):
        if opset > own and not all(has(op, opset) and has(op, own) and raises(op, own, opset) for op in ops):
            continue
        copy = onnx.ModelProto()
        copy.CopyFrom(proto)
        for entry in copy.opset_import:
            if not domain_of(entry.domain):
                entry.version = opset
        try:
            with np.errstate(all="ignore"):
                return [np.asarray(each) for each in ReferenceEvaluator(copy).run(None, dict(feeds))]
        except RuntimeError as error:
            if "No implementation" not in str(error) or opset == _OPSETS[-1]:
                raise
    raise RegionError("ONNX's reference has no implementation of an operator")


def _difference(before: list[Array], after: list[Array]) -> float:
    """The largest difference relative to the largest result; infinite where NaN or shapes differ."""
    worst = 0.0
    for one, other in zip(before, after, strict=True):
        if one.shape != other.shape:
            return float("inf")
        if one.dtype.kind != "f":
            worst = max(worst, float(np.any(one != other)))
            continue
        a, b = one.astype(np.float64), other.astype(np.float64)
        if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(a[np.isinf(a)], b[np.isinf(a)]):
            return float("inf")
        good = np.isfinite(a)
        if good.any():
            scale = max(float(np.max(np.abs(a[good]))), 1e-6)
            worst = max(worst, float(np.max(np.abs(a[good] - b[good]))) / scale)
    return worst


def _half_error(proto: onnx.ModelProto, feeds: Mapping[str, Array], truth: list[Array]) -> float:
    """How far a region in its own types is from FP64; 1 where it overflows."""
    try:
        results = run_reference(proto, feeds)
    except Exception:  # noqa: BLE001 - types that the reference does not mix
        return 0.0
    error = _difference(truth, [result.astype(np.float64) for result in results])
    return 1.0 if np.isinf(error) else error


def _feeds(model: Model, patch: Patch, region: Region) -> Iterator[dict[str, Array]]:
    """Inputs of the region: for sizes that fit, of each kind."""
    shapes = {value: model.constants.dimensions(value) for value in region.inputs}
    bound = _bound(patch)
    varies = any(not isinstance(dim, int) for shape in shapes.values() for dim in shape or ())
    for size in _SIZES if varies else _SIZES[:1]:
        rng = np.random.default_rng(_SEED + size)
        fixed = {value.name: _stored(value, model, patch, rng) for value in region.inputs}
        for kind, scale in _SETS:
            feeds = {}
            for value in region.inputs:
                known = fixed[value.name]
                if known is None:
                    sizes = _sized(value, shapes[value], bound, size)
                    feeds[value.name] = _random(value, sizes, kind, scale, rng)
                else:
                    feeds[value.name] = known
                if patch.keeps_a_key and known is None and feeds[value.name].dtype.kind in "biu":
                    feeds[value.name][..., :1] = 1
            yield feeds


def _bound(patch: Patch) -> Mapping[tuple[str, int] | str, int]:
    """The sizes that dimensions must have, by their names, or by those of the value and the axis."""
    found: dict[tuple[str, int] | str, int] = {}
    for value, shape in patch.shapes:
        for axis, (dim, size) in enumerate(zip(value.shape or (), shape, strict=False)):
            if isinstance(size, int):
                found[dim if isinstance(dim, str) else (value.name, axis)] = size
    return found


def _sized(
    value: Value, shape: Dimensions | None, bound: Mapping[tuple[str, int] | str, int], size: int
) -> list[int]:
    """The shape of a value with a size for each dimension that varies."""
    if shape is None or value.dtype is None:
        raise RegionError(f"the shape of {value.name} is not known")
    sizes = []
    for axis, dim in enumerate(shape):
        key = dim if isinstance(dim, str) else (value.name, axis)
        sizes.append(dim if isinstance(dim, int) else bound.get(key, size))
    if math.prod(sizes) > _MOST_ELEMENTS:
        raise RegionError(f"{value.name} is too large")
    return sizes


def _stored(value: Value, model: Model, patch: Patch, rng: np.random.Generator) -> Array | None:
    """The elements of a constant; random ones for a parameter, whose own may be all one or all zero."""
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
    if array.dtype.kind == "f" and array.size > 1 and not patch.folds:
        return np.asarray(rng.normal(size=array.shape)).astype(array.dtype)
    return np.asarray(array)


def _random(value: Value, shape: list[int], kind: str, scale: float, rng: np.random.Generator) -> Array:
    """A tensor of the type of a value."""
    dtype = numpy_type(value.dtype)
    if value.dtype == "bool":
        chosen = rng.integers(0, 2, size=shape).astype(bool)
        if kind == "zeros":
            return np.zeros(shape, bool)
        if chosen.ndim and chosen.shape[0]:
            chosen[..., :1, :] = False if chosen.ndim > 1 else chosen[..., :1]
        return chosen
    if value.dtype in FLOAT_DTYPES:
        return np.asarray(rng.normal(size=shape) * scale).astype(dtype)
    return np.asarray(rng.integers(0, 2, size=shape)).astype(dtype)


def wide(array: Array) -> Array:
    """A tensor in FP64 where it is one of floats."""
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def widened(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model that computes in FP64 what it computes in other float types."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        _widen(tensor)
    for node in copy.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "softmax_precision", "dtype") and attribute.i in _FLOATS:
                attribute.i = onnx.TensorProto.DOUBLE
            elif attribute.HasField("t"):
                _widen(attribute.t)
            elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                numbers = np.array(helper.get_attribute_value(attribute), np.float64)
                attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(numbers)))
    return copy


def _widen(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _FLOATS and tensor.data_location != onnx.TensorProto.EXTERNAL:
        wide = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
