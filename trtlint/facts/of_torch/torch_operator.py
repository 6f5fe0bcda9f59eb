"""Find operators of an exported program that run in PyTorch, and not in an engine of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact
from trtlint.knowledge.torchreleases import torch_operators, torch_release
from trtlint.model.origin import Origin, origin_of_trace
from trtlint.torch_tensorrt.program import Program

_FOLLOWS = "getitem"
"""Name of the operator that selects one result of another operator.

If PyTorch runs an operator, PyTorch also runs the ``getitem`` that selects a result of this operator.
"""
Reason = Literal["none", "validator", "static", "excluded", "complex", "data"]


class TorchOperatorFact(TorchFact, frozen=True):
    """An operator that runs in PyTorch, between the engines of Torch-TensorRT.

    Attributes:
        op: the operator, such as ``aten.cumprod.default``.
        name: the name of the operator's node in the graph.
        type: type and shape of the result; empty if unknown.
        reason: why the operator runs in PyTorch, as a text.
        reason_kind: the kind of reason. ``none``: there is no converter. ``validator``: the converter's
            validator refuses the operator. ``static``: the converter accepts only static shapes.
            ``excluded``: the options exclude the operator. ``complex``: the operator uses complex numbers.
            ``data``: the option ``fallback_data_dependent_ops`` makes the operator run in PyTorch.
        measured: True if Torch-TensorRT reported in a dry run that the operator runs in PyTorch; False if the
            fact comes from trtlint's table of releases.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        engines: number of engines of the whole program; None if there was no dry run.
        converted_from: the first release line after ``release`` that converts the operator; empty if there is
            none.
        code_origin: the line of the model's code.
    """

    op: str
    name: str
    type: str
    reason: str
    reason_kind: Reason
    measured: bool
    engines: int | None
    converted_from: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the name of the node in the graph."""
        return self.name


def find(facts: Facts) -> Iterator[TorchOperatorFact]:
    """Yield the operators in the order of the graph."""
    program = facts.data(Program)
    if program is None:
        return
    run = program.run
    if run is not None and run.operators:
        for each in run.fallbacks:
            if each.op == _FOLLOWS or each.reason_kind == "cpu":
                continue
            kind: Reason = each.reason_kind  # type: ignore[assignment]
            yield TorchOperatorFact(
                program.release, each.op, each.name, each.type, each.reason, kind, True,
                run.engines, _converted_from(each.op, program.release),
                origin_of_trace(each.trace, each.module),
            )  # fmt: skip
        return
    for node in program.nodes:
        row = torch_operators().get(node.op)
        if row is not None and row.in_torch(program.release):
            yield TorchOperatorFact(
                program.release, node.op, node.name, node.type, "no converter", "none", False,
                None, _converted_from(node.op, program.release), origin_of_trace(node.trace, node.module),
            )  # fmt: skip


def _converted_from(op: str, release: str) -> str:
    """Return the first release line after ``release`` that converts an operator.

    The result is an empty string if there is no such line.
    """
    row = torch_operators().get(op)
    if row is None:
        return ""
    own = torch_release(release).minor
    later = [torch_release(each) for each in row.asked if torch_release(each).minor > own]
    return next((each.line for each in later if each.version not in row.falls_back), "")
