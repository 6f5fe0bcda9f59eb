"""Describe a dry build as a whole, and the stage that it reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.dry_build.result import DryBuildResult
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts

Outcome = Literal["parsed", "built", "refused", "crashed", "out-of-time", "out-of-memory", "failed"]


class DryBuildFact(Fact, frozen=True):
    """A dry build, which runs NVIDIA's parser and builder on the model without a GPU.

    Attributes:
        label: a text that names the dry build, such as ``dry build, TensorRT-RTX 1.7.1, SM 8.9``.
        version: the release of TensorRT-RTX.
        sm: ten times the compute capability of the GPU for which the dry build runs the builder.
        outcome: the result of the dry build; ``failed`` if the process ended without a result.
        stage: the last stage that the dry build reached.
        signal: the signal that ended the process; empty if no signal ended it.
        seconds: the duration of the dry build in seconds.
        last_lines: the last lines of the log, if the process crashed or was stopped.
        shapes: the shapes of dynamic inputs in the build, such as ``x=1x3x224x224``.
        shapes_chosen: whether trtlint chose some of these shapes.
    """

    label: str
    version: str
    sm: int
    outcome: Outcome
    stage: Literal["load", "parse", "build"]
    signal: str
    seconds: float
    last_lines: tuple[str, ...]
    shapes: tuple[str, ...]
    shapes_chosen: bool


def find(facts: Facts) -> Iterator[DryBuildFact]:
    """Yield the fact about the dry build, or nothing if there was no dry build."""
    if facts.dry is None:
        return
    result = facts.dry.result
    yield DryBuildFact(
        label=result.label,
        version=result.version,
        sm=result.sm,
        outcome=_outcome(result),
        stage=result.stage,
        signal=result.signal,
        seconds=result.seconds,
        last_lines=result.last_lines,
        shapes=tuple(shape.words for shape in result.shapes),
        shapes_chosen=any(shape.chosen for shape in result.shapes),
    )


def _outcome(result: DryBuildResult) -> Outcome:
    if result.cause == "crashed":
        return "crashed"
    if result.cause == "time":
        return "out-of-time"
    if result.cause == "memory":
        return "out-of-memory"
    if result.cause == "failed":
        return "failed"
    if result.parsed is False or result.built is False:
        return "refused"
    return "built" if result.built else "parsed"
