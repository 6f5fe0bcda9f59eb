"""Tests of rewrites at their limits: bounds, unknown sizes and other operators nearby."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.graphs import model_of
from trtlint.facts.facts import Facts
from trtlint.fixes import proposer
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.fixes.rewrites._numbers import quantized_type
from trtlint.model.graph import Node
from trtlint.model.load import Model

HEAD = '< ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1] >'


def proposed(rewrite: str, text: str, op: str, opset: int = 18, kind: str = "node") -> Patch | NotApplicable:
    """Return the proposed rewrite for the fact at the first operator of a type."""
    return _proposed(rewrite, model_of(f"{HEAD.format(opset=opset)} g {text}"), op, kind)


def _proposed(rewrite: str, model: Model, op: str, kind: str = "node") -> Patch | NotApplicable:
    facts = Facts(model)
    fact = next(
        fact
        for fact in facts.of(kind)
        if any(step.node.op == op for step in fact.chain) or _is(fact.node, op)
    )
    return tried(rewrite, fact, model)


def tried(rewrite: str, fact: Any, model: Model) -> Patch | NotApplicable:
    """Return the patch of a rewrite, or the reason for none."""
    try:
        return proposer(rewrite)(fact, model)
    except NotApplicable as error:
        return error


def _is(node: Node | None, op: str) -> bool:
    return node is not None and node.op == op


def reason(found: Patch | NotApplicable) -> str:
    """Return the reason for no patch, empty if there is a patch."""
    return str(found) if isinstance(found, NotApplicable) else ""


def inserted(found: Patch | NotApplicable) -> list[str]:
    assert isinstance(found, Patch), found
    return [node.op_type for node in found.insert]


@pytest.mark.parametrize(("count", "fits"), [(64, True), (65, False)])
def test_scattering_takes_a_bounded_tensor(count: int, fits: bool) -> None:
    """The limit is the data size times the updates: 2 ** 20 numbers, 64 times."""
    text = (
        f"(float[1048576,1] x, int64[1048576,{count}] i, float[1048576,{count}] u) => (float[1048576,1] y)"
        '{ y = ScatterElements <axis = 1, reduction = "add"> (x, i, u) }'
    )
    found = proposed("write-out-scatter", text, "ScatterElements")
    assert reason(found) == (
        "" if fits else "comparing the indices would need a tensor of more than 67,108,864 elements"
    )


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("data", ["[]", "[4]", "[4,5]", "[4,5,6]", "[A,B]", ""])
@pytest.mark.parametrize("indices", ["[4]", "[4,5]", "[4,5,6]", "[A,B]", "[A,1]", ""])
def test_scattering_of_any_ranks_is_written_or_refused(op: str, data: str, indices: str) -> None:
    """Untrusted models have mismatched shapes, which must not cause a crash."""
    text = f"(float{data} x, int64{indices} i, float{indices} u) => (float y)"
    text += f'{{ y = {op} <reduction = "add"> (x, i, u) }}'
    found = proposed("write-out-scatter", text, op)
    assert reason(found) or inserted(found)
    if op == "ScatterElements" and data.count(",") != indices.count(","):
        assert "shapes of data and indices are not known" in reason(found)


@pytest.mark.parametrize(
    ("shapes", "attributes", "why"),
    [
        ("float[1,4,3,8] q, float[1,4,5,8] k, float[1,4,5,8] v", "", ""),
        ("float[1,4,3,8] q, float[1,H,5,8] k, float[1,H,5,8] v", "", "the number of heads is not known"),
        ("float[1,H,3,8] q, float[1,4,5,8] k, float[1,4,5,8] v", "", "the number of heads is not known"),
        ("float[1,3,32] q, float[1,5,32] k, float[1,5,32] v", "", "the number of heads is not known"),
        (
            "float[1,3,32] q, float[1,5,32] k, float[1,5,32] v",
            "<q_num_heads = 4>",
            "the number of heads is not known",
        ),
        (
            "float[1,3,32] q, float[1,5,32] k, float[1,5,32] v",
            "<q_num_heads = 4, kv_num_heads = 3>",
            "the number of heads of Q is not a multiple of the number of heads of K and V",
        ),
        ("float[1,3,32] q, float[1,5,32] k, float[1,5,32] v", "<q_num_heads = 4, kv_num_heads = 2>", ""),
        ("float[1,4,3,D] q, float[1,4,5,D] k, float[1,4,5,8] v", "", "the size of a head is not known"),
        ("float[1,4,3,8] q, float16[1,4,5,8] k, float16[1,4,5,8] v", "", "types of Q, K and V are unknown"),
        ("float[4,3] q, float[4,3] k, float[4,3] v", "", "Q, K and V do not have rank 3 or 4"),
    ],
)
def test_attention_is_written_out_for_known_heads(shapes: str, attributes: str, why: str) -> None:
    found = proposed(
        "decompose-attention",
        f"({shapes}) => (float[A] y) {{ y = Attention {attributes} (q, k, v) }}",
        "Attention",
        23,
    )
    assert (why in reason(found)) if why else inserted(found).count("MatMul") == 2


NORM = """< float two = {2}, float eps = {0.00001} >
{ m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  s = Pow (c, two)  var = ReduceMean <axes = [-1]> (s)
  e = Add (var, eps)  r = Sqrt (e)  n = Div (c, r)  %s }"""
RMS = """< float two = {2}, float eps = {0.00001}, int64[1] last = {-1} >
{ s = Pow (x, two)  var = ReduceMean (s, last)
  e = Add (var, eps)  r = Sqrt (e)  n = Div (x, r)  %s }"""


def norm(text: str, opset: int) -> Model:
    head = HEAD.format(opset=opset)
    proto = onnx.parser.parse_model(f"{head} g (float[2,5,16] x, float[16] fed) => (float[2,5,16] y) {text}")
    for name, number in (("gain", 1.5), ("bias", 0.5)):
        proto.graph.initializer.append(numpy_helper.from_array(np.full(16, number, np.float32), name))
    return model_of(onnx.printer.to_text(proto))


@pytest.mark.parametrize(
    ("opset", "body", "after", "gone"),
    [
        (17, NORM % "h = Mul (n, gain)  y = Add (h, bias)", "y", "Add"),
        (17, NORM % "h = Mul (n, gain)  y = Sub (h, bias)", "h", "Mul"),
        (17, NORM % "h = Mul (n, gain)  y = Add (h, fed)", "h", "Mul"),
        (17, NORM % "h = Mul (n, fed)  y = Add (h, bias)", "n", "Div"),
        (17, NORM % "h = Sub (n, gain)  y = Add (h, bias)", "n", "Div"),
        (17, NORM % "h = Add (n, bias)  y = Mul (h, gain)", "n", "Div"),
        (23, RMS % "h = Mul (n, gain)  y = Add (h, bias)", "h", "Mul"),
        (23, RMS % "y = Mul (gain, n)", "y", "Mul"),
    ],
)
def test_a_norm_takes_its_stored_gain_and_bias_and_nothing_else(
    opset: int, body: str, after: str, gone: str
) -> None:
    """The new operator computes the result of the last removed operator."""
    found = _proposed("fuse-norm", norm(body, opset), "Div", "normalization")
    assert isinstance(found, Patch), found
    assert inserted(found) == ["LayerNormalization" if opset == 17 else "RMSNormalization"]
    assert list(found.insert[0].output) == [after]
    assert found.remove[-1].op == gone
    gain = found.insert[0].input[1]
    assert (gain == "gain") is (after != "n")


@pytest.mark.parametrize(("width", "fits"), [(12, True), (13, False)])
def test_a_gelu_of_halves_needs_an_even_width(width: int, fits: bool) -> None:
    text = (
        f"(float[2,5,{width}] x, float[{width}] b) => (float[2,5,H] y)"
        "{ y = com.microsoft.BiasSplitGelu (x, b) }"
    )
    assert (reason(proposed("write-out-fused", text, "BiasSplitGelu")) == "") is fits


@pytest.mark.parametrize(
    ("activation", "parameters", "expected"),
    [
        ("LeakyRelu", [], {}),
        ("LeakyRelu", [0.5], {"alpha": 0.5}),
        ("HardSigmoid", [0.5], {"alpha": 0.5}),
        ("HardSigmoid", [0.5, 0.25], {"alpha": 0.5, "beta": 0.25}),
        ("LeakyRelu", [0.5, 0.25], None),
        ("Softsign", [], None),
    ],
)
def test_parameters_of_a_fused_activation(
    activation: str, parameters: list[float], expected: dict[str, float] | None
) -> None:
    """Missing parameters have the defaults of ONNX's operator."""
    given = f", activation_params = [{', '.join(map(str, parameters))}]" if parameters else ""
    text = (
        "(float[1,3,9,9] x, float[4,3,3,3] w) => (float[1,4,7,7] y)"
        f'{{ y = com.microsoft.FusedConv <activation = "{activation}"{given}> (x, w) }}'
    )
    found = proposed("write-out-fused", text, "FusedConv")
    if expected is None:
        assert "is not supported" in reason(found)
        return
    assert inserted(found) == ["Conv", activation]
    assert isinstance(found, Patch)
    assert {each.name: each.f for each in found.insert[1].attribute} == expected


