"""Tests of releases identified by the source lines in error messages."""

from __future__ import annotations

import io

import pytest

from trtlint.buildfiles.log import read_log

COSTS = (
    "[E] 10: [optimizer.cpp::computeCosts::{}] Error Code 10: Internal Error "
    "(Could not find any implementation for node a.)"
)
LEAF = COSTS.replace("computeCosts", "nvinfer1::builder::cgraph::LeafCNode::computeCosts")
MYELIN = (
    "[E] IBuilder::buildSerializedNetwork: Error Code 1: Myelin "
    "(x. In compileGraph at /_src/optimizer/myelin/codeGenerator.cpp:{})"
)
OF_RTX = "[V] Number of target compute capabilities: 1"
BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v8401] # trtexec --onnx=a.onnx"


@pytest.mark.parametrize(
    ("lines", "product", "version"),
    [
        ((COSTS.format(3728),), "tensorrt", "8.5"),
        ((LEAF.format(3869),), "tensorrt", "8.6.1"),
        ((COSTS.format(2011),), "tensorrt", None),
        ((MYELIN.format(2012),), "tensorrt-rtx", "1.7.1"),
        ((MYELIN.format(1783),), None, None),
        ((OF_RTX, MYELIN.format(1783)), "tensorrt-rtx", "1.4.0"),
        ((MYELIN.format(7),), None, None),
        ((COSTS.format(3728), BANNER), "tensorrt", "8.4.1"),
        ((COSTS.format(3728).replace("[E]", "[V]"),), None, None),
    ],
)
def test_source_lines_date_what_nothing_else_does(
    lines: tuple[str, ...], product: str | None, version: str | None
) -> None:
    settings = read_log(io.BytesIO("\n".join([*lines, ""]).encode())).settings
    assert (settings.product, settings.version) == (product, version)
