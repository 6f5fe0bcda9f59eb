"""Tests of quantized operands and results, and of their quantization."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.quantized import Quantized
from trtlint.model.load import load


def quantized(facts: Facts) -> list[Quantized]:
    return [fact for fact in facts.of("quantized") if isinstance(fact, Quantized)]


def graph(body: str, inputs: str = "float[1,8,16,16] x", output: str = "float[1,8,16,16] y") -> Facts:
    return facts_of(f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g ({inputs}) => ({output})
    < float[8,8,3,3] w = {{}}, float[8,16] m = {{}}, int8[8,8,3,3] wi = {{}}, int8[16,8] mi = {{}},
      float s = {{0.5}}, float s2 = {{0.25}}, int8 z = {{0}}, int8 three = {{3}},
      float[8] many = {{1, 1, 1, 1, 1, 1, 1, 2}}, int8[8] zeros = {{0, 0, 0, 0, 0, 0, 0, 0}},
      float[8] bias = {{0, 0, 0, 0, 0, 0, 0, 0}} >
    {{ {body} }}
    """)


PAIR = "xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "


def only(body: str, inputs: str = "float[1,8,16,16] x") -> Quantized:
    (found,) = quantized(graph(body, inputs))
    return found


def test_a_model_without_quantizers_has_none() -> None:
    assert quantized(graph("y = Conv <pads = [1,1,1,1]> (x, w)")) == []


def test_data_and_weight_of_a_convolution() -> None:
    found = only(
        PAIR + "wd = DequantizeLinear <axis = 0> (wi, many, zeros) "
        "c = Conv <pads = [1,1,1,1]> (xd, wd) r = Relu (c) q = QuantizeLinear (r, s2, z) "
        "y = DequantizeLinear (q, s2, z)"
    )
    data, result = found.data.quantizer, found.result
    weight = None if found.weight is None else found.weight.quantizer
    assert data is not None
    assert weight is not None
    assert result is not None
    assert (data.dtype, data.granularity, data.scale, data.symmetric, data.stored) == (
        "i8",
        "tensor",
        0.5,
        True,
        False,
    )
    assert (weight.granularity, weight.axis, weight.scales, weight.scale, weight.stored) == (
        "axis",
        0,
        8,
        None,
        True,
    )
    assert (result.scale, found.one_scale, found.channel_axis, found.quantized) == (0.25, None, 0, 2)
    assert (found.channels, found.filters, found.groups, found.taps, found.fed) == (8, 8, 1, 9, True)


def test_what_is_left_unquantized() -> None:
    found = only(PAIR + "y = Conv <pads = [1,1,1,1]> (xd, w)")
    assert found.weight is not None
    assert (found.weight.quantizer, found.weight.constant) == (None, True)
    found = only("wd = DequantizeLinear <axis = 0> (wi, many, zeros) y = Conv <pads = [1,1,1,1]> (x, wd)")
    assert found.data.quantizer is None
    assert found.weight is not None
    assert found.weight.quantizer is not None


@pytest.mark.parametrize(
    ("product", "axis", "channel_axis"),
    [
        ("wd = DequantizeLinear <axis = 1> (mi, many) y = MatMul (d, wd)", 1, 1),
        ("wd = DequantizeLinear <axis = -1> (mi, many) y = MatMul (d, wd)", 1, 1),
        ("wd = DequantizeLinear <axis = 1> (mi, many) y = Gemm (d, wd)", 1, 1),
        # A linear layer of PyTorch: [out, in], transposed for the product.
        (
            "wd = DequantizeLinear <axis = 1> (mi, many) wt = Transpose <perm = [1, 0]> (wd) "
            "y = MatMul (e, wt)",
            0,
            1,
        ),
        (
            "wd = DequantizeLinear <axis = 1> (mi, many) wt = Transpose (wd) y = Gemm <transB = 1> (d, wt)",
            0,
            0,
        ),
        ("wd = DequantizeLinear <axis = 1> (mi, many) y = Gemm <transB = 1> (e, wd)", 1, 0),
    ],
)
def test_the_axis_is_that_of_the_operator(product: str, axis: int, channel_axis: int) -> None:
    text = (
        "xq = QuantizeLinear (x, s, z) d = DequantizeLinear (xq, s, z) "
        "eq = QuantizeLinear (x2, s, z) e = DequantizeLinear (eq, s, z) " + product
    )
    (found,) = quantized(graph(text, "float[4,16] x, float[4,8] x2", "float[4,N] y"))
    assert found.weight is not None
    assert found.weight.quantizer is not None
    assert (found.weight.quantizer.axis, found.channel_axis) == (axis, channel_axis)


