"""Tests of partitions through the Python API."""

from __future__ import annotations

from pathlib import Path

import pytest

import trtlint
from tests.dry_build.rtx import NEEDS_WHEELS
from tests.partition.test_predict import TWO_UNIQUES, write
from trtlint.errors import SettingError


def test_the_api_divides_a_model(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    options = {"trt_op_types_to_exclude": "Abs"}
    (report,) = trtlint.lint(path, trt="10.13", ep="tensorrt", ep_options=options).models
    (found,) = [each.data for each in report.evidence if each.kind == "partition"]
    assert found["left"] == ["u1", "b", "u2"]


def test_only_the_tensorrt_provider_needs_full_shapes(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    failures = []
    for provider in ("tensorrt", "nv-tensorrt-rtx"):
        (report,) = trtlint.lint(path, ep=provider).models
        failures.append(report.evidence[0].data["failure"])
    assert failures[0].startswith("tensor q has no full shape")
    assert failures[1] == ""


@pytest.mark.slow
@NEEDS_WHEELS
def test_the_api_asks_the_parser(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    (report,) = trtlint.lint(path, trt="10.13", ep="tensorrt", dry_build="parse").models
    (found,) = [each.data for each in report.evidence if each.kind == "partition"]
    assert (found["basis"], found["as_predicted"]) == ("parser", True)


def test_wrong_keywords_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    with pytest.raises(SettingError, match="expected one of"):
        trtlint.lint(path, ep="cuda")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="needs ep"):
        trtlint.lint(path, ep_options={"a": 1})
