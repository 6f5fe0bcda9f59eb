"""A model and its rewritten form on the same inputs: the part that runs in a process of its own.

Polygraphy's comparator runs both in ONNX Runtime:
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/polygraphy/comparator/comparator.html
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from trtlint.model.graph import Value
from trtlint.model.load import load
from trtlint.model.operators import RANDOM
from trtlint.model.protos import DTYPES
from trtlint.trials.feeds import Array, FeedError, Feeds, fitted, random_feeds, read_feeds
from trtlint.trials.widening import widen_node, widen_type

_KINDS = ("random", "random", "small", "zeros", "large", "ones", "masked", "random")
"""The sets of inputs that are made up; ``masked`` has no key that is allowed."""
_ATTEMPTS = 2
_SIZES = (4, 8, 2, 16)
_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2}
"""By type of an output, how far it may be off, relative to its largest element."""
_DRAWING = RANDOM | {"Dropout"}
"""Dropout draws random numbers where its third input says that the model is trained."""
_FATAL = 4

Say = Callable[[Any], None]


def work(request: dict[str, Any], say: Say) -> None:
    """Compare two models.

    Args:
        request: ``before`` and ``after``, paths; ``files``, ``lists`` and ``script`` with inputs;
            ``folder``, where copies may be written; ``wide``, whether both are compared in FP32;
            ``mended``, whether what was NaN may be a number.
        say: takes ``{"error": ...}``, or the figures.
    """
    before, after, folder = Path(request["before"]), Path(request["after"]), Path(request["folder"])
    try:
        widened = bool(request["wide"]) or not _runs(before)
        if widened:  # types that ONNX Runtime does not mix: both are compared in FP32
            before = _wide_copy(before, folder / "before.onnx")
            after = _wide_copy(after, folder / "after.onnx")
        figures = _compared(before, after, list(_batches(before, request)), mended=bool(request["mended"]))
    except (FeedError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        say({"error": " ".join(str(error).split())[:500]})
        return
    say({**figures, "widened": widened})


def _runs(model: Path) -> bool:
    import onnxruntime

    onnxruntime.set_default_logger_severity(_FATAL)
    try:
        onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - its exceptions have no common class that it exports
        return False
    return True


def _wide_copy(model: Path, out: Path) -> Path:
    """A copy with FP32 in place of types of 16 bits."""
    proto = onnx.load(model)
    for tensor in proto.graph.initializer:
        if tensor.data_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
            wide = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
    for info in (*proto.graph.input, *proto.graph.output):
        copy = onnx.ValueInfoProto()
        copy.CopyFrom(info)
        widen_type(info, copy)
    for node in proto.graph.node:
        widen_node(node)
    del proto.graph.value_info[:]
    onnx.save(proto, out)
    return out


def _batches(model: Path, request: Mapping[str, Any]) -> Iterator[list[Feeds]]:
    """The user's inputs; without any, made-up ones for one choice of shapes after the other."""
    inputs = load(model).graph.inputs
    given = read_feeds(request["files"], request["lists"], request["script"], None)
    own = [fitted(inputs, batch, file) for file, batch in given]
    if own:
        yield own
        return
    for attempt in range(_ATTEMPTS):
        made = random_feeds(inputs, len(_KINDS), attempt)
        if made is not None:
            yield _sets(made)
    for size in _SIZES:  # where dimensions of several names must be equal
        equal = [_resized(value, size) for value in inputs]
        made = random_feeds(equal, len(_KINDS))
        if made is not None:
            yield _sets(made)
            yield [{name: _first(array) for name, array in batch.items()} for batch in _sets(made)]


def _sets(made: Sequence[Feeds]) -> list[Feeds]:
    return [
        {name: _of_kind(kind, array) for name, array in batch.items()}
        for kind, batch in zip(_KINDS, made, strict=True)
    ]


def _resized(value: Value, size: int) -> Value:
    """An input all of whose dimensions that vary have one size."""
    copy = Value(value.name)
    dims = [dim if isinstance(dim, int) else size for dim in value.shape or ()]
    elements = {name: number for number, name in DTYPES.items()}
    copy.set_type(onnx.helper.make_tensor_type_proto(elements[value.dtype or "f32"], dims))
    return copy


def _first(array: Array) -> Array:
    """Zeros in place of whole numbers, which may be positions."""
    return np.zeros_like(array) if array.dtype.kind in "iu" else array


