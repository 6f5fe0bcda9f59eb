"""Tests of two measurement examples on the command line: a NaN, and a norm in FP16."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trtlint.cli import run

pytest.importorskip("onnxruntime")

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ATTENTION = str(EXAMPLES / "unet_attention.onnx")
NORM, FEATURES = str(EXAMPLES / "nafnet.onnx"), str(EXAMPLES / "nafnet.npz")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output_of(code: int, *arguments: str) -> str:
    """Return the standard output of a command after a check of its exit code."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(list(arguments)) == code
    return out.getvalue()


def measured(code: int, *arguments: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(output_of(code, "measure", *arguments, "--format", "json"))
    return data


def test_the_nan_of_the_attention_is_not_of_rounding() -> None:
    """The first norm makes all features small: every type works, so the build finding remains."""
    features = np.random.default_rng(0).standard_normal((1, 32, 8, 8)) * 1000
    np.savez("batch.npz", in0=features.astype(np.float32))
    found = measured(0, ATTENTION, "--inputs", "batch.npz", "--type", "all", "-o", "ranges.json")
    assert found["verdict"] == "fine"
    assert [each["verdict"] for each in found["types"]] == ["fine", "fine"]
    assert max(found["error"].values()) < 2e-3
    assert found["keep_fp32"] == found["first_not_finite"] == []
    lint = [ATTENTION, "--trt", "10.7", "--fp16", "--format", "concise"]
    assert "warning[ACC103]" in output_of(1, *lint)
    assert "warning[ACC103]" in output_of(1, *lint, "--ranges", "ranges.json")
    output_of(0, "fix", ATTENTION, "--trt", "10.7", "--select", "ACC102,ACC103", "--output", "fixed.onnx")
    assert "ACC10" not in output_of(0, "fixed.onnx", "--trt", "10.7", "--fp16", "--format", "concise")
    assert measured(0, "fixed.onnx", "--inputs", "batch.npz")["verdict"] == "fine"


def test_the_norm_in_fp16_depends_on_the_build_until_its_statistics_are_of_fp32() -> None:
    said = output_of(1, "measure", NORM, "--inputs", FEATURES, "-o", "ranges.json")
    assert "FP16: depends on the build: within tolerance only if the builder fuses" in said
    assert "warning[ACC101]" in said
    found = json.loads(Path("ranges.json").read_text(encoding="ascii"))
    assert found["verdict"] == "depends"
    assert found["error"]["fused"] < 1e-3
    assert found["error"]["rounded"] > 0.1
    assert found["first_not_finite"] == ["/n1/Mul", "/n2/Mul"]
    assert found["kept"]["verified"]
    assert {"/n1/Mul", "/n1/ReduceMean_2", "/n2/Mul", "/n2/ReduceMean_2"} <= set(found["keep_fp32"])
    assert found["kept"]["runs"] <= 20
    output_of(0, "fix", NORM, "--ranges", "ranges.json", "--output", "kept.onnx")
    after = measured(0, "kept.onnx", "--inputs", FEATURES)
    assert after["verdict"] == "fine"
    assert max(after["error"].values()) < 2e-3
