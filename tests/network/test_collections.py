"""Tests of the comparison on models with differences and on field models, where present."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.dry_build.rtx import NEEDS_WHEELS
from trtlint.dry_build.wheels import find
from trtlint.network.compare import CompareRequest, compare_network
from trtlint.process.spawn import Limits

pytestmark = NEEDS_WHEELS
EXAMPLES = sorted((REPOSITORY / "examples").glob("*.onnx"))


@pytest.mark.slow
@pytest.mark.parametrize("model", EXAMPLES, ids=lambda model: model.name)
def test_the_networks_of_the_examples_compute_what_onnx_says(model: Path) -> None:
    found = compare_network(model, CompareRequest(probe=True), find(), Limits(120, 4 << 30))
    assert (found.differences, found.unclear, found.outcome) == ((), (), "agrees")
    assert found.share == 1.0
