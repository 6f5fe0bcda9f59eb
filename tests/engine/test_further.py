"""Tests of requests for more files: only for open questions, never for clean logs."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from io import BytesIO
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import onnx
import pytest
from onnx import TensorProto, helper

from tests.inprocess import printed
from trtlint.engine.further import _is_about_the_model, _may_be_rejected
from trtlint.facts.of_build.log_message import LogMessage

NO_PROFILE = "[01/15/2025-17:13:04] [TRT] [E] 4: [network.cpp::validate::3062] Error Code 4: Internal Error (Network has dynamic or shape inputs, but no optimization profile has been defined.)"
NO_KERNEL = "[07/06/2025-18:12:46] [TRT] [E] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /a/Conv.)"
NO_SCALE = "[08/07/2024-07:04:41] [TRT] [W] Missing scale and zero-point for tensor input_ids, expect fall back to non-int8 implementation for any layer consuming or producing given tensor"
OTHER_RELEASE = "[03/15/2022-09:42:36] [E] [TRT] 1: [stdArchiveReader.cpp::StdArchiveReader::40] Error Code 1: Serialization (Serialization assertion stdVersionRead == serializationVersion failed.Version tag does not match. Note: Current Version: 213, Serialized Engine Version: 205)"
UNREADABLE = "[E] ModelImporter.cpp:773: Failed to parse ONNX model from file: a.onnx"
TORCH = "TypeError: Provided an unsupported data type as an input data type (support: bool, int32, long, half, float), got: torch.float8_e4m3fn"
LAZY = "[08/07/2024-07:04:40] [TRT] [W] CUDA lazy loading is not enabled."
BUILT = "[06/26/2023-11:30:51] [I] Engine built in 2.1 sec."


def linted(folder: Path, lines: tuple[str, ...], *options: str) -> str:
    (folder / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    return printed(folder, "--isolated", "--no-cache", *options).out


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (
            NO_PROFILE,
            "the shapes for --minShapes, --optShapes and --maxShapes and the operators that this release rejects",
        ),
        (NO_KERNEL, "the node that this log names and the operators that this release rejects"),
        (NO_SCALE, "the node that this log names"),
    ],
)
def test_the_model_is_asked_for_at_the_end(tmp_path: Path, line: str, asked: str) -> None:
    last = linted(tmp_path, (line,), "build.log").splitlines()[-3:]
    assert f"next: trtlint model.onnx --log build.log shows {asked}" in last


def test_the_layers_are_asked_for(tmp_path: Path) -> None:
    assert "next: trtlint --log build.log --layers layers.json shows" in linted(
        tmp_path, (NO_SCALE, BUILT), "build.log"
    )


def test_standard_input_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in (NO_PROFILE, NO_SCALE):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(f"{line}\n".encode())))
        out = linted(tmp_path, (), "--log", "-")
        assert "next: trtlint model.onnx --log build.log shows" in out
        assert "--log - " not in out


FAILED = "&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx"


def test_layers_are_asked_for_once_and_not_of_a_build_that_failed(tmp_path: Path) -> None:
    asked = "trtlint --log build.log --layers layers.json"
    layers = tmp_path / "layers.json"
    layers.write_text(json.dumps({"Layers": ["a"], "Bindings": []}), "utf-8")
    assert asked in linted(tmp_path, (NO_SCALE, BUILT), "build.log")
    assert asked not in linted(tmp_path, (NO_SCALE, BUILT), "--log", "build.log", "--layers", "layers.json")
    assert asked not in linted(tmp_path, (NO_SCALE, FAILED), "build.log")
    assert asked not in linted(tmp_path, (NO_KERNEL, BUILT), "build.log")


def asked(folder: Path, *lines: str) -> list[tuple[str, str, str]]:
    """Return the request for more files: the kind of file, the command and the open questions."""
    (model,) = json.loads(linted(folder, lines, "build.log", "--format", "json"))["models"]
    return [(each["give"], each["command"], each["settles"]) for each in model.get("further", ())]


MODEL_GIVEN = "trtlint model.onnx --log build.log"
LAYERS_GIVEN = (
    "layers",
    "trtlint --log build.log --layers layers.json",
    "the type of each layer (trtexec --exportLayerInfo=layers.json --profilingVerbosity=detailed writes "
    "layers.json)",
)
SHAPES = "the shapes for --minShapes, --optShapes and --maxShapes"
NO_SCALES = NO_SCALE.replace("input_ids", "mask")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((BUILT,), []),
        ((NO_SCALE, BUILT), [("model", MODEL_GIVEN, "the node that this log names"), LAYERS_GIVEN]),
        (
            (NO_SCALE, NO_SCALES, BUILT),
            [("model", MODEL_GIVEN, "the nodes that this log names"), LAYERS_GIVEN],
        ),
        (
            (NO_PROFILE, NO_KERNEL),
            [
                (
                    "model",
                    MODEL_GIVEN,
                    f"{SHAPES}, the node that this log names and the operators that this release rejects",
                )
            ],
        ),
        (
            ("[I] TensorRT version: 10.7.0", NO_KERNEL),
            [
                (
                    "model",
                    MODEL_GIVEN,
                    "the node that this log names and the operators that TensorRT 10.7.0 rejects",
                )
            ],
        ),
    ],
)
def test_all_that_is_asked_for(
    lines: tuple[str, ...], expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    assert asked(tmp_path, *lines) == expected


@pytest.mark.parametrize("lines", [(OTHER_RELEASE,), (UNREADABLE,), (LAZY, BUILT), (BUILT,)])
def test_nothing_is_asked_for_that_does_not_help(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert "next: " not in linted(tmp_path, lines, "build.log")


def test_nothing_is_asked_for_where_the_model_is_given(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "/a/Conv")], "g", [value], [out])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    assert "next: " not in linted(tmp_path, (NO_KERNEL,), "model.onnx", "--log", "build.log")


def test_in_json(tmp_path: Path) -> None:
    (model,) = json.loads(linted(tmp_path, (NO_KERNEL,), "build.log", "--format", "json"))["models"]
    assert [(each["give"], each["command"]) for each in model["further"]] == [
        ("model", "trtlint model.onnx --log build.log")
    ]


ALWAYS, NEVER = frozenset(product((True, False), repeat=3)), frozenset[tuple[bool, ...]]()
STOPPED_BUILD = frozenset({(True, True, True), (True, True, False)})


@pytest.mark.parametrize(
    ("name", "about", "rejected"),
    [
        ("parser_error", ALWAYS, True),
        ("several_sizes", ALWAYS, True),
        ("tactic_memory", ALWAYS, True),
        ("weights_damaged", ALWAYS, False),
        ("model_unreadable", NEVER, True),
        ("no_scales", NEVER, False),
        ("calibration", NEVER, False),
        ("plugin_not_found", frozenset(each for each in ALWAYS if not each[2]), True),
        ("capture_refused", NEVER, False),
        ("version", NEVER, False),
        ("memory", NEVER, False),
        ("api_error", STOPPED_BUILD, True),
        ("bare_error", STOPPED_BUILD, True),
        ("no such message", STOPPED_BUILD, True),
    ],
)
def test_messages_that_the_model_explains(
    name: str, about: frozenset[tuple[bool, ...]], rejected: bool
) -> None:
    """The messages stop the run, come from the builder, or repeat the failure."""
    found = set()
    for stops, builds, echoes in ALWAYS:
        words = "IBuilder::buildSerializedNetwork: Error" if builds else "Error"
        message = SimpleNamespace(name=name, stops=stops, message=words, echoes=("a",) if echoes else ())
        if _is_about_the_model(cast("LogMessage", message)):
            found.add((stops, builds, echoes))
        assert _may_be_rejected(cast("LogMessage", message)) is rejected
    assert found == about
