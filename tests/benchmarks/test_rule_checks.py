"""Tests of rule claims that need no GPU."""

from __future__ import annotations

import pytest

from benchmarks.rule_checks.check import Check, checks
from benchmarks.rule_checks.rtx import installed
from tests.sampling import sample
from trtlint.engine.rulebook import load_builtin

CHECKS = [
    *(check for check in checks() if check.by != "builder"),
    *sample([check for check in checks() if check.by == "builder"], one_of=5),
]


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=[f"{check.rule}: {check.claim}" for check in CHECKS])
def test_the_claim_holds(check: Check) -> None:
    if check.by == "builder" and not installed():
        pytest.skip("TensorRT-RTX is not installed (tensorrt-rtx-cu12)")
    assert check.holds()


def test_checks_are_of_rules_that_there_are() -> None:
    assert {check.rule for check in checks()} <= {rule.id for rule in load_builtin()}
