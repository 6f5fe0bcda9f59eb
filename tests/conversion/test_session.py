"""Tests of a whole conversion: the result is valid, with 16 bits where possible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.conversion.models import MASKED, PRODUCTS, converted, looped, saved, types
from trtlint.conversion.fixed import KeepError
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest, ConversionSession, PendingConversion

HALF, FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT


def test_the_products_compute_in_fp16_and_the_outputs_stay(tmp_path: Path) -> None:
    model, draft = converted(saved(PRODUCTS, tmp_path / "m.onnx"))
    found = types(model)
    assert [found[name] for name in ("x", "a", "c", "y", "w")] == [FLOAT, HALF, HALF, FLOAT, HALF]
    assert draft.conversion.share == 1.0
    assert [cast.inside for cast in draft.conversion.casts] == [False, False]


def test_inputs_and_outputs_change_where_that_is_asked_for(tmp_path: Path) -> None:
    model, draft = converted(saved(PRODUCTS, tmp_path / "m.onnx"), io="fp16")
    found = types(model)
    assert (found["x"], found["y"], draft.conversion.casts) == (HALF, HALF, ())


@pytest.mark.parametrize("pattern", ["soft", "Softplus", "so*"])
def test_an_operator_that_is_kept_has_a_cast_on_each_side(tmp_path: Path, pattern: str) -> None:
    model, draft = converted(saved(PRODUCTS, tmp_path / "m.onnx"), keep=(pattern,))
    assert types(model)["b"] == FLOAT
    assert [kept.node for kept in draft.conversion.kept] == ["soft"]
    assert sum(cast.inside for cast in draft.conversion.casts) == 2


def test_a_pattern_without_an_operator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeepError, match="no operator has this"):
        converted(saved(PRODUCTS, tmp_path / "m.onnx"), keep=("nowhere",))


def test_at_most_1000_patterns_are_kept(tmp_path: Path) -> None:
    path = saved(PRODUCTS, tmp_path / "m.onnx")
    _, draft = converted(path, keep=("first",) * 999 + ("soft",))
    assert [kept.node for kept in draft.conversion.kept] == ["first", "soft"]
    with pytest.raises(KeepError, match=r"^--keep is given 1,001 times; trtlint supports at most 1,000 pat"):
        converted(path, keep=("first",) * 1000 + ("soft",))


def test_weights_of_operators_in_both_types_are_stored_twice(tmp_path: Path) -> None:
    model, _ = converted(saved(PRODUCTS, tmp_path / "m.onnx"), keep=("second",))
    assert {tensor.name: tensor.data_type for tensor in model.graph.initializer} == {
        "w": FLOAT,
        "w/fp16": HALF,
    }


def test_the_fill_of_a_mask_becomes_the_smallest_number(tmp_path: Path) -> None:
    model, draft = converted(saved(MASKED, tmp_path / "m.onnx", None))
    low = next(tensor for tensor in model.graph.initializer if tensor.name == "low")
    assert numpy_helper.to_array(low) == np.float16(-65504)
    assert [(each.tensor, each.what) for each in draft.conversion.stored] == [("low", "clamped")]
    assert draft.conversion.share == 1.0


def test_a_batch_normalization_whose_variance_exceeds_fp16_stays_in_fp32(tmp_path: Path) -> None:
    """A clamped variance would change the results. Before opset 15, the variance has the type of the data."""
    text = """
        < ir_version: 8, opset_import: ["" : 13] >
        g (float[1,8,4,4] x) => (float[1,8,4,4] y)
        < float[8] zero = {0, 0, 0, 0, 0, 0, 0, 0}, float[8] one = {1, 1, 1, 1, 1, 1, 1, 1},
          float[8] large = {1, 1, 1, 1, 1, 1, 1, 500000}, float[8] small = {1, 1, 1, 1, 1, 1, 1, 500} >
        {
          [first] a = Conv (x, w)  [wide] b = BatchNormalization (a, one, zero, zero, large)
          [second] c = Conv (b, w)  [narrow] y = BatchNormalization (c, one, zero, zero, small)
        }
    """
    _, draft = converted(saved(text, tmp_path / "m.onnx", (8, 8, 1, 1)))
    assert [kept.node for kept in draft.conversion.kept] == ["wide"]
    assert [(each.tensor, each.what) for each in draft.conversion.stored] == [("large", "kept")]


def test_attention_has_one_type_unless_its_numbers_need_fp32(tmp_path: Path) -> None:
    labels = ConversionSession(ConversionRequest(saved(MASKED, tmp_path / "m.onnx", None))).labels
    (whole,) = labels.together({})
    assert sorted(node.op for node in whole) == ["Add", "MatMul", "MatMul", "Softmax"]
    kept = labels.fixed_with({"sm": "a reason"})
    assert [node.path for node in kept] == ["sm"]
    assert labels.together(kept) == ()


def test_a_body_reads_weights_in_its_own_type(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(looped(), path)
    model, draft = converted(path, keep=("inner",))
    assert types(model)["y"] == FLOAT
    body = next(node for node in model.graph.node if node.op_type == "Loop").attribute[0].g
    inner = next(node for node in body.node if node.op_type == "MatMul")
    assert list(inner.input) == ["state", "w"]
    assert types(model)["w"] == FLOAT
    assert draft.conversion.share == 0.5


def test_a_body_computes_in_fp16_between_casts(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(looped(), path)
    model, draft = converted(path)
    assert draft.conversion.share == 1.0
    assert types(model)["w"] == HALF


def test_a_converted_model_is_not_converted_again(tmp_path: Path) -> None:
    converted(saved(PRODUCTS, tmp_path / "m.onnx"))
    session = ConversionSession(ConversionRequest(tmp_path / "out.onnx"))
    assert session.unchanged == "trtlint has already converted this model"


def test_what_the_author_typed_stays(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float16[N,8] x) => (float16[N,8] y)
    { [up] a = Cast<to: int = 1>(x) b = Softplus(a) y = Cast<to: int = 10>(b) }
    """
    session = ConversionSession(ConversionRequest(saved(text, tmp_path / "m.onnx", None)))
    assert "no FP32 operator" in session.unchanged


