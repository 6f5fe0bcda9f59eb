"""Compare a model and its fixed version in ONNX Runtime, on difficult inputs."""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.random_fixes.bounds import Bounds, exposed, outside
from benchmarks.random_fixes.overflow import makes_integers_of_nan, overflows
from benchmarks.random_fixes.tolerances import ALARM, LEAST, TOLERANCE, opinion, scale, share

Array = np.ndarray[Any, Any]
_KINDS = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
    "tensor(bool)": np.bool_,
}  # fmt: skip
_UNITS = {np.dtype(np.float32): 2**-22, np.dtype(np.float16): 2**-10, np.dtype(np.float64): 2**-51}
"""Relative rounding error in the last bits of each type."""
_TRIES = 64
"""Number of slightly changed input sets that show the effect of FP16 rounding on an output."""
_SIZES: tuple[Mapping[str, int], ...] = (
    {},
    {"n": 3, "m": 4, "h": 6, "w": 5},
    {"n": 1, "m": 1, "h": 3, "w": 7},
    {"n": 0, "m": 3},
    {"n": 2, "m": 0},
)
_WAYS = (
    "normal", "zeros", "ones", "scaled 30", "scaled 1000", "scaled 1e-3", "below", "huge", "mixed", "nan",
    "inf", "normal2", "beyond half",
)  # fmt: skip


@dataclass(frozen=True)
class Judgement:
    """Result of a comparison.

    Attributes:
        runs: input sets on which both models ran.
        wrong: differences of outputs, as text.
        lost: input sets on which the original runs and the fixed model does not.
        excluded: input sets that are outside the bounds of a proof, or for which the original converts NaN to
            integers.
        settled: differences that do not count, for one of three reasons: the fixed model equals ONNX's
            reference, or its error against FP64 is not much larger than the original's, or rounding of the
            inputs changes the original as much.
        undecided: differences that do not count because the reference cannot compute the model.
    """

    runs: int
    wrong: tuple[str, ...]
    lost: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Traits:
    """Properties of a model's operators that decide how far results may differ.

    Attributes:
        half: the model computes in FP16 somewhere, so outputs of all types show FP16 rounding.
        quantizes: the model converts floats to integers, which is undefined for NaN and infinity
            (https://onnx.ai/onnx/operators/onnx__Cast.html).
    """

    half: bool
    quantizes: bool


def _traits(path: Path) -> _Traits:
    ops, half, truncates = set(), False, False
    graphs = [onnx.load(path).graph]
    while graphs:
        graph = graphs.pop()
        half = half or any(each.data_type == onnx.TensorProto.FLOAT16 for each in graph.initializer)
        half = half or any(
            each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for each in graph.input
        )
        for node in graph.node:
            ops.add(node.op_type)
            half = half or any(
                each.name == "to" and each.i == onnx.TensorProto.FLOAT16 for each in node.attribute
            )
            graphs.extend(each.g for each in node.attribute if each.HasField("g"))
            whole = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
            if any(each.name == "to" and each.i in whole for each in node.attribute):
                truncates = True
    return _Traits(half, truncates or bool(ops & {"QuantizeLinear", "DynamicQuantizeLinear"}))


def _session(model: Path | bytes, optimise: bool = True) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _array(kind: Any, shape: list[int], way: str, rng: np.random.Generator) -> Array:
    if kind is np.bool_:
        mask = np.asarray(rng.random(shape) < 0.6)
        if way in ("zeros", "normal2"):
            mask[...] = False
        elif way == "ones":
            mask[...] = True
        elif way in ("mixed", "beyond half") and mask.ndim and mask.size:
            mask[..., 0] = False
            mask.reshape(-1, mask.shape[-1])[0] = False  # A whole row.
        return mask
    if np.issubdtype(kind, np.integer):
        if kind in (np.uint8, np.int8):
            info = np.iinfo(kind)
            if way in ("ones", "huge"):
                return np.full(shape, info.max, kind)
            if way == "below":
                return np.full(shape, info.min, kind)
            return rng.integers(info.min, info.max, shape, endpoint=True).astype(kind)
        return (
            rng.integers(0, 2, shape).astype(kind)
            if way not in ("zeros", "ones")
            else np.full(shape, way == "ones", kind)
        )
    base = rng.standard_normal(shape)
    factor = {"scaled 30": 30, "scaled 1000": 1000, "scaled 1e-3": 1e-3, "huge": 1e4, "beyond half": 2e5}.get(
        way, 1
    )
    base = base * factor
    if way in ("zeros", "ones"):
        base = np.full(shape, float(way == "ones"))
    if way == "below":
        base = -np.abs(base) - 2
    if way == "mixed" and base.size:
        base.reshape(-1)[::3] *= 300
    if way in ("nan", "inf") and base.size:
        base.reshape(-1)[rng.integers(base.size)] = np.nan if way == "nan" else np.inf
    with np.errstate(over="ignore"):
        return base.astype(kind)


