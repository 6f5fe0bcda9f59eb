"""Tests of whole-model comparisons and builds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.cli import run
from trtlint.compare.comparison import Pair, available, compare, compare_all
from trtlint.fixes.fixing import KEY
from trtlint.measurement.inputs import Inputs, InputsError

pytestmark = pytest.mark.skipif(not available(), reason="onnxruntime is not installed")

TEXT = """< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8,19,64] q, float[N,8,64,19] kt, float[N,8,19,64] v) => (float[N,8,19,64] o)
< float s = {%s} >
{ a = MatMul (q, kt)  b = Mul (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }"""


def saved(path: Path, scale: str = "0.125") -> Path:
    onnx.save(onnx.parser.parse_model(TEXT % scale), path)
    return path


@pytest.mark.slow
@pytest.mark.isolated
def test_what_differs_is_told(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx")
    same = compare(Pair(before, saved(tmp_path / "b.onnx")))
    assert same.equal is True
    assert same.sets == 8
    other = compare(Pair(before, saved(tmp_path / "c.onnx", "0.0875")))
    assert other.equal is False
    assert other.difference > 1e-3


def test_a_script_is_named_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved(tmp_path / "a.onnx")
    (tmp_path / "load.py").write_text("def load_data():\n    yield {}\n", encoding="ascii")
    monkeypatch.chdir(tmp_path)
    for script, said in (("load.py", "no input 'q'"), ("load.py:none", "no function 'none'")):
        with pytest.raises(InputsError, match=rf"^{script.split(':')[0]}: {said}"):
            compare(Pair(before, before, Inputs(script=script)))


def test_a_format_newer_than_that_of_onnx_runtime_is_no_reason_not_to_compare(tmp_path: Path) -> None:
    files = []
    for name in ("a.onnx", "b.onnx"):
        model = onnx.load(saved(tmp_path / name))
        model.ir_version = 99
        files.append(tmp_path / name)
        files[-1].write_bytes(model.SerializeToString())
    assert compare(Pair(files[0], files[1])).equal is True


def test_the_users_inputs_are_taken(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.onnx")
    arrays = {"q": np.zeros((2, 8, 19, 64)), "kt": np.zeros((2, 8, 64, 19)), "v": np.ones((2, 8, 19, 64))}
    np.savez(tmp_path / "in.npz", **{name: array.astype(np.float32) for name, array in arrays.items()})  # type: ignore[arg-type]
    # With Q of zeros the scale does not matter.
    found = compare(
        Pair(before, saved(tmp_path / "c.onnx", "0.0875"), Inputs(files=(str(tmp_path / "in.npz"),)))
    )
    assert (found.equal, found.sets) == (True, 1)
    np.savez(tmp_path / "in.npz", q=np.zeros(3, np.float32))
    with pytest.raises(InputsError, match=r"in\.npz: no input 'kt', 'v'"):
        compare(Pair(before, before, Inputs(files=(str(tmp_path / "in.npz"),))))


@pytest.mark.slow
@pytest.mark.isolated
def test_the_proofs_are_in_the_fixed_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "model.onnx")
    assert run(["fix", str(path), "--trt", "10.7", "--isolated", "--verify"]) == 0
    assert "outputs: equal within tolerance" in capsys.readouterr().out
    fixed = onnx.load(tmp_path / "model.fixed.onnx")
    note = json.loads(next(entry.value for entry in fixed.metadata_props if entry.key == KEY))
    assert [proof["check"] for proof in note["proofs"]] == ["outputs"]
    assert [proof["equal"] for fix in note["fixes"] for proof in fix["proofs"]] == [True] * len(note["fixes"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.fixed.onnx", "model.onnx"]


DRAWING = """< ir_version: 8, opset_import: ["" : 17] > g (float[64] x, bool c) => (float[64] y)
{ n = RandomNormalLike %s (x)
  r = If (c) <then_branch = t () => (float[64] u) { u = RandomUniformLike (n) },
              else_branch = e () => (float[64] w) { w = Identity (n) }>
  m = %s (r)  y = Add (n, m) }"""


@pytest.mark.parametrize("seed", ["", "<seed = 1.0>"])
def test_a_model_that_draws_random_numbers_draws_the_same_in_both_forms(seed: str, tmp_path: Path) -> None:
    files = {}
    for op in ("Abs", "Neg"):
        files[op] = tmp_path / f"{op}.onnx"
        onnx.save(onnx.parser.parse_model(DRAWING % (seed, op)), files[op])
    assert compare(Pair(files["Abs"], files["Neg"])).equal is False
    same = tmp_path / "same.onnx"
    other = DRAWING.replace("m = %s (r)", "k = Neg (r)  m = Max (r, k)") % seed
    onnx.save(onnx.parser.parse_model(other), same)
    found = compare(Pair(files["Abs"], same))
    assert (found.equal, found.difference) == (True, 0.0)


def test_random_numbers_that_only_one_form_draws_are_told(tmp_path: Path) -> None:
    files = []
    for name in ("n", "k"):
        text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[64] x) => (float[64] y)
        {{ {name} = RandomNormalLike (x)  y = Add (x, {name}) }}"""
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(text), files[-1])
    found = compare(Pair(files[0], files[1]))
    assert found.equal is None
    assert "draw random numbers" in found.words


