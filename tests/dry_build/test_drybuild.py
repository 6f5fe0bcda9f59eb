"""Tests of NVIDIA's parser and builder on models, and of crashes that trtlint survives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.dry_build import models
from tests.dry_build.rtx import NEEDS_WHEELS, VERSION
from trtlint.dry_build.drybuild import DryBuildRequest, dry_build
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.shapes import ShapeRange
from trtlint.dry_build.wheels import Wheels
from trtlint.model.errors import ModelError
from trtlint.process.spawn import Limits

pytestmark = NEEDS_WHEELS


def test_a_model_is_built_for_shapes_that_are_named(tmp_path: Path) -> None:
    dry = dry_build(models.write(tmp_path, models.BUILT))
    result = dry.result
    assert (result.parsed, result.built, result.cause, result.stage) == (True, True, "done", "build")
    assert [shape.words for shape in result.shapes] == ["x=1x3x224x224"]
    assert result.shapes[0].chosen
    assert result.label == f"dry build, TensorRT-RTX {VERSION}, SM 8.9"
    assert dry.record is not None
    assert dry.record.settings.sm == 89
    assert dry.record.layers is not None
    assert dry.record.log_name == result.label


def test_what_was_said_of_shapes_counts(tmp_path: Path) -> None:
    said = ShapeRange("x", ((1, 3, 8, 8), (2, 3, 16, 16), (4, 3, 32, 32)))
    (shape,) = dry_build(models.write(tmp_path, models.BUILT), shapes=[said], sm=120).result.shapes
    assert shape.words == "x=1x3x8x8..2x3x16x16..4x3x32x32"
    assert not shape.chosen


def test_the_parser_names_every_node_that_it_refuses(tmp_path: Path) -> None:
    result = dry_build(models.write(tmp_path, models.UNSUPPORTED_TWICE)).result
    assert (result.parsed, result.built, result.stage) == (False, None, "parse")
    assert [(error.node, error.op, error.code) for error in result.errors] == [
        ("one", "Unique", "UNSUPPORTED_NODE"),
        ("two", "Unique", "UNSUPPORTED_NODE"),
    ]


def test_a_parse_alone_builds_nothing(tmp_path: Path) -> None:
    result = dry_build(models.write(tmp_path, models.BUILT), level="parse").result
    assert (result.parsed, result.built, result.stage, result.shapes) == (True, None, "parse", ())
    assert result.label == f"dry parse, TensorRT-RTX {VERSION}"


def test_the_builder_says_why_it_fails(tmp_path: Path) -> None:
    dry = dry_build(models.write(tmp_path, models.NO_KERNEL))
    assert (dry.result.parsed, dry.result.built) == (True, False)
    assert dry.record is not None
    assert dry.record.log is not None
    assert "attention_kernel" in dry.record.log.counts


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_crash_is_a_result(tmp_path: Path) -> None:
    result = dry_build(models.crashing(tmp_path)).result
    assert (result.cause, result.signal, result.stage) == ("crashed", "SIGSEGV", "build")
    assert (result.parsed, result.built) == (True, None)
    assert "engine build" in result.last_lines[-1]


def test_a_build_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    result = dry_build(models.write(tmp_path, models.BUILT), limits=Limits(seconds=0.001)).result
    assert (result.cause, result.signal, result.built) == ("time", "", None)


def test_zeros_take_the_place_of_weights_that_are_missing(tmp_path: Path) -> None:
    result = dry_build(models.with_external(tmp_path)).result
    assert (result.built, result.zeros) == (True, ("weights.bin",))


def test_weights_beyond_the_limit_are_not_given_to_the_builder(tmp_path: Path) -> None:
    model = models.with_external(tmp_path, size=16_384)
    with pytest.raises(
        DryBuildError, match=r"with 1\.0 GB of weights, .* raise the limit with --dry-build-memory 5G"
    ):
        dry_build(model, limits=Limits(memory=2 << 30))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ModelError):
        dry_build(path)


def test_the_nearest_gpu_is_built_for() -> None:
    assert DryBuildRequest(Wheels("1.7.1", ""), sm=90).built_sm == 89
    assert DryBuildRequest(Wheels("1.7.1", ""), sm=87).built_sm == 86
    assert DryBuildRequest(Wheels("1.7.1", "")).built_sm == 89
