"""Describe an exported program as a whole, from a dry run of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Iterator

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact
from trtlint.knowledge.torchreleases import torch_release
from trtlint.torch_tensorrt.faults import faults_of, is_known
from trtlint.torch_tensorrt.program import Program


class TorchProgramFact(TorchFact, frozen=True):
    """Results of a dry run of Torch-TensorRT.  The fact exists only if there was a dry run.

    Attributes:
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        minor: the minor number of the release, such as 13.
        operators: number of operators in the program after lowering.
        supported: number of these operators that have a converter.
        engines: number of engines; None if the compilation failed before this number was known.
        in_torch: number of nodes that run in PyTorch.
        convolutions: number of convolutions and deconvolutions in the TensorRT networks.
        tensor_weights: number of these convolutions whose weights are a computed tensor and not a constant.
        layers: number of layers in all TensorRT networks.
        half_layers: number of these layers whose result is in half precision (FP16 or BF16).
        error: the error that ended the compilation; empty if there was no error.
        known: True if a known fault of a converter explains the error. Rule TTR209 reports this fault.
    """

    minor: int
    operators: int
    supported: int
    engines: int | None
    in_torch: int
    convolutions: int
    tensor_weights: int
    layers: int
    half_layers: int
    error: str
    known: bool

    @property
    def is_whole(self) -> bool:
        """True: the fact is about the whole program."""
        return True


def find(facts: Facts) -> Iterator[TorchProgramFact]:
    """Yield one fact if there was a dry run of Torch-TensorRT."""
    program = facts.data(Program)
    if program is None or program.run is None or program.run.unasked:
        return
    run = program.run
    yield TorchProgramFact(
        release=program.release,
        minor=torch_release(program.release).minor,
        operators=run.operators,
        supported=run.supported,
        engines=run.engines,
        in_torch=run.torch_nodes,
        convolutions=run.convolutions,
        tensor_weights=run.tensor_weights,
        layers=sum(run.layers.values()),
        half_layers=run.types.get("HALF", 0) + run.types.get("BF16", 0),
        error=run.error,
        known=bool(run.error) and is_known(tuple(faults_of(program)), run.error, None),
    )
