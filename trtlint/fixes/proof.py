"""Check that a patch preserves the results: run only the changed nodes, before and after the patch.

A comparison of whole models is weak, because later blocks can hide an error of an earlier block. A proof runs
only the changed nodes, with random tensors as inputs. Random numbers also replace the stored parameters,
because gains of one and biases of zero hide errors. The inputs include zeros, large and small values, values
outside stored bounds, and masked rows. The comparison uses FP64, where rounding does not hide differences.
FP16 nodes also run in NumPy's half precision, which rounds like FP16 kernels. In half precision, the patch
must not clearly increase the difference from the FP64 results. If trtlint cannot compute or compare the
results, it never reports the patch as proven.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import onnx
from onnx import numpy_helper

from trtlint.fixes.boundary import EMPTY, Feeds, feeds_of
from trtlint.fixes.edit import EditError
from trtlint.fixes.foreignproof import is_foreign, prove_foreign, typed
from trtlint.fixes.opsets import difference
from trtlint.fixes.outcome import Proof, unproven
from trtlint.fixes.patch import Patch, opset_of
from trtlint.fixes.reference import NoImplementationError, run_reference, wide, widened
from trtlint.fixes.region import Region, RegionError, likeness, only_renames, region_of
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.process.fork import ComputationError, compute_all

_TOLERANCE: Mapping[str, float] = {"f64": 1e-9, "f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
"""For each float type, the allowed difference between results, relative to the largest result.

trtlint uses the tolerance of the narrowest float type in the changed nodes. The model rounds constants to
this type, and a softmax amplifies the rounding error.
"""
_INTEGER_SUMS = frozenset({"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"})
"""Operators that compute integer sums.  FP32 holds such sums exactly only up to 2^24."""
_WORSE = 4
"""Factor that limits the half-precision error after the patch.

To get the limit, multiply the factor by the error before the patch or by the tolerance, whichever is larger.
"""

_ENOUGH = 5.0
"""CPU seconds after which a proof skips the remaining sizes."""
_FEWEST = 5
"""Minimum number of input sets in a proof before the proof skips the remaining sizes.

