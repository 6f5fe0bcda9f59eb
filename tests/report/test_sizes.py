"""Tests of long symbolic sizes in drawings."""

from __future__ import annotations

from trtlint.engine.finding import Row
from trtlint.report.drawing import Marks, draw, shortened

LONG = "(((((((height - 1)//2)) + 1 - 1)//2)) + 1)"


def test_short_sizes_stay() -> None:
    types = ["f32[batch,84,8400]", "f32[]", "f32", "", "i64[sequence_length + past_length,4,64,128]"]
    assert shortened(types) == (types, [])


def test_a_long_size_gets_a_name_that_all_types_share() -> None:
    found, legend = shortened([f"f32[batch,84,{LONG}]", f"f32[batch,{LONG},Max(width, {LONG})]"])
    assert found == ["f32[batch,84,h1]", "f32[batch,h1,m2]"]
    assert legend[0] == f"h1 = {LONG}"


def test_the_legend_is_bounded() -> None:
    _, legend = shortened([f"f32[{'(n + 1)' * 1000}]"])
    assert max(map(len, legend)) < 200


def test_a_drawing_has_the_legend_below() -> None:
    rows = (Row("conv", "Conv", f"f32[batch,84,{LONG}]", label="here"),)
    lines = [line.plain for line in draw([Marks(rows, "")], None)]
    assert any("f32[batch,84,h1]" in line for line in lines)
    assert lines[-2].split("|")[1].strip() == f"h1 = {LONG}"
