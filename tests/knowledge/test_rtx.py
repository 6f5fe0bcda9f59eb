"""Tests of the targets that the TensorRT-RTX wheels can build."""

from __future__ import annotations

import pytest

from trtlint.knowledge.gpus import architectures
from trtlint.knowledge.releases import minors
from trtlint.knowledge.rtx import USUAL_SM, builder, builders


def test_every_row_is_about_releases_and_gpus_that_are_known() -> None:
    known = {each.sm for each in architectures()}
    for each in builders():
        assert each.line in minors("tensorrt-rtx")
        assert each.parser is None or each.parser in minors("tensorrt")
        assert set(each.sms) <= known
        assert USUAL_SM in each.sms


@pytest.mark.parametrize(("sm", "nearest"), [(89, 89), (90, 89), (87, 86), (100, 89), (110, 120), (50, 75)])
def test_the_nearest_that_can_be_built_for(sm: int, nearest: int) -> None:
    assert builder("1.7.1").nearest(sm) == nearest


def test_a_release_that_is_not_known_is_like_the_one_before_it_but_for_its_parser() -> None:
    assert builder("1.4.0").parser == "10.16"
    assert builder("9.9.9").sms == builders()[-1].sms
    assert builder("9.9.9").parser is None
    assert builder("1.0.0").sms == builders()[0].sms
