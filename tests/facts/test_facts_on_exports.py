"""Tests of facts about quantizers, constants, cost and weights on real exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sampling import sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.convolution import Convolution
from trtlint.facts.of_model.cost import Cost
from trtlint.facts.of_model.foldable import Foldable
from trtlint.facts.of_model.quantized import Quantized
from trtlint.facts.of_weights.weights import Weights
from trtlint.model.load import load


@pytest.fixture(scope="module")
def models(exported: Path) -> list[Facts]:
    files = sample(sorted(exported.glob("*.onnx")))
    return [Facts(load(file), weights=True) for file in files]


def of(models: list[Facts], kind: type) -> Iterator[object]:
    for facts in models:
        yield from facts.of(kind.kind)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_only_models_with_quantizers_have_quantized_layers(models: list[Facts]) -> None:
    for facts in models:
        if facts.of("quantized"):
            assert facts.model.graph.count("DequantizeLinear"), facts.model.path
    for fact in of(models, Quantized):
        assert isinstance(fact, Quantized)
        assert fact.quantized or fact.result is not None
        assert fact.quantized == sum(each.quantizer is not None for each in fact.operands)


def test_constants_that_are_computed_are_read_by_what_is_not(models: list[Facts]) -> None:
    for facts in models:
        for fact in facts.of("foldable"):
            assert isinstance(fact, Foldable)
            assert fact.node is not None
            assert facts.model.constants.foldable(fact.node.output)
            assert fact.readers or fact.node.output.is_output
            assert fact.bytes is None or fact.size is None or fact.bytes * 8 >= fact.size


def test_the_work_of_convolutions_follows_from_their_channels(models: list[Facts]) -> None:
    seen = 0
    for facts in models:
        convolutions = {fact.node: fact for fact in facts.of("convolution")}
        for cost in facts.of("cost"):
            assert isinstance(cost, Cost)
            convolution = convolutions.get(cost.node)
            if cost.op != "Conv" or cost.flops is None or cost.elements is None:
                continue
            assert isinstance(convolution, Convolution)
            assert convolution.channels is not None
            assert convolution.taps is not None
            each = convolution.channels // convolution.groups * convolution.taps
            assert cost.flops == 2 * cost.elements * each
            seen += 1
    assert seen


def test_no_weight_of_an_export_is_wrong(models: list[Facts]) -> None:
    found = [fact for fact in of(models, Weights) if isinstance(fact, Weights) and fact.compute]
    assert len(found) > 50
    assert not [fact.name for fact in found if fact.nan or fact.infinite or fact.beyond_fp16]
