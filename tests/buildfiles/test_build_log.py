"""Tests of logs with every prefix shape, and of damaged logs."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import gzip
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.buildfiles.vectors import read_with
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.patterns import KEY, table
from trtlint.buildfiles.prefix import parse_prefix
from trtlint.buildfiles.records import MESSAGE, Log
from trtlint.buildfiles.scan import LONGEST
from trtlint.buildfiles.settings import decode_version


def read(text: str | bytes, *, vectorised: bool | None = None) -> Log:
    data = io.BytesIO(text.encode() if isinstance(text, str) else text)
    return read_log(data) if vectorised is None else read_with(data, vectorised=vectorised)


BUILD = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # ./trtexec --onnx=a.onnx --fp16 --precisionConstraints=obey
[09/28/2025-09:21:51] [I] TF32 is enabled by default. Add --noTF32 flag to further improve accuracy.
[09/28/2025-09:21:51] [I] === Build Options ===
[09/28/2025-09:21:51] [I] Precision: FP32+FP16 (obey precision constraints)
[09/28/2025-09:21:51] [I] BuilderOptimizationLevel: 5
[09/28/2025-09:21:51] [I] === Device Information ===
[09/28/2025-09:21:51] [I] Selected Device: NVIDIA L4
[09/28/2025-09:21:51] [I] Compute Capability: 8.9
[09/28/2025-09:21:52] [I] [TRT] Opset version:    17
[09/28/2025-09:21:52] [V] [TRT] Parsing node: /a/Conv [Conv]
[09/28/2025-09:21:52] [V] [TRT] =============== Computing costs for /a/Conv + /a/Relu
[09/28/2025-09:21:52] [V] [TRT] Tactic: 0x0000000000000001 Time: 0.0101
[09/28/2025-09:21:53] [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 1700241408 detected for tactic 0x0.
[09/28/2025-09:21:54] [V] [TRT] Layers:
Name: /a/Conv + /a/Relu, LayerType: CaskConvolution, Inputs: [ { Name: x, Location: Device, Dimensions: [1,3,8,8], Format/Datatype: Half }], Outputs: [ { Name: y, Location: Device, Dimensions: [1,8,8,8], Format/Datatype: Half }], ParameterType: Convolution, Weights: {"Type": "Half", "Count": 216}, HasDynamicFilter: 1, TacticName: k, TacticValue: 0x01, StreamId: 0, Metadata: [ONNX Layer: /a/Conv]\x1e[ONNX Layer: /a/Relu]

Bindings:
x
y
[09/28/2025-09:21:55] [I] Engine built in 3.5 sec.
&&&& PASSED TensorRT.trtexec [TensorRT v101303] [b9] # ./trtexec --onnx=a.onnx --fp16 --precisionConstraints=obey
"""


def test_settings_and_records() -> None:
    log = read(BUILD)
    s = log.settings
    assert (s.product, s.version, s.tool, s.gpu, s.sm) == (
        "tensorrt",
        "10.13.3",
        "trtexec",
        "NVIDIA L4",
        89,
    )
    assert (s.flags, s.precision) == (frozenset({"fp16"}), frozenset({"fp32", "fp16"}))
    assert (s.constraints, s.tf32, s.strongly_typed, s.opset) == ("obey", True, False, 17)
    assert (s.optimization_level, s.status, s.found["sm"], s.found["version"]) == (5, "passed", 8, 1)
    assert log.options["Device Information"]["Compute Capability"] == "8.9"
    record = log.records["tactic_memory"][0]
    assert (record.line, record.severity, record.groups["bytes"]) == (13, "W", "1700241408")
    assert record.context == "/a/Conv + /a/Relu"
    (dump,) = log.dumps
    (layer,) = dump.layers
    assert (layer.name, layer.precision, layer.dynamic_filter) == ("/a/Conv + /a/Relu", "float16", True)
    assert [tensor.name for tensor in dump.tensors] == ["x", "y"]
    assert log.seconds() == {"build": 3.5}
    assert log.is_log
    assert log.lines == 21