def test_positions_and_sizes_stay_in_fp32(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[N,8] x) => (float[N,8] y)
    < float scale = {0.5} >
    {
      s = Shape(x) f = Cast<to: int = 1>(s) h = Mul(f, scale) i = Cast<to: int = 7>(h)
      z = Expand(scale, i) t = ReduceMean<keepdims: int = 0>(z) a = MatMul(x, w) y = Add(a, t)
    }
    """
    model, draft = converted(saved(text, tmp_path / "m.onnx"))
    reasons = {kept.op: kept.reason for kept in draft.conversion.kept}
    assert reasons["Mul"] == "the operator computes with shapes"
    assert types(model)["h"] == FLOAT
    assert types(model)["a"] == HALF


def test_a_norm_that_is_written_out_stays_in_fp32(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[N,8] x) => (float[N,8] y)
    < float two = {2}, float small = {1e-5} >
    {
      a = MatMul(x, w) [square] s = Pow(a, two) [mean] m = ReduceMean<axes = [-1]>(s) e = Add(m, small)
      [root] r = Sqrt(e) [norm] n = Div(a, r) y = MatMul(n, w)
    }
    """
    _, draft = converted(saved(text, tmp_path / "m.onnx"))
    reasons = {kept.node: kept.reason for kept in draft.conversion.kept}
    assert {"square", "mean", "root", "norm"} <= reasons.keys()
    assert "warns if a normalization" in reasons["square"]
    assert draft.conversion.share == 1.0


def test_external_data_stay_external(tmp_path: Path) -> None:
    path = saved(PRODUCTS, tmp_path / "m.onnx", None)
    model = onnx.load(path)
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    assert ConversionSession(ConversionRequest(path)).request.size == path.stat().st_size + 256
    found, _ = converted(path)
    assert (tmp_path / "out.onnx.data").stat().st_size == 128
    assert (numpy_helper.to_array(found.graph.initializer[0]) == weights.astype(np.float16)).all()


def test_large_weights_are_rounded_while_they_are_written(tmp_path: Path) -> None:
    text = PRODUCTS.replace("[N,8] x", "[N,64] x").replace("[N,8] y", "[N,64] y")
    path = saved(text, tmp_path / "m.onnx", (64, 64))
    before = numpy_helper.to_array(onnx.load(path).graph.initializer[0])
    model, draft = converted(path)
    assert draft.converted is not None
    assert len(draft.converted.made) == 1
    assert (numpy_helper.to_array(model.graph.initializer[0]) == before.astype(np.float16)).all()


def test_bf16_raises_the_opset_where_convolutions_need_it(tmp_path: Path) -> None:
    text = """
    < ir_version: 10, opset_import: ["" : 18] >
    g (float[1,3,8,8] x) => (float[1,4,8,8] y)
    { y = Conv<kernel_shape = [1, 1]>(x, w) }
    """
    model, draft = converted(saved(text, tmp_path / "m.onnx", (4, 3, 1, 1)), type="bf16")
    assert draft.conversion.opset == (18, 22)
    assert types(model)["w"] == TensorProto.BFLOAT16