def sparse(change: Callable[[onnx.SparseTensorProto], None]) -> Model:
    """Return a model with a changed sparse tensor of 3 × 4."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from trtlint.model.load import load

    proto = onnx.parser.parse_model(
        f"{HEAD.format(opset=17)} g (float[2,3] x) => (float[2,4] y) {{ y = MatMul (x, w) }}"
    )
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "w")
    places = numpy_helper.from_array(np.array([1, 11], np.int64), "places")
    tensor = helper.make_sparse_tensor(values, places, [3, 4])
    change(tensor)
    proto.graph.sparse_initializer.append(tensor)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(proto.SerializeToString())
        return load(path)


def away(tensor: onnx.TensorProto) -> None:
    """Store a tensor in a missing external file."""
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="gone.bin")


def placed(*places: int | tuple[int, int]) -> Callable[[onnx.SparseTensorProto], None]:
    def change(tensor: onnx.SparseTensorProto) -> None:
        tensor.indices.CopyFrom(numpy_helper.from_array(np.array(places, np.int64), "places"))

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tensor: away(tensor.values), "the values of the sparse tensor cannot be read"),
        (lambda tensor: away(tensor.indices), "the values of the sparse tensor cannot be read"),
        (placed(0, 11), ""),
        (placed(0, 12), "an index of the sparse tensor is out of range"),
        (placed(-1, 11), "an index of the sparse tensor is out of range"),
        (placed((0, 1), (2, 3)), ""),
        (placed((0, -1), (2, 3)), "an index of the sparse tensor is out of range"),
        (placed((0, 1), (3, 0)), "an index of the sparse tensor is out of range"),
        (placed((0, 4), (2, 3)), "an index of the sparse tensor is out of range"),
        (placed(1, 2, 3), "an index of the sparse tensor is out of range"),
        (
            lambda tensor: tensor.dims.__setitem__(0, 1 << 23),
            "the dense tensor would have more than 16,777,216 elements",
        ),
    ],
    ids=[
        "values away",
        "places away",
        "good",
        "beyond",
        "negative",
        "good by axes",
        "negative by axes",
        "beyond rows",
        "beyond columns",
        "too many",
        "large",
    ],
)
def test_a_sparse_tensor_is_stored_where_it_can_be(
    change: Callable[[onnx.SparseTensorProto], None], why: str
) -> None:
    model = sparse(change)
    (node,) = model.graph.by_op("MatMul")
    fact = next(fact for fact in Facts(model).of("node") if fact.node is node)
    assert reason(tried("store-dense", fact, model)) == why


def test_what_the_reference_cannot_resize_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __init__(self, *_: object) -> None: ...

        def run(self, *_: object) -> None:
            raise NotImplementedError("no such mode")

    text = """(float[1,3,8,8] x) => (float[1,3,4,4] y) < float[4] s = {1, 1, 0.5, 0.5} >
    { y = Resize <mode = "linear", antialias = 1> (x, , s) }"""
    assert reason(proposed("resize-by-gather", text, "Resize")) == ""
    monkeypatch.setattr("onnx.reference.ReferenceEvaluator", Failing)
    found = proposed("resize-by-gather", text, "Resize")
    assert reason(found) == "ONNX's reference evaluator cannot compute Resize (NotImplementedError)"


@pytest.mark.parametrize(
    ("opset", "count"), [(17, None), (18, 2), (19, 2)], ids=["by its outputs", "from 18 on", "later"]
)
def test_a_split_in_halves_says_how_many_parts_it_has(opset: int, count: int | None) -> None:
    """Opset 18 requires the number: https://onnx.ai/onnx/operators/onnx__Split.html."""
    text = """(float[2,5,12] x, int64[2,5] p, float[16,6] c, float[16,6] s) => (float[2,5,12] y)
    { y = com.microsoft.RotaryEmbedding (x, p, c, s) }"""
    found = proposed("write-out-fused", text, "RotaryEmbedding", opset)
    assert isinstance(found, Patch), found
    (split,) = (node for node in found.insert if node.op_type == "Split")
    assert {each.name: each.i for each in split.attribute} == {
        "axis": -1,
        **({} if count is None else {"num_outputs": count}),
    }


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("e = Expand (row, shape)  y = Add (x, e)", ""),
        ("e = Expand (row, fed)  y = Add (x, e)", "a size is unknown"),
        ("e = Expand (wide, shape)  y = Add (x, e)", "repeats a dimension whose size is not 1"),
        (
            "e = Expand (row, shape)  y = Concat <axis = 0> (x, e)",
            "Concat reads the expanded tensor, and this operator does not broadcast",
        ),
        (
            "e = Expand (row, shape)  y = Add (one, e)",
            "without Expand, the result of Add would have another shape",
        ),
        ("y = Expand (row, shape)  n = Add (x, y)", "the expanded tensor is an output"),
    ],
)
def test_an_expanded_tensor_is_left_to_broadcasting(body: str, why: str) -> None:
    if "(wide" in body:  # Tile of two rows, which broadcasting does not repeat
        body = body.replace("Expand (wide, shape)", "Tile (wide, twice)")
    text = f"""(float[4,8] x, int64[K] fed) => (float[A,B] y)
    < float[1,8] row = {{1, 2, 3, 4, 5, 6, 7, 8}}, float[1,1] one = {{1}}, int64[2] shape = {{4, 8}},
      float[2,8] wide = {{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}}, int64[2] twice = {{2, 1}} >
    {{ {body} }}"""
    found = proposed("broadcast-constant", text, "Tile" if "Tile" in body else "Expand")
    assert (why in reason(found)) if why else isinstance(found, Patch), found