def test_the_way_a_log_is_stored_does_not_matter() -> None:
    plain = read(BUILD)
    for other in (
        read(BUILD.replace("\n", "\r\n")),
        read(gzip.compress(BUILD.encode())),
        read(b"\xef\xbb\xbf" + BUILD.encode()),
        read(BUILD.rstrip("\n")),
        read("".join(f"\x1b[33m{line}\x1b[0m\n" for line in BUILD.rstrip("\n").split("\n"))),
        read(b"\xff\xfe" + BUILD.encode("utf-16-le")),
        read(b"\xfe\xff" + BUILD.encode("utf-16-be")),
    ):
        assert other.records == plain.records
        assert other.settings == plain.settings
        assert other.dumps == plain.dumps
        assert other.lines == plain.lines


@pytest.mark.parametrize(
    ("line", "severity", "tool"),
    [
        # https://github.com/NVIDIA/TensorRT/issues/4324, /issues/2574 and others: each shape as quoted publicly
        ("[01/15/2025-17:13:04] [TRT] [W] {}", "W", "python"),
        ("[12/30/2022-12:38:57] [W] [TRT] {}", "W", "logger"),
        ("[12/30/2022-12:38:57] [E] {}", "E", "logger"),
        ("[TensorRT] WARNING: {}", "W", "python"),
        ("[TensorRT] INTERNAL_ERROR: {}", "F", "python"),
        ("[TensorRT-LLM][ERROR] {}", "E", "tensorrt-llm"),
        ("[W] {}", "W", "logger"),
        ("[!] {}", "F", "polygraphy"),
        ("WARNING:torch_tensorrt [TensorRT Conversion Context]:{}", "W", "torch-tensorrt"),
        ("WARNING: [Torch-TensorRT] - {}", "W", "torch-tensorrt"),
        (
            "2026-04-24 06:44:55.109810596 [W:onnxruntime:Default, tensorrt_execution_provider.h:90 log] "
            "[2026-04-24 06:44:55 WARNING] {}",
            "W",
            "onnxruntime",
        ),
        (
            "E onnxruntime: [2024-09-20 12:15:43   ERROR] {} "
            "[tensorrt_execution_provider.h:88 onnxruntime::TensorrtLogger::log]",
            "E",
            "onnxruntime",
        ),
        ("[2022-11-08 06:01:48 WARNING] {}", "W", "logger"),
        ("W0607 12:00:00.123456 17 tensorrt.cc:64] {}", "W", "triton"),
        ("2024-01-02 03:04:05,678 - TRT - WARNING - {}", "W", "logger"),
        ("2024-06-07T12:00:00.1234567Z [01/15/2025-17:13:04] [TRT] [W] {}", "W", "python"),
    ],
)
def test_prefix_shapes(line: str, severity: str, tool: str) -> None:
    message = "Detected layernorm nodes in FP16: a, b"
    log = read("program output\n" + line.format(message) + "\n")
    record = log.records["norm_fp16"][0]
    assert (record.line, record.severity, record.message) == (2, severity, message)
    assert record.groups["nodes"] == "a, b"
    assert log.settings.tool == tool


@pytest.mark.parametrize("letter", ["V", "X", "S", "U"])
def test_verbose_of_polygraphy(letter: str) -> None:
    prefix = parse_prefix(f"[{letter}] Original: 3 layers".encode())
    assert prefix
    assert prefix.severity == "V"
    assert read(f"[{letter}] Original: 3 layers\n").counts["layers_original"] == 1