def test_operators_that_need_a_newer_opset_are_named(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 11] >
    g (float[1,3,8,8] x) => (float[1,4,8,8] y)
    { a = Conv<kernel_shape = [1, 1]>(x, w) b = Unsqueeze<axes = [0]>(a) y = Squeeze<axes = [0]>(b) }
    """
    session = ConversionSession(
        ConversionRequest(saved(text, tmp_path / "m.onnx", (4, 3, 1, 1)), type="bf16")
    )
    assert session.labels.opset == 11
    (note,) = session.labels.notes
    assert "Conv" in note
    assert "export the model with a newer opset" in note


def test_quantizers_have_scales_of_fp16_in_a_newer_opset(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 13] >
    g (float[N,8] x) => (float[N,8] y)
    < float s = {0.1}, int8 z = {0} >
    { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = MatMul(d, w) }
    """
    model, draft = converted(saved(text, tmp_path / "m.onnx"))
    assert draft.conversion.opset == (13, 19)
    assert (types(model)["s"], types(model)["d"]) == (HALF, HALF)


def test_initializers_that_are_inputs_keep_one_type(tmp_path: Path) -> None:
    model = onnx.load(saved(PRODUCTS, tmp_path / "m.onnx"))
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [8, 8]))
    onnx.save(model, tmp_path / "m.onnx")
    found, _ = converted(tmp_path / "m.onnx")
    assert types(found)["w"] == HALF
    assert {info.name: info.type.tensor_type.elem_type for info in found.graph.input}["w"] == HALF


def test_weights_below_the_range_keep_their_product_in_fp32(tmp_path: Path) -> None:
    path = saved(PRODUCTS, tmp_path / "m.onnx", None)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.full((8, 8), 3e-8, np.float32), "w"))
    onnx.save(model, path)
    _, draft = converted(path)
    assert draft.conversion.share == 0
    assert draft.conversion.stored[0].what == "kept"


@pytest.mark.parametrize(
    ("size", "what", "reason"), [(1, "clamped", "1 number with a"), (5, "kept", "25 numbers with")]
)
def test_stored_tensors_of_operators_in_fp32_are_not_clamped(
    tmp_path: Path, size: int, what: str, reason: str
) -> None:
    numbers = ", ".join(["70000"] * size**2)
    text = f"""(float[2,{size}] x) => (float[2,{size}] y)
    < float[{size},{size}] w = {{{numbers}}} > {{ a = MatMul(x, w) y = Relu(a) }}"""
    _, _, draft = written(text, tmp_path)
    (stored,) = draft.conversion.stored
    assert (stored.what, stored.reason[: len(reason)]) == (what, reason)


HEAD = '< ir_version: 8, opset_import: ["" : 17] > g '
SQUARE = "float[4,4] w = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}"


def written(
    text: str, folder: Path, **options: object
) -> tuple[list[str], dict[str, int], PendingConversion]:
    """Convert a model; return its operators as calls, its input and output types, and the conversion."""
    model, draft = converted(saved(f"{HEAD} {text}", folder / "m.onnx", None), **options)
    ends = {info.name: info.type.tensor_type.elem_type for info in (*model.graph.input, *model.graph.output)}
    calls = [
        f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})" for node in model.graph.node
    ]
    return calls, ends, draft


def test_an_initializer_that_is_an_output_keeps_its_type(tmp_path: Path) -> None:
    text = f"(float[4,4] x) => (float[4,4] y, float[4,4] w) < {SQUARE} > {{ a = MatMul(x, w) y = Relu(a) }}"
    calls, ends, draft = written(text, tmp_path, io="fp16")
    assert calls == ["a = MatMul(x, w/fp16)", "y = Relu(a)"]
    assert ends == {"x": HALF, "y": HALF, "w": FLOAT}
    assert draft.conversion.casts == ()


@pytest.mark.parametrize(("io", "type_"), [("fp16", HALF), ("fp32", FLOAT)])
def test_an_input_that_is_an_output_changes_with_both(tmp_path: Path, io: str, type_: int) -> None:
    text = "(float[4,4] x, float[4,4] z) => (float[4,4] y, float[4,4] z) { a = MatMul(x, z) y = Relu(a) }"
    calls, ends, _ = written(text, tmp_path, io=io)
    assert ends == dict.fromkeys("xyz", type_)
    narrow = ["a = MatMul(x, z)", "y = Relu(a)"]
    wide = [
        "x/fp16 = Cast(x)",
        "z/fp16 = Cast(z)",
        "a = MatMul(x/fp16, z/fp16)",
        "y/fp16 = Relu(a)",
        "y = Cast(y/fp16)",
    ]
    assert calls == (narrow if io == "fp16" else wide)