def pairs(more: str = "") -> str:
    """Return two quantizers with the same parameters after one operator."""
    return f"""(float[4] x) => (float[4] y) < float s = {{0.1}}, int8 z = {{0}} >
    {{ q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)
       e = QuantizeLinear (d, s, z)  y = DequantizeLinear (e, s, z) {more} }}"""


def test_what_is_computed_around_a_second_quantizer() -> None:
    """The numbers are equal only where the first quantizer has rounded them."""
    model = model_of(f"{HEAD.format(opset=19)} g {pairs()}")
    second = next(node for node in model.graph.by_op("QuantizeLinear") if node.outputs[0].name == "e")
    fact = next(fact for fact in Facts(model).of("node") if fact.node is second)
    found = tried("drop-second-quantizer", fact, model)
    assert isinstance(found, Patch), found
    assert [node.outputs[0].name for node in found.around] == ["q", "d"]
    assert [(node.outputs[0].name, port, name) for node, port, name in found.rewire] == [("y", 0, "q")]


def test_the_type_that_operators_of_onnx_runtime_quantize_to() -> None:
    model = model_of(f"""{HEAD.format(opset=17)} g (int8[4] q, float[4] x) => (float[4] y)
    < float s = {{0.1}}, int8 z = {{0}}, int64[1] four = {{4}} >
    {{
      a = com.microsoft.QLinearAdd (q, s, z, q, s, z, s, z)  moved = Reshape (a, four)
      other = com.microsoft.NhwcMaxPool (q)  n = Neg (moved)  f = com.microsoft.Gelu (x)
      y = com.microsoft.Mystery (moved, other, n, f)
    }}""")
    (last,) = model.graph.by_op("Mystery")
    moved, other, computed, floats = last.inputs
    assert quantized_type(moved) == "i8"
    assert quantized_type(other) is None
    assert quantized_type(computed) is None
    assert quantized_type(floats) is None
    assert quantized_type(None) is None


