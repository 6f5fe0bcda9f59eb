"""Compare a fixed model with the original model: outputs, TensorRT builds and parsed networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from trtlint.compare.comparison import Pair, Times, compare
from trtlint.facts.of_build.layer import is_attention
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.measurement.trivial import sentence

if TYPE_CHECKING:
    from trtlint.dry_build.result import DryBuild

_JUDGEMENTS = {True: "no worse", False: "worse", None: "not proven"}
_EQUAL = "equal within tolerance"
"""Verdict for outputs that are within the tolerances of :mod:`trtlint.compare`."""
_CAUSES = {"time": "stopped at the time limit", "memory": "stopped at the memory limit"}
_STAGES = ("rejected by the parser", "rejected by the builder", "built")
"""Possible results of a build, from the worst to the best."""


class CheckResult(Struct, frozen=True):
    """Result of one check of the whole model.

    Attributes:
        check: kind of check: ``outputs``, ``build`` or ``network``.
        good: True if the fixed model is at least as good as the original model; None if the check gave no
            result. If it is False, trtlint does not write the fixed model.
        words: the result as text.
        figures: numbers of the check by name.
        times: run times of both models in ONNX Runtime; empty if not measured.
    """

    check: str
    good: bool | None
    words: str
    figures: dict[str, Any]
    times: Times = ((), ())

    @property
    def judgement(self) -> str:
        """The result of the check as one word or phrase."""
        return _EQUAL if self.good and self.check == "outputs" else _JUDGEMENTS[self.good]

    @property
    def document(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"check": self.check, "good": self.good, "says": self.words, "figures": self.figures}


def outputs(pair: Pair) -> CheckResult:
    """Run the original and the fixed model with the same inputs, and compare their outputs."""
    found = compare(pair)
    figures = {
        "sets": found.sets,
        "largest_difference": found.difference,
        "no_longer_finite": found.lost,
        "finite_now": found.gained,
    }
    good, words = found.equal, found.words
    if good and found.blank:
        good, words = None, f"{words}; {sentence(found.blank)}"
    return CheckResult("outputs", good, words, figures, found.times)


def build(before: Path, after: Path, sm: int | None) -> CheckResult:
    """Build the original and the fixed model with TensorRT-RTX, without a GPU, and compare the builds."""
    from trtlint.dry_build.drybuild import dry_build
    from trtlint.dry_build.errors import DryBuildError, WheelError

    try:
        old, new = (dry_build(model, sm=sm) for model in (before, after))
    except (DryBuildError, WheelError) as error:
        return CheckResult("build", None, str(error), {})
    stages = _stage(old), _stage(new)
    fused = _fused(old), _fused(new)
    warnings = _warnings(old), _warnings(new)
    good = _no_worse(*stages)
    words = f"TensorRT-RTX {new.result.version}: {stages[0]} before, {stages[1]} after"
    if old.result.built and new.result.built:
        words += f"; fused attention {fused[0]} before, {fused[1]} after"
        if any(warnings):
            words += f"; warnings {warnings[0]} before, {warnings[1]} after"
        good = fused[1] > fused[0] or (fused[1] == fused[0] and warnings[1] <= warnings[0])
    figures = {
        "label": new.result.label,
        "built_before": old.result.built,
        "built_after": new.result.built,
        "fused_attention_before": fused[0],
        "fused_attention_after": fused[1],
        "warnings_before": warnings[0],
        "warnings_after": warnings[1],
    }
    return CheckResult("build", good, words, figures)


def network(before: Path, after: Path, inputs: Inputs) -> CheckResult | None:
    """Parse both models with TensorRT, and compare how well each TensorRT network matches its ONNX model.

    Args:
        before: file of the original model.
        after: file of the fixed model.
        inputs: the inputs of both models. If no inputs are given, trtlint generates random inputs.

    Returns:
        The result, or None if neither network can be compared.
    """
    from trtlint.dry_build.errors import WheelError
    from trtlint.dry_build.wheels import find
    from trtlint.network.compare import CompareRequest, compare_network
    from trtlint.process.spawn import Limits

    try:
        wheels = find()
    except WheelError:
        return None  # the build check reports missing wheels
    request = CompareRequest(inputs.files)
    try:
        old, new = (compare_network(model, request, wheels, Limits()) for model in (before, after))
    except InputsError as error:
        words = f"network of TensorRT-RTX {wheels.version}: could not compare the tensors ({error})"
        return CheckResult("network", None, words, {"release": wheels.version})
    if not (old.compared or new.compared):
        return None
    counts = len(old.differences), len(new.differences)
    words = f"network of TensorRT-RTX {new.release}: "
    if new.reason:
        words += f"nothing was compared: {new.reason}"
    else:
        first = f" (the first is {new.differences[0].tensor})" if new.differences else ""
        words += f"{counts[1]} of {new.compared} compared tensors differ from ONNX{first}"
        words += f"; {counts[0]} before" if not old.reason else ""
    good = None if not new.compared else counts[1] == 0 or (not old.reason and counts[1] <= counts[0])
    figures = {
        "release": new.release,
        "differing_before": None if old.reason else counts[0],
        "differing_after": None if new.reason else counts[1],
        "compared": new.compared,
        "tensors": new.tensors,
    }
    return CheckResult("network", good, words, figures)


def _no_worse(before: str, after: str) -> bool | None:
    """Return whether the build of the fixed model got at least as far as the build of the original model.

    ``before`` and ``after`` are the last stages of these builds. The result is None if these
    stages cannot be compared.
    """
    if before in _STAGES and after in _STAGES:
        return _STAGES.index(after) >= _STAGES.index(before)
    if _STAGES[-1] in (before, after):
        return after == _STAGES[-1]
    return None


def _stage(found: DryBuild) -> str:
    """Return the last stage of a build.

    The stage is an entry of ``_STAGES``, or another text if the build ended abnormally.
    """
    result = found.result
    if result.built:
        return "built"
    if result.parsed is False:
        return "rejected by the parser"
    if result.built is False:
        return "rejected by the builder"
    if result.unfit:
        return "not built (the builder rejects all sizes that trtlint tried)"
    return f"not built ({result.signal or _CAUSES.get(result.cause, result.cause)})"


def _fused(found: DryBuild) -> int:
    """Return the number of fused attention layers in the engine."""
    layers = found.record.layers if found.record is not None else None
    return 0 if layers is None else sum(map(is_attention, layers.layers))


def _warnings(found: DryBuild) -> int:
    log = found.record.log if found.record is not None else None
    return 0 if log is None else log.severities.get("W", 0)
