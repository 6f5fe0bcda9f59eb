"""Run the search and the simulation of a conversion in a separate process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, field

from trtlint.conversion.result import ConversionCheck, ConversionError, Magnitude
from trtlint.conversion.weight import flops
from trtlint.knowledge.extras import how_to_install
from trtlint.measurement.chosen import ChoiceShares, most_changed
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.measure import usual_limits
from trtlint.process.spawn import Limits, run

if TYPE_CHECKING:
    from trtlint.conversion.labels import Labels
    from trtlint.conversion.session import ConversionRequest
    from trtlint.conversion.stored import Range

_WORK = "trtlint.conversion._rehearse"
_TAIL = 400


class ConversionNeedsRuntimeError(ConversionError):
    """Error: ONNX Runtime is not installed, but the conversion needs it."""


class Found(Struct, frozen=True):
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


class NotRunError(ConversionError):
    """Error: ONNX Runtime cannot run the model.  The message is the reason."""


def search_in_process(
    request: ConversionRequest,
    model: Path,
    labels: Labels,
    ranges: Range,
    listen: Callable[[str], None],
    attempt: int = 0,
    before: Found | None = None,
) -> Found:
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
    document = {
        "task": "search",
        "io": request.io,
        "model": str(model.absolute()),
        "attempt": attempt,
        "kept": dict(before.kept) if before is not None and attempt else {},
        "fixed": [node.path for node in labels.fixed_with({})],
        "groups": [[node.path for node in group] for group in labels.groups],
        "costs": {node.path: cost for node in labels.nodes if (cost := flops(node))},
    }
    try:
        found = _ask(request, document, listen)
    except NotRunError as error:
        return Found({node.path: reason for node, reason in ranges.kept.items()}, notes=(str(error),))
    failed = "no tested set of operators in FP32 keeps the errors within the tolerance"
    notes = () if found["enough"] else (failed,)
    listed = tuple(Magnitude(*each) for each in found["ranges"])
    return Found(found["kept"], found["error"], found["enough"], notes, listed, found["greatest"])


def rehearse(
    request: ConversionRequest, converted: Path, listen: Callable[[str], None], attempt: int = 0
) -> ConversionCheck:
    """Compare a converted model with the FP32 source model, on inputs that the search did not use."""
    check = partial(ConversionCheck, "rehearsal")
    if find_spec("onnxruntime") is None:
        return check("unproven", f"ONNX Runtime is not installed: {how_to_install('measure')}")
    listen("rehearsal")
    try:
        found = _ask(request, {"task": "prove", "attempt": attempt, "converted": str(converted)}, listen)
    except NotRunError as error:
        return check("unproven", str(error))
    worst = found["worst"]
    figures = {
        "error": worst,
        "tolerance": request.tolerance,
        "batches": found["batches"],
        "errors": found["errors"],
    }
    compared = found["compared"]
    reason = f"; {compared}" if compared else ""
    if found["changed"]:
        figures["changed"] = found["changed"]
    if not found["floats"]:
        text = "the model has no float output, and the rehearsal compares only float outputs"
        return check("unproven", text, figures)
    if not found["errors"]:
        text = f"every {'compared tensor' if compared else 'float output'} contains infinity or NaN in FP32"
        return check("unproven", text + reason, figures)
    what = "compared tensor" if compared else "output"
    if worst is None:
        text = f"{'a' if compared else 'an'} {what} of the converted model contains infinity or NaN"
        text += ", or has another shape"
        return check("failed", text + reason, figures)
    text = f"the largest error of any {what} is {worst:.2g} (tolerance {request.tolerance:g}){reason}"
    name, share = max(found["changed"].items(), key=lambda each: each[1], default=("", 0.0))
    if share:
        text += f"; {share:.2%} of the elements of output {name} differ"
    if found["choices"]:
        figures["choices"] = found["choices"]
    changed = most_changed(convert(found["choices"], tuple[ChoiceShares, ...]))
    if changed is not None:
        text += f", if TopK and similar operators choose the elements that FP32 chooses; {changed.words}"
    if worst > request.tolerance:
        return check("failed", text, figures)
    if found["trivial"]:
        return check("unproven", found["trivial"], figures)
    if not found["decides"]:
        return check("unproven", text, figures)
    if share > request.tolerance:
        return check("unproven", f"{text}, which is more than the tolerance", figures)
    if changed is not None:
        return check("unproven", text, figures)
    if found["made_up"]:
        return check("unproven", f"{text}, on generated inputs; give real inputs with --inputs", figures)
    return check("proven", text, figures)


def _ask(request: ConversionRequest, document: Mapping[str, Any], listen: Callable[[str], None]) -> Any:
    if find_spec("onnxruntime") is None:
        raise ConversionNeedsRuntimeError(
            f"measuring needs ONNX Runtime: {how_to_install('measure')}; or use --no-measure"
        )

    def hear(answer: Any) -> None:
        if "doing" in answer:
            listen(answer["doing"])

    usual = usual_limits(request.size)
    seconds = request.seconds or usual.seconds
    if request.until is not None:
        seconds = min(seconds, request.until - time.monotonic())
    if seconds <= 0:
        raise NotRunError("the time limit for runs of the model is reached; raise the limit with --seconds")
    limits = Limits(seconds, request.memory or usual.memory)
    order = {
        "model": str(request.model.absolute()),
        "type": request.type,
        "tolerance": request.tolerance,
        "inputs": request.inputs.request,
        **document,
    }
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "log")
        ended = run(_WORK, order, limits, log=log, listen=hear)
        last = ended.answers[-1] if ended.answers else {}
        if "result" in last:
            return last["result"]
        if last.get("error") == "inputs":
            raise InputsError(request.inputs.named(last["text"]))
        if "error" in last:
            raise NotRunError(last["text"])
        lines = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
    reason = f": {lines[-1].strip()}" if lines and ended.cause == "failed" else ""
    raise NotRunError(f"the process that ran the model gave no result: it {ended.words}{reason}")
