"""Tests of single build settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from trtlint.buildfiles.settings import BuildSettings, Collector, decode_version, from_json


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


def known(collector: Collector, tools: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the settings that a collector knows, and the lines of those with a line."""
    found = collector.settings(tools)
    return {
        name: value for name in BuildSettings.__struct_fields__ if (value := getattr(found, name)) is not None
    }


RUNNING = {"state": "RUNNING", "tool": "TensorRT.trtexec", "number": "101303", "command": ""}
COMMAND = (
    "trtexec --avgRuns=8 --FP16 --int8 --best --noTF32 --fp16x --precisionConstraints=obey "
    "--builderOptimizationLevel=3 fp8 --precisionConstraints=prefer --builderOptimizationLevel=4"
)


@pytest.mark.parametrize(
    ("settles", "groups", "expected"),
    [
        (
            "banner",
            {**RUNNING, "build": "9"},
            {
                "product": "tensorrt",
                "version": "10.13.3",
                "tool": "trtexec",
                "found": {"product": 7, "version": 7},
            },
        ),
        (
            "banner",
            {**RUNNING, "state": "PASSED", "tool": "TensorRT-RTX.tensorrt_RTX", "number": "12"},
            {
                "product": "tensorrt-rtx",
                "tool": "tensorrt-rtx.tensorrt_rtx",
                "strongly_typed": True,
                "status": "passed",
                "found": {"status": 7, "product": 7},
            },
        ),
        (
            "banner",
            {**RUNNING, "state": "FAILED", "rtx": "", "number": "8510"},
            {
                "product": "tensorrt-rtx",
                "version": "8.5.10",
                "tool": "trtexec",
                "strongly_typed": True,
                "status": "failed",
                "found": {"status": 7, "product": 7, "version": 7},
            },
        ),
        (
            "command",
            {"command": f" {COMMAND} "},
            {
                "command": COMMAND,
                "flags": {"fp16", "int8", "best", "no-tf32"},
                "tf32": False,
                "constraints": "obey",
                "optimization_level": 3,
                "found": dict.fromkeys(("command", "flags", "tf32", "constraints", "optimization_level"), 7),
            },
        ),
        (
            "command",
            {"command": "trtexec --stronglyTyped --precisionConstraints=none --builderOptimizationLevel=x"},
            {
                "command": "trtexec --stronglyTyped --precisionConstraints=none --builderOptimizationLevel=x",
                "flags": {"strongly-typed"},
                "strongly_typed": True,
                "found": {"command": 7, "flags": 7, "strongly_typed": 7},
            },
        ),
        (
            "command",
            {"command": "trtexec --saveEngine='a --fp16"},
            {
                "command": "trtexec --saveEngine='a --fp16",
                "flags": {"fp16"},
                "found": {"command": 7, "flags": 7},
            },
        ),
        ("command", {"command": " "}, {"found": {}}),
        ("command", {"command": "trtexec"}, {"command": "trtexec", "flags": set(), "found": {"command": 7}}),
        (
            "version",
            {"version": "8.6.1."},
            {"product": "tensorrt", "version": "8.6.1", "found": {"product": 7, "version": 7}},
        ),
        (
            "version",
            {"version": "11.0"},
            {
                "product": "tensorrt",
                "version": "11.0",
                "strongly_typed": True,
                "found": {"product": 7, "version": 7},
            },
        ),
        (
            "calibration_table",
            {"number": "8510"},
            {"product": "tensorrt", "version": "8.5.10", "found": {"product": 7, "version": 7}},
        ),
        ("calibration_table", {"number": "85"}, {"found": {}}),
        (
            "version",
            {"version": "10.9.0.", "sm": "89"},
            {
                "product": "tensorrt",
                "version": "10.9.0",
                "sm": 89,
                "found": dict.fromkeys(("product", "version", "sm"), 7),
            },
        ),
        (
            "module",
            {"module": "tensorrt", "version": "10.9.0.34"},
            {
                "product": "tensorrt",
                "version": "10.9.0",
                "found": {"product": 7, "version": 7},
            },
        ),
        (
            "module",
            {"module": "tensorrt_rtx", "version": "1.2.0"},
            {
                "product": "tensorrt-rtx",
                "version": "1.2.0",
                "strongly_typed": True,
                "found": {"product": 7, "version": 7},
            },
        ),
        (
            "module",
            {"module": "polygraphy", "version": "0.49.9"},
            {"tool": "polygraphy", "tool_version": "0.49.9", "found": {"tool_version": 7}},
        ),
        ("module", {"module": "onnx", "version": "1.16"}, {"found": {}}),
        ("header", {"key": "Opset version", "value": "17"}, {"opset": 17, "found": {"opset": 7}}),
        ("header", {"key": "Producer name", "value": "p"}, {"producer": "p", "found": {"producer": 7}}),
        ("header", {"key": "Input filename", "value": "a"}, {"model": "a", "found": {"model": 7}}),
        ("header", {"key": "Domain", "value": "a"}, {"found": {}}),
        ("tf32", {"state": "enabled"}, {"tf32": True, "found": {"tf32": 7}}),
        ("tf32", {"state": "disabled"}, {"tool": "polygraphy", "tf32": False, "found": {"tf32": 7}}),
        ("rtx", {}, {"product": "tensorrt-rtx", "strongly_typed": True, "found": {"product": 7}}),
        ("weak_typing", {}, {"strongly_typed": False, "found": {"strongly_typed": 7}}),
        ("no_tf32", {}, {"tf32": False, "found": {"tf32": 7}}),
        (
            "torch",
            {
                "settings": "enabled_precisions={<dtype.f16: 1>, torch.bfloat16}, use_explicit_typing=False, "
                "disable_tf32=True, optimization_level=a, b=c"
            },
            {
                "torch": {
                    "enabled_precisions": "{<dtype.f16: 1>, torch.bfloat16}",
                    "use_explicit_typing": "False",
                    "disable_tf32": "True",
                    "optimization_level": "a, b=c",
                },
                "precision": {"fp16", "bf16"},
                "strongly_typed": False,
                "tf32": False,
                "found": dict.fromkeys(("torch", "precision", "strongly_typed", "tf32"), 7),
            },
        ),
        (
            "torch",
            {"settings": "use_strong_typing=True, disable_tf32=False, precision=torch.float8_e4m3fn, rest"},
            {
                "torch": {
                    "use_strong_typing": "True",
                    "disable_tf32": "False",
                    "precision": "torch.float8_e4m3fn, rest",
                },
                "precision": {"fp8"},
                "strongly_typed": True,
                "tf32": True,
                "found": dict.fromkeys(("torch", "precision", "strongly_typed", "tf32"), 7),
            },
        ),
        (
            "torch",
            {"settings": "none, disable_tf32=None, use_explicit_typing=None"},
            {"torch": {"disable_tf32": "None", "use_explicit_typing": "None"}, "found": {"torch": 7}},
        ),
    ],
)
def test_the_settings_in_one_record(
    settles: str, groups: Mapping[str, str], expected: dict[str, object]
) -> None:
    collector = Collector()
    collector.record(settles, groups, 7)
    assert known(collector) == expected