@pytest.mark.parametrize(("fed", "why"), [(True, "the table is not stored in the model"), (False, "")])
def test_only_a_stored_table_is_cast(fed: bool, why: str) -> None:
    from types import SimpleNamespace

    text = "(int64[4] i, float[9,64] fed) => (float16[4,64] y) { e = Gather (%s, i)  y = Cast <to = 10> (e) }"
    proto = onnx.parser.parse_model(f"{HEAD.format(opset=17)} g {text % ('fed' if fed else 'table')}")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((9, 64), np.float32), "table"))
    model = model_of(onnx.printer.to_text(proto))
    steps = [SimpleNamespace(node=next(iter(model.graph.by_op(op)))) for op in ("Gather", "Cast")]
    found = tried("cast-table", SimpleNamespace(chain=steps), model)
    assert reason(found) == why
    assert fed or inserted(found) == ["Cast", "Gather"]


@pytest.mark.parametrize(
    ("body", "words"), [("half", "FP32"), ("double", "FP64, which the TensorRT parser converts to FP32")]
)
def test_the_title_names_the_type_of_a_widened_norm(body: str, words: str) -> None:
    wide = "w" if body == "double" else "c"
    cast = "w = Cast <to = 11> (c)" if body == "double" else ""
    kind = "double" if body == "double" else "float16"
    text = f"""(float16[2,3,8] x) => (float16[2,3,8] y) < {kind} eps = {{1}} >
    {{ m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  {cast}  s = Mul ({wide}, {wide})
       v = ReduceMean <axes = [-1]> (s)  e = Add (v, eps)  r = Sqrt (e)  n = Div ({wide}, r)
       y = Cast <to = 10> (n) }}"""
    found = proposed("widen-norm", text, "Div", 14, "normalization")
    assert isinstance(found, Patch), found
    assert found.title == f"computes the norm in {words}"