def feeds(session: ort.InferenceSession, seed: int) -> Iterator[tuple[str, Mapping[str, Array]]]:
    """Yield named input sets: all random distributions, and several sizes of dynamic dimensions."""
    inputs = session.get_inputs()
    dynamic = any(isinstance(size, str) or size is None for each in inputs for size in each.shape)
    for sizes, way in itertools.product(_SIZES if dynamic else _SIZES[:1], _WAYS):
        if way not in _WAYS[:1] and sizes and way not in ("mixed", "zeros", "nan"):
            continue
        rng = np.random.default_rng([seed, _WAYS.index(way), _SIZES.index(sizes)])
        drawn = {}
        for each in inputs:
            shape = [size if isinstance(size, int) else sizes.get(size, 2) for size in each.shape]
            drawn[each.name] = _array(_KINDS[each.type], shape, way, rng)
        yield f"{way} {sizes or ''}".strip(), drawn


def _run(session: ort.InferenceSession, fed: Mapping[str, Array]) -> list[Array] | str:
    try:
        return list(session.run(None, dict(fed)))
    except Exception as error:  # noqa: BLE001  (ONNX Runtime raises many kinds)
        return str(error)[:200]


def _differs(before: Array, after: Array, spread: float, traits: _Traits) -> str:
    """Describe a difference of an output above the rounding of its type; empty without such a difference."""
    if before.dtype != after.dtype:
        return f"type {before.dtype} became {after.dtype}"
    if before.shape != after.shape:
        return f"shape {before.shape} became {after.shape}"
    if before.dtype.kind != "f":
        off = np.abs(before.astype(np.int64) - after.astype(np.int64)).max(initial=0)
        return f"whole numbers differ by {off}" if off > spread else ""
    wide, other = before.astype(np.float64), after.astype(np.float64)
    finite = np.isfinite(wide)
    if (finite & ~np.isfinite(other)).any():
        return f"{int((finite & ~np.isfinite(other)).sum())} finite elements became NaN or infinite"
    left = ~finite & ~np.isfinite(other)
    if not np.array_equal(wide[left], other[left], equal_nan=True):
        return "NaN and infinity changed places"
    if (~finite & np.isfinite(other)).any():
        return f"{int((~finite & np.isfinite(other)).sum())} NaN or infinite elements became finite"
    off = np.abs(wide[finite] - other[finite]).max(initial=0.0)
    bound = share(ALARM, before, traits.half) * scale(before) + 1e-30 + spread
    return f"off by {off:.3g} where the largest element is {scale(before):.3g}" if off > bound else ""


def _spread(one: list[Array] | str, two: list[Array] | str) -> list[float]:
    """Return the difference of each output between two runs of the original with different settings."""
    if isinstance(one, str) or isinstance(two, str):
        return []
    found = []
    for a, b in zip(one, two, strict=False):  # The second run may have more outputs.
        if a.shape != b.shape or not a.size:
            found.append(0.0)
            continue
        both = np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))
        found.append(float(np.abs(a.astype(np.float64)[both] - b.astype(np.float64)[both]).max(initial=0.0)))
    return found


def _limits(before: Path, after: Path, bounds: Bounds) -> _Limits | None:
    """Return the check for inputs that exceed the bounds; None without bounds.

    The check reads tensors of the original in the original, and tensors that a rewrite created in the fixed
    model.

    Raises:
        RuntimeError: a tensor is in neither model, or ONNX Runtime does not return it.
    """
    if not bounds:
        return None
    found: list[tuple[ort.InferenceSession, list[str], list[tuple[float, float]]]] = []
    missing = dict(bounds)
    for path in (before, after):
        model = onnx.load(path)
        there, outputs = [], []
        for name in missing:
            model, added = exposed(model, [name])
            there += [name] * len(added)
            outputs += added
        if there:
            session = _session(model.SerializeToString(), optimise=False)
            found.append((session, outputs, [missing.pop(name) for name in there]))
    if missing:
        raise RuntimeError(f"a proof names tensors that cannot be read: {sorted(missing)}")
    return _Limits(tuple(found))


@dataclass(frozen=True)
class _Limits:
    """Sessions that output the tensors with bounds, each with the names and the bounds of these outputs."""

    sessions: tuple[tuple[ort.InferenceSession, list[str], list[tuple[float, float]]], ...]

    def exclude(self, fed: Mapping[str, Array]) -> bool:
        """Return whether inputs move a tensor beyond its bounds."""
        for session, names, limits in self.sessions:
            try:
                results = session.run(names, dict(fed))
            except Exception:  # noqa: BLE001  (a session that fails excludes no inputs)
                continue
            if outside(results, limits):
                return True
        return False


