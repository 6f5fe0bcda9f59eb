"""Tests of the libraries with plugins, and of their loading in each program."""

from __future__ import annotations

from trtlint.knowledge import data
from trtlint.knowledge.frontends import UNKNOWN, front_end
from trtlint.knowledge.plugin_libraries import libraries_of, loading


def test_every_library_has_a_public_source() -> None:
    for row in data("plugin_libraries"):
        assert row["source"].startswith("https://")
        assert row["plugins"] or row["namespace"]
        assert row["library"].endswith(".so")


def test_no_other_library_has_a_plugin_of_tensorrt() -> None:
    own = data("operators")["plugins"]
    assert not [name for row in data("plugin_libraries") for name in row["plugins"] if name in own]


def test_one_library() -> None:
    found = libraries_of("TRTBatchedNMS")
    assert [library.project for library in found] == ["MMDeploy"]
    assert loading(found, front_end("polygraphy")) == "--plugins libmmdeploy_tensorrt_ops.so"
    assert "trt_extra_plugin_lib_paths=libmmdeploy" in loading(found, front_end("onnxruntime"))


def test_several_libraries_and_none() -> None:
    assert len(libraries_of("YoloLayer_TRT")) == 3
    assert loading(libraries_of("YoloLayer_TRT"), UNKNOWN) == UNKNOWN.plugin
    assert libraries_of("Mine") == ()
    assert loading((), front_end("deepstream")) == front_end("deepstream").plugin


def test_namespace_behind_the_name() -> None:
    assert libraries_of("GPTAttentiontensorrt_llm")[0].project == "TensorRT-LLM"


def test_plugins_of_tensorrt() -> None:
    assert "init_libnvinfer_plugins" in loading(libraries_of("EfficientNMS_TRT"), UNKNOWN)
    assert "newer TensorRT release" in libraries_of("EfficientNMS_TRT")[0].get
    assert "<11.0" in libraries_of("BatchedNMS_TRT")[0].get
