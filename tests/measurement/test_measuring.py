"""Tests of measurements against half precision of ONNX's reference evaluator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.measurement import halfprecision
from trtlint.measurement.formats import FP16
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measurement import MeasuredTensor, Measurement
from trtlint.measurement.measuring import measured
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.trialmodel import TrialError, load_trial_model

pytest.importorskip("onnxruntime")

Feeds = dict[str, np.ndarray[Any, Any]]

NORM = """
< ir_version: 8, opset_import: ["" : 18] >
norm (float[2,16,64] x) => (float[2,16,64] y) < float two = {2}, float eps = {0.00001}, int64[1] last = {-1} >
{
  mu = ReduceMean (x, last)
  d = Sub (x, mu)
  square = Pow (d, two)
  variance = ReduceMean (square, last)
  shifted = Add (variance, eps)
  root = Sqrt (shifted)
  y = Div (d, root)
}
"""
GRAPHS: dict[str, str] = {
    "norm": NORM,
    "l2": """
        < ir_version: 8, opset_import: ["" : 17] >
        l2 (float[2,16,64] x) => (float[2,16,64] y)
        { n = ReduceL2 <axes = [-1]> (x)  y = Div (x, n) }""",
    "sum of squares": """
        < ir_version: 8, opset_import: ["" : 18] >
        s (float[2,16,64] x) => (float[2,16,1] y) < int64[1] last = {-1} >
        { n = ReduceSumSquare (x, last)  y = Sqrt (n) }""",
    "layer norm": """
        < ir_version: 8, opset_import: ["" : 17] >
        ln (float[2,16,64] x, float[64] w, float[64] b) => (float[2,16,64] y)
        { y = LayerNormalization <axis = -1> (x, w, b) }""",
    "attention": """
        < ir_version: 8, opset_import: ["" : 17] >
        a (float[1,4,16,32] q, float[1,4,32,16] k, float[1,4,16,32] v) => (float[1,4,16,32] y)
        { s = MatMul (q, k)  p = Softmax <axis = -1> (s)  y = MatMul (p, v) }""",
    "attention operator": """
        < ir_version: 10, opset_import: ["" : 23] >
        a (float[1,4,16,32] q, float[1,4,16,32] k, float[1,4,16,32] v) => (float[1,4,16,32] y)
        { y = Attention (q, k, v) }""",
    "exp": """
        < ir_version: 8, opset_import: ["" : 17] >
        e (float[4,8] x) => (float[4,8] y) < float one = {1} >
        { e = Exp (x)  s = Add (e, one)  l = Log (s)  t = Tanh (l)  y = Mul (x, t) }""",
    "tanh gelu": """
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[4,8] x) => (float[4,8] y)
        < float three = {3}, float a = {0.044715}, float b = {0.797885}, float one = {1}, float half = {0.5} >
        {
          cube = Pow (x, three)  c = Mul (cube, a)  s = Add (x, c)  t = Mul (s, b)  h = Tanh (t)
          u = Add (h, one)  v = Mul (x, u)  y = Mul (v, half)
        }""",
    "convolution": """
        < ir_version: 8, opset_import: ["" : 17] >
        c (float[1,3,12,12] x, float[8,3,3,3] w, float[8] b) => (float[1,8,1,1] y)
        { h = Conv (x, w, b)  r = Relu (h)  s = Mul (r, r)  y = GlobalAveragePool (s) }""",
    "group norm": """
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[1,4,12,12] x, float[4] w, float[4] b) => (float[1,4,12,12] y)
        { y = InstanceNormalization (x, w, b) }""",
    "chain": """
        < ir_version: 8, opset_import: ["" : 17] >
        c (float[N,8] x, float[8,8] w) => (float[N,8] y) < float small = {0.001} >
        {
          a = MatMul (x, w)  b = MatMul (a, w)  c = Mul (b, small)  d = Mul (c, c)  e = Sqrt (d)
          y = Tanh (e)
        }""",
    "epsilon": """
        < ir_version: 8, opset_import: ["" : 17] >
        e (float[4,8] x) => (float[4,8] y) < float eps = {0.00000001}, float zero = {0} >
        { z = Mul (x, zero)  a = Abs (z)  d = Add (a, eps)  q = Div (z, d)  y = Add (q, x) }""",
    "whole numbers": """
        < ir_version: 8, opset_import: ["" : 17] >
        i (int64[2,6] ids, float[4,8] table, float[2,6,8] x) => (float[2,6,8] y)
        { e = Gather (table, ids)  f = Cast <to = 1> (ids)  s = Add (e, x)  y = Mul (s, x) }""",
}
SCALES = (1.0, 60.0, 3000.0)


def feeds_of(model: onnx.ModelProto, scale: float, seed: int = 0) -> Feeds:
    """Return scaled normal numbers for all inputs except weights. Dynamic sizes are 3."""
    generator = np.random.default_rng(seed)
    feeds: Feeds = {}
    for info in model.graph.input:
        type_ = info.type.tensor_type
        shape = [dim.dim_value or 3 for dim in type_.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(type_.elem_type)
        if dtype.kind == "f":
            factor = 1.0 if info.name in ("w", "b", "table") else scale
            feeds[info.name] = (generator.standard_normal(shape) * factor).astype(dtype)
        else:
            feeds[info.name] = generator.integers(0, 2, shape).astype(dtype)
    return feeds


def measure(model: onnx.ModelProto | Path, feeds: Feeds | None, folder: Path, **options: Any) -> Measurement:
    """Measure a model in this process, which is faster than a separate process."""
    path = model if isinstance(model, Path) else folder / "model.onnx"
    if not isinstance(model, Path):
        onnx.save(model, path)
    files: tuple[str, ...] = ()
    if feeds is not None:
        np.savez(folder / "feeds.npz", **feeds)  # type: ignore[arg-type]
        files = (str(folder / "feeds.npz"),)
    return measured(MeasurementRequest(str(path), "model.onnx", Inputs(files), **options), lambda _: None)


def close(mine: float | None, other: float | None) -> bool:
    """Return whether two errors agree within a factor of two. Errors below rounding are noise."""
    if mine is None or other is None:
        return mine is other
    noise = 4e-4
    return max(mine, other) < noise or mine / 2 <= other <= mine * 2


def site(found: Measurement, op: str) -> MeasuredTensor:
    """Return the first tensor of an operator."""
    return next(each for each in found.sites if each.op == op)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", GRAPHS)
def test_half_precision_is_rehearsed(name: str, scale: float, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS[name])
    feeds = feeds_of(model, scale)
    found, other = measure(model, feeds, tmp_path), halfprecision.truth(model, feeds)
    assert {each.node for each in found.sites if each.origin} == other.origins
    mine = {output.name: output.error for output in found.outputs}
    assert mine.keys() == other.errors.keys()
    for output, error in other.errors.items():
        assert close(mine[output], error), (output, mine[output], error)
    broken = any(error is None or error > found.bound for error in other.errors.values())
    kept = found.kept
    assert (kept is not None) == broken
    if kept is not None and kept.verified:
        assert halfprecision.kept_error(model, feeds, kept.nodes, other.full) < found.bound


def test_what_is_kept_is_little_and_enough(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NORM)
    found = measure(model, feeds_of(model, 300.0), tmp_path)
    assert found.kept is not None
    assert found.kept.verified
    assert set(found.kept.nodes) == {"Pow_2", "ReduceMean_3", "Add_4", "Sqrt_5"}
    assert found.kept.runs <= 9
    assert found.first == ("Pow_2",)


def test_an_overflow_that_does_no_harm_is_told_and_nothing_kept(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["tanh gelu"])
    found = measure(model, feeds_of(model, 60.0), tmp_path)
    assert site(found, "Pow").fits == "overflow"
    assert site(found, "Pow").origin
    assert found.kept is None
    assert [output.error < 1e-2 for output in found.outputs if output.error is not None] == [True]


def test_what_is_infinite_in_fp32_already_is_no_finding(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > i (float[4,8] x) => (float[4,8] y, float[4,8] z)'
        " { e = Exp (x)  y = Mul (e, e)  z = Tanh (x) }"
    )
    found = measure(model, feeds_of(model, 200.0), tmp_path)
    assert [each.op for each in found.sites if each.fits == "overflow"] == []
    assert site(found, "Exp").max_abs is None
    assert any("FP32 already gives" in limit and "y" in limit for limit in found.limits)
    assert found.kept is None


def test_squares_inside_are_measured_by_their_formula(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["l2"])
    feeds = feeds_of(model, 300.0)
    norm = site(measure(model, feeds, tmp_path), "ReduceL2")
    inside = {each.what: each.max_abs for each in norm.inside}
    assert inside["square"] == pytest.approx(float(np.square(feeds["x"]).max()), rel=1e-5)
    sums = np.square(feeds["x"].astype(np.float64)).sum(axis=-1)
    assert inside["sum of squares"] == pytest.approx(float(sums.max()), rel=1e-5)
    assert norm.max_abs == pytest.approx(math.sqrt(sums.max()), rel=1e-5)
    assert norm.fits == "overflow"


def test_ranges_are_those_of_all_batches(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > i (float[N] x) => (float[N] y) { y = Neg (x) }'
    )
    onnx.save(model, tmp_path / "model.onnx")
    files = []
    for index, values in enumerate(([1.0, -2.0], [7.0], [], [0.5, 0.25, -9.0])):
        np.savez(tmp_path / f"{index}.npz", x=np.array(values, np.float32))
        files.append(str(tmp_path / f"{index}.npz"))
    request = MeasurementRequest(str(tmp_path / "model.onnx"), "m", Inputs(tuple(files)))
    found = measured(request, lambda _: None)
    assert found.batches == 4
    assert (site(found, "Neg").low, site(found, "Neg").high, site(found, "Neg").max_abs) == (-7.0, 9.0, 9.0)


def test_constants_are_clamped_and_the_other_way_is_told_too(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        m (float[2,4] x, float[2,4] mask) => (float[2,4] y) < float fill = {-3.4e38}, float one = {1} >
        { i = Sub (one, mask)  b = Mul (i, fill)  s = Add (x, b)  y = Softmax <axis = -1> (s) }"""
    )
    mask = np.array([[1, 1, 0, 1], [1, 0, 0, 1]], np.float32)
    found = measure(model, {"x": np.ones((2, 4), np.float32), "mask": mask}, tmp_path)
    (output,) = found.outputs
    assert output.error is not None
    assert output.error < 1e-3
    assert output.unclamped is None  # 0 · inf is not a number
    assert [each.tensor for each in found.sites if each.op == "Constant"] == ["fill"]
    assert found.kept is not None
    assert found.kept.verified