def test_a_causal_mask_of_known_sizes_is_stored() -> None:
    """The mask includes past positions, so the model computes none at run time."""
    text = """(float[2,5,12] q, float[2,3,4,4] pk, float[2,3,4,4] pv) => (float[2,5,12] y)
    { y = com.microsoft.MultiHeadAttention <num_heads = 3, unidirectional = 1> (q, q, q, , , , pk, pv) }"""
    found = proposed("write-out-fused", text, "MultiHeadAttention")
    assert "Range" not in inserted(found)
    assert isinstance(found, Patch)
    (mask,) = (numpy_helper.to_array(t) for t in found.initializers if t.name.endswith("ahead"))
    assert mask.tolist() == [[key > query + 4 for key in range(9)] for query in range(5)]
    unknown = proposed("write-out-fused", text.replace("[2,3,4,4]", "[2,3,P,4]"), "MultiHeadAttention")
    assert "Range" in inserted(unknown)


PACKED_RANK = "the rank of the packed tensor of Q, K and V is unknown or not 5"
PACKED_SHAPE = "the packed tensor does not have the shape that the operator requires"


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("[2,3,2,3,4]", ""),
        ("[2,3,2,3]", PACKED_RANK),
        ("[2,3,2,3,4,1]", PACKED_RANK),
        ("[2,3,3,2,4]", PACKED_SHAPE),
        ("[2,3,2,3,E]", PACKED_SHAPE),
    ],
)
def test_packed_q_k_and_v_have_five_axes(shape: str, words: str) -> None:
    text = f"""(float{shape} x) => (float[2,3,8] y)
    {{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (x) }}"""
    assert reason(proposed("write-out-fused", text, "MultiHeadAttention")) == words


@pytest.mark.parametrize(
    ("indices", "axis", "fits"),
    [
        ("3,4", 1, True),
        ("3,2", 1, True),
        ("2,4", 1, False),
        ("2,4", 0, True),
        ("3,2", 0, False),
        ("3,2", -1, True),
        ("N,4", 1, False),
        ("3,N", 1, True),
    ],
)
def test_scattered_elements_must_reach_over_the_data(indices: str, axis: int, fits: bool) -> None:
    """Only the scatter axis can have fewer elements."""
    text = (
        f"(float[3,4] x, int64[{indices}] i, float[{indices}] u) => (float[3,4] y)"
        f'{{ y = ScatterElements <axis = {axis}, reduction = "add"> (x, i, u) }}'
    )
    found = proposed("write-out-scatter", text, "ScatterElements")
    assert reason(found) == ("" if fits else "the indices possibly cover only a part of the data")


@pytest.mark.parametrize(
    ("op", "rewrite", "words"),
    [
        ("Relu", "broadcast-constant", "there is no Expand or Tile at this place"),
        ("Relu", "write-out-scatter", "there is no ScatterElements or ScatterND at this place"),
        ("Relu", "store-dense", "there is no sparse tensor at this place"),
        ("Relu", "cast-table", "there is no Gather followed by a Cast at this place"),
        ("Relu", "drop-second-quantizer", "there is no pair of consecutive quantizers at this place"),
    ],
)
def test_another_operator_is_left(op: str, rewrite: str, words: str) -> None:
    text = f"(float[4,8] x) => (float[4,8] y) {{ y = {op} (x) }}"
    assert reason(proposed(rewrite, text, op)) == words