def _is_rounding(
    session: ort.InferenceSession, fed: Mapping[str, Array], index: int, pair: tuple[Array, Array], half: bool
) -> bool:
    """Return whether rounding of the inputs can explain the differences of all elements.

    The difference of an element may be at most twice the largest change of this element that slightly changed
    inputs cause in the original, plus a small tolerance.
    """
    kind = pair[0].dtype if pair[0].dtype in _UNITS else np.dtype(np.float32)
    unit = _UNITS[np.dtype(np.float16) if half else kind]
    rng = np.random.default_rng(index)
    whole = pair[0].astype(np.float64)
    moved = np.zeros(whole.shape)
    for _ in range(_TRIES):
        near = {
            name: (array * (1 + rng.uniform(-unit, unit, array.shape))).astype(array.dtype)
            if array.dtype.kind == "f"
            else array
            for name, array in fed.items()
        }
        other = _run(session, near)
        if isinstance(other, str):
            return False
        with np.errstate(invalid="ignore"):
            moved = np.fmax(moved, np.abs(other[index].astype(np.float64) - whole))
    with np.errstate(invalid="ignore"):
        off = np.abs(pair[1].astype(np.float64) - whole)
    least = share(ALARM, pair[0], half) * scale(whole)
    return bool((off <= 2 * moved + least).all())


def _watched(model: onnx.ModelProto) -> ort.InferenceSession | None:
    """Return the model with all tensors of its main graph as additional outputs."""
    copy, _ = exposed(model, [name for node in model.graph.node for name in node.output if name])
    try:
        return _session(copy.SerializeToString(), optimise=False)
    except Exception:  # noqa: BLE001  (ONNX Runtime raises many kinds)
        return None


def judge(before: Path, after: Path, seed: int, bounds: Bounds) -> Judgement:
    """Compare two models.

    Args:
        before: the original.
        after: the fixed model.
        seed: the seed of the inputs.
        bounds: the bounds of tensors within which proofs claim equal results.

    Raises:
        RuntimeError: the original cannot be loaded.
    """
    try:
        original, plain = _session(before), _session(before, optimise=False)
    except Exception as error:
        raise RuntimeError(str(error)[:300]) from error
    try:
        fixed = _session(after, optimise=False)
    except Exception as error:  # noqa: BLE001
        return Judgement(0, (f"the fixed model does not load: {str(error)[:300]}",), ())
    wrong, lost = [], []
    names = [[(each.name, each.type) for each in side.get_outputs()] for side in (original, fixed)]
    if names[0] != names[1]:
        wrong.append(f"outputs {names[0]} became {names[1]}")
    ins = [[(each.name, each.type, each.shape) for each in side.get_inputs()] for side in (original, fixed)]
    if ins[0] != ins[1]:
        wrong.append(f"inputs {ins[0]} became {ins[1]}")
    runs, traits = 0, _traits(before)
    excluded: list[str] = []
    settled: list[str] = []
    undecided: list[str] = []
    try:
        limits = _limits(before, after, bounds)
    except Exception as error:  # noqa: BLE001  (ONNX Runtime raises many kinds)
        return Judgement(0, (f"bounds cannot be applied: {str(error)[:300]}",), ())
    proto = onnx.load(before)
    watched = _watched(proto) if traits.half else None
    for name, fed in feeds(original, seed) if not wrong else ():
        if traits.half and name.startswith("beyond half"):
            continue  # ONNX Runtime drops a pair of Casts to FP16 and back, so the pair cannot overflow.
        if traits.quantizes and name.startswith(("nan", "inf")):
            continue
        if (limits is not None and limits.exclude(fed)) or (
            traits.quantizes and makes_integers_of_nan(proto, fed)
        ):
            excluded.append(name)
            continue
        first, second = _run(plain, fed), _run(original, fed)
        if isinstance(first, str):
            continue
        result = _run(fixed, fed)
        if isinstance(result, str):
            lost.append(f"{name}: ran before, now: {result}")
            continue
        runs += 1
        spreads = _spread(first, second) or [0.0] * len(first)
        if watched is not None:  # ONNX Runtime drops no Cast if each tensor is an output.
            third = _spread(first, _run(watched, fed)) or spreads
            spreads = [max(each) for each in zip(spreads, third, strict=True)]
        for index, (a, b) in enumerate(zip(first, result, strict=True)):
            difference = _differs(np.asarray(a), np.asarray(b), spreads[index], traits)
            if not difference:
                continue
            pair, text = (np.asarray(a), np.asarray(b)), f"{name}: output {index}: {difference}"
            if pair[0].dtype != pair[1].dtype or pair[0].shape != pair[1].shape:
                wrong.append(text)
                continue
            is_right = opinion(proto, name, fed, index, pair, traits.half)
            if is_right is not True and difference.startswith(("off", "whole")):
                is_right = _is_rounding(plain, fed, index, pair, traits.half) or is_right
            if is_right is None and difference.startswith("off"):
                # The error of the original is unknown: a difference above the usual tolerance is wrong.
                off = _spread([pair[0]], [pair[1]])[0]
                limit = share(TOLERANCE, pair[0], traits.half) * max(scale(pair[0]), LEAST)
                is_right = None if off <= limit or overflows(proto, fed) else False
            elif is_right is None and not (difference.endswith("became finite") or overflows(proto, fed)):
                is_right = False
            (undecided if is_right is None else settled if is_right else wrong).append(text)
    return Judgement(runs, tuple(wrong), tuple(lost), tuple(excluded), tuple(settled), tuple(undecided))