Five sets are one set of each common kind of inputs, all with the same size of the dynamic dimensions.
"""

_MOST_KEPT = 4096
_proven: dict[bytes, Proof] = {}
"""Finished proofs, by the key of :func:`likeness`.  Equal blocks of a model have the same key."""


def prove_all(model: Model, patches: Sequence[Patch]) -> list[Proof]:
    """Prove patches: run the changed nodes before and after each patch, and compare the results.

    Of several patches with the same :func:`likeness`, only one is proven. Separate processes with limits of
    time and memory compute the proofs.
    """
    found = _all(model, patches)
    return [proof.under(patch) for proof, patch in zip(found, patches, strict=True)]


def _all(model: Model, patches: Sequence[Patch]) -> list[Proof]:
    """Return one proof for each patch. The proofs lack the bounds and conditions of the patches."""
    found: dict[int, Proof] = {}
    keys: dict[int, bytes] = {}
    new: dict[bytes, tuple[Patch, Region]] = {}
    if len(_proven) > _MOST_KEPT:
        _proven.clear()
    for index, patch in enumerate(patches):
        if patch.set_opset:
            found[index] = _same_operators(model, patch)
        elif not patch.touched:
            found[index] = _same_tensors(model, patch)
        elif patch.parts:
            found[index] = _together(_all(model, patch.parts))
        elif only_renames(patch):
            found[index] = Proof(True, "only the names of operators change", {})
        else:
            try:
                region = region_of(model, patch)
                keys[index] = key = likeness(model, patch, region)
            except EditError as error:
                found[index] = Proof(False, str(error), {})
            except RegionError as error:
                found[index] = unproven(str(error))
            else:
                if key not in _proven:
                    new[key] = patch, region
    _proven.update(_computed(model, new))
    return [found[index] if index in found else _proven[keys[index]] for index in range(len(patches))]


def _computed(model: Model, cases: Mapping[bytes, tuple[Patch, Region]]) -> dict[bytes, Proof]:
    """Compute proofs and return them by key.

    Args:
        model: the model.
        cases: a patch and the nodes that this patch changes, for each key. :func:`likeness` returns the keys.
    """
    foreign = {key: case for key, case in cases.items() if is_foreign(case[1])}
    drawn = [(region, feeds_of(model, patch, region, plain=True)) for patch, region in foreign.values()]
    found = dict(zip(foreign, prove_foreign(drawn) if drawn else (), strict=True))
    own = {key: case for key, case in cases.items() if key not in foreign}
    works = [partial(_proof_as_json, model, patch, region) for patch, region in own.values()]
    for key, answer in zip(own, compute_all(works), strict=True):
        if isinstance(answer, ComputationError):
            found[key] = unproven(str(answer))
        else:
            found[key] = Proof(**json.loads(answer))
    return found


def _proof_as_json(model: Model, patch: Patch, region: Region) -> bytes:
    """Compute the proof of a patch, and return it as JSON text for the parent process."""
    try:
        proof = _compared(model, patch, region)
    except EditError as error:
        proof = Proof(False, str(error), {})
    except RegionError as error:
        proof = unproven(str(error))
    return json.dumps({"equal": proof.equal, "words": proof.words, "figures": proof.figures}).encode()


def _together(proofs: Sequence[Proof]) -> Proof:
    """Return the worst proof among the proofs of a patch's parts.

    A failed proof is worse than a proof without a result.  A proof without a result is worse than a
    successful proof.
    """
    order = (False, None, True)
    return min(proofs, key=lambda proof: (order.index(proof.equal), -proof.difference))


def _same_operators(model: Model, patch: Patch) -> Proof:
    """Check that no operator of a model changes its meaning in the opset that a patch sets."""
    opset = opset_of(model)
    for node in model.graph.nodes:
        reason = "" if node.domain else difference(node, patch.set_opset, opset)
        if reason:
            return Proof(False, reason, {})
    return Proof(True, "every operator has the same meaning in the old and the new opset", {})


def _same_tensors(model: Model, patch: Patch) -> Proof:
    """Check that the dense tensors of a patch have the same elements as the model's sparse tensors."""
    for tensor in patch.initializers:
        value = model.graph.resolve(tensor.name)
        stored = None if value is None else model.graph.sparse.get(value)
        pair = (None, None) if stored is None else (stored.values, stored.indices)
        values, indices = (None if each is None else model.tensors.array(each) for each in pair)
        if stored is None or values is None or indices is None:
            return unproven(f"{tensor.name} cannot be read")
        places = indices.T if indices.ndim > 1 else np.unravel_index(indices, tuple(stored.dims))
        dense = numpy_helper.to_array(tensor)
        alike = dense.shape == tuple(stored.dims) and np.array_equal(dense[tuple(places)], values)
        if not alike or np.count_nonzero(dense) != np.count_nonzero(values):
            return Proof(False, f"the dense and the sparse {tensor.name} have different elements", {})
    return Proof(True, "no operator changes", {})