def _of_kind(kind: str, array: Array) -> Array:
    if kind in ("zeros", "ones"):
        return np.full_like(array, kind == "ones")
    if array.dtype.kind != "f":
        return np.zeros_like(array) if kind == "masked" else array
    scale = {"small": 0.01, "large": 30.0}.get(kind, 1.0)
    return np.asarray(array * array.dtype.type(scale))


def _compared(before: Path, after: Path, choices: Sequence[list[Feeds]], *, mended: bool) -> dict[str, Any]:
    """The figures for the first choice of shapes that the model takes."""
    comparator: Any = importlib.import_module("polygraphy.comparator")
    backend: Any = importlib.import_module("polygraphy.backend.onnxrt")
    logger: Any = importlib.import_module("polygraphy.logger").G_LOGGER
    logger.module_severity = logger.CRITICAL

    def runner(model: Path, name: str) -> Any:
        return backend.OnnxrtRunner(lambda: _session(model), name=name)

    types = _input_types(before)
    failure = "no inputs could be made"
    for feeds in choices:
        typed = [{name: array.astype(types[name]) for name, array in batch.items()} for batch in feeds]
        try:
            truth = comparator.Comparator.run([runner(before, "before")], data_loader=typed)
        except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime raises for shapes that do not fit
            failure = str(error)
            continue
        rewritten = comparator.Comparator.run([runner(after, "after")], data_loader=typed)
        truth.extend(rewritten)
        _match_nan(truth[0][1], truth[1][1], mended=mended)
        found = _judged(comparator, truth, len(typed))
        if not found["equal"] and _draws(before):
            raise ValueError("the model draws random numbers, which are others in each file")
        return found
    raise ValueError(f"the model does not run: {failure}")


def _draws(model: Path) -> bool:
    """Whether a model draws random numbers without a seed: each node begins its own by where it stands."""
    return any(
        node.op in _DRAWING and "seed" not in node.attributes and (node.op != "Dropout" or node.input(2))
        for node in load(model).graph.nodes
    )


def _session(model: Path) -> Any:
    """A model in ONNX Runtime, without the fusions that its own kernels do not always take.

    A gain of one element, which is made one of a LayerNormalization, is refused by that.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _match_nan(before: Any, after: Any, *, mended: bool) -> None:
    """Put zeros where both gave NaN, as a softmax without any key does: no comparison takes NaN for equal.

    Where NaN was to be mended, it is enough that the first one gave it.
    """
    for one, other in zip(before, after, strict=True):
        for name in one.keys() & other.keys():
            pair = np.asarray(one[name]), np.asarray(other[name])
            if pair[0].dtype.kind == "f" and pair[0].shape == pair[1].shape:
                both = np.isnan(pair[0]) & (np.isnan(pair[1]) | mended)
                if both.any():
                    one[name], other[name] = (np.where(both, array.dtype.type(0), array) for array in pair)


def _input_types(model: Path) -> dict[str, np.dtype[Any]]:
    graph = onnx.load(model, load_external_data=False).graph
    return {
        info.name: np.dtype(onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
        for info in graph.input
    }


def _judged(comparator: Any, results: Any, sets: int) -> dict[str, Any]:
    """Polygraphy's verdict, with tolerances that follow the size of each output."""
    reference = results[0][1]
    relative: dict[str, float] = {}
    absolute: dict[str, float] = {}
    for batch in reference:
        for name, array in batch.items():
            found = np.asarray(array)
            finite = np.abs(found[np.isfinite(found)]) if found.dtype.kind == "f" else np.abs(found * 1)
            largest = float(np.max(finite, initial=0.0))
            tolerance = _TOLERANCE.get(found.dtype.name, 0.0)
            relative[name] = tolerance
            absolute[name] = max(absolute.get(name, 0.0), tolerance * max(largest, 1e-3))
    compare = comparator.CompareFunc.simple(
        rtol=relative, atol=absolute, check_error_stat="elemwise", infinities_compare_equal=True
    )
    verdict = comparator.Comparator.compare_accuracy(results, compare_func=compare)
    worst = 0.0
    tables = [verdict] if hasattr(verdict, "values") else list(verdict)  # newer ones give a list
    outcomes = [
        outcome
        for table in tables
        for comparisons in table.values()
        for outputs in comparisons
        for outcome in outputs.values()
    ]
    for outcome in outcomes:
        difference = getattr(outcome, "max_absdiff", None)
        if difference is not None and np.isfinite(difference):
            worst = max(worst, float(difference))
    equal = bool(outcomes) and all(bool(outcome) for outcome in outcomes)
    return {"equal": equal, "sets": sets, "outputs": len(relative), "largest_difference": worst}
