"""Tests of ``--ep`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.inprocess import printed
from tests.partition.test_predict import TWO_UNIQUES, write
from tests.schemas import load
from trtlint import lint
from trtlint.errors import SettingError


def test_the_report_shows_parts_and_nodes_left(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    result = printed(tmp_path, "lint", str(path), "--ep", "tensorrt", "--trt", "10.13", "--no-cache")
    assert "the TensorRT provider would run 3 of 5 nodes (60 %) in 3 parts (predicted)" in result.out
    assert "left to other providers: 2 Unique nodes [BLD2" in result.out
    assert "if TensorRT accepted these nodes, there would be 1 part, and 0 nodes left" in result.out


def test_a_model_of_one_node_has_its_own_words(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[U] y) { [u] y = Unique (x) }""",
    )
    result = printed(tmp_path, "lint", str(path), "--ep", "tensorrt", "--trt", "10.13", "--no-cache")
    assert "runs no part of the model: its only node runs elsewhere (predicted)" in result.out


def test_json_follows_its_schema(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    arguments = ("--ep", "tensorrt", "--ep-options", "trt_op_types_to_exclude=Abs", "--trt", "10.13")
    result = printed(tmp_path, "lint", str(path), *arguments, "--no-cache", "--format", "json")
    document = json.loads(result.out)
    jsonschema.validate(document, load("trtlint.report/1"))
    (model,) = document["models"]
    assert model["partition"]["left"] == ["u1", "b", "u2"]
    assert model["partition"]["provider"] == "tensorrt"


def test_options_without_a_provider_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    result = printed(tmp_path, "lint", str(path), "--ep-options", "trt_fp16_enable=1")
    assert result.code == 2
    assert "--ep-options needs --ep" in result.err


@pytest.mark.parametrize("command", ["lint", "fix"])
@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize(
    ("provider", "option", "version", "other"),
    [("tensorrt", "rtx", "1.7", "TensorRT-RTX 1.7"), ("nv-tensorrt-rtx", "trt", "10.7", "TensorRT 10.7")],
)
def test_the_provider_and_the_target_have_the_same_product(
    tmp_path: Path, command: str, configured: bool, provider: str, option: str, version: str, other: str
) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    given = [] if configured else [f"--{option}", version]
    if configured:
        text = f'target = {{ {option} = "{version}" }}\n'
        (tmp_path / "trtlint.toml").write_text(text, encoding="utf-8")
    result = printed(tmp_path, command, str(path), "--ep", provider, *given)
    assert result.code == 2
    assert f"the target is {other}" in result.err
    keywords: dict[str, Any] = {"ep": provider, option: version}
    with pytest.raises(SettingError, match=f"the target is {other}"):
        lint(path, **keywords)


def test_a_script_names_the_provider(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    script = tmp_path / "session.py"
    script.write_text(
        "import onnxruntime\n"
        f"onnxruntime.InferenceSession({str(path)!r}, providers=[\n"
        "    ('TensorrtExecutionProvider', {'trt_min_subgraph_size': 2})])\n"
    )
    result = printed(tmp_path, "lint", str(path), "--build", str(script), "--trt", "10.13", "--no-cache")
    assert "would run no part of the model" in result.out
    assert "ORT109" in result.out


def test_fix_shows_the_parts_before_and_after(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2,3] x, float[3] a, float[3] b) => (float[2] y) < int64[1] w = {1} >
    { [r] p = Relu (x) [i] axes = Identity (w) [n] q = Neg (p) [s] y = ReduceSum <keepdims = 0> (q, axes) }
    """
    path = write(tmp_path, text)
    out = tmp_path / "out.onnx"
    arguments = ("--ep", "tensorrt", "--trt", "10.13", "-o", str(out), "--format", "json")
    document = json.loads(printed(tmp_path, "fix", str(path), *arguments).out)
    jsonschema.validate(document, load("trtlint.fix/1"))
    assert document["models"][0]["partitions"].keys() == {"before", "after"}


@pytest.mark.slow
@NEEDS_WHEELS
@pytest.mark.parametrize(
    ("provider", "target"), [("tensorrt", ("--trt", "10.13")), ("nv-tensorrt-rtx", ("--rtx", "1.7"))]
)
def test_a_dry_parse_asks_the_parser(tmp_path: Path, provider: str, target: tuple[str, str]) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    arguments = ("--ep", provider, *target, "--dry-parse", "--no-cache", "--format", "json")
    document = json.loads(printed(tmp_path, "lint", str(path), *arguments).out)
    jsonschema.validate(document, load("trtlint.report/1"))
    found = document["models"][0]["partition"]
    assert found["basis"] == "parser"
    assert found["as_predicted"]
    assert found["left"] == ["u1", "u2"]


def test_netron_and_html_show_the_parts(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    page, overlay = tmp_path / "r.html", tmp_path / "r.json"
    outputs = ("--output", f"html:{page}", "--output", f"netron:{overlay}")
    printed(tmp_path, "lint", str(path), "--ep", "tensorrt", "--trt", "10.13", *outputs)
    text = page.read_text(encoding="utf-8")
    assert "3 of 5 nodes" in text
    assert text.count("<rect") >= 5
    entries = json.loads(overlay.read_text(encoding="utf-8"))["metadata"]
    parts = {each["target"]: each["value"] for each in entries if each["name"] == "part"}
    assert (parts["a"], parts["b"], parts["c"]) == ("part 1", "part 2", "part 3")
    assert parts["u1"].startswith("none: ")
