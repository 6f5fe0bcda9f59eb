"""A model and its rewritten form on the same inputs: the part that runs in a process of its own.

Polygraphy's comparator runs both in ONNX Runtime:
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/polygraphy/comparator/comparator.html.
Where that has no kernel for what the model computes in, both are computed in FP32, and where it has none
at all, by ONNX's reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trtlint.files.telemetry import onnx_runtime, polygraphy
from trtlint.lean import dataclass
from trtlint.model.graph import Value
from trtlint.model.load import load
from trtlint.trials.alike import alike
from trtlint.trials.feeds import Feeds, given_feeds
from trtlint.trials.inputs import Inputs, InputsError
from trtlint.trials.reference import begun, more_ops, stacks
from trtlint.trials.sets import Given, Sets, made_up, size_of

_MOST_BYTES = 1 << 30
"""Bytes of inputs that are tried in vain, each for its choice of shapes."""
_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2}
"""By type of an output, how far it may be off, relative to its largest element."""
_CANCELLED = 0.01
"""The share of an output's largest element in any set that its tolerance is relative to at least: what is
rounded on the way is left over where larger terms cancel each other."""
_MOST_FOR_REFERENCE = 16 << 20
"""Bytes of a model that ONNX's reference computes: it is slow."""
_FATAL = 4
_LONGEST = 500
"""Characters of a reason that are told."""

Say = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class _Way:
    """How two models are computed.

    Attributes:
        wide: whether in FP32 what they compute in 16 bits.
        reference: whether by ONNX's reference in place of ONNX Runtime.
        optimized: whether ONNX Runtime folds constants and the like.  Rounding differs by it, and where it
            quantizes, by a whole step.
    """

    wide: bool
    reference: bool = False
    optimized: bool = True


class _NotRunError(Exception):
    """The model does not run, on any of the inputs."""


class _BrokenError(Exception):
    """The model runs, and its rewritten form does not."""


