"""Tests of the targets that the TensorRT-RTX wheels can build."""

from __future__ import annotations

import pytest

from trtlint.knowledge.gpus import architectures
from trtlint.knowledge.releases import minors
from trtlint.knowledge.rtx import USUAL_SM, builder, builders, nearest_first


def test_every_row_is_about_releases_and_gpus_that_are_known() -> None:
    known = {each.sm for each in architectures()}
    for each in builders():
        assert each.line in minors("tensorrt-rtx")
        assert each.parser is None or each.parser in minors("tensorrt")
        assert set(each.sms) <= known
        assert USUAL_SM in each.sms


@pytest.mark.parametrize(
    ("sm", "nearest"), [(89, 89), (90, 89), (87, 86), (100, 89), (110, 120), (50, 75), (None, 89)]
)
def test_the_nearest_that_can_be_built_for(sm: int | None, nearest: int) -> None:
    assert builder("1.7.1").nearest(sm) == nearest


@pytest.mark.parametrize(("version", "nearest"), [("1.4.0", 120), ("1.5.1", 121), ("1.7.1", 121)])
def test_the_release_decides_which_is_nearest(version: str, nearest: int) -> None:
    assert builder(version).nearest(121) == nearest


def test_the_compute_capabilities_of_any_release_in_order() -> None:
    assert nearest_first(83) == [80, 86, 89, 75, 120, 121]
    assert nearest_first(None) == nearest_first(USUAL_SM)


def test_a_release_that_is_not_known_is_like_the_one_before_it_but_for_its_parser() -> None:
    assert builder("1.4.0").parser == "10.16"
    assert builder("9.9.9").sms == builders()[-1].sms
    assert builder("9.9.9").parser is None
    assert builder("1.0.0").sms == builders()[0].sms
