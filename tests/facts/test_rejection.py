"""Tests of facts about parser and builder refusals."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.mixed_types import MixedTypes
from trtlint.facts.of_model.rejection import Rejection
from trtlint.knowledge.releases import Product
from trtlint.model.load import load
from trtlint.target.target import Target


def rejections(
    body: str,
    inputs: str = "float[2,4] x",
    outputs: str = "float y",
    constants: str = "",
    opset: int = 21,
    domains: str = "",
) -> list[Rejection]:
    stored = f"< {constants} >" if constants else ""
    text = f"""
    < ir_version: 10, opset_import: ["" : {opset}{domains}] >
    g ({inputs}) => ({outputs}) {stored}
    {{ {body} }}
    """
    return [fact for fact in facts_of(text).of("rejection") if isinstance(fact, Rejection)]


def refused_by(facts: list[Rejection], version: str, product: Product = "tensorrt-rtx") -> list[str]:
    """Return the refusal reasons of one release in graph order."""
    target = Target(product=product, version=version)
    return [f.reason for f in facts if target.matches(f.applies.get(product, "<0"), product) is True]


def test_a_branch_that_hangs_on_inputs_is_not_decided() -> None:
    text = """y = If (c) <then_branch = a () => (float p) { p = ReduceSum <keepdims = 0> (x) },
    else_branch = b () => (float[2,4] q) { q = Neg (x) }>"""
    found = rejections(text, "float[2,4] x, bool c", "float[A] y")
    assert [fact.decided for fact in found if fact.reason == "control"] == [False]


def test_a_squeeze_is_decided_by_the_if_around_it() -> None:
    text = """ s = Shape (x)  n = Gather <axis = 0> (s, one)  c = Equal (n, one)
    y = If (c) <then_branch = a () => (float[D,E] p) { p = Squeeze (x, one) },
    else_branch = b () => (float[G,H,I] q) { q = Neg (x) }>"""
    found = rejections(text, "float[N,3,4] x", "float[A,B,C] y", "int64[1] one = {1}")
    assert {fact.op: fact.decided for fact in found if fact.reason == "control"} == {"Squeeze": True}


ONE = "int64[1] one = {1}, int64[1] two = {2}"


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        # Measured with the parser of TensorRT-RTX 1.7.1, each as a separate model.
        ("y = ReduceSum (x, one)", []),
        ("a = Identity (one) y = ReduceSum (x, a)", []),
        ("c = Constant <value_ints = [1]> () y = ReduceSum (x, c)", []),
        ("c = Constant <value = int32[1] {1}> () a = Cast <to = 7> (c) y = ReduceSum (x, a)", []),
        ("a = Sub (two, one) y = ReduceSum (x, a)", ["constant"]),
        ("a = Concat <axis = 0> (one) y = ReduceSum (x, a)", ["constant"]),
        ("s = Shape (x) a = Slice (s, one, two) y = ReduceSum (x, a)", ["constant", "shape"]),
        ("a = Sub (two, one) y = Unsqueeze (x, a)", []),
        ("s = Shape (x) r = Size (s) a = Sub (r, one) y = Unsqueeze (x, a)", []),
    ],
)
def test_a_constant_is_what_the_parser_takes_for_one(body: str, reasons: list[str]) -> None:
    assert refused_by(rejections(body, constants=ONE), "1.7") == reasons


def test_older_parsers_look_through_nothing() -> None:
    facts = rejections("a = Identity (one) y = ReduceSum (x, a)", constants=ONE)
    assert refused_by(facts, "1.5") == ["constant"]
    assert refused_by(facts, "10.8", "tensorrt") == ["constant"]
    assert refused_by(facts, "11.4", "tensorrt") == []


@pytest.mark.parametrize(
    ("body", "inputs", "reasons"),
    [
        ("a = Relu (x) y = Cast <to = 1> (a)", "int32[4] x", ["type"]),
        ("y = Relu (x)", "int8[4] x", []),
        ("a = Softmax (x) y = Cast <to = 1> (a)", "int32[1,4] x", ["type"]),
        ("y = Celu (x)", "float16[4] x", ["type"]),
        ("y = Celu (x)", "float[4] x", []),
        ("y = Add (x, z)", "bool[4] x, bool[4] z", ["type"]),
        ("y = Add (x, z)", "double[4] x, double[4] z", []),
        ("a = Identity (x) b = Identity (a) y = Cast <to = 1> (b)", "uint8[4] x", ["type", "type"]),
        ("y = Cast <to = 1> (x)", "uint8[4] x", []),
        ("y = Cast <to = 1> (x)", "uint16[4] x", ["interface"]),
        ("y = MatMul (x, z)", "float[4] x, float[2,4,3] z", ["shape", "gpu"]),
        ("y = MatMul (x, z)", "float[1,4] x, float[2,4,3] z", ["gpu"]),
        ("y = Add (x, z)", "float[2,3] x, float[2,4] z", ["shape"]),
        ("y = Add (x, z)", "float[2,N] x, float[2,4] z", []),
        ("y = Range (x, z, z)", "float x, float z", ["dynamic"]),
        ("y = Attention (x, z, z)", "float[1,4,16,64] x, float[1,4,16,64] z", ["attention"]),
        ("y = Attention (x, z, z)", "float16[1,4,16,64] x, float16[1,4,16,64] z", []),
        ("y = Attention (x, z, z)", "float16[1,4,16,512] x, float16[1,4,16,512] z", ["attention"]),
        (
            "q = Cast <to = 17> (x) y = Cast <to = 1> (q)",
            "float[4] x",
            ["quantization", "gpu", "quantization"],
        ),
    ],
)
def test_what_the_parser_and_builder_of_1_7_refuse(body: str, inputs: str, reasons: list[str]) -> None:
    assert refused_by(rejections(body, inputs, opset=23), "1.7") == reasons


def test_a_range_of_sizes_is_computed_as_a_shape() -> None:
    body = "s = Shape (x) n = Gather (s, zero) l = Cast <to = 1> (n) y = Range (start, l, step)"
    constants = "int64 zero = {0}, float start = {0}, float step = {1}"
    assert refused_by(rejections(body, "float[N] x", constants=constants), "1.7") == []


def test_dispatch_ignores_the_domain() -> None:
    (fact,) = rejections("y = my.Fancy (x)", domains=', "my" : 1')
    assert (fact.reason, fact.plugin) == ("plugin", "Fancy")
    assert rejections("y = my.Relu (x)", domains=', "my" : 1') == []


def test_an_operator_of_onnx_without_importer() -> None:
    (fact,) = rejections("y = Gelu (x)")
    assert (fact.reason, fact.stage, fact.code) == ("operator", "parse", "UNSUPPORTED_NODE")
    assert fact.applies == {"tensorrt": "<10.0"}
    assert fact.has_body
    (fact,) = rejections("y = Det (x)")
    assert fact.applies == {"tensorrt": "", "tensorrt-rtx": ""}
    assert not fact.has_body


def test_no_other_reason_where_there_is_no_importer() -> None:
    facts = rejections("y = Attention (x, z, z)", "float[1,4,16,64] x, float[1,4,16,64] z", opset=23)
    assert refused_by(facts, "10.13", "tensorrt") == ["operator"]
    assert refused_by(facts, "10.14", "tensorrt") == ["attention"]


def test_a_plugin_of_the_library_is_no_refusal_where_the_library_is() -> None:
    (fact,) = rejections("y = TRT.DisentangledAttention_TRT (x)", domains=', "TRT" : 1')
    assert fact.reason == "plugin"
    assert set(fact.applies) == {"tensorrt-rtx"}


def test_bodies_are_looked_at() -> None:
    body = """y = If (c) <
        then_branch = a () => (float p) { p = Det (x) },
        else_branch = b () => (float q) { q = ReduceMax <keepdims = 0> (x) }
    >"""
    (fact,) = rejections(body, "bool c, float[4,4] x")
    assert fact.node is not None
    assert (fact.op, fact.node.scope != "") == ("Det", True)


def test_one_fact_says_that_the_gpu_lacks_a_type() -> None:
    facts = rejections("a = Neg (x) b = Neg (a) y = Neg (b)", "bfloat16[4] x")
    assert [(f.reason, f.min_sm) for f in facts if f.reason != "interface"] == [("gpu", 80)]


def test_zero_points_and_scales() -> None:
    body = "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)"
    cases = {
        "float s = {0.5}, int8 z = {0}": [],
        "float s = {0.5}, uint8 z = {0}": [],
        "float s = {0.5}, uint8 z = {128}": ["quantization"] * 2,
        "float s = {-0.5}, int8 z = {0}": ["quantization"] * 2,
        "float s = {0}, int8 z = {0}": ["quantization"] * 2,
    }
    for constants, reasons in cases.items():
        assert refused_by(rejections(body, constants=constants), "1.7") == reasons, constants


def test_a_reshape_that_loses_a_size() -> None:
    body = """
        s = Shape (x) head = Slice (s, zero, two) shape = Concat <axis = 0> (head, last)
        r = Reshape (x, shape) y = Mul (r, z)
    """
    constants = "int64[1] zero = {0}, int64[1] two = {2}, int64[1] last = {-1}"
    inputs = "float[b,n,1,2] x, float[n,%d] z"
    assert refused_by(rejections(body, inputs % 8, constants=constants), "1.7") == ["shape"]
    assert refused_by(rejections(body, inputs % 2, constants=constants), "1.7") == []


def test_mixed_types_are_refusals() -> None:
    facts = facts_of("""
    < ir_version: 10, opset_import: ["" : 17] >
    g (float16[4] h, float[4] s) => (float[4] y) < float low = {0} >
    { c = Clip (h, low) y = Add (h, s) }
    """).of("mixed_types")
    found = [(f.op, f.refusal and f.refusal.stage) for f in facts if isinstance(f, MixedTypes)]
    assert found == [("Clip", None), ("Add", "parse")]


@pytest.mark.parametrize(
    ("condition", "reasons"),
    [
        # Measured with the builder of TensorRT-RTX 1.7.1: it checks zero points before it drops what is not
        # needed; of a branch that the parser does not import it knows nothing.
        ("c = Identity (yes)", ["quantization"]),
        ("c = Constant <value = bool {1}> ()", []),
    ],
)
def test_zero_points_are_checked_in_a_branch_that_is_not_taken(condition: str, reasons: list[str]) -> None:
    branches = (
        "then_branch = a () => (float[2,4] p) { p = Neg (x) }, "
        "else_branch = b () => (float[2,4] r) { q = QuantizeLinear (x, s, z) r = DequantizeLinear (q, s) }"
    )
    facts = rejections(
        f"{condition} y = If (c) <{branches}>",
        inputs="float[2,4] x, int8 z",
        outputs="float[2,4] y",
        constants="float s = {0.5}, bool yes = {1}",
    )
    assert refused_by(facts, "1.7") == reasons


@pytest.mark.parametrize(("dims", "reasons"), [("", ["control"]), ("[1]", [])])
def test_the_parser_gives_a_quantized_scalar_a_dimension(dims: str, reasons: list[str]) -> None:
    branches = (
        f"then_branch = a () => (float{dims} p) {{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s)"
        f" p = Neg (d) }}, else_branch = b () => (float{dims} n) {{ n = Neg (x) }}"
    )
    facts = rejections(
        f"y = If (c) <{branches}>",
        inputs=f"float{dims} x, bool c",
        outputs=f"float{dims} y",
        constants="float s = {0.5}, int8 z = {0}",
    )
    assert refused_by(facts, "1.7") == reasons


@pytest.mark.parametrize(("product", "version"), [("tensorrt-rtx", "1.7.1"), ("tensorrt", "8.6.1")])
def test_a_type_is_refused_once_at_a_node(product: Product, version: str) -> None:
    """The operator does not support uint8, and no operator inside a graph computes uint8."""
    found = rejections(
        "u = Cast <to = 2> (x) v = Unsqueeze (u, one) y = Cast <to = 1> (v)", constants="int64[1] one = {1}"
    )
    at = [fact for fact in found if fact.op == "Unsqueeze"]
    assert refused_by(at, version, product) == ["type"]


def test_missing_weights_of_a_body_are_those_that_its_operator_reads(tmp_path: Path) -> None:
    """The main graph computes a value with the same name."""
    proto = onnx.parser.parse_model("""
    < ir_version: 8, opset_import: ["" : 17] >
    g (bool c, float[2] x) => (float[2] y)
    {
      w = Neg (x)
      v = Abs (w)
      y = If (c) <
        then_branch = t () => (float[2] r) < float[2] w = {1, 2} > { r = Mul (v, w) },
        else_branch = e () => (float[2] r) { r = Exp (v) }
      >
    }""")
    body = next(a.g for a in proto.graph.node[-1].attribute if a.name == "then_branch")
    (tensor,) = body.initializer
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "gone.bin"), ("offset", "0"), ("length", "8")):
        tensor.external_data.add(key=key, value=value)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    found = [fact for fact in Facts(load(path)).of("rejection") if isinstance(fact, Rejection)]
    (missing,) = (fact for fact in found if "gone.bin" in fact.says)
    assert missing.node is not None
    assert missing.node.op == "Mul"


# ---- functions of the model, which the parser of 8.6 does not know

FUNCTIONS = """
< ir_version: 8, opset_import: ["" : 17, "local" : 1] >
g (float[4] x, bool p) => (float[4] z) {
    y = local.Block (x)
    z = If (p) <
        then_branch = a () => (float[4] u) { [inner] u = local.Block (y) },
        else_branch = b () => (float[4] v) { v = Abs (y) }
    >
}
< domain: "local", opset_import: ["" : 17, "local" : 1] >
Block (a) => (b) { h = local.Half (a) b = Neg (h) }
< domain: "local", opset_import: ["" : 17] >
Half (a) => (b) { b = Neg (a) }
"""


def of_functions(text: str) -> list[Rejection]:
    return [fact for fact in facts_of(text).of("rejection") if isinstance(fact, Rejection)]


def test_functions_are_refused_before_there_are_functions() -> None:
    (fact,) = of_functions(FUNCTIONS)
    assert fact.says == (
        "the model calls functions of its own (Block), but the parser does not support model-local functions"
    )
    assert (fact.op, fact.stage, fact.code) == ("Block", "parse", "UNSUPPORTED_NODE")
    assert fact.node is not None
    assert fact.node.path == "Block_0/Half_0/Neg_0"
    assert refused_by([fact], "8.6", "tensorrt") == ["operator"]
    assert refused_by([fact], "9.0", "tensorrt") == []
    assert set(fact.applies) == {"tensorrt"}


def test_a_function_of_a_body_is_found_at_its_nodes() -> None:
    text = FUNCTIONS.replace("y = local.Block (x)", "y = Neg (x)")
    (fact,) = of_functions(text)
    assert fact.node is not None
    assert fact.node.path == "If_1/then_branch/inner/Half_0/Neg_0"


def test_many_functions_are_one_refusal() -> None:
    calls = " ".join(f"v{i + 1} = local.F{i} (v{i})" for i in range(5))
    bodies = "\n".join(
        f'< domain: "local", opset_import: ["" : 17] > F{i} (a) => (b) {{ b = Neg (a) }}' for i in range(5)
    )
    (fact,) = of_functions(f"""
    < ir_version: 8, opset_import: ["" : 17, "local" : 1] >
    g (float[4] v0) => (float[4] v5) {{ {calls} }}
    {bodies}
    """)
    assert "(F0, F1, F2 and 2 more)" in fact.says


@pytest.mark.parametrize(
    "name",
    [
        "Relu",  # looked up among the importers first, so the parser never asks for a function
        "Unread",
    ],
)
def test_functions_that_are_no_refusal(name: str) -> None:
    call = "Relu" if name == "Relu" else ""
    node = f"y = local.{call} (x)" if call else "y = Neg (x)"
    assert not of_functions(f"""
    < ir_version: 8, opset_import: ["" : 17, "local" : 1] >
    g (float[4] x) => (float[4] y) {{ {node} }}
    < domain: "local", opset_import: ["" : 17] >
    {name} (a) => (b) {{ b = Neg (a) }}
    """)


def test_a_refusal_says_what_its_range_rests_on() -> None:
    (fact,) = rejections("y = Sign (x)", "int32[2] x", "int32[2] y")
    assert fact.known == "source"
    assert fact.refusal.known == "source"


# ---- who refuses, and until when


def test_the_build_fails_where_only_the_network_refuses() -> None:
    facts = rejections("y = Mul (x, x)", "uint8[2] x", "uint8[2] y")
    stages = {f.stage for f in facts if refused_by([f], "10.7", "tensorrt")}
    newer = {f.stage for f in facts if refused_by([f], "10.16", "tensorrt")}
    assert (stages, newer) == ({"build"}, {"parse"})