def work(request: dict[str, Any], say: Say) -> None:
    """Compare two models.

    Args:
        request: ``before`` and ``after``, paths; ``files``, ``lists`` and ``script`` with inputs;
            ``folder``, where copies may be written; ``wide``, whether both are compared in FP32;
            ``mended``, whether what was NaN may be a number; ``keyed``, whether they are to be the same only
            where a mask leaves every row a key.
        say: takes ``{"inputs": ...}`` with what is wrong with them, ``{"error": ...}``, ``{"broken": ...}``
            where only the first one runs, or the figures.
    """
    before, after, folder = Path(request["before"]), Path(request["after"]), Path(request["folder"])
    failure = broken = ""
    try:
        given = _given(before, request)
    except InputsError as error:
        say({"inputs": " ".join(str(error).split())[:_LONGEST]})
        return
    try:
        inputs = load(before).graph.inputs
        guessed = not given and _varies(inputs)
        for way in _ways(before, wide=bool(request["wide"])):
            pair = alike(before, after, folder, wide=way.wide)
            mended, keyed = bool(request["mended"]), bool(request["keyed"]) and not given
            try:
                choices = [Given(given)] if given else made_up(inputs)
                figures = _compared(*pair, choices, way, mended=mended, keyed=keyed)
                if not figures["equal"] and not way.reference:
                    plain, choices = (
                        _Way(way.wide, optimized=False),
                        [Given(given)] if given else made_up(inputs),
                    )
                    other = _compared(*pair, choices, plain, mended=mended, keyed=keyed)
                    figures = other if other["equal"] else figures
            except _NotRunError as error:
                failure = failure or str(error)  # of the first way, which is the one that the model is for
                continue
            except _BrokenError as error:
                broken = broken or ("" if way.reference and guessed else str(error))
                continue
            if way.reference and guessed and not figures["equal"]:
                failure += ", and ONNX's reference, which takes shapes that do not fit, gives other outputs"
                continue
            if figures["equal"] and not figures["telling"]:
                failure = failure or "no output has a number on any of the inputs"
                continue
            say({**figures, "widened": way.wide, "reference": way.reference})
            return
    except (InputsError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        failure = str(error)
    say({"broken" if broken else "error": " ".join((broken or failure).split())[:_LONGEST]})


def _varies(inputs: Sequence[Value]) -> bool:
    """Whether an input has a dimension without a size, or no shape."""
    return any(v.shape is None or any(not isinstance(dim, int) for dim in v.shape) for v in inputs)


def _ways(model: Path, *, wide: bool) -> Iterator[_Way]:
    """The ways to compute two models, best first."""
    if not wide:
        yield _Way(wide=False)
    yield _Way(wide=True)
    if model.stat().st_size <= _MOST_FOR_REFERENCE:
        yield _Way(wide=True, reference=True)


def _given(model: Path, request: Mapping[str, Any]) -> list[Feeds]:
    """The user's inputs; none where there are none.

    Raises:
        InputsError: they cannot be used.
    """
    named = Inputs(tuple(request["files"]), tuple(request["lists"]), request["script"])
    if not named.names:
        return []
    return [feeds for _, feeds in given_feeds(load(model).graph.inputs, named)]


def _compared(
    before: Path, after: Path, choices: Iterable[Sets], way: _Way, *, mended: bool, keyed: bool
) -> dict[str, Any]:
    """The figures for the first choice of shapes that the model takes.

    Raises:
        _NotRunError: the model takes none.
        _BrokenError: its rewritten form does not take what the model took.
    """
    comparator: Any = polygraphy("comparator")
    logger: Any = polygraphy("logger").G_LOGGER
    logger.module_severity = logger.CRITICAL
    run = _by_reference if way.reference else _by_runtime if way.optimized else _by_plain_runtime
    types = _input_types(before)
    failure = _unloadable(before) if not way.reference else ""
    tried = 0
    for choice in choices if not failure else ():
        if tried > _MOST_BYTES:
            break
        if not (first := _typed(choice.first(), types, keyed=keyed)):
            continue
        tried += size_of(first)
        try:
            given = run(before, "before", first)
            _session.cache_clear()  # what is drawn by chance begins anew in each session
            typed = _typed(choice.all(beside=size_of(given[0][1])), types, keyed=keyed)
            results = run(before, "before", typed)
        except Exception as error:  # noqa: BLE001 - whatever is raised for shapes that do not fit
            failure = str(error)
            continue
        _session.cache_clear()  # two large models at once may be more than memory holds
        try:
            results.extend(run(after, "after", typed))
        except Exception as error:
            raise _BrokenError(str(error)) from error
        telling = any(_tells(np.asarray(array)) for batch in results[0][1] for array in batch.values())
        _match_nan(results[0][1], results[1][1], mended=mended)
        return {**_judged(comparator, results, len(typed)), "telling": telling}
    raise _NotRunError(f"the model does not run: {failure or 'no inputs could be made'}")


def _typed(batches: Sequence[Feeds], types: Mapping[str, np.dtype[Any]], *, keyed: bool) -> list[Feeds]:
    """Sets of inputs in the types of a model, the first key of each row left where masks are to leave one."""
    typed = [{name: array.astype(types[name]) for name, array in batch.items()} for batch in batches]
    for array in (array for batch in typed for array in batch.values() if keyed and array.ndim):
        if array.dtype.kind in "biu":
            array[..., :1] = 1
    return typed


def _unloadable(model: Path) -> str:
    """Why ONNX Runtime does not load a model, whatever its inputs; empty where it does."""
    try:
        _session(model, optimized=True)
    except Exception as error:  # noqa: BLE001 - its exceptions have no common class that it exports
        return str(error)
    return ""


def _by_plain_runtime(model: Path, name: str, batches: Sequence[Feeds]) -> Any:
    """What a model gives in ONNX Runtime as the file has it."""
    return _by_runtime(model, name, batches, optimized=False)


def _by_runtime(model: Path, name: str, batches: Sequence[Feeds], *, optimized: bool = True) -> Any:
    """What a model gives in ONNX Runtime."""
    comparator: Any = polygraphy("comparator")
    backend: Any = polygraphy("backend.onnxrt")
    runner = backend.OnnxrtRunner(lambda: _session(model, optimized=optimized), name=name)
    return comparator.Comparator.run([runner], data_loader=batches)


def _by_reference(model: Path, name: str, batches: Sequence[Feeds]) -> Any:
    """What a model gives in ONNX's reference, as Polygraphy has it of its runners."""
    from onnx.reference import ReferenceEvaluator

    comparator: Any = polygraphy("comparator")
    proto = onnx.load(model)
    if stacks(proto):
        raise ValueError("ONNX's reference does not stack what iterations of a loop give as ONNX says")
    reference = ReferenceEvaluator(begun(proto), new_ops=list(more_ops()))
    names = reference.output_names
    with np.errstate(all="ignore"):
        outputs = [
            dict(zip(names, map(np.asarray, reference.run(None, dict(batch))), strict=True))
            for batch in batches
        ]
    given = [comparator.IterationResult(each, runner_name=name) for each in outputs]
    return comparator.RunResults([(name, given)])


@lru_cache(maxsize=1)
def _session(model: Path, *, optimized: bool) -> Any:
    """A model in ONNX Runtime, without the fusions that its own kernels do not always take.

    A gain of one element, which is made one of a LayerNormalization, is refused by that.  Of a large model it
    takes most of the time, so that the one that was loaded to see whether it can be is kept.
    """
    onnxruntime = onnx_runtime()
    onnxruntime.set_default_logger_severity(_FATAL)
    options, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if optimized else level.ORT_DISABLE_ALL
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


def _largest(array: Any) -> float:
    """The largest finite magnitude in an output."""
    found = np.asarray(array)
    finite = np.abs(found[np.isfinite(found)]) if found.dtype.kind == "f" else np.abs(found * 1)
    return float(np.max(finite, initial=0.0))


def _judged(comparator: Any, results: Any, sets: int) -> dict[str, Any]:
    """Polygraphy's verdict, with tolerances that follow the size of each output in each set of inputs."""
    worst, equal, count = 0.0, True, 0
    sizes = [{name: _largest(array) for name, array in batch.items()} for batch in results[0][1]]
    for index, batch in enumerate(results[0][1]):
        relative: dict[str, float] = {}
        absolute: dict[str, float] = {}
        for name, array in batch.items():
            tolerance = _TOLERANCE.get(np.asarray(array).dtype.name, 0.0)
            floor = _CANCELLED * max(each[name] for each in sizes)
            relative[name] = tolerance
            absolute[name] = tolerance * max(sizes[index][name], floor, 1e-3)
        compare = comparator.CompareFunc.simple(
            rtol=relative, atol=absolute, check_error_stat="elemwise", infinities_compare_equal=True
        )
        pair = comparator.RunResults([(runner, [iterations[index]]) for runner, iterations in results])
        verdict = comparator.Comparator.compare_accuracy(pair, compare_func=compare)
        tables = [verdict] if hasattr(verdict, "values") else list(verdict)  # newer ones give a list
        outcomes = [
            outcome
            for table in tables
            for comparisons in table.values()
            for outputs in comparisons
            for outcome in outputs.values()
        ]
        count = len(relative)
        equal = equal and bool(outcomes) and all(bool(outcome) for outcome in outcomes)
        for outcome in outcomes:
            difference = getattr(outcome, "max_absdiff", None)
            if difference is not None and np.isfinite(difference):
                worst = max(worst, float(difference))
    return {"equal": equal, "sets": sets, "outputs": count, "largest_difference": worst}


def _tells(array: Any) -> bool:
    """Whether an output has an element that can be compared; of nothing there is nothing to compare."""
    return array.dtype.kind != "f" or array.size == 0 or bool(np.isfinite(array).any())
