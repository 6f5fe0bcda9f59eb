"""Find the operators of a program that are affected by known faults of Torch-TensorRT converters."""

from __future__ import annotations

from collections.abc import Iterator

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact
from trtlint.model.origin import Origin, origin_of_trace
from trtlint.torch_tensorrt.faults import Stage, faults_of, outcome_of
from trtlint.torch_tensorrt.program import Program


class TorchConverterFaultFact(TorchFact, frozen=True):
    """An operator that meets the conditions of a known fault of its Torch-TensorRT converter.

    Attributes:
        op: the operator, such as ``aten.sort.default``.
        name: the name of the operator's node in the graph.
        fault: the name of the fault in trtlint/knowledge/torch_converter_faults.yaml.
        words: the effect of the fault, as a text.
        instead: what the user can do in this release.
        fixed: the first release line without the fault, such as ``2.14``; empty if there is none.
        ends: True if the compilation ends with an error; False if the engine computes wrong results.
        source: URL of the pull request or the issue.
        stage: the stage of the dry run that failed at this operator: ``compile``, ``network`` or ``build``.
            ``passed``: no stage failed at the operator. Empty: the dry run does not show the result.
        said: the error of the dry run; empty if there was no error.
        code_origin: the line of the model's code.
    """

    op: str
    name: str
    fault: str
    words: str
    instead: str
    fixed: str
    ends: bool
    source: str
    stage: Stage
    said: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the name of the node in the graph."""
        return self.name


def find(facts: Facts) -> Iterator[TorchConverterFaultFact]:
    """Yield, in graph order, the first fault of each operator that Torch-TensorRT converts."""
    program = facts.data(Program)
    if program is None:
        return
    for node, fault in faults_of(program):
        outcome = outcome_of(program, node, fault)
        if outcome.stage == "unused":
            continue
        yield TorchConverterFaultFact(
            release=program.release,
            op=node.op,
            name=node.name,
            fault=fault.name,
            words=fault.words,
            instead=fault.do,
            fixed=f"2.{fault.fixed}" if fault.fixed else "",
            ends=fault.ends,
            source=fault.source,
            stage=outcome.stage,
            said=outcome.said,
            code_origin=origin_of_trace(node.trace, node.module),
        )
