"""Tests of rewrites that make operators of FP16 models compute in FP32."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest

import trtlint
from tests import schemas
from tests.fixes.fixing import computed, ops
from tests.graphs import model_of
from tests.measurement.test_measuring import NORM
from trtlint.cli import run
from trtlint.fixes.edit import apply
from trtlint.fixes.keep_fp32 import obstacle, to_fp32
from trtlint.measurement.measurement import UnusableMeasurementError
from trtlint.model.load import load

HALF = """
< ir_version: 8, opset_import: ["" : 18] >
norm (float16[2,16,64] x) => (float16[2,16,64] y)
< float16 two = {16384}, float16 eps = {5145}, float16[1] gain = {15872}, int64[1] last = {-1} >
{
  mu = ReduceMean (x, last)
  d = Sub (x, mu)
  [square] squared = Pow (d, two)
  [mean] variance = ReduceMean (squared, last)
  [shift] shifted = Add (variance, eps)
  [root] rooted = Sqrt (shifted)
  n = Div (d, rooted)
  y = Mul (n, gain)
}
"""
"""A norm; the stored numbers are the bits of 2, 0.001 and 1.5."""

measures = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
verifies = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the norm and inputs whose squares exceed FP16."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(HALF), "half.onnx")
    numbers = np.random.default_rng(0).standard_normal((2, 16, 64)) * 300
    np.savez("large.npz", x=numbers.astype(np.float16))
    return tmp_path


def widened(folder: Path, text: str, *paths: str) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return a model with operators in FP32 and the reasons for unchanged operators."""
    path = folder / "model.onnx"
    proto = onnx.parser.parse_model(text)
    onnx.save(proto, path)
    model = load(path)
    found, refused = to_fp32(model, paths)
    after = apply(proto, model.graph, found)
    onnx.checker.check_model(after, full_check=True)
    return after, refused


def measured(model: str, out: str) -> float | None:
    """Return the measured error at the output."""
    run(["measure", model, "--inputs", "large.npz", "-o", out])
    error: float | None = json.loads(Path(out).read_text(encoding="utf-8"))["outputs"][0]["error_fp16"]
    return error


