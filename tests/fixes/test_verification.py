"""Whole models compared, and built."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.cli import run
from trtlint.fixes.fixing import KEY
from trtlint.trials.comparison import Inputs, available, compare

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not available(), reason="polygraphy or onnxruntime is not installed"),
]

TEXT = """< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8,19,64] q, float[N,8,64,19] kt, float[N,8,19,64] v) => (float[N,8,19,64] o)
< float s = {%s} >
{ a = MatMul (q, kt)  b = Mul (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }"""


def saved(path: Path, scale: str = "0.125") -> Path:
    onnx.save(onnx.parser.parse_model(TEXT % scale), path)
    return path


def test_what_differs_is_told(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx")
    same = compare(before, saved(tmp_path / "b.onnx"))
    assert same.equal is True
    assert same.sets == 8
    other = compare(before, saved(tmp_path / "c.onnx", "0.0875"))
    assert other.equal is False
    assert other.difference > 1e-3


def test_the_users_inputs_are_taken(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx")
    arrays = {"q": np.zeros((2, 8, 19, 64)), "kt": np.zeros((2, 8, 64, 19)), "v": np.ones((2, 8, 19, 64))}
    np.savez(tmp_path / "in.npz", **{name: array.astype(np.float32) for name, array in arrays.items()})  # type: ignore[arg-type]
    # With Q of zeros the scale does not matter.
    found = compare(before, saved(tmp_path / "c.onnx", "0.0875"), Inputs(files=(str(tmp_path / "in.npz"),)))
    assert (found.equal, found.sets) == (True, 1)
    np.savez(tmp_path / "in.npz", q=np.zeros(3, np.float32))
    wrong = compare(before, before, Inputs(files=(str(tmp_path / "in.npz"),)))
    assert wrong.equal is None
    assert "no input" in wrong.words


def test_the_proofs_are_in_the_fixed_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "model.onnx")
    assert run(["fix", str(path), "--trt", "10.7", "--isolated", "--verify"]) == 0
    assert "outputs: as before" in capsys.readouterr().out
    fixed = onnx.load(tmp_path / "model.fixed.onnx")
    note = json.loads(next(entry.value for entry in fixed.metadata_props if entry.key == KEY))
    assert [proof["check"] for proof in note["proofs"]] == ["outputs"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.fixed.onnx", "model.onnx"]


@pytest.mark.parametrize(("seed", "equal"), [("", None), ("<seed = 1.0>", False)])
def test_a_model_that_draws_random_numbers_is_not_told_to_differ(
    seed: str, equal: bool | None, tmp_path: Path
) -> None:
    files = []
    for name, other in (("a", "Abs"), ("b", "Neg")):
        text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[64] x) => (float[64] y)
        {{ n = RandomNormalLike {seed} (x)  m = {other} (n)  y = Add (x, m) }}"""
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(text), files[-1])
    found = compare(files[0], files[1])
    assert found.equal is equal
    assert ("the model draws random numbers" in found.words) is (equal is None)


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { y = Add (x, w) }'
    )
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="gone.bin")
    model.graph.initializer.append(tensor)
    path = tmp_path / "a.onnx"
    path.write_bytes(model.SerializeToString())
    found = compare(path, path)
    assert found.equal is None
    assert "gone.bin" in found.words
