"""Tests of every real log, layer file and profile against the facts of its source."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.buildfiles.reading import read_layers
from tests.buildfiles.vectors import read_with
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import LayerInfo
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.names import layer_names
from trtlint.buildfiles.patterns import table
from trtlint.buildfiles.prefix import parse_prefix
from trtlint.buildfiles.profile import Profile
from trtlint.buildfiles.record import read_build_file
from trtlint.buildfiles.records import Log
from trtlint.buildfiles.settings import BuildSettings

RTX, TRT = "tensorrt-rtx", "tensorrt"
H100 = "NVIDIA H100 PCIe"
ADA = "NVIDIA RTX 2000 Ada Generation Laptop GPU"
ALL = "fp16 fp32 int8"

# file: product, version, tool, GPU, SM, precision; None where the file does not tell: TensorRT for RTX prints
# no version, the Python logger no GPU.
LOGS: dict[str, tuple[str | None, str | None, str | None, str | None, int | None, str | None]] = {
    "cookbook-ort-tensorrt-ep.log": (None, None, None, None, None, None),
    "cookbook-trt10.16.0-rtxcompare-trt-verbose.log": (TRT, "10.16.0", "logger", None, 89, None),
    "cookbook-trt10.16.1-addscalar-trtexec-plugin.log": (TRT, "10.16.1", "trtexec", H100, 90, "fp32"),
    "cookbook-trt10.16.1-mnist-trtexec-default.log": (TRT, "10.16.1", "trtexec", H100, 90, "fp32"),
    "cookbook-trt10.16.1-mnist-trtexec-dumplayerinfo.log": (TRT, "10.16.1", "trtexec", H100, 90, "fp32"),
    "cookbook-trt10.16.1-mnist-trtexec-dumpprofile.log": (TRT, "10.16.1", "trtexec", H100, 90, None),
    "cookbook-trt10.16.1-mnist-trtexec-fp16-verbose.log": (TRT, "10.16.1", "trtexec", H100, 90, "fp16 fp32"),
    "cookbook-trt10.16.1-mnist-trtexec-loadengine-verbose.log": (TRT, "10.16.1", "trtexec", H100, 90, None),
    "cookbook-trt10.16.2-attention-pyapi.log": (None, None, "python", None, None, None),
    "cookbook-trt10.16.2-dynamicquantize-pyapi-verbose.log": (TRT, "10.16.2", "python", None, 90, None),
    "cookbook-trt10.16.2-errorrecorder-pyapi.log": (None, None, None, None, None, None),
    "cookbook-trt10.16.2-int8calibration-pyapi.log": (None, None, "python", None, None, None),
    "cookbook-trt10.16.2-mnist-polygraphy-convert.log": (
        TRT,
        "10.16.2",
        "polygraphy",
        None,
        None,
        "fp16 fp32",
    ),
    "cookbook-trt10.16.2-mnist-polygraphy-inspect.log": (TRT, "10.16.2", "polygraphy", None, None, None),
    "cookbook-trt10.16.2-mnist-polygraphy-run-onnxrt-trt.log": (
        TRT,
        "10.16.2",
        "polygraphy",
        None,
        None,
        "fp32",
    ),
    "cookbook-trt10.16.2-mnist-polygraphy-run-vv.log": (
        TRT,
        "10.16.2",
        "polygraphy",
        None,
        None,
        "fp16 fp32",
    ),
    "cookbook-trt10.16.2-mnist-pyapi-profilingverbosity-verbose.log": (
        TRT,
        "10.16.2",
        "python",
        None,
        90,
        None,
    ),
    "cookbook-trt10.16.2-mnist-pyapi-sparsity-verbose.log": (TRT, "10.16.2", "python", None, 90, None),
    "cookbook-trt10.16.2-normalization-pyapi.log": (None, None, "python", None, None, None),
    "cookbook-trt10.16.2-onnxparser-pyapi.log": (None, None, "python", None, None, None),
    "cookbook-trt10.16.2-pytorch-workflow.log": (None, None, "python", None, None, None),
    "cookbook-trt10.16.2-stronglytyped-pyapi.log": (None, None, "python", None, None, None),
    "cookbook-trtrtx1.4-rtxcompare-rtx-verbose.log": (RTX, None, "logger", None, None, None),
    "fragments-issue-threads.log": (TRT, "8.2.5", "trtexec", "NVIDIA H100 PCIe", 90, "fp16 fp32"),
    "lix19937-trt8.4.10-script-best-orin-verbose-truncated.log": (TRT, "8.4.10", "trtexec", "Orin", 87, ALL),
    "lix19937-trt8.5.10-identity-plugin-verbose.log": (TRT, "8.5.10", "trtexec", ADA, 89, "fp32"),
    "lix19937-trt8.5.10-mnist-best-verbose.log.gz": (TRT, "8.5.10", "trtexec", "Orin", 87, ALL),
    "lix19937-trt8.5.10-resnet18-qat-verbose.log.gz": (TRT, "8.5.10", "trtexec", ADA, 89, ALL),
    "nvidia-trt8.5.2-yolo-qdq-int8-verbose.log.gz": (TRT, "8.5.2", "trtexec", "Orin", 87, "fp32 int8"),
    # A failed parse ends before the log names the product.
    **{
        f"own-trtrtx{v}-mixed-verbose.log": (None, None, "logger", None, None, None)
        for v in ("1.4.0", "1.5.0", "1.7.1")
    },
    "own-trtrtx1.7.1-unsup-verbose.log": (None, None, "logger", None, None, None),
}
OWN = (RTX, None, "logger", None, None, None)


def logs(shared: Path) -> list[Path]:
    return sorted(p for p in (shared / "data" / "logs").iterdir() if p.suffix in (".log", ".gz"))


@pytest.mark.slow
def test_logs_settle_what_their_source_states(shared: Path) -> None:
    wrong = {}
    for path in logs(shared):
        log = read_log(path)
        s = log.settings
        precision = " ".join(sorted(s.precision)) if s.precision else None
        got = (s.product, s.version, s.tool, s.gpu, s.sm, precision)
        expected = LOGS.get(path.name, OWN)
        if s.version is not None and expected == OWN:
            # The source line in an error identifies the release.
            assert s.version in path.name, path.name
            expected = (RTX, s.version, *OWN[2:])
        assert path.name in LOGS or path.name.startswith(("own-trtrtx", "rtx-")), path.name
        told = 3 if path.name.startswith("fragments") else 6  # fragments of many builds: the first counts
        if got[:told] != expected[:told]:
            wrong[path.name] = (got, expected)
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert log.lines == raw.count(b"\n") + (not raw.endswith(b"\n")), path.name
        assert log.size == len(raw)
        assert log.notes == ()
    assert wrong == {}


@pytest.mark.parametrize("kind", ["layer-info", "profiles"])
def test_layer_files_and_profiles_are_read(shared: Path, kind: str) -> None:
    for path in sorted((shared / "data" / kind).iterdir()):
        name = path.name
        if name.endswith("exporttimes.json"):
            with pytest.raises(BuildFileError, match="only end-to-end times"):
                read_build_file(path)
            continue
        content = read_build_file(path)
        if name.endswith("oneline.txt"):
            assert read_layers(path).detailed
        elif "layer" in name:
            assert isinstance(content, LayerInfo), name
            assert content.detailed == ("layernames" not in name)
            assert content.tensors
        elif name.endswith("profile.json"):
            assert isinstance(content, Profile)
            assert content.layers
            total = sum(layer.share for layer in content.layers)
            assert total == pytest.approx(1, abs=0.01), name
        else:
            assert isinstance(content, BuildSettings)
            if name.endswith("build-metadata.json"):
                expected = (
                    {"fp32"} if "fp32" in name else {"fp32", "fp16"} | ({"int8"} if "qat" in name else set())
                )
                assert content.precision == frozenset(expected), name
            else:
                assert (content.gpu, content.sm) == ("NVIDIA A100 80GB PCIe", 80)


def test_profiles_fit_their_layers(shared: Path) -> None:
    for path in sorted((shared / "data" / "profiles").glob("*-profile.json")):
        layers = next(
            (shared / "data" / "layer-info").glob(path.name.removesuffix("profile.json") + "layer*")
        )
        profile, info = read_build_file(path), read_build_file(layers)
        assert isinstance(profile, Profile)
        assert isinstance(info, LayerInfo)
        assert [layer.name for layer in profile.layers] == [layer.name for layer in info.layers], path.name


@pytest.mark.slow
def test_the_block_filter_changes_nothing(shared: Path) -> None:
    for path in logs(shared):
        assert read_with(path, vectorised=True) == read_with(path, vectorised=False), path.name


@pytest.mark.slow
def test_line_numbers_point_at_the_message(shared: Path) -> None:
    for path in logs(shared):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = raw.decode("utf-8", "replace").split("\n")
        for records in read_log(path).records.values():
            for record in records:
                assert record.message.split("\n")[0][:80] in lines[record.line - 1], (path.name, record)


def test_a_literal_is_enough_to_count_its_pattern(shared: Path) -> None:
    """The reader counts further lines by prefix only, so the prefix must agree with the regex."""
    quiet = table().quiet
    for path in logs(shared):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in raw.split(b"\n"):
            line = line.rstrip(b"\r")
            prefix = parse_prefix(line)
            if not prefix or prefix.severity not in ("V", "I"):
                continue
            message = line[prefix.start :]
            for literal, pattern, alone in quiet.get(message[:6], ()):
                if alone and message.startswith(literal):
                    assert pattern.compiled.search(message.decode("utf-8", "replace")), (
                        pattern.name,
                        message,
                    )


def test_text_and_json_of_one_engine_agree(shared: Path) -> None:
    log = read_log(shared / "data/logs/cookbook-trt10.16.1-mnist-trtexec-dumplayerinfo.log")
    info = read_layers(shared / "data/layer-info/cookbook-trt10.16.1-mnist-layers-detailed.json")
    assert len(log.dumps) == 1
    text = log.dumps[0].layers
    assert len(text) == len(info.layers) == 9
    for one, other in zip(text, info.layers, strict=True):
        assert (one.name, one.type, one.inputs, one.outputs) == (
            other.name,
            other.type,
            other.inputs,
            other.outputs,
        )
        # Two builds of one model: the tactics differ, the engine does not.
        assert one.tactic
        assert (one.stream, one.activation) == (other.stream, other.activation)
        assert (one.weights, one.dynamic_filter) == (other.weights, other.dynamic_filter)
        assert layer_names(one.name, one.metadata) == layer_names(other.name, other.metadata)
    assert (
        [tensor.name for tensor in log.dumps[0].tensors]
        == [tensor.name for tensor in info.tensors]
        == ["x", "y", "z"]
    )


@pytest.mark.parametrize("version", ["1.4.0", "1.5.0", "1.7.1"])
def test_failed_parses_name_their_node(shared: Path, version: str) -> None:
    folder = shared / "data" / "logs"
    mixed = read_log(folder / f"own-trtrtx{version}-mixed-verbose.log")
    failed = mixed.records["parsing_failed"][0]
    assert failed.groups["output"] == "/bad/Add_output_0"
    wrong = mixed.records["type_error"][0]
    assert wrong.groups["node"] == "/bad/Add"
    named = read_log(folder / f"own-trtrtx{version}-unsup-verbose.log").records["failed_node"][0]
    assert named.groups["name"] == "/custom/MyCustomOp"


def test_profile_tables(shared: Path) -> None:
    folder = shared / "data" / "logs"
    new = read_log(folder / "cookbook-trt10.16.1-mnist-trtexec-dumpprofile.log")
    assert isinstance(new, Log)
    (table_,) = new.profiles
    assert len(table_.layers) == 15
    assert table_.layers[3].name.startswith(
        "Reformatting CopyNode for Input Tensor 0 to {ForeignNode[node_conv2d_1"
    )
    old = read_log(folder / "nvidia-trt8.5.2-yolo-qdq-int8-verbose.log.gz").profiles[0]
    exported = read_build_file(shared / "data/profiles/nvidia-trt8.5.2-yolo-qdq-int8-profile.json")
    assert isinstance(exported, Profile)
    times = {layer.name: layer.average for layer in exported.layers}
    for layer in old.layers:
        assert layer.average == pytest.approx(times[layer.name], abs=0.001), layer.name
