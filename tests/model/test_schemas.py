"""Tests of operator definitions in any opset that a file claims."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.cli import run
from trtlint.model.schemas import schema_at

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2,3] x, float[2,3] y) => (float[2,3] z) { a = Cast <to = 1> (x)
  z = Add (a, y) }
"""


@pytest.mark.parametrize("opset", [2**31 - 1, 2**31, 2**62])
def test_an_opset_beyond_the_library_is_as_good_as_its_last(opset: int) -> None:
    assert schema_at("Add", opset).since_version == schema_at("Add", 2**31 - 1).since_version


@pytest.mark.parametrize("opset", [-1, 0])
def test_an_opset_before_the_first_has_no_operators(opset: int) -> None:
    with pytest.raises(onnx.defs.SchemaError):
        schema_at("Add", opset)


def test_a_model_that_claims_such_an_opset_is_linted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(onnx.parser.parse_model(MODEL))
    model.opset_import[0].version = 2**40
    onnx.save(model, tmp_path / "m.onnx")
    assert run([str(tmp_path / "m.onnx"), "--no-cache", "--isolated"]) in (0, 1, 3)
    assert "a bug in trtlint" not in capsys.readouterr().out