def test_weights_beside_the_model_stay_there(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.full((64, 64), 30.0, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "g",
        [helper.make_tensor_value_info("x", 1, ["N", 64])],
        [helper.make_tensor_value_info("y", 1, ["N", 64])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="model.data", size_threshold=0)
    found = measure(path, {"x": np.full((2, 64), 100.0, np.float32)}, tmp_path)
    assert site(found, "MatMul").max_abs == 192_000
    assert found.first == ("product",)


def test_missing_weights_are_no_fault_of_the_inputs(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[2,8] x) => (float[2,8] y) { y = MatMul (x, w) }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 8), np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="model.data", size_threshold=0)
    (tmp_path / "model.data").unlink()
    with pytest.raises(TrialError) as error:
        measured(MeasurementRequest(str(path), "model.onnx"), lambda _: None)
    assert str(error.value) == (
        "the values of tensor 'w' cannot be read: check the external data file 'model.data'"
    )


def test_bodies_are_rehearsed_and_named_as_not_measured(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        b (float[4] x, bool c) => (float[4] y)
        {
          y = If (c) <
            then_branch = t () => (float[4] u) { s = Mul (x, x)  u = Sqrt (s) },
            else_branch = e () => (float[4] v) { v = Identity (x) }
          >
        }"""
    )
    feeds: Feeds = {"x": np.full(4, 1000.0, np.float32), "c": np.array(True)}
    found = measure(model, feeds, tmp_path)
    assert found.outputs[0].error is None
    assert any("bodies of these operators were not measured: If_0" in limit for limit in found.limits)
    assert found.kept is not None
    assert found.kept.nodes == ("If_0",)


@pytest.mark.parametrize("taken", [True, False])
def test_stored_tensors_of_bodies_are_told_apart(taken: bool, tmp_path: Path) -> None:
    """Two bodies have a tensor of the same name, and one exceeds half precision."""
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] >
        b (float[4] x, bool c) => (float[4] y)
        {
          y = If (c) <
            then_branch = t () => (float[4] u) <float k = {0.5}> { u = Mul (x, k) },
            else_branch = e () => (float[4] v) <float k = {100000.0}> { v = Mul (x, k) }
          >
        }"""
    )
    feeds: Feeds = {"x": np.ones(4, np.float32), "c": np.array(taken)}
    (output,) = measure(model, feeds, tmp_path).outputs
    assert (output.error is not None and output.error < 1e-3) is taken


