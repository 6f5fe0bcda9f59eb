"""Tests of the encoders in the conversion benchmark."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from benchmarks.attention import FORMS
from trtlint.conversion.session import ConversionRequest, ConversionSession


@pytest.mark.parametrize("form", FORMS)
def test_attention_of_an_encoder_computes_in_16_bits(tmp_path: Path, form: str) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(FORMS[form]().model(), path)
    onnx.checker.check_model(str(path), full_check=True)
    found = ConversionSession(ConversionRequest(path, measure=False)).draft().conversion
    blocks = [island.type for island in found.islands if island.kind == "attention"]
    assert (blocks, found.share) == (["fp16", "fp16"], 1.0)
    # The Casts around norms that are written out are needed: TensorRT warns of such norms in 16 bits.
    assert any(cast.inside for cast in found.casts) is (form == "norm_written_out")
