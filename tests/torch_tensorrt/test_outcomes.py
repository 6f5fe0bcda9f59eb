"""Tests of dry-run errors matched to operators with a known bug."""

from __future__ import annotations

import pytest

from trtlint.torch_tensorrt.arguments import OperatorArgument, TensorType
from trtlint.torch_tensorrt.faults import Outcome, faults_of, is_known, outcome_of
from trtlint.torch_tensorrt.program import Program, ProgramNode
from trtlint.torch_tensorrt.result import DryRun, Failure, Fallback

X = OperatorArgument("self", tensors=(TensorType("float32", (4, 8), False),))
SORT = ProgramNode("sort_1", "aten.sort.default", "head", "net.py:3", "", (X,))
RELU = ProgramNode("relu", "aten.relu.default", "head", "net.py:4", "", (X,))


def program(run: DryRun | None, *nodes: ProgramNode) -> Program:
    return Program("net.pt2", "2.13.0", "", nodes or (SORT, RELU), run)


def failed(name: str, op: str, trace: str = "") -> Fallback:
    return Fallback(name, op, "head", trace, "", "", "")


def outcome(run: DryRun | None) -> Outcome:
    each = program(run)
    ((node, fault),) = faults_of(each)
    return outcome_of(each, node, fault)


@pytest.mark.parametrize("run", [None, DryRun(unasked="no torch", error="(aten.sort.default in f)")])
def test_without_a_dry_run_there_is_no_result(run: DryRun | None) -> None:
    assert outcome(run) == Outcome()


@pytest.mark.parametrize(
    ("error", "known"),
    [
        ("IndexError: tuple index out of range (aten.sort.default in sort_validator)", True),
        ("RuntimeError: no shape. While executing %add : [args = (%sort_1, 1)]", True),
        ("RuntimeError: no shape. While executing %add : [args = (%sort_12, 1)]", False),
        ("AttributeError: no attribute (aten.relu.default in convert)", False),
    ],
)
def test_an_error_that_ends_the_compilation(error: str, known: bool) -> None:
    run = DryRun(error=error)
    assert outcome(run) == (Outcome("compile", error) if known else Outcome())
    assert is_known(tuple(faults_of(program(run))), error, None) is known


@pytest.mark.parametrize(
    ("node", "known"),
    [
        (failed("sort_1", "aten.sort.default"), True),
        (failed("sort_stable", "aten.sort.stable", "net.py:3"), True),
        (failed("sort_2", "aten.sort.default"), False),
        (failed("relu", "aten.relu.default", "net.py:4"), False),
    ],
)
def test_a_network_that_fails(node: Fallback, known: bool) -> None:
    run = DryRun(engines=1, failures=(Failure("acc_0", "network", "ValueError", node),))
    assert outcome(run) == (Outcome("network", "ValueError") if known else Outcome())


def test_a_network_that_the_builder_rejects() -> None:
    said = "Error Code 4 ([SORT]-[aten_ops.sort.default]-[/sort_1])"
    assert outcome(DryRun(engines=1, failures=(Failure("acc_0", "build", said),))) == Outcome("build", said)


@pytest.mark.parametrize(
    ("run", "stage"),
    [
        (DryRun(engines=1), "passed"),
        (DryRun(engines=0), "unused"),
        (DryRun(engines=1, fallbacks=(failed("sort_1", "aten.sort.default"),)), "unused"),
        (DryRun(engines=1, fallbacks=(failed("relu", "aten.relu.default"),)), "passed"),
    ],
)
def test_a_dry_run_without_an_error(run: DryRun, stage: str) -> None:
    assert outcome(run).stage == stage