@measures
@verifies
def test_what_was_measured_is_kept_and_the_numbers_get_better(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = measured("half.onnx", "ranges.json")
    assert before is None or before > 0.5
    assert "trtlint fix half.onnx --ranges ranges.json" in capsys.readouterr().out
    options = ["--isolated", "--trt", "11.0", "--verify", "--inputs", "large.npz", "--format", "json"]
    options += ["--ignore", "ACC101"]
    assert run(["fix", "half.onnx", "--ranges", "ranges.json", *options]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schemas.load("trtlint.fix/1"))
    (report,) = data["models"]
    assert [each["place"] for each in report["applied"]] == ["square", "mean", "shift", "root"]
    assert all(each["proof"]["equal"] for each in report["applied"])
    assert [each["good"] for each in report["verified"]] == [True]
    after = measured("half.fixed.onnx", "again.json")
    assert after is not None
    assert after < 0.01
    assert run(["fix", "half.fixed.onnx", "--ranges", "ranges.json"]) == 2
    assert "a measurement of another model" in capsys.readouterr().err


@measures
def test_ranges_from_python(folder: Path) -> None:
    measured("half.onnx", "ranges.json")
    target = trtlint.Target(version="11.0")
    found = trtlint.fix("half.onnx", target, ranges="ranges.json", ignore=["ACC101"])
    assert {applied.fix for applied in found.applied} == {"keep-fp32"}
    assert {applied.place for applied in found.applied} == {"square", "mean", "shift", "root"}
    again = trtlint.fix(onnx.load("half.onnx"), target, ranges="ranges.json", ignore=["ACC101"])
    assert again.applied == found.applied
    with pytest.raises(UnusableMeasurementError, match="a measurement of another model"):
        trtlint.fix("half.fixed.onnx", ranges="ranges.json")


def test_a_dequantizer_that_names_no_type_is_left_alone(folder: Path) -> None:
    text = """
    < ir_version: 11, opset_import: ["" : %d] > g (int8[4] x) => (float16[4] y)
    < float16 s = {1}, int8 z = {0} > { [dq] y = DequantizeLinear %s (x, s, z) }
    """
    _, refused = widened(folder, text % (23, ""), "dq")
    assert refused == {"dq": "the inputs of DequantizeLinear do not determine the type of y"}
    for kept in ((21, ""), (23, "<output_dtype = 10>")):
        assert widened(folder, text % kept, "dq")[1] == {}


@measures
def test_a_dry_run_writes_nothing_and_shows_the_difference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured("half.onnx", "ranges.json")
    capsys.readouterr()
    options = ["--isolated", "--dry-run", "--diff", "--ignore", "ACC101"]
    assert run(["fix", "half.onnx", "--ranges", "ranges.json", *options]) == 0
    out = capsys.readouterr().out
    title = "computes in FP32 the nodes that a measurement lists"
    assert f"  fixed    keep-fp32: {title} at square, mean, shift" in out
    assert "+rooted = Cast <to: int = 10>" in out
    assert not Path("half.fixed.onnx").exists()


@measures
def test_a_model_in_fp32_is_left_to_the_one_who_converts_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(onnx.parser.parse_model(NORM), "norm.onnx")
    np.savez("large.npz", x=np.load("large.npz")["x"].astype(np.float32))
    measured("norm.onnx", "ranges.json")
    capsys.readouterr()
    assert run(["fix", "norm.onnx", "--ranges", "ranges.json", "--isolated"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "trtlint convert norm.onnx --to fp16 --inputs large.npz" in said
    assert not Path("norm.fixed.onnx").exists()


def test_neighbours_share_casts_and_the_result_is_finite(folder: Path) -> None:
    kept = "square", "mean", "shift", "root"
    after, refused = widened(folder, HALF, *kept)
    assert refused == {}
    # The tensor and two stored numbers come in, the result goes out; there is none between.
    assert ops(after).count("Cast") == 4
    assert [node.name for node in after.graph.node if node.name in kept] == list(kept)
    feeds = {"x": np.load("large.npz")["x"]}
    with np.errstate(over="ignore"):
        (wrong,) = computed(onnx.parser.parse_model(HALF), feeds)
    (right,) = computed(after, feeds)
    wide = feeds["x"].astype(np.float64)
    deviation = wide - wide.mean(-1, keepdims=True)
    truth = 1.5 * deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-3)
    assert right.dtype == np.float16
    assert np.abs(right - truth).max() < 0.01 < np.abs(wrong - truth).max()


def test_what_others_read_is_in_fp16_for_them(folder: Path) -> None:
    after, _ = widened(folder, HALF, "square", "root")
    assert ops(after).count("Cast") == 2 + 1 + 1 + 1
    (squared,) = (node for node in after.graph.node if "squared" in node.output)
    assert squared.op_type == "Cast"


def test_a_cast_to_fp16_goes_where_only_wide_ones_read_it(folder: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 18] >
    narrow (float[4] x) => (float16[4] y)
    { [down] a = Cast <to = 10> (x)  [square] b = Mul (a, a)  [root] y = Sqrt (b) }
    """
    after, refused = widened(folder, text, "down", "square", "root")
    assert (ops(after), refused) == (["Mul", "Sqrt", "Cast"], {})
    (right,) = computed(after, {"x": np.full(4, 70000.0 / 2, np.float32)})
    assert right.tolist() == [35008.0] * 4


def test_attributes_that_name_a_type_follow(folder: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 18] >
    made (int64[4] x, float16[4] other) => (float16[4] y)
    { [to] a = Cast <to = 10> (x)  [add] y = Add (a, other) }
    """
    after, refused = widened(folder, text, "to", "add")
    assert refused == {}
    assert sorted(ops(after)) == ["Add", "Cast", "Cast", "Cast"]
    (to,) = (node for node in after.graph.node if node.name == "to")
    assert to.attribute[0].i == onnx.TensorProto.FLOAT
    large = np.full(4, 70000)
    (right,) = computed(after, {"x": large, "other": np.full(4, -60000, np.float16)})
    assert right.tolist() == [np.float16(10000)] * 4


@pytest.mark.parametrize(
    ("node", "path", "why"),
    [
        (
            "[mine] y = house.Frobnicate (x)",
            "mine",
            "Frobnicate is not an ONNX operator, so trtlint does not know whether it supports FP32",
        ),
        ("[mine] y = Relu (x)", "other", "the model has no operator with this path"),
        ("[mine] s = Shape (i)  y = Relu (x)", "mine", "Shape has no 16-bit inputs or outputs"),
        (
            "[mine] y = If (c) <then_branch = t () => (float16[4] u) { u = Relu (x) },"
            " else_branch = e () => (float16[4] v) { v = Neg (x) }>",
            "mine",
            "If contains a body, and the operators in the body determine the types",
        ),
    ],
)
def test_what_cannot_be_widened_is_left_alone(node: str, path: str, why: str, tmp_path: Path) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17, "house" : 1] >
    g (float16[4] x, int64[4] i, bool c) => (float16[4] y) {{ {node} }}
    """
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), file)
    found, refused = to_fp32(load(file), [path])
    assert found == []
    assert refused == {path: why}


def test_a_node_in_a_body_is_left_alone(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float16[4] x, bool c) => (float16[4] y)
    { y = If (c) <then_branch = t () => (float16[4] u) { [inner] u = Relu (x) },
                  else_branch = e () => (float16[4] v) { v = Neg (x) }> }
    """
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), file)
    model = load(file)
    (inner,) = (node for node in model.graph.nodes if node.op == "Relu")
    assert to_fp32(model, [inner.path])[1] == {inner.path: "Relu is in the body of an If or a loop"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("y = Clip (x, , high)", ""),
        ("y = Clip (x, high)", ""),
        ("y = Relu (z)", "Relu has no 16-bit inputs or outputs"),
        ("y = my.Op (x)", "the type of y is unknown"),
    ],
)
def test_an_input_that_is_left_out_is_no_obstacle(text: str, why: str) -> None:
    model = model_of(
        '< ir_version: 8, opset_import: ["" : 17, "my" : 1] > '
        f"g (float16[2] x, float[2] z, float16 high) => (float16[2] k) {{ {text} k = Relu (x) }}"
    )
    assert obstacle(model.graph.nodes[0], model) == why
