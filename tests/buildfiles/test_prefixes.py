"""Tests of line prefixes of each shape."""

from __future__ import annotations

import pytest

from trtlint.buildfiles.layers import EngineLayer
from trtlint.buildfiles.prefix import embedded, letter, parse_prefix, without_tail
from trtlint.facts.blocks.lognames import error_code

CASES = [
    ("[11/22/2024-10:00:00] [E] x", "E", "trtexec", False, False),
    ("[11/22/2024-10:00:00] [W] [TRT] x", "W", "trtexec", True, False),
    ("[TRT] [I] x", "I", "python", True, False),
    ("[TRT-LLM] [W] x", "W", "undated", True, False),
    ("[E] x", "E", "short", None, False),
    ("[X] x", "V", "short", None, False),
    ("[!] x", "F", "short", None, False),
    ("[E] [TRT] x", "E", "short", True, False),
    ("[TensorRT] ERROR: x", "E", "legacy", True, False),
    ("[TensorRT] INTERNAL ERROR: x", "F", "legacy", True, False),
    ("[TensorRT-LLM][WARNING] x", "W", "llm", True, False),
    ("[2024-11-22 10:00:00   ERROR] x", "E", "dated", True, False),
    ("WARNING:torch_tensorrt.dynamo:x", "W", "torch", True, False),
    ("DEBUG: [Torch-TensorRT] - x", "V", "torch_cpp", True, False),
    ("2024-11-22 10:00:00.123 [W:onnxruntime:Default, a.h:1 log] x", "W", "ort", None, False),
    (
        "2024-11-22 10:00:00.123 [W:onnxruntime:Default, a.h:1 log] [2024-11-22 10:00:00 ERROR] x",
        "E",
        "ort",
        True,
        False,
    ),
    ("E onnxruntime: [Default, a.h:1 log] x", "E", "ort", None, False),
    ("W onnxruntime: [2024-09-20 12:15:43   ERROR] x", "E", "ort", True, False),
    ("E1122 10:00:00.123456 12 a.cc:1] x", "E", "glog", None, True),
    ("E1122 10:00:00.123456 12 logging.cc:49] x", "E", "glog", True, False),
    ("E1122 10:00:00.123456 12 tensorrt.cc:49] x", "E", "glog", True, False),
    ("2024-11-22 10:00:00.123456: E a/b.cc:1] x", "E", "tf", None, True),
    ("2024-11-22 10:00:00.123456: E a/tf2tensorrt/b.cc:1] DefaultLogger x", "E", "tf", True, False),
    ("0:00:01.23 12 0x5 ERROR a b:1:f:<c> x", "E", "gst", None, True),
    ("2024-11-22 10:00:00,123 - a - CRITICAL - x", "F", "logging", None, True),
    ("2024-11-22T10:00:00.1Z [E] x", "E", "short", None, False),
]
TOOLS = {
    "legacy": "python",
    "undated": "python",
    "llm": "tensorrt-llm",
    "torch": "torch-tensorrt",
    "torch_cpp": "torch-tensorrt",
    "ort": "onnxruntime",
    "tf": "tensorflow",
    "gst": "deepstream",
    "python": "python",
}


@pytest.mark.parametrize(("line", "severity", "shape", "library", "common"), CASES)
def test_shapes(line: str, severity: str, shape: str, library: bool | None, common: bool) -> None:
    found = parse_prefix(line.encode())
    assert found is not None
    assert (found.severity, found.library, found.common) == (severity, library, common)
    tool = "triton" if shape == "glog" and library else TOOLS.get(shape, "logger")
    assert found.tool == ("polygraphy" if line.startswith("[!]") else tool)
    assert line[found.start :].strip() == "x"


@pytest.mark.parametrize("line", ["x", "[Q] x", "2024-11-22 x", "", "[11/22/2024] [E] x", "E1122 x"])
def test_lines_without_a_prefix(line: str) -> None:
    assert parse_prefix(line.encode()) is None


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Error", "E"),
        ("warn", "W"),
        ("debug", "V"),
        ("TRACE", "V"),
        ("critical", "F"),
        ("S", "V"),
        ("U", "V"),
    ],
)
def test_severities(word: str, expected: str) -> None:
    assert letter(word.encode()) == expected


def test_a_prefix_inside_of_a_line() -> None:
    inner = b"[11/22/2024-10:00:00] [E] x"
    assert embedded(b"abc" + inner, 0) == 3
    assert embedded(inner, 0) == 0
    assert embedded(b"abc" + inner, 3) == 3
    assert embedded(b"abc" + inner, 4) == -1
    assert embedded(b"abc [11/22/2024-10:00:00] x", 0) == -1


def test_the_origin_at_the_end_of_a_message_is_left_out() -> None:
    origin = b" [/a/tensorrt_execution_provider.h:84 log]"
    assert without_tail(b"message" + origin) == b"message"
    assert without_tail(b"message [a]") == b"message [a]"
    assert without_tail(b"message" + origin + b".") == b"message" + origin + b"."
    long = b" [/tensorrt_execution_provider" + b"x" * (300 - 31) + b"]"
    assert len(long) == 300
    assert without_tail(b"message" + long) == b"message"
    longer = b" [/tensorrt_execution_provider" + b"x" * (301 - 31) + b"]"
    assert without_tail(b"message" + longer) == b"message" + longer


def test_a_layer_is_of_the_first_profile() -> None:
    assert EngineLayer(3, "a").profile == 0


def test_kinds_of_errors() -> None:
    assert error_code("Error Code 4: API Usage Error (x: y)") == "API Usage Error"
    assert error_code("something else") == ""
