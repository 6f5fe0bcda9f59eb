"""Tests of types from a user's function, with a fake NVIDIA library and process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.buildcommand.layerspecs import LayerSpec
from trtlint.conversion import _script, layertypes
from trtlint.conversion.layertypes import LayerTypes, NetworkScriptError, of_script
from trtlint.conversion.result import ConversionError
from trtlint.dry_build.wheels import Wheels
from trtlint.process.spawn import Limits, ProcessResult


def layer(name: str, metadata: str = "") -> Any:
    """Return a layer with outputs of type FP32 and INT64."""
    outputs = [SimpleNamespace(dtype="float"), SimpleNamespace(dtype="int64")]
    return SimpleNamespace(
        name=name, metadata=metadata, type=f"kind of {name}", get_output=outputs.__getitem__
    )


def library(*layers: Any, errors: tuple[str, ...] | None = None) -> Any:
    """Return a fake library. With ``errors``, the parser refuses the model."""
    network = SimpleNamespace(num_layers=len(layers), get_layer=layers.__getitem__, name="parsed")
    parser = SimpleNamespace(
        parse_from_file=lambda file: file == "model.onnx" and errors is None,
        num_errors=len(errors or ()),
        get_error=lambda index: SimpleNamespace(desc=lambda: (errors or ())[index]),
    )
    trt: Any = SimpleNamespace(
        Logger=lambda severity: f"logger of {severity}",
        Builder=lambda _: SimpleNamespace(create_network=lambda flags: network if flags == 0 else None),
        OnnxParser=lambda own, logger: parser if (own, logger) == (network, "logger of error") else None,
        float32=SimpleNamespace(name="FLOAT"),
        float16=SimpleNamespace(name="HALF"),
        BuilderFlag=SimpleNamespace(__members__={}, TF32="tf32"),
    )
    trt.Logger.ERROR = "error"
    return trt


def said(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str, trt: Any, function: str = "f") -> Any:
    """Return the only answer of the worker to a script."""
    file = folder / "own.py"
    file.write_text(body)
    monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", trt)
    monkeypatch.delitem(sys.modules, "tensorrt", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    answers: list[Any] = []
    request = {"model": "model.onnx", "script": str(file), "function": function, "name": "own.py:f"}
    _script.work(request, answers.append)
    (answer,) = answers
    sys.modules.pop("tensorrt", None)
    return answer


USUAL = """
import tensorrt as trt
def f(network):
    assert network.name == "parsed"
    assert len(network) == network.num_layers == 6
    one, two, three, four, five, six = network
    assert network[1] is two and network.get_layer(2) is three
    assert one.precision is None and not one.precision_is_set
    one.precision = trt.float32
    assert one.precision_is_set and one.precision is trt.float32
    two.precision = trt.float16
    two.reset_precision()
    two.reset_precision()
    assert two.precision is None and not two.precision_is_set
    three.set_output_type(1, trt.float16)
    assert three.output_type_is_set(1) and not three.output_type_is_set(0)
    assert three.get_output_type(1) is trt.float16 and three.get_output_type(0) == "float"
    four.set_output_type(0, trt.float32)
    four.reset_output_type(0)
    four.reset_output_type(0)
    assert not four.output_type_is_set(0) and four.get_output_type(1) == "int64"
    five.set_output_type(0, trt.float32)
    five.precision = trt.float16
    six.note = "stays"
    six.tag = 1
    assert six.note == "stays" and six.tag == 1 and six.name == "six" and six.type == "kind of six"
    six.precision = "BF16"
"""


def test_precisions_and_output_types_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    layers = [layer(name, f"about {name}") for name in ("one", "two", "three", "four", "five", "six")]
    assert said(monkeypatch, tmp_path, USUAL, library(*layers)) == {
        "layers": [
            ["one", "about one", "fp32"],
            ["three", "about three", "fp16"],
            ["five", "about five", "fp16"],
            ["six", "about six", "bf16"],
        ]
    }


ANYTHING = """
import tensorrt as trt
def f(builder, network, config):
    assert network.name == "parsed"
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    assert flags == 1
    config.flags = config.flags | trt.BuilderFlag.FP16
    config.flags = 1 | trt.BuilderFlag.FP16
    assert trt.BuilderFlag.TF32 == "tf32"
    assert [0][trt.BuilderFlag.FP16] == 0
    builder.create_builder_config().set_flag(trt.BuilderFlag.OBEY, wait=True)
    for each in (builder, config, trt, trt.BuilderFlag):
        assert not hasattr(each, "__len__")
        try:
            each.__fancy__
        except AttributeError as error:
            assert "__fancy__" in str(error)
        else:
            raise AssertionError
"""


def test_names_that_the_library_lacks_do_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert said(monkeypatch, tmp_path, ANYTHING, library(layer("one"))) == {"layers": []}


def test_the_network_is_the_first_argument_unless_one_has_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = "def f(net, other): assert net.name == 'parsed' and other.name is not net.name"
    assert said(monkeypatch, tmp_path, body, library()) == {"layers": []}


@pytest.mark.parametrize(
    ("parameters", "network"),
    [
        ("network, *, verbose=False", "network"),
        ("network, **more", "network"),
        ("network, *more", "network"),
        ("network, precision=trt.float32", "network"),
        ("network=None, precision=trt.float32", "network"),
        ("builder=None, network=None, precision=trt.float32", "network"),
        ("*, network", "network"),
        ("builder, /, network, *, verbose=False", "network"),
        ("net=None", "net"),
        ("*nets", "nets[0]"),
        ("**more", "more['network']"),
    ],
)
def test_optional_arguments_keep_their_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parameters: str, network: str
) -> None:
    body = f"""
