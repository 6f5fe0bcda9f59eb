"""Worker process: run original and rewritten models on the same inputs.

Both models run in ONNX Runtime.  If ONNX Runtime has no kernel for a type of a model, both models run in
FP32. If a model fails in FP32, too, ONNX's reference evaluator runs both models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct

from trtlint.compare._judging import Outputs, judge
from trtlint.compare._running import LoadedModel, Way, timed
from trtlint.compare.alike import ModelPair, RandomError, alike
from trtlint.compare.comparison import Pair
from trtlint.compare.sets import RandomSets, random_sets, size_of
from trtlint.errors import ExperimentError
from trtlint.measurement.feeds import Feeds, given_feeds
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.trivial import blank
from trtlint.model.graph import Value
from trtlint.model.load import load
from trtlint.model.widening import FP32, FP64

_MOST_BYTES = 1 << 30
"""Once the inputs of failed runs exceed this total number of bytes, no further input shapes are tried."""
_SHARE = 8
"""The memory limit for inputs and outputs together is the limit of the process, divided by this number."""
_MOST_FOR_REFERENCE = 16 << 20
"""ONNX's reference evaluator, which is slow, runs only models with at most this number of bytes."""
_MOST_FOR_TWO = 256 << 20
"""Largest total size in bytes of two models that may be loaded at the same time."""
_LONGEST = 500
"""Maximum length of a reported reason, in characters."""

Say = Callable[[Any], None]


class _NotRunError(ExperimentError):
    """Error: the original model fails on all inputs."""


class _BrokenError(ExperimentError):
    """Error: the original model runs, but the rewritten model fails."""


class _ComparisonSettings(Struct, frozen=True):
    """Settings of one comparison.

    Attributes:
        pair: the models, and the settings of the user.
        given: the inputs of the user; empty for random inputs.
        memory: limit for inputs and outputs in bytes.
        folder: folder for temporary copies.
    """

    pair: Pair
    given: list[Feeds]
    memory: int
    folder: Path


def work(request: dict[str, Any], say: Say) -> None:
    """Compare pairs of models, and send one answer for each pair.

    Args:
        request: JSON data with these keys:
            - ``pairs``: the requests of the pairs (:attr:`trtlint.compare.comparison.Pair.request`)
            - ``folder``: a folder for temporary copies
            - ``memory``: the memory limit of the process in bytes
        say: function that receives the answers. An answer is one of these:
            - ``{"inputs": ...}`` for invalid inputs
            - ``{"error": ...}`` if nothing could be compared
            - ``{"broken": ...}`` if only the original model runs
            - the figures of the comparison
    """
    for pair in request["pairs"]:
        try:
            answer = _answer(pair, request)
        except MemoryError:
            answer = {"error": "the comparison needs more memory than the process may use"}
        say(answer)


