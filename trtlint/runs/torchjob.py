"""Describe a dry run of Torch-TensorRT on an exported program as data that another process executes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.evidence.torch import TorchProgramEvidence, script_evidence
from trtlint.facts.kinds import Ground
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.torchreleases import SCRIPTS, TorchRelease
from trtlint.target.target import Target, first_sm
from trtlint.torch_tensorrt.asking import TorchRequest, ask
from trtlint.torch_tensorrt.program import Program, read_program


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
        run = ask(model, replace(self.request, sm=first_sm(targets)))
        return (TorchProgramEvidence(replace(self.program, run=run)),)

    def elsewhere(self) -> TorchJob:
        """Return the job unchanged, because it writes to no folder of this machine."""
        return self


class TorchInput(Struct, frozen=True):
    """A Python script or an exported program, as input of a run.

    Attributes:
        path: the file, or ``--build`` for a call that is given as text.
        evidence: the calls of the script, or the operators of the program; empty if it cannot be read.
        problems: the reasons why the file cannot be read.
    """

    path: Path
    evidence: tuple[Evidence | PendingEvidence, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The options of the compiler for a dry run; None without a dry run."""
        return next(
            (each.request.options.values for each in self.evidence if isinstance(each, TorchJob)), None
        )


def read_input(path: Path, release: TorchRelease, request: TorchRequest | None) -> TorchInput:
    """Read a script or an exported program.

    Args:
        path: the file.
        release: the release of Torch-TensorRT.
        request: the settings of a dry run of an exported program; None to use only trtlint's table of
            operators.
    """
    try:
        if path.name.lower().endswith(SCRIPTS):
            return TorchInput(path, (script_evidence(path, release.version),))
        program = read_program(path, release.version)
    except (UnreadableError, OSError) as error:
        return TorchInput(path, problems=(Problem.of(path, error),))
    if request is None:
        return TorchInput(path, (TorchProgramEvidence(program),))
    return TorchInput(path, (TorchJob(program, request),))
