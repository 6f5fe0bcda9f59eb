"""Tests of edge cases of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from trtlint.model.load import load
from trtlint.network import feeding
from trtlint.network.feeding import probes

HEAD = '<ir_version: 8, opset_import: ["" : 18]>'


def made(folder: Path, text: str, **base: Any) -> dict[str, dict[str, Any]]:
    """Return the edge cases of a model by name."""
    path = folder / "m.onnx"
    proto = onnx.parser.parse_model(HEAD + text)
    onnx.save(proto, path)
    found = list(probes(proto, load(path).graph.inputs, base))
    assert len({name for name, _ in found}) == len(found)
    for _, feeds in found:
        kinds = {name: array.dtype for name, array in base.items()}
        assert {name: array.dtype for name, array in feeds.items()} == kinds
    return {name: {key: array.tolist() for key, array in feeds.items()} for name, feeds in found}


def test_edge_cases_of_numbers(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        "g (float[4] x) => (float[4] y) { y = Neg (x) }",
        x=np.array([-2, 0.5, 1.5, 0], np.float32),
    )
    assert found == {
        "negative numbers": {"x": [-2, -0.5, -1.5, 0]},
        "positive numbers": {"x": [2, 0.5, 1.5, 0]},
        "ties": {"x": [-2, 0, 2, 0]},
        "zeros": {"x": [0, 0, 0, 0]},
        "large numbers": {"x": [-60, 15, 45, 0]},
        "small numbers": {"x": pytest.approx([-0.02, 0.005, 0.015, 0])},
    }


@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_edge_cases_of_whole_numbers(dtype: Any, tmp_path: Path) -> None:
    found = made(
        tmp_path, "g (int64[2,2] x) => (int64[2,2] y) { y = Neg (x) }", x=np.array([[5, 6], [7, 8]], dtype)
    )
    assert found == {
        "negative whole numbers": {"x": [[-1, -1], [-1, -1]]},
        "zeros": {"x": [[0, 0], [0, 0]]},
        "all integers equal to 1": {"x": [[1, 1], [1, 1]]},
        "all integers equal to 3": {"x": [[3, 3], [3, 3]]},
        "all integers equal to 7": {"x": [[7, 7], [7, 7]]},
        "growing whole numbers": {"x": [[0, 1], [2, 3]]},
    }


def test_edge_cases_of_masks(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        "g (bool[2,3] x, bool c) => (bool[2,3] y) { y = And (x, c) }",
        x=np.array([[True, False, True], [False, False, True]]),
        c=np.array(True),
    )
    assert found == {
        "zeros": {"x": [[False] * 3] * 2, "c": False},
        "masks that are true everywhere": {"x": [[True] * 3] * 2, "c": True},
        "masks with one true element": {"x": [[True, False, False]] * 2, "c": False},
    }


def test_inputs_of_several_types(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        "g (float16[1] h, bfloat16[1] b, uint8[1] u, bool[1] c) => (float16[1] y) { y = Neg (h) }",
        h=np.array([2.5], np.float16),
        b=np.array([0.5], ml_dtypes.bfloat16),
        u=np.array([9], np.uint8),
        c=np.array([True]),
    )
    assert found == {
        "negative numbers": {"h": [-2.5], "b": [-0.5], "u": [9], "c": [True]},
        "negative whole numbers": {"h": [2.5], "b": [0.5], "u": [200], "c": [True]},
        "ties": {"h": [2], "b": [0], "u": [9], "c": [True]},
        "zeros": {"h": [0], "b": [0], "u": [0], "c": [False]},
        "masks that are false everywhere": {"h": [2.5], "b": [0.5], "u": [9], "c": [False]},
        "all integers equal to 0": {"h": [2.5], "b": [0.5], "u": [0], "c": [True]},
        "all integers equal to 1": {"h": [2.5], "b": [0.5], "u": [1], "c": [True]},
        "all integers equal to 3": {"h": [2.5], "b": [0.5], "u": [3], "c": [True]},
        "all integers equal to 7": {"h": [2.5], "b": [0.5], "u": [7], "c": [True]},
        "large numbers": {"h": [75], "b": [15], "u": [9], "c": [True]},
        "small numbers": {
            "h": pytest.approx([0.025], rel=1e-3),
            "b": pytest.approx([0.005], rel=1e-2),
            "u": [9],
            "c": [True],
        },
    }


def test_dynamic_dimensions_of_other_sizes(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        "g (int64[n,2] x, int64[2,n] z, int64[2] s) => (int64[n,2] y) { y = Neg (x) }",
        x=np.array([[0, 1], [2, 3], [4, 5]]),
        z=np.array([[0, 1, 2], [3, 4, 5]]),
        s=np.array([0, 1]),
    )
    sizes = {name: feeds for name, feeds in found.items() if name.startswith("dimensions")}
    fixed = {"s": [0, 1]}
    assert sizes == {
        "dimensions of size 1": {"x": [[0, 1]], "z": [[0], [3]], **fixed},
        "dimensions of size 2": {"x": [[0, 1], [2, 3]], "z": [[0, 1], [3, 4]], **fixed},
        "dimensions of size 0": {"x": [], "z": [[], []], **fixed},
    }
    larger = made(
        tmp_path,
        "g (int64[2,n,m] x) => (int64[2,n,m] y) { y = Neg (x) }",
        x=np.array([[[0, 1]], [[2, 3]]]),
    )
    assert larger["dimensions of size 3"]["x"] == [[[0, 1, 0]] * 3, [[2, 3, 2]] * 3]


def test_inputs_whose_rank_is_not_declared_keep_their_shape(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(HEAD + "g (int64[n] x) => (int64[n] y) { y = Neg (x) }")
    path = tmp_path / "m.onnx"
    for rank in (0, 2):
        del proto.graph.input[0].type.tensor_type.shape.dim[:]
        for at in range(rank):
            proto.graph.input[0].type.tensor_type.shape.dim.add(dim_param=f"d{at}")
        if not rank:
            proto.graph.input[0].type.tensor_type.ClearField("shape")
        onnx.save(proto, path)
        names = [name for name, _ in probes(proto, load(path).graph.inputs, {"x": np.array([5, 6])})]
        assert not [name for name in names if name.startswith("dimensions")]


QUANTIZED = """g (float[2] x, float[1] s) => (int8[2] y)
    < float other = {50}, int8 zero = {0}, float one = {0.5}, float[2] two = {-2, 1} > { NODES }"""


@pytest.mark.parametrize(
    ("nodes", "largest"),
    [
        ("y = QuantizeLinear (x, one, zero)", 0.5),
        ("a = QuantizeLinear (x, two, zero) y = QuantizeLinear (x, one, zero)", 2),
        ("c = Constant <value = float {4}> () y = QuantizeLinear (x, c, zero)", 4),
        ("c = Constant <value_float = 4.0> () y = QuantizeLinear (x, c, zero)", 0),
        ("y = QuantizeLinear (x, s, zero)", 0),
        ("y = DequantizeLinear (x, other, zero)", 0),
        ("y = QuantizeLinear (x)", 0),
        ("y = Add (x, other)", 0),
        ("""y = If (s) <then_branch = t () => (int8[2] u) { k = Constant <value = float {3}> ()
            u = QuantizeLinear (x, k, zero) }, else_branch = e () => (int8[2] v) { v = Neg (x) }>""", 3),
        ("c = Constant <value = float {9999}> () y = QuantizeLinear (x, c, zero)", 9999),
        ("c = Constant <value = float {10000}> () y = QuantizeLinear (x, c, zero)", 0),
    ],
)  # fmt: skip
def test_the_largest_scale(nodes: str, largest: float, tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(HEAD + QUANTIZED.replace("NODES", nodes))
    assert feeding._largest_scale(proto) == largest


def test_numbers_beyond_the_quantizers(tmp_path: Path) -> None:
    text = QUANTIZED.replace("NODES", "y = QuantizeLinear (x, one, zero)")
    found = made(tmp_path, text, x=np.array([-1.6, 0.4], np.float32), s=np.array([1], np.float32))
    assert list(found)[:4] == [
        "negative numbers",
        "positive numbers",
        "numbers beyond the quantizers",
        "numbers at the quantizers' limits",
    ]
    assert found["numbers beyond the quantizers"] == {"x": pytest.approx([-151.6, 150.4]), "s": [151]}
    assert found["numbers at the quantizers' limits"] == {"x": [-128, 0], "s": [64]}