def test_continuation_lines_belong_to_their_message() -> None:
    # Shape of a parser error, https://github.com/onnx/onnx-tensorrt/blob/main/ModelImporter.cpp
    log = read(
        '[E] ModelImporter.cpp:138: While parsing node number 1 [Foo -> "y"]:\n'
        "[E] ModelImporter.cpp:140: --- Begin node ---\n"
        'input: "x"\nname: "n/Foo"\nop_type: "Foo"\n'
        "[E] ModelImporter.cpp:141: --- End node ---\n"
        "[E] ModelImporter.cpp:149: ERROR: onnxOpCheckers.cpp:923 In function checkFallbackPluginImporter:\n"
        '[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"\n'
        "[V] Parsing node: a [Add]\n"
        "program output after a verbose line\n"
    )
    failed, named, error = (
        log.records[name][0] for name in ("parsing_failed", "failed_node", "parser_error")
    )
    assert failed.groups == {"number": "1", "op": "Foo", "output": "y"}
    assert named.groups["name"] == "n/Foo"
    assert error.groups["code"] == "6"
    assert "program" not in error.message
    assert log.counts["plugin_not_found"] == 1


def test_lines_of_two_writers() -> None:
    log = read(
        "loss 0.1[01/15/2025-17:13:04] [TRT] [W] Detected layernorm nodes in FP16.\n"
        "[01/15/2025-17:13:04] [TRT] [W] Detected lay[01/15/2025-17:13:04] [TRT] [E] Error Code 1: Cuda Runtime (x)\n"
        "Building: 40%|####      |\rBuilding: 100%\r[W] Detected layernorm nodes in FP16.\n"
    )
    assert [record.line for record in log.records["norm_fp16"]] == [1, 3]
    assert log.records["api_error"][0].line == 2
    assert log.lines == 3


def test_many_prefixes_on_one_line_are_no_log() -> None:
    log = read("[01/15/2025-17:13:04] [TRT] [E] x " * 50_000 + "\n[W] Detected layernorm nodes in FP16.\n")
    assert log.counts["other"] < 10
    assert log.counts["norm_fp16"] == 1


def test_records_are_bounded_and_counted() -> None:
    line = "[01/15/2025-17:13:04] [V] [TRT] Registering layer: conv{} for ONNX node: conv{}\n"
    text = "".join(line.format(i, i) for i in range(3000))
    for vectorised in (True, False):
        log = read(text, vectorised=vectorised)
        assert log.counts["register_layer"] == 3000
        assert len(log.records["register_layer"]) == 500
        assert log.records["register_layer"][-1].line == 500
    long = read("[E] " + "x" * 100_000 + "\n" + "more\n" * 1000)
    assert len(long.records["other"][0].message) <= MESSAGE


def test_the_text_of_all_records_is_bounded() -> None:
    nodes = "[ONNX Layer: n]" * 10_000
    log = read("".join(f"[V] ForeignNode {{ForeignNode[a{i}...b]}} metadata: {nodes}\n" for i in range(100)))
    kept = log.records["island"]
    assert log.counts["island"] == 100
    assert 20 < len(kept) < 100
    assert len(kept[0].groups["metadata"]) == len(nodes)
    assert len(kept[0].message) == MESSAGE


def test_context_is_the_same_with_the_block_filter() -> None:
    block = (
        "[01/15/2025-17:13:04] [V] [TRT] Parsing node: n{} [Conv]\n"
        "[01/15/2025-17:13:04] [V] [TRT] Registering layer: n{} for ONNX node: n{}\n"
    )
    text = "".join(block.format(i, i, i) for i in range(20_000))
    text += "[01/15/2025-17:13:04] [W] [TRT] Something new\n" + block.format("last", "last", "last")
    fast, slow = read(text, vectorised=True), read(text, vectorised=False)
    assert fast == slow
    assert fast.records["other"][0].context == "n19999 [Conv]"
    assert fast.counts["parse_node"] == 20_001


def test_lines_without_end_are_cut() -> None:
    log = read(b"[W] " + b"x" * (LONGEST + (3 << 20)) + b"\n[W] Detected layernorm nodes in FP16.\n")
    assert log.lines == 2
    assert log.records["norm_fp16"][0].line == 2