def _answer(asked: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    pair = Pair.from_request(asked)
    try:
        given = _user_inputs(pair)
    except InputsError as error:
        return {"inputs": " ".join(str(error).split())[:_LONGEST]}
    wanted = _ComparisonSettings(pair, given, int(request["memory"]) // _SHARE, Path(request["folder"]))
    failure = broken = ""
    try:
        inputs = load(pair.before).graph.inputs
        guessed = not given and _varies(inputs)
        for way in _ways(pair.before, wide=pair.wide):
            models = alike(pair.before, pair.after, wanted.folder, way.types)
            try:
                figures = _compared(models, inputs, way, wanted)
                if not figures["equal"] and not way.reference:
                    plain = _compared(models, inputs, Way(way.types, optimized=False), wanted)
                    figures = plain if plain["equal"] else figures
            except _NotRunError as error:
                failure = failure or str(error)  # report the failure with the model's own types
                continue
            except _BrokenError as error:
                broken = broken or ("" if way.reference and guessed else str(error))
                continue
            if way.reference and guessed and not figures["equal"]:
                failure += (
                    "; in ONNX's reference evaluator, the outputs of the two models differ, but this "
                    "evaluator also accepts inputs whose shapes do not match each other"
                )
                continue
            if figures["equal"] and not figures["comparable"]:
                failure = failure or "no output is finite on any of the inputs"
                continue
            return {**figures, "widened": way.types is not None, "reference": way.reference}
    except (InputsError, RandomError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        failure = str(error)
    return {"broken" if broken else "error": " ".join((broken or failure).split())[:_LONGEST]}


def _varies(inputs: Sequence[Value]) -> bool:
    """Return whether an input has a dynamic dimension or no shape."""
    return any(v.shape is None or any(not isinstance(dim, int) for dim in v.shape) for v in inputs)


def _ways(model: Path, *, wide: bool) -> Iterator[Way]:
    """Yield the ways to run two models, the best first.

    1. In the types of the models. This way is skipped if ``wide`` is true.
    2. In FP32.
    3. In FP32 in ONNX's reference evaluator. This way is only for small models.
    """
    if not wide:
        yield Way()
    yield Way(FP32)
    if model.stat().st_size <= _MOST_FOR_REFERENCE:
        yield Way(FP32, reference=True)


def _user_inputs(pair: Pair) -> list[Feeds]:
    """Return the inputs of the user, or an empty list if the user gave none.

    Raises:
        InputsError: the inputs are invalid.
    """
    if not pair.inputs.names:
        return []
    return [feeds for _, feeds in given_feeds(load(pair.before).graph.inputs, pair.inputs)]


def _compared(
    models: ModelPair, inputs: Sequence[Value], way: Way, wanted: _ComparisonSettings
) -> dict[str, Any]:
    """Run both models and return the results of the comparison as JSON data.

    The comparison uses the first input shapes that the original model accepts.

    Raises:
        _NotRunError: the original model accepts no input shapes.
        _BrokenError: the rewritten model fails on inputs that the original model accepts.
    """
    types = _input_types(models.before)
    try:
        original = LoadedModel(models.before, way, random=models.random)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime exports no common base class
        raise _NotRunError(f"the model does not run: {error}") from None
    if wanted.given:
        batches = _converted_inputs(wanted.given, types)
        before = _run_given(original, batches)
    else:
        choices = random_sets(inputs, wanted.memory)
        batches, before = _run_first(original, choices, types, keep_a_key=wanted.pair.keep_a_key)
    both = sum(model.stat().st_size for model in (models.before, models.after)) <= _MOST_FOR_TWO
    first = original if both else None
    del original  # two large models at once may exceed the memory limit
    try:
        second = LoadedModel(models.after, way, random=models.random)
        after = second.run(batches)
    except MemoryError:
        raise
    except Exception as error:
        raise _BrokenError(str(error)) from error
    ignore_nan = wanted.pair.ignore_nan
    found = judge(before, after, ignore_nan=ignore_nan)
    if found.unsure and found.equal:
        truth = _fp64_outputs(models, batches, wanted.folder)
        found = judge(before, after, ignore_nan=ignore_nan, truth=truth)
    figures = found.document
    figures["blank"] = blank(before)
    if wanted.pair.timed and first is not None and found.equal and not way.reference and way.types is None:
        figures["times"] = timed(partial(first.once, batches[0]), partial(second.once, batches[0]))
    return figures


def _run_given(runner: LoadedModel, batches: Sequence[Feeds]) -> list[dict[str, Any]]:
    """Return the outputs of a model for the inputs of the user.

    Raises:
        _NotRunError: the model does not accept the inputs.
    """
    try:
        return runner.run(batches)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - shapes that do not fit can raise any error
        raise _NotRunError(f"the model does not run: {error}") from None


def _run_first(
    runner: LoadedModel,
    choices: Iterable[RandomSets],
    types: Mapping[str, np.dtype[Any]],
    *,
    keep_a_key: bool,
) -> tuple[list[Feeds], list[dict[str, Any]]]:
    """Run a model with several input shapes until the model accepts one.

    Returns:
        The accepted inputs and their outputs.

    Raises:
        _NotRunError: the model accepts no input shapes.
    """
    failure, tried = "", 0
    for choice in choices:
        if tried > _MOST_BYTES:
            break
        if not (one := _converted_inputs(choice.first(), types, keep_a_key=keep_a_key)):
            continue
        tried += size_of(one)
        try:
            outputs = runner.run(one)
            batches = _converted_inputs(choice.all(size_of(outputs)), types, keep_a_key=keep_a_key)
            return batches, runner.run(batches)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - shapes that do not fit can raise any error
            failure = str(error)
    raise _NotRunError(f"the model does not run: {failure or 'cannot generate inputs'}")


def _fp64_outputs(models: ModelPair, batches: Sequence[Feeds], folder: Path) -> list[Outputs] | None:
    """Return the outputs of the original model in FP64, or None if no runtime can run it in FP64."""
    for index, wider in enumerate((Way(FP64), Way(FP64, reference=True))):
        if wider.reference and models.before.stat().st_size > _MOST_FOR_REFERENCE:
            continue
        apart = folder / f"fp64-{index}"
        apart.mkdir(exist_ok=True)
        try:
            copy = alike(models.before, models.before, apart, wider.types).before
            types = _input_types(copy)
            typed = _converted_inputs(batches, types)
            return list(LoadedModel(copy, wider, random=models.random).run(typed))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - types without a kernel can raise any error
            continue
    return None


def _converted_inputs(
    batches: Sequence[Feeds], types: Mapping[str, np.dtype[Any]], *, keep_a_key: bool = False
) -> list[Feeds]:
    """Convert inputs to the types of a model. With ``keep_a_key``, allow the first key of each mask row."""
    typed = [{name: array.astype(types[name]) for name, array in batch.items()} for batch in batches]
    for array in (array for batch in typed for array in batch.values() if keep_a_key and array.ndim):
        if array.dtype.kind in "biu":
            array[..., :1] = 1
    return typed


def _input_types(model: Path) -> dict[str, np.dtype[Any]]:
    graph = onnx.load(model, load_external_data=False).graph
    return {
        info.name: np.dtype(onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
        for info in graph.input
    }