def test_zero_point_other_than_zero() -> None:
    found = only(
        "q = QuantizeLinear (x, s, three) d = DequantizeLinear (q, s, three) "
        "y = Conv <pads = [1,1,1,1]> (d, w)"
    )
    assert found.data.quantizer is not None
    assert found.data.quantizer.symmetric is False


def test_a_sum_of_a_convolution_and_a_shortcut() -> None:
    facts = graph(
        PAIR + "wd = DequantizeLinear <axis = 0> (wi, many, zeros) "
        "c = Conv <pads = [1,1,1,1]> (xd, wd) a = Add (c, x) r = Relu (a) "
        "q = QuantizeLinear (r, s, z) y = DequantizeLinear (q, s, z)"
    )
    found = next(fact for fact in quantized(facts) if fact.op == "Add")
    assert [(each.op, each.fed_quantized, each.quantizer is None) for each in found.operands] == [
        ("Conv", True, True),
        ("", False, True),
    ]
    assert found.quantized == 0
    assert found.result is not None


def test_a_bias_is_no_sum() -> None:
    facts = graph(PAIR + "a = Add (xd, s) y = Relu (a)")
    assert quantized(facts) == []


def test_scales_around_a_concat() -> None:
    text = (
        "aq = QuantizeLinear (x, s, z) a = DequantizeLinear (aq, s, z) "
        "bq = QuantizeLinear (x, {b}, z) b = DequantizeLinear (bq, {b}, z) "
        "c = Concat <axis = 1> (a, b) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)"
    )
    for scale, same in (("s", True), ("s2", False)):
        (found,) = quantized(graph(text.format(b=scale), output="float[1,16,16,16] y"))
        assert (found.op, found.one_scale) == ("Concat", same)


def test_sizes_of_a_product() -> None:
    text = PAIR + "md = QuantizeLinear (m, s, z) w1 = DequantizeLinear (md, s, z) y = MatMul (xd, w1)"
    (found,) = quantized(graph(text, "float[2,1,8] x", "float[2,1,16] y"))
    assert (found.rows, found.depth, found.columns) == (1, 8, 16)


@pytest.mark.slow
def test_the_regions_of_quantized_exports(exported: Path) -> None:
    """tiny_cnn has three convolutions, one shortcut and one linear layer; the ViT has 12 products."""
    tiny = quantized(Facts(load(exported / "tiny_cnn_qdq_perchannel__ts__op17__int8.onnx")))
    assert [fact.op for fact in tiny] == ["Conv", "Conv", "Add", "Conv", "Gemm"]
    assert all(fact.quantized == 2 for fact in tiny)
    vit = quantized(Facts(load(exported / "timm_vit_unfused_qdq_perchannel__ts__op17__int8.onnx")))
    products = [fact for fact in vit if fact.op == "MatMul"]
    assert len(products) == 12
    assert [fact.weight is None for fact in products] == [False, True, True, False, False, False] * 2
    assert all(
        fact.weight.quantizer is not None and fact.weight.quantizer.axis == fact.channel_axis
        for fact in products
        if fact.weight is not None
    )


def test_models_that_onnxruntime_quantizes(tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    import numpy as np
    import onnx

    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[1,3,8,8] x) => (float[1,4,8,8] y)
    < float[4,3,3,3] w = {} >
    { c = Conv <pads = [1,1,1,1]> (x, w) y = Relu (c) }
    """
    model = onnx.parser.parse_model(text)
    generator = np.random.default_rng(0)
    model.graph.initializer[0].CopyFrom(
        onnx.numpy_helper.from_array(generator.standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    )
    onnx.save(model, tmp_path / "float.onnx")

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.left = 2

        def get_next(self) -> dict[str, object] | None:
            self.left -= 1
            shape = (1, 3, 8, 8)
            return {"x": generator.standard_normal(shape).astype(np.float32)} if self.left >= 0 else None

    for per_channel, granularity in ((False, "tensor"), (True, "axis")):
        quantization.quantize_static(
            tmp_path / "float.onnx",
            tmp_path / "int8.onnx",
            Reader(),
            per_channel=per_channel,
            extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
        )
        (found,) = quantized(Facts(load(tmp_path / "int8.onnx")))
        assert found.data.quantizer is not None
        assert found.data.quantizer.granularity == "tensor"
        assert found.weight is not None
        assert found.weight.quantizer is not None
        assert (found.weight.quantizer.granularity, found.weight.quantizer.stored) == (granularity, True)
