"""What is to be asked of Torch-TensorRT about a program, as data that can go to another process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.torch_program import TorchProgramEvidence
from trtlint.facts.kinds import Ground
from trtlint.lean import dataclass
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import TorchRequest, ask
from trtlint.torch_tensorrt.program import Program

_USUAL_SM = 89
_BUILT = (75, 80, 86, 89, 120)
"""Compute capabilities that the wheels of TensorRT-RTX build for without a GPU."""


@dataclass(frozen=True, slots=True)
class TorchJob:
    """A dry run of Torch-TensorRT on a program.

    Attributes:
        program: the program, read.
        request: what to ask; its ``sm`` is that of the target.
    """

    program: Program
    request: TorchRequest

    @property
    def grounds(self) -> frozenset[Ground]:
        """The grounds that the dry run will let facts be found in."""
        return frozenset({"torch"})

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Ask Torch-TensorRT, for the first GPU among the targets."""
        sm = next((target.sm for target in targets if target.sm is not None), _USUAL_SM)
        nearest = min(_BUILT, key=lambda own: (abs(own - sm), own))
        run = ask(model, replace(self.request, sm=nearest))
        return (TorchProgramEvidence(replace(self.program, run=run)),)

    def elsewhere(self) -> TorchJob:
        """The job for another machine, which is the same."""
        return self
