"""Tests of TensorRT lines with and without prefixes of other loggers."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.buildfiles import wrapped
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.prefix import Prefix, parse_prefix
from trtlint.buildfiles.records import Log
from trtlint.buildfiles.wrapped import MarkSearch, joined, prefixed, telling, unquoted, unwrap, within

MESSAGE = "1: [runtime.cpp::parsePlan::314] Error Code 1: Serialization (Serialization assertion plan->header.magicTag == rt::kPLAN_MAGIC_TAG failed.)"

SHAPES = [
    # Each as it is quoted in a public thread, which stands behind it.
    "[E] [TRT] {}",  # https://github.com/NVIDIA/TensorRT/issues/4051
    "[TRT] [E] {}",  # https://github.com/NVIDIA/TensorRT/issues/3236
    "ERROR: [TRT]: {}",  # https://github.com/marcoslucianops/DeepStream-Yolo/issues/210
    "ERROR: {}",  # https://github.com/NVIDIA/TensorRT/issues/3930
    "ERROR:TRT:{}",
    "19:54:12.555\tERROR\tTRT: {}\ttrt_utils.cpp:253",  # https://github.com/NVIDIA/TensorRT/issues/1874
    "[2023-04-04 14:09:51.908] [mmdeploy] [error] [trt_net.cpp:28] TRTNet: {}",  # https://github.com/open-mmlab/mmdeploy/issues/1961
    "[stdbuf-1] [NVINFER LOG]: {}",  # https://github.com/NVIDIA-AI-IOT/Lidar_AI_Solution/issues/271
    "NVInfer: {}",  # https://github.com/zerollzeng/tiny-tensorrt/issues/66
    "TRT: {}",  # https://github.com/NVIDIA/TensorRT/issues/4436
    "2024-07-08 17:23:06.193422: E external/org_tensorflow/tensorflow/compiler/tf2tensorrt/utils/trt_logger.cc:87] DefaultLogger {}",  # https://github.com/NVIDIA/TensorRT/issues/3990
    "[component_container-1] 2022-03-02 05:05:00.037 ERROR gxf/tensor_rt/tensor_rt_inference.cpp@151: TRT ERROR: {}",  # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_common/issues/17
    "frigate    | 2023-08-26 19:10:59.863483643  [2023-08-26 19:10:59] frigate.detectors.plugins.tensorrt ERROR   : {}",  # https://github.com/blakeblackshear/frigate/issues/7582
    "face_1             | [05/02/2022-15:17:45] [TRT] [E] {}",  # https://github.com/SthPhoenix/InsightFace-REST/issues/84
    'E0521 12:00:00.000000 1 logging.cc:40] "{}"',
    "2024-05-21T12:00:00.123456789Z stdout F [05/02/2022-15:17:45] [TRT] [E] {}",
    '{{"log":"[05/21/2024-12:00:09] [E] [TRT] {}\\n","stream":"stderr","time":"2024-05-21T12:00:09Z"}}',
    '{{"time":"2024-05-21T12:00:09Z","level":"error","msg":"[05/21/2024-12:00:09] [E] [TRT] {}"}}',
    "2024-05-21T12:00:09.123456Z 01O [05/21/2024-12:00:09] [E] [TRT] {}",
    "[pod/trt-build-abc12/trt] [05/21/2024-12:00:09] [E] [TRT] {}",
    "build (10.16)\tRun trtexec\t2024-05-21T12:00:09.1234567Z [E] [TRT] {}",  # gh run view --log
    "build (10.16)\tRun trtexec\t\ufeff2024-05-21T12:00:09.1234567Z [E] {}",
    "onnxruntime::TensorrtLogger::log] [2023-06-03 17:08:26   ERROR] {}",  # https://github.com/microsoft/onnxruntime/issues/7757
    "01/30/2024-18:29:22] [E] {}",  # https://github.com/spacewalk01/depth-anything-tensorrt/issues/8
    "{}",
]


def read(text: str) -> Log:
    return read_log(io.BytesIO(text.encode()))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_message_is_found_whatever_is_around_it(shape: str) -> None:
    log = read("a line of the program\n" + shape.format(MESSAGE) + "\nanother line\n")
    record = log.records["engine_damaged"][0]
    assert (record.line, record.severity) == (2, "E")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_message_is_what_is_left(shape: str) -> None:
    line = shape.format(MESSAGE).encode()
    prefix = parse_prefix(line)
    if prefix is None:
        line, prefix = unwrap(line)
    assert prefix is not None
    assert line[prefix.start :].decode().startswith((MESSAGE, f'"{MESSAGE}'))


@pytest.mark.parametrize(
    "line",
    [
        "Building TensorRT engine for a.onnx: a.plan",
        "Building engine: 100%|####| 6/6 [01:51<00:00, 18.51s/it]",
        "  return (%output)",
        "|   0  NVIDIA GeForce ...  On   | 00000000:01:00.0  On |                  N/A |",
        "step 1/30, image shape : (1, 320, 320, 3)",
    ],
)
def test_what_a_program_prints_is_no_message(line: str) -> None:
    assert not read(f"{line}\n").records


def test_a_traceback_gives_its_last_line_only() -> None:
    log = read(
        "Traceback (most recent call last):\n"
        '  File "build.py", line 56, in <module>\n'
        '    raise RuntimeError("Failed to create engine from model")\n'
        "RuntimeError: no engine\n"
    )
    (record,) = log.records["exception"]
    assert set(log.records) == {"exception"}
    assert (record.line, record.groups["type"], record.groups["what"]) == (4, "RuntimeError", "no engine")


def test_a_traceback_that_is_indented_ends_where_it_began() -> None:
    log = read(
        "*** Error loading script: trt.py\n"
        "    Traceback (most recent call last):\n"
        '      File "trt.py", line 10, in <module>\n'
        "    ModuleNotFoundError: No module named 'tensorrt_bindings'\n"
    )
    record = log.records["api_gone"][0]
    assert (record.line, record.groups["module"]) == (4, "tensorrt_bindings")


def test_the_parser_of_old_releases_has_no_prefix() -> None:
    log = read(
        "While parsing node number 81 [Resize]:\n"
        "ERROR: ModelImporter.cpp:124 In function parseGraph:\n"
        "[5] Assertion failed: ctx->tensors().count(inputName)\n"
    )
    record = log.records["parser_error"][0]
    assert record.groups["what"] == "Assertion failed: ctx->tensors().count(inputName)"
    assert log.records["parsing_failed"][0].groups["op"] == "Resize"


@pytest.mark.parametrize(
    "wrapper", ["[rank0]: ", "trt-1  | ", "2024-05-21T12:00:09.123456Z 01O ", "\x1b[31m"]
)
def test_the_last_line_and_blank_ones_are_unwrapped(wrapper: str) -> None:
    skipped = "[12/17/2024-08:28:29] [E] Error[9]: Error Code: 9: Skipping tactic 0x0 due to exception a"
    assert "unfinished_failing" in read(f"{wrapper}{skipped}\n").records
    repeated = "[E] [TRT] 2: [a.cpp::b::1] Error Code 2: Internal Error (Found duplicate region name x"
    record = read(f"{wrapper}{repeated}\n{wrapper}\n").records["duplicate_name"][0]
    assert record.groups["region"] == "x"


@given(st.binary(max_size=300))
def test_any_bytes(line: bytes) -> None:
    telling(line)
    rest, prefix = unwrap(line)
    assert prefix is None or 0 <= prefix.start <= len(rest)
    assert prefix is None or prefix.severity in ("", "V", "I", "W", "E", "F")


def test_what_a_container_logs_as_json_is_unescaped() -> None:
    """See Docker's json-file driver: https://docs.docker.com/engine/logging/drivers/json-file/."""
    line = rb'{"log":"[05/21/2024-12:00:09] [W] [TRT] layer \"a\" is slow\n","stream":"stderr"}'
    text, prefix = unwrap(line)
    assert text == b'[05/21/2024-12:00:09] [W] [TRT] layer "a" is slow'
    assert prefix is not None
    assert (prefix.severity, prefix.library) == ("W", True)