@pytest.mark.parametrize(("element", "dtype"), [(10, np.float16), (16, np.float32)])
def test_a_file_in_16_bits_says_itself_what_is_narrow(element: int, dtype: Any, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["s"], name="narrow"),
        helper.make_node("Sqrt", ["s"], ["y"], name="root"),
        helper.make_node("Cast", ["x"], ["wide"], to=1, name="up"),
        helper.make_node("Mul", ["wide", "wide"], ["t"], name="island"),
        helper.make_node("Sqrt", ["t"], ["r"], name="island root"),
        helper.make_node("Cast", ["r"], ["z"], to=element, name="down"),
    ]
    infos = [helper.make_tensor_value_info(name, element, [4]) for name in "xyz"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = measure(model, {"x": np.full(4, 300, dtype)}, tmp_path)
    errors = {output.name: output.error for output in found.outputs}
    assert found.typed
    assert found.type == ("fp16" if element == 10 else "bf16")
    assert (errors["y"] is None) == (element == 10)
    assert errors["z"] is not None
    assert errors["z"] < 5e-3


def test_a_conversion_of_inputs_is_a_limit(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(NORM), tmp_path / "model.onnx")
    np.savez(tmp_path / "a.npz", x=np.random.default_rng(0).standard_normal((2, 16, 64)))
    files = (str(tmp_path / "a.npz"),) * 2
    found = measured(MeasurementRequest(str(tmp_path / "model.onnx"), "m", Inputs(files)), lambda _: None)
    assert found.limits.count("values of input 'x' were rounded from float64 to float32") == 1


def test_without_inputs_some_are_made_up_and_that_is_said(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(GRAPHS["chain"])
    found = measure(model, None, tmp_path, batches=3)
    assert (found.files, found.batches) == ((), 3)
    assert any("inputs were generated" in limit for limit in found.limits)


def test_without_a_rehearsal_ranges_say_where_it_begins(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NORM)
    found = measure(model, feeds_of(model, 300.0), tmp_path, rehearse=False)
    assert found.first == ("Pow_2",)
    assert {output.error for output in found.outputs} == {None}
    assert not found.rehearsed


def exported_models(folder: Path) -> Iterator[Path]:
    """Return one small FP32 model of each family that the reference can run."""
    families: dict[str, Path] = {}
    for kind in ("*__ts__op17__fp32.onnx", "*__op23__fp32.onnx"):
        families |= {path.name.partition("__")[0]: path for path in sorted(folder.glob(kind))}
    for family, path in sorted(families.items()):
        if family.startswith(("attn", "norm", "act", "conv")) and path.stat().st_size < 100_000:
            yield path


@pytest.mark.slow
def test_real_models_are_rehearsed_as_the_reference_computes_them(exported: Path, tmp_path: Path) -> None:
    right = wrong = missed = broken = repaired = agreed = outputs = 0
    for path in exported_models(exported):
        model = onnx.load(path)
        for scale in (1.0, 1000.0):
            feeds = feeds_of(model, scale)
            try:
                other = halfprecision.truth(model, feeds)
            except (IndexError, ValueError, NotImplementedError):
                continue
            found = measure(path, feeds, tmp_path)
            mine = {each.node for each in found.sites if each.origin}
            right += len(mine & other.origins)
            wrong += len(mine - other.origins)
            missed += len(other.origins - mine)
            mine_errors = {output.name: output.error for output in found.outputs}
            outputs += len(other.errors)
            agreed += sum(close(mine_errors[name], error) for name, error in other.errors.items())
            if any(error is None or error > 1e-2 for error in other.errors.values()):
                broken += 1
                kept = () if found.kept is None else found.kept.nodes
                repaired += halfprecision.kept_error(model, feeds, kept, other.full) < 5e-3
    assert broken >= 12
    assert right / (right + wrong) >= 0.95
    assert right / (right + missed) >= 0.9
    assert agreed / outputs >= 0.95
    assert repaired / broken >= 0.9


def test_suspects_are_looked_at_a_second_time(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > s (float[4] x) => (float[4] y)'
        " { s = Mul (x, x)  y = Sqrt (s) }"
    )
    found = measure(model, {"x": np.array([0, 0.00001, 1, 300], np.float32)}, tmp_path)
    square, root = site(found, "Mul"), site(found, "Sqrt")
    assert square.closer is not None
    assert square.closer.smallest == pytest.approx(1e-10, rel=1e-3)
    assert (square.closer.beyond, square.closer.vanishing) == (0.25, 0.25)
    assert root.closer is None


def test_a_constant_of_a_body_is_not_clamped_for_one_of_the_main_graph(tmp_path: Path) -> None:
    """Both have the same name; only the main graph's constant exceeds the range."""
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (bool c, float[2] x) => (float[2] y) < float[2] w = {1e6, 1e6} >
    {
      h = Mul (x, w)
      y = If (c) <
        then_branch = t () => (float[2] r) < float[2] w = {1, 2} > { r = Mul (h, w) },
        else_branch = e () => (float[2] r) { r = Neg (h) }
      >
    }"""
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    narrowing = Narrowing(FP16, clamped=frozenset({"w"}))
    written = onnx.ModelProto.FromString(rewrite(load_trial_model(path), narrowing, probed=False).data)
    (branches,) = (node for node in written.graph.node if node.op_type == "If")
    assert "Min" in {node.op_type for node in written.graph.node}
    assert "Min" not in {node.op_type for attribute in branches.attribute for node in attribute.g.node}