SCATTER = """< ir_version: 8, opset_import: ["" : 18] >
g (%s[3,4] x, int64[2,4] i, %s[2,4] u) => (%s[3,4] y)
{ s = ScatterElements <axis = 0, reduction = "add"> (x, i, u)  y = %s (s) }"""


def test_types_without_a_kernel_are_compared_in_fp32(tmp_path: Path) -> None:
    """ONNX Runtime loads an FP16 scatter with a sum, and refuses it only at run time."""
    files: list[Path] = []
    for op in ("Abs", "Relu", "Abs"):
        files.append(tmp_path / f"{len(files)}.onnx")
        onnx.save(onnx.parser.parse_model(SCATTER % (*["float16"] * 3, op)), files[-1])
    same = compare(Pair(files[0], files[2]))
    assert same.equal is True
    assert "both in FP32" in same.words
    assert compare(Pair(files[0], files[1])).equal is False


MASKED = """< ir_version: 11, opset_import: ["" : 23] >
g (float[2,4,6,8] q, float[2,4,6,8] k, float[2,4,6,8] v, float[2,4,1,6] m) => (float[2,4,6,8] y)
{ %s }"""
WRITTEN_OUT = """s = Constant <value_float = %s> ()  t = Transpose <perm = [0, 1, 3, 2]> (k)
  a = MatMul (q, t)  b = Mul (a, s)  c = Add (b, m)  p = Softmax (c)  y = MatMul (p, v)"""


def test_what_onnx_runtime_does_not_run_is_computed_by_the_reference(tmp_path: Path) -> None:
    """ONNX Runtime's Attention does not support a mask of one row for all queries."""
    bodies = ("y = Attention (q, k, v, m)", WRITTEN_OUT % 0.35355338, WRITTEN_OUT % 0.25)
    files = []
    for index, body in enumerate(bodies):
        files.append(tmp_path / f"{index}.onnx")
        onnx.save(onnx.parser.parse_model(MASKED % body), files[-1])
    same = compare(Pair(files[0], files[1]))
    assert same.equal is True
    assert "ONNX's reference" in same.words
    assert compare(Pair(files[0], files[2])).equal is False


def test_sizes_that_fit_each_other_are_found(tmp_path: Path) -> None:
    """The addend has the length of a stored tensor along one of two unknown axes."""
    files: list[Path] = []
    for body in ("y = Add (x, w)", "k = Add (w, x)  y = Identity (k)"):
        text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[N,3,M] x) => (float[A,B,C] y)
        < float[4,3,2] w = {{{", ".join("1" * 24)}}} > {{ {body} }}"""
        files.append(tmp_path / f"{len(files)}.onnx")
        onnx.save(onnx.parser.parse_model(text), files[-1])
    assert compare(Pair(files[0], files[1])).equal is True


def test_a_form_that_does_not_run_where_the_model_does_is_worse(tmp_path: Path) -> None:
    files = []
    for size in (64, 3):
        text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[N] x) => (float[M] y)
        < int64[1] s = {{{size}}} > {{ n = Reshape (x, s)  y = Abs (n) }}"""
        files.append(tmp_path / f"{size}.onnx")
        onnx.save(onnx.parser.parse_model(text), files[-1])
    arrays = {"x": np.ones(64, np.float32)}
    np.savez(tmp_path / "in.npz", **arrays)  # type: ignore[arg-type]
    found = compare(Pair(files[0], files[1], Inputs(files=(str(tmp_path / "in.npz"),))))
    assert found.equal is False
    assert "the rewritten model fails" in found.words


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
    found = compare(Pair(path, path))
    assert found.equal is None
    assert "gone.bin" in found.words


@pytest.mark.parametrize(("keep_a_key", "equal"), [(False, False), (True, True)])
def test_rows_without_a_key_may_differ_where_nothing_is_said_of_them(
    keep_a_key: bool, equal: bool, tmp_path: Path
) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[2,3,8] x, bool[2,3,8] m) => (float[2,3,8] y) < float low = {%s} >
    { w = Where (m, x, low)  y = Softmax <axis = -1> (w) }"""
    # Beside the lowest number of FP32 a score is lost, beside another one it is not.
    pair = (
        text.replace("Where (m, x, low)", "Where (m, x, b)").replace("{ w", "{ b = Add (x, low)  w") % low
        for low in ("-3.4e38", "-60000")
    )
    files = []
    for name, each in zip("ab", pair, strict=True):
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(each), files[-1])
    assert compare(Pair(files[0], files[1], keep_a_key=keep_a_key)).equal is equal


def test_each_set_of_inputs_is_judged_by_its_own_size(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[64] x) => (float[64] y)
    < float low = {-20}, float high = {20}, float more = {%s} >
    { c = Clip (x, low, high)  a = Add (c, more)  y = Mul (a, a) }"""
    files = []
    for name, more in (("a", "0.0"), ("b", "0.02")):
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(text % more), files[-1])
    assert compare(Pair(files[0], files[1])).equal is False


