"""Request a dry run of Torch-TensorRT on an exported program, as data for another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.evidence.torch import TorchProgramEvidence, script_evidence
from trtlint.facts.kinds import Ground
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import TorchRequest, ask
from trtlint.torch_tensorrt.options import builder_flags
from trtlint.torch_tensorrt.program import Program, read_program

_USUAL_SM = 89
_BUILT = (75, 80, 86, 89, 120)
"""Compute capabilities that the wheels of TensorRT-RTX can build for without a GPU."""


class TorchJob(Struct, frozen=True):
    """A request to run Torch-TensorRT on an exported program, without a GPU.

    Attributes:
        program: the program.
        request: the settings of the dry run.  The job sets ``sm`` from the targets.
    """

    program: Program
    request: TorchRequest

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of data that the dry run may provide as facts."""
        return frozenset({"torch", "network"})

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run Torch-TensorRT for the first GPU of the targets."""
        sm = next((target.sm for target in targets if target.sm is not None), _USUAL_SM)
        nearest = min(_BUILT, key=lambda own: (abs(own - sm), own))
        run = ask(model, replace(self.request, sm=nearest))
        return (TorchProgramEvidence(replace(self.program, run=run)),)

    def elsewhere(self) -> TorchJob:
        """Return the job unchanged, because it needs no folder of this machine."""
        return self


SCRIPT, PROGRAM = ".py", ".pt2"


def is_torch(path: str) -> bool:
    """Return whether a path is a Python script or an exported program."""
    return path.lower().endswith((SCRIPT, PROGRAM))


def torch_evidence(
    path: Path, release: str, request: TorchRequest | None
) -> tuple[tuple[Evidence | PendingEvidence, ...], tuple[Problem, ...]]:
    """Return the evidence from a script or program, and the problems if it cannot be read.

    Args:
        path: the file.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        request: the settings of a dry run of an exported program; None to use only trtlint's table of
            operators.
    """
    try:
        if path.name.lower().endswith(SCRIPT):
            return (script_evidence(path, release),), ()
        program = read_program(path, release)
    except (UnreadableError, OSError) as error:
        return (), (Problem.of(path, error),)
    if request is None:
        return (TorchProgramEvidence(program),), ()
    return (TorchJob(program, request),), ()


def for_release(
    targets: Iterable[Target], release: TorchRelease, request: TorchRequest | None = None
) -> tuple[Target, ...]:
    """Return the targets with the settings that a release of Torch-TensorRT implies.

    A target without a version gets the TensorRT version of the release.  With a dry run, targets also get the
    builder flags that Torch-TensorRT sets.  Flags of the user take precedence.
    """
    flags: Mapping[str, bool] = {} if request is None else builder_flags(release, request.options.values)
    return tuple(
        (target if target.version is not None else replace(target, version=release.tensorrt)).completed(flags)
        if target.product == "tensorrt"
        else target
        for target in targets
    )
