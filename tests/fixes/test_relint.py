"""Tests of outputs that declare no shape or a wrong shape: the fixed model declares the inferred shape."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.fixes.fixing import fixed
from trtlint.fixes.relint import checked
from trtlint.model.check import checker_error

ATTENTION = """
< ir_version: 11, opset_import: ["" : 23] >
g (float[N,4,16,64] q, float[N,4,16,64] k, float[N,4,16,64] v) => (float[N,4,16,64] y)
{ y = Attention (q, k, v) }
"""


def _dims(model: onnx.ModelProto) -> list[int | str]:
    dims = model.graph.output[0].type.tensor_type.shape.dim
    return [each.dim_param or each.dim_value for each in dims]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, ["N", 4, 16, 64]),  # as onnx_graphsurgeon writes outputs
        ([4, 16, 64], ["N", 4, 16, 64]),  # a wrong rank
        (["batch", 4, 8, 64], ["batch", 4, 16, 64]),  # a wrong size; the name of the caller stays
    ],
)
def test_the_output_declares_the_inferred_shape(
    tmp_path: Path, declared: list[int | str] | None, expected: list[int | str]
) -> None:
    model = onnx.parser.parse_model(ATTENTION)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, declared))
    with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
        onnx.checker.check_model(model, full_check=True)
    _, after = fixed(tmp_path, model)
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert _dims(after) == expected


def test_declarations_of_a_valid_model_stay(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(ATTENTION)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "heads"
    _, after = fixed(tmp_path, model)
    assert after is not None
    assert _dims(after) == ["N", "heads", 16, 64]


def test_different_errors_of_the_source_and_the_fixed_model_are_both_reported() -> None:
    before, after = onnx.parser.parse_model(ATTENTION), onnx.parser.parse_model(ATTENTION)
    before.graph.node[0].op_type = "Unknown"
    after.graph.node[0].op_type = "Other"
    assert checked(after, lambda: checker_error(before))[1] == (
        "the ONNX checker rejects the source model: No Op registered for Unknown with domain_version of 23; "
        "and the fixed model: No Op registered for Other with domain_version of 23; "
        "correct the source model first"
    )
