"""How much a dry build says about a target: it is a build by TensorRT-RTX, perhaps for another GPU.

About TensorRT-RTX of its own release it says all that a build says.  The parser of a release of
TensorRT whose sources it has is good evidence of what that one refuses, any other parser some.  The
builder is another product's: its networks are strongly typed, its kernels are others and nothing is
timed, so that what it says of TensorRT is an indication at most.
"""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from trtlint.dry_build.result import Result
from trtlint.engine.finding import Confidence
from trtlint.knowledge.rtx import builder
from trtlint.target.target import Target

Stage = Literal["parse", "build"]

OF_ANOTHER_BUILD = frozenset({"build", "engine", "layer", "placement"})
"""Kinds of facts about kernels, times and settings: a dry build's are not those of another product."""


def bearing(result: Result, stage: Stage, target: Target) -> Confidence:
    """How sure what a dry build shows at a stage is for a target; ``confirmed`` where it is its own."""
    line = _line(result.version)
    if target.product == "tensorrt-rtx" and (target.release is None or _words(target.release) == line):
        same_gpu = stage == "parse" or target.sm is None or target.sm == result.sm
        return "confirmed" if same_gpu else "low"
    if stage == "build":
        return "low"
    parser = builder(result.version).parser
    tied = target.product == "tensorrt" and target.release is not None and _words(target.release) == parser
    return "high" if tied else "medium"


def reached(result: Result) -> Stage:
    """The stage that the errors of a dry build are of."""
    return "build" if result.parsed and result.level == "build" else "parse"


def takes(result: Result, stage: Stage) -> bool:
    """Whether a stage was passed: the parser took the model, or the builder built it."""
    return bool(result.parsed if stage == "parse" else result.built)


def _line(version: str) -> str:
    return _words(Version(version).release)


def _words(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release[:2]))
