"""Tests of stored elements outside FP16's range; only an option makes trtlint read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.graphs import model_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_weights.weights import Weights
from trtlint.model import streaming
from trtlint.model.load import load

Array = np.ndarray[Any, np.dtype[Any]]


def save(path: Path, array: Array, *, external: bool = False) -> Path:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = list(array.shape)
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, shape)],
        [numpy_helper.from_array(array, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location="w.data", size_threshold=0)
    return path


def weights(path: Path) -> Weights:
    (found,) = Facts(load(path), weights=True).of("weights")
    assert isinstance(found, Weights)
    return found


def expected(array: Array) -> tuple[int, ...]:
    wide = np.abs(array.astype(np.float64))
    with np.errstate(all="ignore"):
        half = np.abs(array.astype(np.float32).astype(np.float16).astype(np.float64))
    small = (wide > 0) & (wide < 2.0**-14)
    gone = small & (half == 0)
    return (
        int(np.isnan(wide).sum()),
        int(np.isinf(wide).sum()),
        int(((wide > 65504) & np.isfinite(wide)).sum()),
        int((small & ~gone).sum()),
        int(gone.sum()),
    )


def counted(found: Weights) -> tuple[int, ...]:
    return (
        found.nan,
        found.infinite,
        found.beyond_fp16,
        found.subnormal_fp16,
        found.vanishing_fp16,
    )


def test_without_being_asked_nothing_is_read(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", np.ones((64, 64), np.float32))
    assert Facts(load(path)).of("weights") == ()


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_counts(tmp_path: Path, dtype: type, external: bool) -> None:
    generator = np.random.default_rng(0)
    array: Array = (generator.standard_normal((300, 1001)) * 1e-4).astype(dtype)
    array[0, :5] = [np.nan, np.inf, -np.inf, 65504, -65504]
    array[1, :4] = [0, -0.0, 2**-14, 1e-7]
    if dtype is not np.float16:
        array[2, :5] = [65505, -1e30, 2**-25, 2**-25 * 1.01, 1e-20]
    found = weights(save(tmp_path / "m.onnx", array, external=external))
    assert counted(found) == expected(array)
    finite = np.abs(array.astype(np.float64)[np.isfinite(array)])
    assert found.largest == pytest.approx(float(finite.max()))
    assert found.subnormal_share == pytest.approx((found.subnormal_fp16 + found.vanishing_fp16) / array.size)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_any_numbers(tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    found = weights(save(tmp_path_factory.mktemp("any") / "m.onnx", array))
    assert counted(found) == expected(array)
    finite = np.abs(array[np.isfinite(array)])
    assert found.largest == (float(finite.max()) if finite.size else None)


def test_a_tensor_comes_in_parts(tmp_path: Path) -> None:
    array = np.zeros(streaming.PART // 4 * 3 + 7, np.float32)
    array[[0, streaming.PART // 4, -1]] = [1e5, np.nan, np.inf]
    path = save(tmp_path / "m.onnx", array)
    assert counted(weights(path)) == (1, 1, 1, 0, 0)
    model = load(path)
    tensor = model.graph.values["w"][0].initializer
    assert tensor is not None
    parts = streaming.Streamer(model.tensors).parts(tensor)
    assert parts is not None
    assert [part.size for part in parts] == [streaming.PART // 4] * 3 + [7]


def test_bfloat16(tmp_path: Path) -> None:
    bits = np.array([0x4780, 0x477F, 0x7F80, 0x7FC0, 0x3880, 0x387F, 0x3300, 0x3301], np.uint16)
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [8], bits.tobytes(), raw=True)
    model = onnx.load(save(tmp_path / "m.onnx", np.ones(8, np.float32)))
    model.graph.initializer[0].CopyFrom(tensor)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    onnx.save(model, tmp_path / "b.onnx")
    found = weights(tmp_path / "b.onnx")
    assert counted(found) == (1, 1, 1, 2, 1)
    assert found.largest == 65536.0


def test_tensors_that_hold_no_floats_hide_no_other() -> None:
    facts = Facts(
        model_of("""
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[2] x) => (float[1,2] y)
        < int64[2] shape = {1, 2}, float[2] late = {1, 2}, float16 unread = {1} >
        {
          r = Reshape (x, shape)  n = Constant <value = int64[1] {1}> ()  s = Squeeze (r, n)
          held = Constant <value = float[2] {3, 4}> ()  lost = Constant <value = float {1}> ()
          t = Mul (s, held)  y = Conv (t, late)
        }
        """),
        weights=True,
    )
    found = [fact for fact in facts.of("weights") if isinstance(fact, Weights)]
    assert [(fact.name, fact.place, fact.readers, fact.compute, fact.largest) for fact in found] == [
        ("held", "Constant_3", ("Mul",), False, 4.0),
        ("late", "Conv_6", ("Conv",), True, 2.0),
    ]
    (step,) = found[1].chain
    assert (step.role, step.detail, step.label) == ("reader", "late f32[2]", "reads the tensor")


def test_a_missing_file_of_external_data_gives_no_facts(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", np.ones(4096, np.float32), external=True)
    (tmp_path / "w.data").unlink()
    assert Facts(load(path), weights=True).of("weights") == ()