@pytest.mark.parametrize("first", ["", "a", "z", "Z", "A", "{"])
def test_marks_of_a_long_batch_are_those_in_its_lines(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that starts with a bracket is searched for all marks, and adds none to other lines."""
    monkeypatch.setattr(wrapped, "_MANY", 2)
    failed = f"{first} failed to run".encode()
    lines = [b"a step of it", b"[another] nvinfer", failed, b"a step of it", b"[E] killed"]
    search = MarkSearch()
    search.begin(lines)
    assert not search.telling(lines[0])
    assert search._marks == wrapped.MARKS
    assert search.telling(lines[1])
    assert search._marks == (b"ail",)
    assert [search.telling(line) for line in lines[2:]] == [True, False, True]
    search.begin(lines[:1])
    assert search.telling(b"it was killed")


@pytest.mark.parametrize(("before", "found"), [(118, True), (119, True), (120, False)])
def test_the_name_of_the_library_is_near_the_beginning(before: int, found: bool) -> None:
    """The severity and the name begin within the first 120 bytes, and a space comes before them."""
    for head in (b"ERROR: [TRT]: ", b"TRT ERROR: "):
        line = b"x" * before + b"  " + head + b"message"
        expected = Prefix("E", "logger", len(line) - 7, True) if found else None
        assert unwrap(line) == (line, expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"killed", True),
        (b"abort", False),
        (b"aborts", True),
        (b"", False),
        (b"x" * 3995 + b"illed", True),
        (b"x" * 3996 + b"illed", False),
        (b"nothing of it", False),
    ],
)
def test_lines_that_may_be_about_a_build(line: bytes, expected: bool) -> None:
    """Only the first 4000 bytes count, in lines of at least six bytes."""
    assert telling(line) is expected


PLAIN = Prefix("E", "logger", 4, None)


@pytest.mark.parametrize(
    ("line", "prefix", "expected"),
    [
        (b'[E] "ab"', PLAIN, b"[E] ab"),
        (b'[E] ""', PLAIN, b"[E] "),
        (b'[E] "ab" ', PLAIN, b'[E] "ab" '),
        (b'[E] ab"', PLAIN, b'[E] ab"'),
        (b'[E]"a"b"', PLAIN, b'[E]"a"b"'),
        (b'[E]  "ab"', PLAIN, b'[E]  "ab"'),
        (b'"ab"', None, b'"ab"'),
    ],
)
def test_quotation_marks_around_a_message(line: bytes, prefix: Prefix | None, expected: bytes) -> None:
    assert unquoted(line, prefix) == (expected, prefix)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        (b"$ " * 4 + b"words", b"words"),
        (b"$ " * 5 + b"words", b"$ words"),
        (b'{"log":"a\\nb\\nc"}', b"c"),
        (b'{"log":"> a"}', b"a"),
        (b"words", b"words"),
    ],
)
def test_up_to_four_wrappers_are_removed(line: bytes, rest: bytes) -> None:
    assert unwrap(line) == (rest, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"TRT: 2: [a.cpp::b::1] Error Code 2: x", Prefix("E", "logger", 5, True)),
        (b"TRT: 2: No engine", Prefix("E", "logger", 5, True)),
        (b"TRT: 2: no engine", Prefix("", "logger", 5, True)),
        (b"[TRT] words", Prefix("", "logger", 6, True)),
        (b"Error Code 2: x", Prefix("E", "logger", 0, True)),
        (b"ERROR: x", Prefix("E", "logger", 7, None, common=True)),
        (b"[WARN] x", Prefix("W", "logger", 7, None, common=True)),
        (b"words of an error", None),
    ],
)
def test_prefixes_of_other_loggers(line: bytes, expected: Prefix | None) -> None:
    assert prefixed(line) == (line, expected)


@pytest.mark.parametrize(
    ("line", "start"),
    [(b"01234 [TRT] [E] x", 16), (b"01234 [TRT] x", 6), (b"01234 ERROR: x", 6), (b"01234 x", 6)],
)
def test_the_prefix_of_the_library_inside_another(line: bytes, start: int) -> None:
    """An inner prefix counts if it names the library and a severity."""
    outer = Prefix("W", "python", 6, None, common=True)
    found = within(line, outer)
    assert found == (Prefix("E", "logger", start, True) if start > 6 else outer)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a", " b", "c "], "a\n b\nc"),
        # Polygraphy indents all further lines.
        (["a", "    b", "      c"], "a\nb\n  c"),
        (["a", "    b", "c"], "a\n    b\nc"),
        (["Error Code 9: Internal Error", "the reason"], "Error Code 9: Internal Error the reason"),
        (["Error Code: 9: Internal Error ", " (a)", " b "], "Error Code: 9: Internal Error (a) b"),
        (["Error Code 9: Internal Error", "(a)", "b ", "c "], "Error Code 9: Internal Error (a)\nb \nc"),
        (["Error Code 9: Internal Error", "(a", "b)", "c"], "Error Code 9: Internal Error (a b)\nc"),
        (["Error Code 9: Internal Error", "a)", "b", "c"], "Error Code 9: Internal Error a) b c"),
        (["Error Code 9: Internal Error", "a", " b", "c"], "Error Code 9: Internal Error a b\nc"),
        (["stopped due to exception", "a"], "stopped due to exception a"),
        (["Error Code 9: 9", "a"], "Error Code 9: 9\na"),
    ],
)
def test_a_reason_on_the_next_line_is_part_of_the_error(lines: list[str], message: str) -> None:
    assert joined(lines) == message
