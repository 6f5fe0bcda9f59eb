"""Settings of a build, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.buildfiles.settings import BuildSettings, from_json


def read(**sections: dict[str, Any]) -> BuildSettings:
    found = from_json({"device_information": {}, **sections})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("section", "key", "value", "field", "expected"),
    [
        ("build_options", "Precision", "FP32+FP16", "precision", {"fp32", "fp16"}),
        ("build_options", "Precision", "FP32+INT8 (prefer precision constraints)", "constraints", "prefer"),
        ("build_options", "Precision", "FP32+INT8 (obey precision constraints)", "constraints", "obey"),
        ("build_options", "Precision", "FP32", "constraints", None),
        ("build_options", "Precision", "FP32", "strongly_typed", False),
        ("build_options", "Precision", "Strongly Typed", "strongly_typed", True),
        ("build_options", "Precision", "?", "strongly_typed", None),
        ("build_options", "Precision", "?", "precision", None),
        ("model_options", "Precision", "FP32", "precision", None),
        ("build_options", "BuilderOptimizationLevel", "5", "optimization_level", 5),
        ("build_options", "BuilderOptimizationLevel", "0", "optimization_level", 0),
        ("build_options", "BuilderOptimizationLevel", "-1", "optimization_level", None),
        ("build_options", "BuilderOptimizationLevel", "high", "optimization_level", None),
        ("model_options", "BuilderOptimizationLevel", "5", "optimization_level", None),
        ("model_options", "Model", "a.onnx", "model", "a.onnx"),
        ("build_options", "Model", "a.onnx", "model", None),
        ("device_information", "Selected Device", "NVIDIA L4", "gpu", "NVIDIA L4"),
        ("device_information", "Compute Capability", "8.9", "sm", 89),
        ("device_information", "Compute Capability", "12.0", "sm", 120),
        ("device_information", "Compute Capability", "89", "sm", None),
    ],
)
def test_an_option_of_trtexec(section: str, key: str, value: str, field: str, expected: object) -> None:
    found = read(**{section: {key: value}})
    assert getattr(found, field) == expected
    assert (field in found.found) is (expected is not None)


def test_the_first_value_stays() -> None:
    found = read(
        build_options={"Precision": "FP32"}, device_information={"Compute Capability": 8.6, "Other": None}
    )
    assert (found.sm, found.precision, dict(found.found)) == (
        86,
        {"fp32"},
        {"strongly_typed": 1, "precision": 1, "sm": 1},
    )


@pytest.mark.parametrize("document", [{}, [], {"build_options": 3}, {"other": {}}, None])
def test_another_document(document: object) -> None:
    assert from_json(document) is None
