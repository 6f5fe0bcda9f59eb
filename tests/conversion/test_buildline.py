"""Tests of build commands for a converted model."""

from __future__ import annotations

import pytest

from trtlint.conversion.buildline import build_line
from trtlint.target.target import Target

WEAK = "trtexec --onnx={model} --stronglyTyped"
STRONG = "trtexec --onnx={model}"
RTX = "tensorrt_rtx --onnx={model}"


@pytest.mark.parametrize(
    ("targets", "command"),
    [
        ([], WEAK),
        ([Target()], WEAK),
        ([Target(product="tensorrt")], WEAK),
        ([Target(product="tensorrt", version="10.16")], WEAK),
        ([Target(product="tensorrt", version="11.0")], STRONG),
        ([Target(product="tensorrt", version="11.3")], STRONG),
        ([Target(product="tensorrt-rtx")], RTX),
        ([Target(product="tensorrt-rtx", version="1.3")], RTX),
        ([Target(product="tensorrt", version="11.0"), Target(product="tensorrt-rtx")], STRONG),
    ],
)
def test_the_command_is_for_the_first_target(targets: list[Target], command: str) -> None:
    assert build_line(targets) == command