def test_an_output_that_is_read_in_both_types_has_one_cast(tmp_path: Path) -> None:
    text = """(float[4,4] x) => (float[4,4] y, float[4,4] a)
    { a = MatMul(x, x) [k] z = Exp(a) q = MatMul(a, a) y = Add(z, q) }"""
    calls, ends, draft = written(text, tmp_path, keep=("k",))
    assert calls == [
        "x/fp16 = Cast(x)",
        "a/fp16 = MatMul(x/fp16, x/fp16)",
        "a = Cast(a/fp16)",
        "z = Exp(a)",
        "z/fp16 = Cast(z)",
        "q = MatMul(a/fp16, a/fp16)",
        "y/fp16 = Add(z/fp16, q)",
        "y = Cast(y/fp16)",
    ]
    assert set(ends.values()) == {FLOAT}
    assert [(cast.tensor, cast.to, cast.inside) for cast in draft.conversion.casts] == [
        ("x", "fp16", False),
        ("a", "fp32", True),
        ("z", "fp16", True),
        ("y", "fp32", False),
    ]


def test_constants_are_rounded_and_copied_where_both_types_are_read(tmp_path: Path) -> None:
    text = """(float[4,4] x, int64[2] s) => (float[4,4] y)
    { a = MatMul(x, x) c = Constant <value_float = 1e6> ()
      d = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
      e = Constant <value = float[4] {1, 2, 3, 4}> () f = ConstantOfShape (s)
      g = ConstantOfShape <value = float[1] {3}> (s)
      n = Constant <value_ints = [1, 2]> ()
      b1 = Min(a, c) b2 = Add(b1, d) b3 = Mul(b2, e) b4 = Add(b3, f) b5 = Add(b4, g) [k] z = Add(b5, e)
      r = Reshape(z, n) y = Relu(z) }"""
    model, _ = converted(saved(f"{HEAD} {text}", tmp_path / "m.onnx", None), keep=("k",))
    found = {}
    for node in model.graph.node:
        if node.op_type.startswith("Constant"):
            (attribute,) = node.attribute
            array = (
                numpy_helper.to_array(attribute.t) if attribute.name == "value" else np.array(attribute.ints)
            )
            found[node.output[0]] = (array.dtype.name, array.tolist())
    assert found == {
        "c": ("float16", 65504.0),
        "d": ("float16", [1, 2, 3, 4]),
        "e": ("float32", [1, 2, 3, 4]),
        "e/fp16": ("float16", [1, 2, 3, 4]),
        "f": ("float16", [0]),
        "g": ("float16", [3]),
        "n": ("int64", [1, 2]),
    }


def test_new_names_are_not_taken(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        f"{HEAD} (float[4,4] x) => (float[4,4] y) {{ b = Relu(x) c = Relu(b) y = MatMul(c, c) }}"
    )
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "x/fp16"
    model.graph.node[1].name = "x/fp16_2"
    onnx.save(model, tmp_path / "m.onnx")
    found, _ = converted(tmp_path / "m.onnx")
    assert list(found.graph.node[0].output) == ["x/fp16_3"]


def test_sparse_initializers_are_cast(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        f"{HEAD} (float[4,4] x) => (float[4,4] y) {{ a = MatMul(x, w) y = Relu(a) }}"
    )
    values = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    places = numpy_helper.from_array(np.array([0, 5], np.int64), "places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 4]))
    onnx.save(model, tmp_path / "m.onnx")
    run(ConversionRequest(tmp_path / "m.onnx", measure=False), tmp_path / "out.onnx")
    found = onnx.load(tmp_path / "out.onnx")
    assert ["w", "w/fp16"] in [[*node.input, *node.output] for node in found.graph.node]
    assert ["x/fp16", "w/fp16"] in [list(node.input) for node in found.graph.node]
    assert found.graph.sparse_initializer == model.graph.sparse_initializer


def test_the_reason_of_a_group_names_its_first_operator(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[4,8] x) => (float[4,8] y)
        < float two = {2}, float tiny = {1e-5}, float[1] s = {2}, float[1] b = {1} > {
        h = MatMul (x, w) mean = ReduceMean <axes = [-1]> (h) [sub] d = Sub (h, mean) p = Pow (d, two)
        v = ReduceMean <axes = [-1]> (p) e = Add (v, tiny) [root] q = Sqrt (e) [div] n = Div (d, q)
        o = Mul (n, s) r = Add (o, b) y = MatMul (r, w) }"""
    request = ConversionRequest(saved(text, tmp_path / "m.onnx"), type="bf16", measure=False)
    for _ in range(10):  # the order of a set of operators differs from run to run
        session = ConversionSession(request)
        assert session.pin(["sub", "root", "div"], "refused")
        reasons = {kept.reason for kept in session.draft().conversion.kept}
        assert reasons == {"refused", "TensorRT fuses this operator with sub, which stays in FP32"}