def _compared(model: Model, patch: Patch, region: Region) -> Proof:
    kinds = {value.dtype for value in region.inputs} | {
        value.dtype for node in patch.touched for value in node.outputs
    }
    narrowest = max((k for k in kinds if k in FLOAT_DTYPES), key=lambda k: _TOLERANCE[k or ""], default="f32")
    tolerance = _TOLERANCE[narrowest or "f32"]
    doubled = [widened(proto) for proto in (region.before, region.after)]
    worst = 0.0
    halves, worse = [0.0, 0.0], False
    sizes: list[int] = []
    unfit = False
    failure = "cannot generate inputs"
    summed = any(node.op in _INTEGER_SUMS for node in region.nodes)
    enough = time.process_time() + _ENOUGH
    guessed = any(None in (model.constants.dimensions(value) or ()) for value in region.inputs)
    for feeds in feeds_of(model, patch, region):
        if feeds.kind != EMPTY and len(sizes) >= _FEWEST and time.process_time() > enough:
            continue
        wide_feeds = {name: wide(array) for name, array in feeds.arrays.items()}
        if feeds.kind == EMPTY:
            if sizes and not guessed and (wrong := _error_without_elements(doubled, wide_feeds)):
                return Proof(False, wrong, {})
            continue
        before = _results(doubled[0], wide_feeds)
        if isinstance(before, Exception):
            failure = f"{type(before).__name__}: {before}".splitlines()[0][:120]
            continue
        if not (patch.changes_results or _is_comparable(before, feeds)):
            failure = "no result is finite"
            continue
        after = _results(doubled[1], wide_feeds)
        if isinstance(after, NoImplementationError):
            raise RegionError(str(after))
        if isinstance(after, Exception):  # the rewrite must run if the original does
            if guessed:  # perhaps the sizes are wrong; the original nodes do not reveal this
                failure, unfit = "the shapes of the inputs of the rewritten nodes are unknown", True
                continue
            return Proof(False, f"the rewritten nodes fail: {after}".splitlines()[0][:200], {})
        if not sizes and (wrong := _other_types(patch, region, feeds)):
            return Proof(False, wrong, {})
        sizes.append(feeds.size)
        difference = _harm(before, after, feeds) if patch.changes_results else _difference(before, after)
        worst = max(worst, difference)
        if not difference <= tolerance:
            words = f"a result differs by {difference:.2g} of the largest result in FP64"
            words += f" (allowed: {tolerance:.0e})"
            return Proof(False, words, {"difference": difference})
        if summed and not _same_integers(region, feeds):
            words = "in the types of the model, the integer results before and after the patch differ"
            return Proof(False, words, {"difference": 1.0})
        if narrowest == "f16" and feeds.is_common and not patch.changes_results:
            errors = [_half_error(proto, feeds.arrays, before) for proto in (region.before, region.after)]
            halves = [max(pair) for pair in zip(halves, errors, strict=True)]
            worse = worse or errors[1] > _WORSE * max(errors[0], tolerance)
    if unfit and not sizes:  # the rewritten nodes fail for all sizes
        return Proof(False, "the rewritten nodes fail on all inputs that the original accepts", {})
    if not sizes or (unfit and max(sizes) == 1):  # size 1 hides wrong shapes: these runs prove nothing
        raise RegionError(failure)
    figures: dict[str, float | int | str] = {"sets": len(sizes), "difference": worst}
    words = (
        f"{len(sizes)} sets of inputs, largest difference {worst:.1e}, relative to the largest result in FP64"
    )
    if patch.changes_results:
        return Proof(
            True,
            f"{words} (where the source result is finite); the fixed result is finite everywhere",
            figures,
        )
    if narrowest == "f16":
        figures |= {"half_before": halves[0], "half_after": halves[1]}
        words += f"; FP16 error {halves[0]:.1e} before the rewrite and {halves[1]:.1e} after"
    return Proof(not worse, words, figures)


def _results(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array] | Exception:
    """Run nodes in ONNX's reference evaluator, and return their results or the error of the evaluator."""
    try:
        return run_reference(proto, feeds)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - mismatched sizes, or no implementation
        return error


def _error_without_elements(protos: Sequence[onnx.ModelProto], feeds: Mapping[str, Array]) -> str:
    """Run the nodes before and after a patch on inputs without elements.

    Return an error message if the rewritten nodes fail or return another shape, else an empty string.
    """
    before = _results(protos[0], feeds)
    if isinstance(before, Exception):  # if the original fails, the rewrite may also fail
        return ""
    after = _results(protos[1], feeds)
    if isinstance(after, NoImplementationError):
        return ""
    if isinstance(after, Exception):
        return f"the rewritten nodes fail for an empty batch or length: {after}".splitlines()[0][:200]
    alike = all(one.shape == other.shape for one, other in zip(before, after, strict=True))
    return "" if alike else "for an empty batch or a length of 0, the result has another shape"


