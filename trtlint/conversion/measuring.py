"""Run the search and the simulation of a conversion in a separate process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, convert, field, to_builtins

from trtlint.conversion.result import ConversionCheck, ConversionError, Magnitude
from trtlint.conversion.weight import flops
from trtlint.knowledge.extras import how_to_install
from trtlint.measurement.chosen import ChoiceShares, most_changed
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import FailedMeasurementError, run_model, usual_limits
from trtlint.process.spawn import Limits

if TYPE_CHECKING:
    from trtlint.conversion.labels import Labels
    from trtlint.conversion.session import ConversionRequest
    from trtlint.conversion.stored import Range

_WORK = "trtlint.conversion._rehearse"
_Answer = TypeVar("_Answer")


class ConversionNeedsRuntimeError(ConversionError):
    """Error: ONNX Runtime is not installed, but the conversion needs it."""


class KeepSearchResult(Struct, frozen=True):
    """Result of the search for operators to keep in FP32.

    Attributes:
        kept: paths of the operators to keep in FP32, each with the reason.
        error: the largest error of an output with the ``kept`` operators in FP32; None if the error was not
            measured or is not finite.
        enough: true if ``error`` is within the tolerance; None if nothing was measured.
        notes: sentences about the limits of the measurement.
        ranges: the operators that compute the largest numbers.
        greatest: the largest magnitude of each tensor that comes near the limit of FP16, or exceeds it.
    """

    kept: Mapping[str, str] = field(default_factory=dict)
    error: float | None = None
    enough: bool | None = None
    notes: tuple[str, ...] = ()
    ranges: tuple[Magnitude, ...] = ()
    greatest: Mapping[str, float] = field(default_factory=dict)


class RunRequest(Struct, frozen=True, kw_only=True):
    """Request to the process that runs the model.

    Attributes:
        model: the file of the FP32 model.
        type: ``fp16`` or ``bf16``.
        inputs: the input files.
        attempt: number of earlier searches.
    """

    model: str
    type: str
    inputs: Inputs
    attempt: int


class SearchRequest(RunRequest, frozen=True, kw_only=True, tag_field="task", tag="search"):
    """Request to search for operators to keep in FP32.

    Attributes:
        io: the type of inputs and outputs: ``fp32``, or the same as ``type``.
        tolerance: the largest allowed error of an output.
        kept: the operators that the previous search keeps in FP32, each with the reason; empty in the first
            search.
        fixed: paths of operators that stay in FP32 in any case.
        groups: paths of operators that must get the same type.
        costs: the FLOPs of each product.
    """

    io: str
    tolerance: float
    kept: Mapping[str, str]
    fixed: frozenset[str]
    groups: tuple[frozenset[str], ...]
    costs: Mapping[str, int]


class RehearsalRequest(RunRequest, frozen=True, kw_only=True, tag_field="task", tag="rehearsal"):
    """Request to measure the errors of a converted model.

    Attributes:
        converted: the file of the converted model.
    """

    converted: str


class RehearsalAnswer(Struct, frozen=True, kw_only=True):
    """The errors of a converted model relative to the FP32 model.

    Attributes:
        errors: the error of each compared output or tensor; None if it is not finite.
        worst: the largest of the errors; None if an error is not finite.
        trivial: why the outputs say little about the conversion; empty if they are not trivial.
        batches: number of batches.
        generated: true if the inputs were generated.
        floats: true if the model has float outputs or float tensors to compare.
        compared: the compared tensors, if no output has a float type.
        decides: true if the compared tensors determine the outputs.
        changed: for each output without a float type, the share of elements that changed.
        choices: for each operator such as TopK, the share of elements that it chooses in both models.
    """

    errors: Mapping[str, float | None]
    worst: float | None
    trivial: str
    batches: int
    generated: bool
    floats: bool
    compared: str
    decides: bool
    changed: Mapping[str, float]
    choices: tuple[ChoiceShares, ...]


def search_in_process(
    request: ConversionRequest,
    model: Path,
    labels: Labels,
    ranges: Range,
    listen: Callable[[str], None],
    attempt: int,
    before: KeepSearchResult,
) -> KeepSearchResult:
    """Run the search for operators to keep in FP32 in a separate process.

    Args:
        request: the settings of the conversion.
        model: the file to run.
        labels: the operators of the model.
        ranges: the stored tensors whose numbers do not suit the 16-bit type.
        listen: function that receives the current step.
        attempt: number of earlier searches; the results of all of them failed their checks.
        before: the result of the previous search; unused in the first search.

    Raises:
        ConversionNeedsRuntimeError: ONNX Runtime is not installed.
        InputsError: the inputs cannot be used.
    """
    search = SearchRequest(
        model=str(model.absolute()),
        type=request.type,
        inputs=request.inputs.absolute,
        attempt=attempt,
        io=request.io,
        tolerance=request.tolerance,
        kept=before.kept if attempt else {},
        fixed=frozenset(node.path for node in labels.fixed_with({})),
        groups=tuple(frozenset(node.path for node in group) for group in labels.groups),
        costs={node.path: cost for node in labels.nodes if (cost := flops(node))},
    )
    try:
        return _ask(request, search, KeepSearchResult, listen)
    except FailedMeasurementError as error:
        return KeepSearchResult(ranges.kept, notes=(str(error),))


def rehearse(
    request: ConversionRequest, converted: Path, listen: Callable[[str], None], attempt: int = 0
) -> ConversionCheck:
    """Compare a converted model with the FP32 source model, on inputs that the search did not use.

    Raises:
        ConversionNeedsRuntimeError: ONNX Runtime is not installed.
        InputsError: the inputs cannot be used.
    """
    check = partial(ConversionCheck, "rehearsal")
    listen("rehearsal")
    rehearsal = RehearsalRequest(
        model=str(request.model.absolute()),
        type=request.type,
        inputs=request.inputs.absolute,
        attempt=attempt,
        converted=str(converted),
    )
    try:
        found = _ask(request, rehearsal, RehearsalAnswer, listen)
    except FailedMeasurementError as error:
        return check("unproven", str(error))
    worst, compared = found.worst, found.compared
    figures: dict[str, Any] = {
        "error": worst,
        "tolerance": request.tolerance,
        "batches": found.batches,
        "errors": found.errors,
    }
    reason = f"; {compared}" if compared else ""
    if found.changed:
        figures["changed"] = found.changed
    if not found.floats:
        text = "the model has no float output, and the rehearsal compares only float outputs"
        return check("unproven", text, figures)
    if not found.errors:
        text = f"every {'compared tensor' if compared else 'float output'} contains infinity or NaN in FP32"
        return check("unproven", text + reason, figures)
    what = "compared tensor" if compared else "output"
    if worst is None:
        text = f"{'a' if compared else 'an'} {what} of the converted model contains infinity or NaN"
        text += ", or has another shape"
        return check("failed", text + reason, figures)
    text = f"the largest error of any {what} is {worst:.2g} (tolerance {request.tolerance:g}){reason}"
    name, share = max(found.changed.items(), key=lambda each: each[1], default=("", 0.0))
    if share:
        text += f"; {share:.2%} of the elements of output {name} differ"
    if found.choices:
        figures["choices"] = [to_builtins(each) for each in found.choices]
    changed = most_changed(found.choices)
    if changed is not None:
        text += f", if TopK and similar operators choose the elements that FP32 chooses; {changed.words}"
    if worst > request.tolerance:
        return check("failed", text, figures)
    if found.trivial:
        return check("unproven", found.trivial, figures)
    if not found.decides:
        return check("unproven", text, figures)
    if share > request.tolerance:
        return check("unproven", f"{text}, which is more than the tolerance", figures)
    if changed is not None:
        return check("unproven", text, figures)
    if found.generated:
        return check("unproven", f"{text}, on generated inputs; give real inputs with --inputs", figures)
    return check("proven", text, figures)


def _ask(
    request: ConversionRequest, order: RunRequest, answer: type[_Answer], listen: Callable[[str], None]
) -> _Answer:
    """Run the model in a separate process, and return its answer.

    Raises:
        ConversionNeedsRuntimeError: ONNX Runtime is not installed.
        InputsError: the inputs cannot be used.
        FailedMeasurementError: the model cannot be run, or no time is left.
    """
    if find_spec("onnxruntime") is None:
        raise ConversionNeedsRuntimeError(
            f"measuring needs ONNX Runtime: {how_to_install('measure')}; or use --no-measure"
        )
    usual = usual_limits(request.size)
    seconds = request.seconds or usual.seconds
    if request.until is not None:
        seconds = min(seconds, request.until - time.monotonic())
    if seconds <= 0:
        raise FailedMeasurementError(
            "the time limit for runs of the model is reached; raise the limit with --seconds"
        )
    limits = Limits(seconds, request.memory or usual.memory)
    found = run_model(_WORK, to_builtins(order), limits, request.inputs, lambda step: listen(step["doing"]))
    return convert(found, answer)
