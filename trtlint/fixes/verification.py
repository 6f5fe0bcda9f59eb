"""The whole fixed model against its source: what it computes, and what NVIDIA's builder makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtlint.compare.comparison import Times, compare
from trtlint.lean import dataclass
from trtlint.measurement.inputs import Inputs, InputsError

if TYPE_CHECKING:
    from trtlint.dry_build.result import DryBuild

_JUDGEMENTS = {True: "as before or better", False: "worse", None: "not proven"}
_CAUSES = {"time": "stopped at its limit of time", "memory": "stopped at its limit of memory"}
_STAGES = ("refused by the parser", "refused by the builder", "built")
"""How far builds get, the least first."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of the whole model found.

    Attributes:
        check: what was done: ``outputs``, ``build`` or ``network``.
        good: whether nothing is worse; a model of which it is False is not written, and one of which it is
            None is not proven.
        words: the figures in words.
        figures: by name.
        times: the times of both in ONNX Runtime, where they were measured.
    """

    check: str
    good: bool | None
    words: str
    figures: dict[str, Any]
    times: Times = ((), ())

    @property
    def judgement(self) -> str:
        """Whether nothing is worse, in words."""
        return _JUDGEMENTS[self.good]

    @property
    def document(self) -> dict[str, Any]:
        """It as JSON data."""
        return {"check": self.check, "good": self.good, "says": self.words, "figures": self.figures}


def outputs(
    before: Path,
    after: Path,
    inputs: Inputs,
    *,
    wide: bool = False,
    mended: bool = False,
    keyed: bool = False,
    timed: bool = False,
) -> Verdict:
    """Compare what both compute.

    Args:
        before: the source.
        after: the fixed model.
        inputs: what to run both on.
        wide: whether to do so in FP32, as the source may leave the range of its types.
        mended: whether what is NaN in the source may be a number.
        keyed: whether both are to be the same only where a mask leaves every row a key.
        timed: whether to measure the time of both as well.
    """
    found = compare(before, after, inputs, wide=wide, mended=mended, keyed=keyed, timed=timed)
    figures = {
        "sets": found.sets,
        "largest_difference": found.difference,
        "no_longer_finite": found.lost,
        "finite_now": found.gained,
    }
    return Verdict("outputs", found.equal, found.words, figures, found.times)


def build(before: Path, after: Path, sm: int | None) -> Verdict:
    """Build both with TensorRT-RTX, without a GPU."""
    from trtlint.dry_build.drybuild import dry_build
    from trtlint.dry_build.errors import DryBuildError, WheelError

    try:
        old, new = (dry_build(model, sm=sm) for model in (before, after))
    except (DryBuildError, WheelError) as error:
        return Verdict("build", None, str(error), {})
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
    return Verdict("build", good, words, figures)


def network(before: Path, after: Path, inputs: Inputs) -> Verdict | None:
    """Compare the network that NVIDIA's parser makes of the fixed model with ONNX, and that of the source.

    Args:
        before: the source.
        after: the fixed model.
        inputs: what to run both on; made-up inputs where there are none.

    Returns:
        The verdict; None where the source cannot be compared either.
    """
    from trtlint.dry_build.errors import WheelError
    from trtlint.dry_build.wheels import find
    from trtlint.network.compare import CompareRequest, compare_network
    from trtlint.process.spawn import Limits

    try:
        wheels = find()
    except WheelError:
        return None  # the build says so
    request = CompareRequest(inputs.files)
    try:
        old, new = (compare_network(model, request, wheels, Limits()) for model in (before, after))
    except InputsError as error:
        words = f"network of TensorRT-RTX {wheels.version}: nothing was compared: {error}"
        return Verdict("network", None, words, {"release": wheels.version})
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
    return Verdict("network", good, words, figures)


def _no_worse(before: str, after: str) -> bool | None:
    """Whether one build got as far as another; None where that is not told."""
    if before in _STAGES and after in _STAGES:
        return _STAGES.index(after) >= _STAGES.index(before)
    if _STAGES[-1] in (before, after):
        return after == _STAGES[-1]
    return None


def _stage(found: DryBuild) -> str:
    """How far a build got: one of ``_STAGES`` where it ended by itself."""
    result = found.result
    if result.built:
        return "built"
    if result.parsed is False:
        return "refused by the parser"
    if result.built is False:
        return "refused by the builder"
    if result.unfit:
        return "not built (no size that was tried fits it)"
    return f"not built ({result.signal or _CAUSES.get(result.cause, result.cause)})"


def _fused(found: DryBuild) -> int:
    """Layers that are fused attention kernels."""
    layers = found.record.layers if found.record is not None else None
    return 0 if layers is None else sum("mha" in layer.name.lower() for layer in layers.layers)


def _warnings(found: DryBuild) -> int:
    """Lines that the builder printed as warnings."""
    log = found.record.log if found.record is not None else None
    return 0 if log is None else log.severities.get("W", 0)
