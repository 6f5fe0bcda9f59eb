"""The whole fixed model against its source: what it computes, and what NVIDIA's builder makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtlint.trials.comparison import Inputs, compare

if TYPE_CHECKING:
    from trtlint.trials.result import DryBuild

_JUDGEMENTS = {True: "as before or better", False: "worse", None: "not told"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of the whole model found.

    Attributes:
        check: what was done: ``outputs`` or ``build``.
        good: whether the fixed model may be written; None where nothing could be told.
        words: the figures in words.
        figures: by name.
    """

    check: str
    good: bool | None
    words: str
    figures: dict[str, Any]

    @property
    def judgement(self) -> str:
        """Whether the fixed model may be written, in words."""
        return _JUDGEMENTS[self.good]

    @property
    def document(self) -> dict[str, Any]:
        """It as JSON data."""
        return {"check": self.check, "good": self.good, "says": self.words, "figures": self.figures}


def outputs(
    before: Path, after: Path, inputs: Inputs, *, wide: bool = False, mended: bool = False
) -> Verdict:
    """Compare what both compute.

    Args:
        before: the source.
        after: the fixed model.
        inputs: what to run both on.
        wide: whether to do so in FP32, as the source may leave the range of its types.
        mended: whether what is NaN in the source may be a number.
    """
    found = compare(before, after, inputs, wide=wide, mended=mended)
    figures = {"sets": found.sets, "largest_difference": found.difference}
    return Verdict("outputs", found.equal, found.words, figures)


def build(before: Path, after: Path, sm: int | None) -> Verdict:
    """Build both with TensorRT-RTX, without a GPU."""
    from trtlint.trials.drybuild import dry_build
    from trtlint.trials.errors import DryBuildError, WheelError

    try:
        old, new = (dry_build(model, sm=sm) for model in (before, after))
    except (DryBuildError, WheelError) as error:
        return Verdict("build", None, str(error), {})
    stages = _stage(old), _stage(new)
    fused = _fused(old), _fused(new)
    good = new.result.built is True or old.result.built is not True
    words = f"TensorRT-RTX {new.result.version}: {stages[0]} before, {stages[1]} after"
    if old.result.built and new.result.built:
        words += f"; fused attention {fused[0]} before, {fused[1]} after"
        good = fused[1] >= fused[0]
    figures = {
        "label": new.result.label,
        "built_before": old.result.built,
        "built_after": new.result.built,
        "fused_attention_before": fused[0],
        "fused_attention_after": fused[1],
    }
    return Verdict("build", good, words, figures)


def _stage(found: DryBuild) -> str:
    result = found.result
    if result.built:
        return "built"
    if result.parsed is False:
        return "refused by the parser"
    return "refused by the builder" if result.built is False else "not built"


def _fused(found: DryBuild) -> int:
    """Layers that are fused attention kernels."""
    layers = found.record.layers if found.record is not None else None
    return 0 if layers is None else sum("mha" in layer.name.lower() for layer in layers.layers)
