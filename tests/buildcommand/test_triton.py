"""Tests of Triton's config.pbtxt as a build command, with hostile files."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.files.special import needs_posix
from trtlint.buildcommand import BuildCommand, CommandError, read_commands, triton
from trtlint.buildcommand.command import Option, ServedTensor, ServerConfiguration
from trtlint.buildcommand.scan import commands_for
from trtlint.buildcommand.shapes import shapes_of
from trtlint.buildcommand.triton import config_beside, parse_config, read_config

FP16 = """
name: "norm"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16, 64 ] }, { name: "ids" data_type: TYPE_INT64 dims: -1 } ]
output { name: "y" data_type: TYPE_FP16 dims: [ 1024 ] reshape { shape: [ 16, 64 ] } label_filename: "l" }
# what is not read is skipped
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
version_policy: { latest { num_versions: 1 } }
parameters { key: "intra_op_thread_count" value: { string_value: "0" } }
model_warmup [ { name: "w" inputs { key: "x" value { random_data: true } } } ]
optimization { execution_accelerators {
  gpu_execution_accelerator : [ {
    name : "tensorrt"
    parameters { key: "precision_mode" value: "FP16" }
    parameters { key: "trt_profile_min_shapes" value: "x:1x16x64,ids:1x1" }
    parameters { key: "trt_profile_opt_shapes" value: "x:4x16x64" }
    parameters { key: "trt_profile_max_shapes" value: "x:8x16x64" }
  } ]
}}
"""


def accelerated(body: str, rest: str = "") -> BuildCommand:
    return parse_config(f"optimization {{ execution_accelerators {{ {body} }} }} {rest}")


TRT = 'gpu_execution_accelerator { name: "tensorrt" parameters { key: "precision_mode" value: "FP16" } }'


def test_a_configuration() -> None:
    found = parse_config(FP16, "repo/norm/config.pbtxt")
    assert (found.tool, found.builds, found.model, found.place) == (
        "triton",
        True,
        None,
        "repo/norm/config.pbtxt",
    )
    assert found.switches == {"fp16": True}
    assert found.text.startswith("triton onnxruntime tensorrt precision_mode=FP16 trt_profile_min_shapes=")
    served = found.served
    assert served is not None
    assert (served.backend, served.max_batch_size) == ("onnxruntime", 8)
    assert [(t.role, t.name, t.data_type, t.dims) for t in served.tensors] == [
        ("input", "x", "TYPE_FP32", (16, 64)),
        ("input", "ids", "TYPE_INT64", (-1,)),
        ("output", "y", "TYPE_FP16", (16, 64)),
    ]


@pytest.mark.parametrize(("written", "size"), [(-3, 0), (0, 0), (1, 1)])
def test_a_negative_batch_size_is_none(written: int, size: int) -> None:
    served = parse_config(f"max_batch_size: {written}").served
    assert served == ServerConfiguration("onnxruntime", size, ())


def test_profiles() -> None:
    shapes = shapes_of(parse_config(FP16))
    assert [(spec.name, spec.min, spec.opt, spec.max) for spec in shapes.specs] == [
        ("x", (1, 16, 64), (4, 16, 64), (8, 16, 64)),
        ("ids", (1, 1), None, None),
    ]
    assert not shapes.complete


@pytest.mark.parametrize(
    ("mode", "switches"),
    [("FP32", {}), ("BF16", {"bf16": True}), ("INT8", {"int8": True}), ("fp16", {}), ("", {})],
)
def test_precision_modes(mode: str, switches: dict[str, bool]) -> None:
    assert accelerated(TRT.replace("FP16", mode)).switches == switches


def test_where_accelerators_are_not_looked_at() -> None:
    assert accelerated(TRT).switches == {"fp16": True}
    assert accelerated(TRT, 'backend: "tensorrt"').switches == {}
    assert accelerated(TRT, "instance_group { kind: KIND_CPU }").switches == {}
    assert accelerated(TRT, "instance_group [ { kind: KIND_CPU }, { count: 2 } ]").switches == {"fp16": True}
    assert accelerated(TRT.replace("gpu_", "cpu_")).switches == {}
    assert accelerated(TRT.replace('"tensorrt"', '"cuda"')).switches == {}


def test_the_model_that_a_configuration_is_for() -> None:
    any_model = parse_config('backend: "onnxruntime"')
    assert commands_for(Path("m/1/model.onnx"), [any_model]) == (any_model,)
    other = parse_config('default_model_filename: "other.onnx"')
    assert commands_for(Path("other.onnx"), [other, any_model]) == (other,)


def test_a_file_or_a_text(tmp_path: Path) -> None:
    file = tmp_path / "config.pbtxt"
    file.write_text(FP16, encoding="utf-8")
    (found,) = read_commands(str(file))
    assert found == read_config(file)
    assert pickle.loads(pickle.dumps(found)) == found
    (text,) = read_commands('max_batch_size: 3 input { name: "x" }')
    assert text.served is not None


def test_the_configuration_of_a_model_in_a_repository(tmp_path: Path) -> None:
    model = tmp_path / "norm" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    assert config_beside(model) is None
    (tmp_path / "norm" / "config.pbtxt").write_text(FP16, encoding="utf-8")
    assert config_beside(model) == tmp_path / "norm" / "config.pbtxt"
    assert config_beside(tmp_path / "norm" / "latest" / "model.onnx") is None


@needs_posix
def test_a_link_that_nobody_named_is_not_followed_out_of_its_folder(tmp_path: Path) -> None:
    """An error message would quote the file behind the link."""
    secret = tmp_path / "secret"
    secret.write_text("password: hunter2", encoding="utf-8")
    model = tmp_path / "models" / "norm" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    config = tmp_path / "models" / "norm" / "config.pbtxt"
    config.symlink_to("../../secret")
    with pytest.raises(CommandError, match="is a link to a file in another folder") as caught:
        config_beside(model)
    assert "hunter2" not in str(caught.value)


@needs_posix
@pytest.mark.parametrize("kept", ["mounted", "cached"])
def test_links_that_tools_make_are_followed(tmp_path: Path, kept: str) -> None:
    """Kubernetes links the entries of a ConfigMap, and a download cache links its files."""
    folder, blobs = tmp_path / "norm", tmp_path / "blobs"
    model = folder / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    blobs.mkdir()
    if kept == "mounted":
        (folder / "..data").mkdir()
        (folder / "..data" / "config.pbtxt").write_text(FP16, encoding="utf-8")
        (folder / "config.pbtxt").symlink_to("..data/config.pbtxt")
    else:
        (blobs / "3f").write_text(FP16, encoding="utf-8")
        (blobs / "a1").touch()
        (folder / "config.pbtxt").symlink_to("../blobs/3f")
        model.symlink_to("../../blobs/a1")
    config = config_beside(model)
    assert config is not None
    assert read_config(config).served is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('input {\n  name: "x"\n  data_type: TYPE_F32\n}', "c.pbtxt:3: not a Triton configuration"),
        ("input {\n  data_type: 99\n}", "c.pbtxt:2: not a Triton configuration"),
        ("input { data_type: -1 }", "c.pbtxt:1: not a Triton configuration"),
        ("instance_group { kind: 77 }", "c.pbtxt:1: not a Triton configuration"),
        ("max_batch_size: 1\nmax_batch_size: 2", "c.pbtxt:2: not a Triton configuration"),
        ("max_batch_size: 99999999999999999999", "c.pbtxt:1: "),
        ("input {", "c.pbtxt:1: "),
        ('name: "a', "c.pbtxt: not a Triton configuration: "),
        ("}}", "c.pbtxt:1: "),
        ("input {" * 100, "messages are nested more than 50 deep"),
        ("a [" * 10_000, "messages are nested more than 50 deep"),
        ("unknown { " * 40, "c.pbtxt:1: "),
        ("input { }\n" * 10_001, "more than 10,000 inputs and outputs"),
        ("max_batch_size: " + "m" * 500_000, "c.pbtxt:1: not a Triton configuration"),
        ('name: "' + "m" * 500_000, "c.pbtxt: not a Triton configuration"),
        ("max_batch_size: " + "9" * 500_000, "c.pbtxt:1: "),
    ],
)
def test_what_is_wrong_is_one_line(text: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_config(text, "c.pbtxt")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "config.pbtxt"
    for content, says in (
        (b"\xff\xfe", "not UTF-8"),
        (b"#" * ((1 << 20) + 1), "longer than 1 MiB"),
    ):
        file.write_bytes(content)
        with pytest.raises(CommandError, match=says):
            read_config(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(CommandError, match="directory"):
        read_config(file)


@pytest.mark.slow
def test_a_long_configuration_takes_seconds_at_most() -> None:
    text = 'unknown { a: "b" c: [1, 2, 3] }\n' * 30_000
    start = time.process_time()
    parse_config(text[: 1 << 20].rpartition("\n")[0])
    assert time.process_time() - start < 20


PIECES = [*'{}[]:,"<>#\n x1-', "input", "name", "dims", "TYPE_FP32"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_config(text)
    except CommandError as error:
        assert "\n" not in str(error)
    else:
        assert found.served is not None


@pytest.mark.parametrize(("depth", "accepted"), [(50, True), (51, False)])
def test_the_depth_of_messages_is_limited(depth: int, accepted: bool) -> None:
    text = "unknown {" * depth + "}" * depth
    if accepted:
        assert parse_config(text).served == ServerConfiguration("onnxruntime", 0, ())
    else:
        with pytest.raises(CommandError) as caught:
            parse_config(text)
        assert str(caught.value) == "config.pbtxt: messages are nested more than 50 deep"


def test_the_number_of_tensors_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "_MOST_TENSORS", 2)
    assert parse_config("input {} output {}", "c").served is not None
    with pytest.raises(CommandError) as caught:
        parse_config("input {} input {} output {}", "c")
    assert str(caught.value) == "c: more than 2 inputs and outputs"


def test_all_fields_of_a_tensor() -> None:
    served = parse_config(
        'input { name: "x" data_type: TYPE_BF16 dims: [ -1, 3 ] allow_ragged_batch: true }'
        'input { name: "y" data_type: TYPE_STRING reshape { shape: [ ] } dims: 1 optional: true }'
        "output { data_type: TYPE_BOOL }"
    ).served
    assert served == ServerConfiguration(
        "onnxruntime",
        0,
        (
            ServedTensor("input", "x", "TYPE_BF16", (-1, 3), ragged=True),
            ServedTensor("input", "y", "TYPE_STRING", (), ragged=False),
            ServedTensor("output", "", "TYPE_BOOL", (), ragged=False),
        ),
    )


@pytest.mark.parametrize(
    ("text", "backend", "options"),
    [
        ('platform: "onnxruntime_onnx"', "onnxruntime", ()),
        ('platform: "tensorrt_plan"', "tensorrt", ()),
        ('platform: "other"', "other", ()),
        ('platform: "tensorrt_plan" backend: "own"', "own", ()),
        (
            'default_model_filename: "m.onnx"',
            "onnxruntime",
            (Option("default_model_filename", "m.onnx"),),
        ),
        (
            'default_model_filename: "m" optimization { execution_accelerators { gpu_execution_accelerator '
            '[ { name: "cuda" }, { name: "tensorrt" parameters { key: "a" value: "1" } parameters '
            '{ key: "b" } }, { name: "tensorrt" parameters { key: "c" } } ] } }',
            "onnxruntime",
            (
                Option("default_model_filename", "m"), Option("tensorrt"), Option("a", "1"), Option("b", ""),
            ),
        ),
    ],
)  # fmt: skip
def test_the_backend_and_its_options(text: str, backend: str, options: tuple[Option, ...]) -> None:
    found = parse_config(text, "c")
    accelerators = ("cuda", "tensorrt", "tensorrt") if "gpu_execution" in text else ()
    assert found == BuildCommand(
        "triton",
        options,
        source="c",
        text=" ".join(["triton", backend, *(option.text for option in options)]),
        served=ServerConfiguration(backend, 0, (), accelerators),
    )


@pytest.mark.parametrize(
    ("kinds", "used"),
    [
        ((), True), (("KIND_AUTO",), True), (("KIND_GPU",), True), (("KIND_CPU",), False),
        (("KIND_MODEL",), False), (("KIND_CPU", "KIND_GPU"), True), (("KIND_CPU", "KIND_MODEL"), False),
    ],
)  # fmt: skip
def test_accelerators_need_a_gpu(kinds: tuple[str, ...], used: bool) -> None:
    groups = " ".join(f"instance_group {{ kind: {kind} }}" for kind in kinds)
    assert bool(accelerated(TRT, groups).options) is used


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('name: "a"', True), ("# note\n\n # more\n input {", True), ("input [", True), ("a:", True),
        ("Name: 1", False), ("input", False), ("trtexec --onnx=a", False), ("# name: 1", False), ("", False),
    ],
)  # fmt: skip
def test_text_that_may_be_a_configuration(text: str, expected: bool) -> None:
    assert triton.is_config(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('backend: "onnxruntime"', ("auto_mixed_precision",)),
        ('platform: "onnxruntime_onnx" instance_group { kind: KIND_GPU }', ("auto_mixed_precision",)),
        ('backend: "onnxruntime" instance_group { kind: KIND_CPU }', ()),
        ('platform: "pytorch_libtorch"', ()),
    ],
)
def test_accelerators_of_the_onnxruntime_backend(text: str, expected: tuple[str, ...]) -> None:
    served = parse_config(
        f"{text} optimization {{ execution_accelerators {{ gpu_execution_accelerator : [ "
        '{ name : "auto_mixed_precision" } ] } }'
    ).served
    assert served is not None
    assert served.accelerators == expected