def _is_comparable(results: Sequence[Array], feeds: Feeds) -> bool:
    """Return whether the results for a set of inputs can be compared.

    At least some results must be finite. For inputs of kind ``beyond``, all results must be finite.
    """
    finite = [np.isfinite(each) if each.dtype.kind == "f" else np.ones(each.shape, bool) for each in results]
    return all(each.all() if feeds.kind == "beyond" else each.any() for each in finite)


def _same_integers(region: Region, feeds: Feeds) -> bool:
    """Return whether integer results are equal before and after the patch, in the model's own types.

    A computation in FP64 would hide the rounding of integers.
    """
    before, after = (_results(proto, feeds.arrays) for proto in (region.before, region.after))
    if isinstance(before, Exception) or isinstance(after, Exception):
        return True  # the evaluator does not support this mix of types
    pairs = zip(before, after, strict=True)
    return all(np.array_equal(one, other) for one, other in pairs if one.dtype.kind in "iu")


def _other_types(patch: Patch, region: Region, feeds: Feeds) -> str:
    """Return an error message if the rewritten nodes mix types or change the type of a result.

    The result is an empty string if there is no such error. A run in FP64 hides such an error, because all
    float types become FP64.
    """
    before, after = (_types(proto, feeds) for proto in (region.before, region.after))
    if before is None:
        return ""
    if after is None:
        return "an operator of the rewritten model has inputs whose types do not match"
    changed = [
        name
        for name, old, new in zip(region.outputs, before, after, strict=True)
        if old and new and old != new and name not in patch.retyped
    ]
    return f"the rewrite changes the type of {changed[0]}" if changed else ""


def _types(proto: onnx.ModelProto, feeds: Feeds) -> list[int] | None:
    """Return the inferred element type of each output.  An unknown type is 0.

    The result is None if the types contradict each other.
    """
    try:
        found = onnx.shape_inference.infer_shapes(
            typed(proto, feeds.arrays), check_type=True, strict_mode=True
        )
    except onnx.shape_inference.InferenceError:
        return None
    return [info.type.tensor_type.elem_type for info in found.graph.output]


def _harm(before: list[Array], after: list[Array], feeds: Feeds) -> float:
    """Return how far finite results change, for a patch that removes NaN or infinity on purpose.

    The function compares only results that were finite before the patch. It returns infinity in these cases:

    - A result changes its shape, or is not finite after the patch.
    - A divisor is near zero, and the epsilon that the patch adds makes a result larger in magnitude.
    """
    worst = 0.0
    for one, other in zip(before, after, strict=True):
        good = np.isfinite(one)
        if one.shape != other.shape or not np.isfinite(other).all():
            return float("inf")
        if feeds.kind == "tiny" and np.any(np.abs(other[good]) > np.abs(one[good])):
            return float("inf")
        if feeds.kind == "away":
            worst = max(worst, _difference([one[good]], [other[good]]))
    return worst


def _difference(before: list[Array], after: list[Array]) -> float:
    """Return the largest difference divided by the largest result.

    The result is infinity if the shapes differ, or if NaN and infinity are not at the same elements of both
    results.
    """
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
    """Run nodes in their own types, and return the largest relative difference from the FP64 results.

    The result is 1 if an element overflows, and 0 if the reference evaluator does not support the types.

    Args:
        proto: the nodes before or after the patch.
        feeds: the inputs.
        truth: the FP64 results.
    """
    try:
        results = run_reference(proto, feeds)
    except Exception:  # noqa: BLE001 - the evaluator does not support this mix of types
        return 0.0
    error = _difference(truth, [result.astype(np.float64) for result in results])
    return 1.0 if np.isinf(error) else error
