"""Find parts of a program whose conversion or build fails in a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact
from trtlint.model.origin import Origin, origin_of_trace
from trtlint.torch_tensorrt.faults import faults_of, is_known
from trtlint.torch_tensorrt.program import Program


class TorchFailureFact(TorchFact, frozen=True):
    """A part of a program for which Torch-TensorRT cannot make an engine, according to a dry run.

    Attributes:
        engine: the name of the part of the program.
        stage: ``network`` if a converter fails, ``build`` if the builder of TensorRT-RTX rejects the network.
        said: the text of the error.
        op: the operator at which the converter failed; empty if unknown.
        known: True if a known fault of a converter explains the error. Rule TTR209 reports this fault.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        code_origin: the line of the model's code.
    """

    engine: str
    stage: Literal["network", "build"]
    said: str
    op: str
    known: bool
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the name of the part of the program."""
        return self.engine


def find(facts: Facts) -> Iterator[TorchFailureFact]:
    """Yield the failures in the order of the engines."""
    program = facts.data(Program)
    if program is None or program.run is None:
        return
    faults = tuple(faults_of(program)) if program.run.failures else ()
    for each in program.run.failures:
        node = each.node
        yield TorchFailureFact(
            engine=each.engine,
            stage="network" if each.stage == "network" else "build",
            said=each.message,
            op="" if node is None else node.op,
            known=is_known(faults, each.message, node),
            release=program.release,
            code_origin=Origin() if node is None else origin_of_trace(node.trace, node.module),
        )
