"""Tests that the command line and the Python API give the same report, or the same error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.buildfiles.test_ortlog import lines
from tests.conftest import REPOSITORY
from tests.dry_build.rtx import NEEDS_WHEELS
from tests.inprocess import printed
from tests.partition.test_predict import TWO_UNIQUES
from tests.rangeserver import serving
from tests.torch_tensorrt.test_program import document, node
from tests.torch_tensorrt.test_program import write as write_program
from trtlint.conversion.result import to_data
from trtlint.policy.options import as_keyword, as_option
from trtlint.runs import partitionjob  # noqa: F401 - imported now, before a test replaces `find`

CALL = "torch_tensorrt.compile(m, ir='dynamo', min_block_size=1)"
TRT = {"trt": "10.13", "fp16": True}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with models, files of builds, a script and a program."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(TWO_UNIQUES), "m.onnx")
    onnx.save(onnx.parser.parse_model(TWO_UNIQUES.replace("[c] y = Neg", "[c] y = Abs")), "other.onnx")
    for name in ("nafnet.onnx", "nafnet.build.log.gz", "nafnet.npz"):
        shutil.copy(REPOSITORY / "examples" / name, name)
    trtlint.measure("nafnet.onnx", inputs="nafnet.npz", rehearse=False).save("ranges.json")
    Path("ort.log").write_text(lines(3, "Unique (u1)", "Unique (u2)"))
    Path("trt.log").write_text("[I] TensorRT version: 10.7.0\n[I] Precision: FP32+FP16\n")
    Path("plain.log").write_text("Begin\n")
    Path("times.json").write_text('[{"count": 2}, {"name": "u1", "timeMs": 1, "averageMs": 1}]')
    Path("cut.json").write_text('{"Layers": [')
    Path("session.py").write_text(
        "import onnxruntime\nonnxruntime.InferenceSession('m.onnx', providers=[\n"
        "    ('TensorrtExecutionProvider', {'trt_min_subgraph_size': 2})])\n"
    )
    Path("build.py").write_text(f"import torch, torch_tensorrt\n{CALL}\n")
    write_program(
        Path("net.pt2"), document(node("aten.relu.default", "relu"), node("aten.cumprod.default", "cumprod"))
    )
    return tmp_path


def words(keywords: Mapping[str, Any]) -> list[str]:
    """Return keywords as arguments of the command line."""
    found = []
    for name, value in keywords.items():
        option = "--build" if name == "command" else as_option(name)
        if isinstance(value, bool):
            found += [option if value else f"--no-{option[2:]}"]
        elif isinstance(value, Mapping):
            found += [text for key, each in value.items() for text in (option, f"{key}={each}")]
        else:
            found += [f"{option}={value}"]
    return found


def of_command_line(paths: list[str], keywords: Mapping[str, Any]) -> Any:
    """Return the JSON report of ``trtlint``, or its error, with the names of options as in Python."""
    isolated = ("--isolated", "--no-cache", "--format", "json")
    ended = printed(Path.cwd(), "lint", *paths, *words(keywords), *isolated)
    if ended.code in (0, 1, 3):
        return json.loads(ended.out)
    assert ended.code == 2
    return in_python(ended.err.removeprefix("trtlint: ").rstrip("\n"))


def in_python(message: str) -> str:
    """Replace the options in a message by the keywords of Python."""
    return re.sub(r"--([a-z][a-z-]*)", lambda found: as_keyword(found[1].replace("-", "_")), message)


def of_python(paths: list[str], keywords: Mapping[str, Any]) -> Any:
    """Return the JSON report of ``trtlint.lint``, or its error."""
    try:
        report = trtlint.lint(paths, isolated=True, **keywords)
    except trtlint.TrtlintError as error:
        return str(error)
    trtlint.write_report(report, "json", "report.json")
    return json.loads(Path("report.json").read_text(encoding="utf-8"))


def without_costs(report: Any) -> Any:
    """Return a report without the time and the memory of the experiments."""
    if isinstance(report, list):
        return [without_costs(each) for each in report]
    if isinstance(report, dict):
        return {key: without_costs(each) for key, each in report.items() if key not in ("seconds", "peak")}
    return report


REPORTS: list[tuple[list[str], dict[str, Any]]] = [
    (["m.onnx"], {}),
    (["m.onnx"], TRT),
    (["m.onnx", "other.onnx"], TRT),
    (["nafnet.onnx"], TRT | {"log": "nafnet.build.log.gz"}),
    (["nafnet.onnx", "nafnet.build.log.gz"], {}),
    (["m.onnx"], {"log": "ort.log"}),
    (["m.onnx"], {"log": "ort.log", "ep": "nv-tensorrt-rtx"}),
    (["m.onnx"], {"log": "ort.log", "shapes": "x:4x4"}),
    (["m.onnx"], {"log": "trt.log", "profile": "times.json"}),
    (["m.onnx"], {"log": "gone.log", "layers": "cut.json"}),
    ([], {"log": "ort.log"}),
    ([], {"log": "trt.log", "profile": "times.json"}),
    ([], {"log": "trt.log", "layers": "cut.json"}),
    ([], {"log": "plain.log"}),
    (["trt.log"], {}),
    (["nafnet.onnx"], TRT | {"ranges": "ranges.json"}),
    (["nafnet.onnx", "m.onnx"], {"ranges": "ranges.json"}),
    (["gone.onnx"], {"ranges": "ranges.json"}),
    (["nafnet.onnx"], {"ranges": "ranges.json", "log": "nafnet.build.log.gz"}),
    (["m.onnx"], {"command": "trtexec --onnx=m.onnx --fp16 --shapes=x:4x4"}),
    (["m.onnx"], {"command": "session.py"}),
    (["m.onnx"], TRT | {"ep": "tensorrt"}),
    (["m.onnx"], TRT | {"ep": "tensorrt", "ep_options": {"trt_op_types_to_exclude": "Abs"}}),
    (["gone.onnx"], {"ep": "tensorrt"}),
    (["build.py"], {"torch_tensorrt": "2.13"}),
    (["net.pt2", "build.py"], {"torch_tensorrt": "2.13", "gpu": "L4"}),
    (["net.pt2"], {"torch_tensorrt": "2.13", "dry_build_seconds": 3}),
    (["m.onnx", "build.py"], {"torch_tensorrt": "2.13"}),
    ([], {"torch_tensorrt": "2.13", "command": CALL}),
    ([], {"torch_tensorrt": "2.10", "command": "build.py"}),
    (["build.py"], {"torch_tensorrt": "2.10", "log": "trt.log"}),
    (["m.onnx", "other.onnx"], {"dry_build_seconds": 3}),
]


@pytest.mark.parametrize(("paths", "keywords"), REPORTS)
def test_both_give_the_same_report(paths: list[str], keywords: dict[str, Any]) -> None:
    report = of_command_line(paths, keywords)
    assert isinstance(report, dict), report
    assert of_python(paths, keywords) == report


@NEEDS_WHEELS
@pytest.mark.parametrize(
    "keywords",
    [{"dry_parse": True, "shapes": "x:4x4"}, {"dry_parse": True, "ep": "tensorrt", "dry_build_seconds": 60}],
)
def test_both_run_the_same_dry_build(keywords: dict[str, Any]) -> None:
    report = of_command_line(["m.onnx"], keywords)
    assert isinstance(report, dict), report
    assert without_costs(of_python(["m.onnx"], keywords)) == without_costs(report)


@pytest.mark.parametrize(
    ("paths", "keywords", "words"),
    [
        (["m.onnx"], {"shapes": "x:4x4"}, "shapes needs"),
        (["m.onnx", "other.onnx"], {"shapes": "x:4x4"}, "shapes needs"),
        (["m.onnx"], {"dry_build_seconds": 3}, "dry_build_seconds needs"),
        (["m.onnx"], {"dry_build_logs": "logs"}, "dry_build_logs needs"),
        (["m.onnx"], {"torch_python": "python"}, "torch_python needs"),
        (["m.onnx"], {"torch_wheel": "wheel"}, "torch_wheel needs"),
        (["m.onnx"], {"ep_options": {"a": 1}}, "ep_options needs ep"),
        (["m.onnx"], {"ep": "tensorrt", "rtx": "1.7"}, "the provider tensorrt uses TensorRT"),
        (["m.onnx"], {"torch_tensorrt": "2.13"}, "torch_tensorrt needs a Python script"),
        (["m.onnx"], {"command": CALL}, "command: the text is a Torch-TensorRT call"),
        (["build.py"], {}, "build.py: no Torch-TensorRT release is given"),
        (["build.py"], {"torch_tensorrt": "1.0"}, "torch_tensorrt: unknown Torch-TensorRT release"),
        (["m.onnx"], {"log": "trt.log", "dry_parse": True}, "trt.log describes a real build"),
        (["m.onnx"], {"log": "trt.log", "compare": "x.npz"}, "trt.log describes a real build"),
        (["m.onnx", "other.onnx"], {"log": "trt.log"}, "trt.log describes the build of one model"),
        (["m.onnx"], {"ranges": "ranges.json"}, "ranges.json: this is a measurement of another model"),
        (["m.onnx"], {"ranges": "cut.json"}, "cut.json: "),
        (["https://a.b/m.onnx"], {"dry_parse": True}, "https://a.b/m.onnx: this is a remote model"),
        (["https://a.b/m.onnx"], {"ranges": "ranges.json"}, "https://a.b/m.onnx: this is a remote model"),
        (["m.onnx"], {"dry_parse": True, "rtx_path": "gone"}, "rtx_path gone: no such folder"),
    ],
)
def test_both_give_the_same_error(paths: list[str], keywords: dict[str, Any], words: str) -> None:
    found = of_command_line(paths, keywords)
    assert isinstance(found, str), found
    assert found.startswith(words)
    assert in_python(of_python(paths, keywords)) == found


@NEEDS_WHEELS
def test_both_check_the_inputs_of_a_comparison() -> None:
    keywords = {"compare": "gone.npz"}
    found = of_command_line(["m.onnx"], keywords)
    assert found == "compare: gone.npz: No such file or directory"
    assert of_python(["m.onnx"], keywords) == found


def test_both_divide_a_remote_model(folder: Path) -> None:
    pytest.importorskip("aiohttp")
    keywords = TRT | {"ep": "tensorrt"}
    with serving(folder) as served:
        paths = [f"{served.url}/m.onnx"]
        report = of_command_line(paths, keywords)
        assert report["models"][0]["partition"]["left"] == ["u1", "u2"]
        assert of_python(paths, keywords) == report


@pytest.mark.parametrize(
    "command",
    [
        "trtexec --onnx=m.onnx --fp16 --layerPrecisions=b:fp32 --precisionConstraints=obey",
        "polygraphy convert m.onnx --fp16 --layer-precisions b:float32 --precision-constraints obey",
    ],
)
def test_both_keep_the_types_of_layers(command: str) -> None:
    words = ("--to", "fp16", "--no-measure", "--dry-run", "--format", "json")
    ended = printed(Path.cwd(), "convert", "m.onnx", *words, "--build", command)
    found = trtlint.convert("m.onnx", to="fp16", measure=False, dry_run=True, command=command)
    assert json.loads(ended.out) == json.loads(json.dumps(to_data(found)))
    assert "b:" in {kept.node: kept.reason for kept in found.kept}["b"]


def test_the_contents_of_a_build_are_given_once() -> None:
    record = trtlint.read_build("trt.log")
    ways: list[tuple[Any, dict[str, Any]]] = [
        ("m.onnx", {"log": "ort.log"}),
        (["m.onnx", "ort.log"], {}),
        ([], {"log": "ort.log"}),
        (onnx.load("m.onnx"), {"log": "ort.log"}),
    ]
    for path, keywords in ways:
        with pytest.raises(trtlint.SettingError, match=r"^the argument 'record' already .*; omit ort\.log$"):
            trtlint.lint(path, record=record, **keywords)
    (report,) = trtlint.lint([], record=record).models
    assert (report.path, report.form) == ("trt.log", "log")


def test_an_onnx_runtime_log_gives_a_partition() -> None:
    """The file, its contents, and the file with a model in memory give the partition of the log."""
    given: list[tuple[Any, dict[str, Any]]] = [
        ("m.onnx", {"log": "ort.log"}),
        ("m.onnx", {"record": trtlint.read_build("ort.log")}),
        (onnx.load("m.onnx"), {"log": "ort.log"}),
    ]
    for model, keywords in given:
        (report,) = trtlint.lint(model, **keywords).models
        assert [each.data["provider"] for each in report.evidence if each.kind == "partition"] == ["tensorrt"]
