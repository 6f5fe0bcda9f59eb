"""Tests that findings do not mention "this GPU" without a named GPU."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import trtlint
from trtlint.facts.of_model.known_bad import _with_gpus
from trtlint.keywords import Keywords

BF16 = """
< ir_version: 8, opset_import: ["" : 17] >
net (bfloat16[1,64] x, bfloat16[64,64] w) => (bfloat16[1,64] y)
{ y = MatMul (x, w) }
"""
FP8 = """
< ir_version: 9, opset_import: ["" : 19] >
net (float[2] x) => (float[2] y) < float s = {0.5}, float8e4m3fn z = {0} >
{ q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }
"""


def texts(gpu: str | None) -> dict[str, str]:
    command = "trtexec --onnx=net.onnx --bf16 --fp8"
    keywords: Keywords = {"trt": "10.8", "command": command}
    if gpu is not None:
        keywords["gpu"] = gpu
    (report,) = trtlint.lint("net.onnx", **keywords).models
    found = (*report.findings, *report.conditional)
    return {each.rule: " ".join((each.message, *each.advice)) for each in found}


@pytest.mark.parametrize("text", [BF16, FP8])
def test_no_gpu_is_called_this_gpu(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(text), "net.onnx")
    found = texts(None)
    assert {"BLD215", "PORT149"} <= found.keys()
    for rule in ("BLD215", "PORT149"):
        assert "older GPU" in found[rule].split(". ")[0]
    assert "this GPU" not in found["BLD215"]
    named = texts("T4")
    assert "the build fails on this GPU" in named["BLD215"]
    assert "this GPU does not support this type" in named["PORT149"]


def test_causes_on_many_gpus_do_not_name_one() -> None:
    assert _with_gpus("wrong on this GPU", [87]) == "wrong on SM 8.7"
    assert _with_gpus("wrong on this GPU", [80, 86, 87, 89]) == "wrong on these GPUs"