def test_which_of_two_records_counts() -> None:
    collector = Collector()
    for line, command in enumerate(("", "trtexec --fp16", "trtexec --int8"), 1):
        collector.record("banner", {**RUNNING, "command": command}, line)
    collector.record("banner", {**RUNNING, "tool": "other", "state": "PASSED", "number": "8510"}, 4)
    collector.record("tf32", {"state": "enabled"}, 5)
    collector.record("no_tf32", {}, 6)
    collector.record("calibration_table", {"number": "8400"}, 7)
    assert known(collector, ("python",)) == {
        "product": "tensorrt",
        "version": "10.13.3",
        "tool": "other",
        "flags": {"fp16"},
        "tf32": False,
        "command": "trtexec --fp16",
        "status": "passed",
        "found": {"product": 1, "version": 1, "command": 2, "flags": 2, "status": 4, "tf32": 6},
    }


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((), None),
        (("logger", "python"), "python"),
        (("python", "ultralytics", "polygraphy"), "ultralytics"),
        (("another",), None),
    ],
)
def test_the_outermost_program_is_the_tool(tools: tuple[str, ...], expected: str | None) -> None:
    assert Collector().settings(tools).tool == expected


@pytest.mark.parametrize(
    ("version", "product", "typed"),
    [
        ("10.9.0", "version", None),
        ("11.0.0", "version", True),
        ("12.1", "version", True),
        ("0.9", "version", None),
        ("x.11", "version", None),
    ],
)
def test_typing_by_release(version: str, product: str, typed: bool | None) -> None:
    collector = Collector()
    collector.record(product, {"version": version}, 1)
    assert collector.settings().strongly_typed is typed
    collector = Collector()
    collector.record("weak_typing", {}, 1)
    collector.record(product, {"version": version}, 2)
    assert collector.settings().strongly_typed is False


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("8510", "8.5.10"),
        ("1000", "1.0.0"),
        ("9999", "9.9.99"),
        ("10000", "1.0.0"),
        ("10009", "1.0.9"),
        ("101303", "10.13.3"),
        ("999", None),
        ("1000000", None),
        ("-1000", None),
        ("١٢٣٤", None),
        ("", None),
    ],
)
def test_numbers_of_releases(number: str, expected: str | None) -> None:
    assert decode_version(number) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12", 12), ("999999999", 999_999_999), ("1000000000", None), ("-1", -1), (" 3 ", 3), ("1.0", None),
        ("", None), ("²", None), ("١", None),
    ],
)  # fmt: skip
def test_whole_numbers(value: str, expected: int | None) -> None:
    collector = Collector()
    collector.record("header", {"key": "Opset version", "value": value}, 1)
    assert collector.settings().opset == expected


def table(flags: str) -> str:
    """Return Polygraphy's table of a configuration."""
    return f"Building engine with configuration:\nFlags                  | [{flags}]\nEngine Capability | x"


def test_the_configuration_of_polygraphy() -> None:
    collector = Collector()
    collector.configuration("Building engine with configuration:\nMemory | []", 1)
    assert known(collector) == {"found": {}}
    collector.configuration(table("FP16, TF32,OBEY_PRECISION_CONSTRAINTS"), 2)
    collector.configuration(table("INT8"), 3)
    assert known(collector) == {
        "flags": {"fp16", "int8"},
        "precision": {"fp32", "fp16"},
        "tf32": True,
        "found": {"tf32": 2, "precision": 2},
    }
    collector = Collector()
    collector.configuration(table(""), 2)
    assert known(collector) == {
        "flags": set(),
        "precision": {"fp32"},
        "tf32": False,
        "found": {"tf32": 2, "precision": 2},
    }