import tensorrt as trt
def f({parameters}):
    own = locals()
    assert not own.get("verbose")
    assert own.get("more", ()) in ((), {{}}, {{"network": {network}}})
    assert {network}.name == "parsed"
    {network}[0].precision = own.get("precision", trt.float32)
"""
    assert said(monkeypatch, tmp_path, body, library(layer("one"))) == {"layers": [["one", "", "fp32"]]}


def test_a_function_without_arguments_gets_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert said(monkeypatch, tmp_path, "def f(): pass", library(layer("one"))) == {"layers": []}


def test_scripts_import_modules_beside_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "beside_the_script.py").write_text("TYPE = 'FP8'")
    body = "import beside_the_script as b\ndef f(network): network[0].precision = b.TYPE"
    try:
        found = said(monkeypatch, tmp_path, body, library(layer("one")))
    finally:
        sys.modules.pop("beside_the_script", None)
    assert found == {"layers": [["one", "", "fp8"]]}


@pytest.mark.parametrize(
    ("body", "function", "error"),
    [
        ("def f(network): raise KeyError('x' * 500)", "f", f"own.py:f: KeyError: '{'x' * 379}"),
        ("f = 3", "f", "own.py:f: TypeError: f is not a function"),
        ("f = 3", "g", "own.py:f: AttributeError: module 'trtlint_network_script' has no attribute 'g'"),
    ],
)
def test_a_script_that_fails_is_an_error_of_400_characters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, function: str, error: str
) -> None:
    found = said(monkeypatch, tmp_path, body, library(layer("one")), function)
    assert found == {"error": error}
    assert len(error) == 400 or "KeyError" not in error


@pytest.mark.parametrize(
    ("errors", "text"),
    [((), "the parser refuses the model"), (("x" * 401, "second"), "x" * 400)],
)
def test_the_first_error_of_the_parser_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, errors: tuple[str, ...], text: str
) -> None:
    assert said(monkeypatch, tmp_path, "", library(errors=errors)) == {"error": text}


def test_a_file_that_is_not_python_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^not a Python file$"):
        _script._function(str(tmp_path / "own.txt"), "f")


class Process:
    """Fake process that returns a result and records its requests."""

    def __init__(self, *answers: dict[str, Any], cause: Any = "done") -> None:
        self._result = ProcessResult(cause, None, "SIGSEGV", 1.0, None, answers)
        self.asked: list[Any] = []

    def __call__(self, work: str, request: Any, limits: Limits, **more: Any) -> ProcessResult:
        self.asked.append((work, request, limits, more))
        return self._result


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a script in an environment with fake wheels."""
    path = tmp_path / "own.py"
    path.touch()
    monkeypatch.setattr(layertypes, "find", lambda: Wheels("1.7.1", "wheels"))
    return path


@pytest.mark.parametrize(("function", "called"), [("", "postprocess"), (":f", "f")])
def test_layer_types_are_named_after_their_nodes(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str, called: str
) -> None:
    layers = [
        ["layer", "[ONNX Layer: /a/MatMul] [ONNX Layer: /b]", "fp32"],
        ["own*name", "", "fp16"],
        ["other", f"[ONNX Layer: {'x' * 1001}]", "bf16"],
    ]
    process = Process({"stage": "first"}, {"layers": layers})
    monkeypatch.setattr(layertypes, "run", process)
    assert of_script(Path("model.onnx"), f"{file}{function}") == LayerTypes(
        (
            LayerSpec("--layerPrecisions", "/a/MatMul", "fp32"),
            LayerSpec("--layerPrecisions", "own?name", "fp16"),
            LayerSpec("--layerPrecisions", "other", "bf16"),
        ),
        "obey",
        "--network-script own.py",
    )
    model = os.path.abspath("model.onnx")  # noqa: PTH100 - as the script, which keeps links
    request = {"model": model, "script": str(file), "function": called, "name": f"{file}{function}"}
    settings = {"paths": ("wheels",), "environment": {"CUDA_VISIBLE_DEVICES": ""}}
    assert process.asked == [("trtlint.conversion._script", request, Limits(), settings)]


def test_errors_of_the_process_are_reasons(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layertypes, "run", Process({"error": "own.py: bad"}))
    with pytest.raises(NetworkScriptError, match=r"^--network-script own.py: bad$"):
        of_script(Path("model.onnx"), str(file))
    for process in (Process(cause="crashed"), Process({"stage": "first"}, cause="crashed")):
        monkeypatch.setattr(layertypes, "run", process)
        with pytest.raises(ConversionError) as caught:
            of_script(Path("model.onnx"), str(file))
        assert (
            str(caught.value)
            == f"--network-script {file}: the process that ran the script {process._result.words}"
        )
    with pytest.raises(NetworkScriptError, match=r"gone.py: there is no such file$"):
        of_script(Path("model.onnx"), f"{file.with_name('gone.py')}:f")