def test_a_damaged_gzip_is_read_as_far_as_it_goes() -> None:
    packed = gzip.compress(BUILD.encode() * 500)
    log = read(packed[: len(packed) * 2 // 3])
    assert log.settings.version == "10.13.3"
    assert log.notes
    with pytest.raises(BuildFileError):
        read_log("no/such/file.log")


@pytest.mark.parametrize(
    ("number", "version"),
    [
        ("8510", "8.5.10"),
        ("8601", "8.6.1"),
        ("8205", "8.2.5"),
        ("101303", "10.13.3"),
        ("110100", "11.1.0"),
        ("x", None),
    ],
)
def test_version_numbers(number: str, version: str | None) -> None:
    assert decode_version(number) == version


@pytest.mark.parametrize(
    ("cache", "version"),
    [("TRT-100700-EntropyCalibration2", "10.7.0"), ("TRT-8502-MinMaxCalibration", "8.5.2")],
)
def test_calibration_cache_names_the_release(cache: str, version: str) -> None:
    error = "[E] Error[1]: Calibration table does not match calibrator algorithm type.\n"
    assert read(f"{cache}\nimages: 3c010a14\n{error}").settings.version == version
    assert read(f"{cache}\n[I] TensorRT version: 10.13.3\n{error}").settings.version == "10.13.3"


def test_torch_tensorrt_settings() -> None:
    # Shape as in https://github.com/pytorch/benchmark/pull/1909
    log = read(
        "INFO:torch_tensorrt.dynamo.compile:Compilation Settings: CompilationSettings("
        "enabled_precisions={<dtype.f16: 6>, <dtype.f32: 7>}, workspace_size=0, disable_tf32=True, "
        "torch_executed_ops={'torch.ops.aten.add.Tensor', 'b'}, use_explicit_typing=False)\n"
    )
    s = log.settings
    assert s.torch
    assert s.torch["torch_executed_ops"] == "{'torch.ops.aten.add.Tensor', 'b'}"
    assert (s.precision, s.tf32, s.strongly_typed, s.tool) == (
        frozenset({"fp16", "fp32"}),
        False,
        False,
        "torch-tensorrt",
    )


def test_every_pattern_has_a_name_a_source_and_a_way_to_be_found() -> None:
    patterns = table().patterns
    assert len({pattern.name for pattern in patterns}) == len(patterns) > 75
    for pattern in patterns:
        assert pattern.source.startswith("https://")
        assert pattern.meaning
        assert set(pattern.severity) <= set("VIWEF")
        assert pattern.starts or pattern.contains or pattern.last
        assert all(len(literal) >= KEY for literal in pattern.starts)


@pytest.mark.slow
def test_a_log_cut_at_any_byte() -> None:
    data = BUILD.encode()
    for end in range(len(data)):
        log = read(data[:end], vectorised=end % 2 == 0)
        assert log.lines <= 21


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_random_damage(chance: random.Random, vectorised: bool) -> None:
    data = bytearray(BUILD.encode() * 3)
    for _ in range(chance.randrange(1, 40)):
        at = chance.randrange(len(data))
        kind = chance.randrange(4)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at : at + chance.randrange(60)]
        elif kind == 2:
            data[at:at] = chance.choice(
                [b"\r", b"\n", b"\x1b[", b"\x00", b"] [V] [T", b"Name: ", b"{", b"[E] ", b"\xff"]
            )
        else:
            start = chance.randrange(len(data))
            data[at:at] = data[start : start + chance.randrange(200)]
    assert read(bytes(data), vectorised=vectorised).size == len(data)
    assert read(bytes(data), vectorised=True) == read(bytes(data), vectorised=False)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=4000))
def test_rubbish(data: bytes) -> None:
    assert read(data, vectorised=True).lines == read(data, vectorised=False).lines


@pytest.mark.parametrize(
    ("between", "layers"), [("", 2), ("[V] [TRT] something else\n", 1), ("[W] [TRT] x\n", 1)]
)
def test_a_dump_of_layers_ends_where_something_else_is_said(between: str, layers: int) -> None:
    first, second = (f"Name: {name}, LayerType: kgen, Inputs: [], Outputs: []\n" for name in "ab")
    (dump,) = read(f"[V] [TRT] Layers:\n{first}{between}{second}").dumps
    assert len(dump.layers) == layers
