"""Tests of facts about a whole exported program."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from trtlint.engine.evidence.torch import TorchProgramEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_program import TorchProgramFact
from trtlint.torch_tensorrt.program import Program
from trtlint.torch_tensorrt.result import DryRun

RUN = DryRun(
    torch="2.13.0",
    operators=9,
    supported=7,
    engines=2,
    in_torch=("a", "b", "c"),
    layers={"CONVOLUTION": 4, "ACTIVATION": 6},
    types={"FLOAT": 3, "HALF": 5, "BF16": 2},
    convolutions=4,
    tensor_weights=1,
    error="no",
)


def facts(run: DryRun | None) -> list[TorchProgramFact]:
    """Return the facts of a program with a dry run."""
    program = Program("m.pt2", "2.13.0", "2.13.0", (), run)
    found = Facts(None, evidence=[TorchProgramEvidence(program)]).of("torch_program")
    return [fact for fact in found if isinstance(fact, TorchProgramFact)]


def test_the_numbers_of_a_dry_run() -> None:
    (fact,) = facts(RUN)
    assert (
        asdict(fact).items()
        >= {
            "release": "2.13.0",
            "minor": 13,
            "operators": 9,
            "supported": 7,
            "engines": 2,
            "in_torch": 3,
            "convolutions": 4,
            "tensor_weights": 1,
            "layers": 10,
            "half_layers": 7,
            "error": "no",
        }.items()
    )
    assert (fact.is_whole, fact.node, fact.chain) == (True, None, ())


@pytest.mark.parametrize(
    ("types", "half"), [({}, 0), ({"FLOAT": 3}, 0), ({"HALF": 3}, 3), ({"BF16": 3, "INT32": 4}, 3)]
)
def test_layers_in_half_precision(types: dict[str, int], half: int) -> None:
    (fact,) = facts(replace(RUN, types=types))
    assert fact.half_layers == half


@pytest.mark.parametrize(
    ("engines", "in_torch", "count"), [(0, (), 9), (0, ("a",), 1), (1, (), 0), (None, (), 0)]
)
def test_nodes_that_run_in_pytorch(engines: int | None, in_torch: tuple[str, ...], count: int) -> None:
    (fact,) = facts(replace(RUN, engines=engines, in_torch=in_torch))
    assert (fact.engines, fact.in_torch) == (engines, count)


def test_no_dry_run_no_fact() -> None:
    assert facts(None) == []
    assert facts(replace(RUN, unasked="no wheels")) == []