def test_what_loops_stack_is_not_computed_by_a_reference_that_stacks_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    text = """< ir_version: 8, opset_import: ["" : 17] > g (int8[3,2] x, int8[2,3] z) => (int8[S,3,3] y)
    < int64 n = {2}, bool t = {1} >
    { y = Loop (n, t) <body = b (int64 i, bool c) => (bool again, int8[3,3] w) {
      again = Identity (c)  w = Einsum <equation = "ij,jk->ik"> (x, z) }> }"""
    onnx.save(onnx.parser.parse_model(text), path)
    found = compare(Pair(path, path))
    assert (found.equal, "does not run" in found.words) == (None, True), found.words


def test_bf16_is_proven_in_files_that_do_not_know_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.onnx"
    text = """< ir_version: 8, opset_import: ["" : 17] > g (bfloat16[2] x) => (bfloat16[W] y)
    < int64 n = {2}, bool t = {1} >
    { y = Loop (n, t, x) <body = b (int64 i, bool c, bfloat16[2] v) => (bool again, bfloat16[U] w) {
      again = Identity (c)  w = Concat <axis = 0> (v, v) }> }"""
    onnx.save(onnx.parser.parse_model(text), path)
    assert run(["fix", str(path), "--rtx", "1.7", "--gpu", "L4", "--isolated", "--verify"]) == 0
    assert "on 4 sets of random inputs in ONNX Runtime" in capsys.readouterr().out


def test_what_overflowed_and_is_finite_now_is_better_and_the_other_way_round_worse(tmp_path: Path) -> None:
    """FP32 represents exp(x) up to x = 88."""
    files = []
    for name, body in (("a", "e = Exp (x)  s = Add (e, one)  y = Log (s)"), ("b", "y = Softplus (x)")):
        text = """< ir_version: 8, opset_import: ["" : 17] > g (float[3] x) => (float[3] y)
        < float one = {1} > { %s }"""
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(text % body), files[-1])
    np.savez(tmp_path / "in.npz", x=np.array([1, 100, 200], np.float32))
    given = Inputs(files=(str(tmp_path / "in.npz"),))
    better, worse = compare(Pair(files[0], files[1], given)), compare(Pair(files[1], files[0], given))
    assert (better.equal, better.lost, better.gained) == (True, 0, 2)
    assert (worse.equal, worse.lost, worse.gained) == (False, 2, 0)
    assert "2 elements newly finite" in better.words
    assert "2 elements changed from finite to infinity or NaN" in worse.words


def test_an_infinity_that_is_meant_is_not_taken_for_an_overflow(tmp_path: Path) -> None:
    files = []
    for index, low in enumerate(("64512", "64511")):  # the bits of minus infinity, and of the lowest number
        text = """< ir_version: 8, opset_import: ["" : 17] >
        g (float16[4,8] x, bool[4,8] m) => (float16[4,8] y)
        < float16 low = {%s} > { y = Where (m, x, low) }"""
        files.append(tmp_path / f"{index}.onnx")
        onnx.save(onnx.parser.parse_model(text % low), files[-1])
    found = compare(Pair(files[0], files[1]))
    assert found.equal is None
    assert "a run in FP64 does not show that they should be finite" in found.words


@pytest.mark.slow
@pytest.mark.isolated
def test_pairs_are_compared_in_one_process_and_each_has_its_answer(tmp_path: Path) -> None:
    one, other = saved(tmp_path / "a.onnx"), saved(tmp_path / "c.onnx", "0.0875")
    (tmp_path / "b.onnx").write_bytes(b"no model")
    named = Inputs(files=(str(tmp_path / "none.npz"),))
    pairs = [Pair(one, one), Pair(one, one, named), Pair(one, tmp_path / "b.onnx"), Pair(one, other)]
    found = list(compare_all(pairs))
    assert isinstance(found[1], InputsError)
    assert [each.equal for each in found if not isinstance(each, InputsError)] == [True, None, False]


def test_times_are_measured_where_they_are_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.onnx")
    assert compare(Pair(path, path)).times == ((), ())
    first, second = compare(Pair(path, path, timed=True)).times
    assert len(first) == len(second)
