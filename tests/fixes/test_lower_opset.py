"""Tests of lower opsets: meanings and types of operators must stay the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import fixed, ops
from tests.fixes.proving import prove
from tests.graphs import model_of
from trtlint.facts.base import Fact
from trtlint.fixes import proposer
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.load import Model, load

QUANTIZED = "q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z)"


def quantized(opset: int, kind: str, body: str = QUANTIZED) -> onnx.ModelProto:
    """Return a model of one float type."""
    text = (
        f'< ir_version: 10, opset_import: ["" : {opset}] > g ({kind}[2,3] x) => ({kind}[2,3] y) {{ {body} }}'
    )
    model = onnx.parser.parse_model(text)
    scale = np.array(0.5, np.float16 if kind == "float16" else np.float32)
    model.graph.initializer.append(numpy_helper.from_array(scale, "s"))
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.int8), "z"))
    return model


def loaded(proto: onnx.ModelProto, folder: Path) -> Model:
    """Return a model as loaded from a file."""
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return load(path)


def lowered(model: Model) -> Patch:
    """Return the proposed rewrite."""
    return proposer("lower-opset")(Fact(node=model.graph.nodes[0]), model)


@pytest.mark.parametrize(
    ("opset", "kind", "lowest"),
    [(21, "float16", 19), (22, "float16", 19), (21, "float", 17), (23, "float", 17)],
)
def test_types_count(opset: int, kind: str, lowest: int, tmp_path: Path) -> None:
    model = loaded(quantized(opset, kind), tmp_path)
    patch = lowered(model)
    assert patch.set_opset == lowest
    assert prove(model, patch).equal is True


@pytest.mark.parametrize(
    ("body", "opset", "lowest"),
    [
        ("y = Neg (x)", 16, None),
        ("y = Neg (x)", 17, None),
        ("y = Neg (x)", 18, 17),
        ("y = Neg (x)", 23, 17),
        ("a = Neg (x)  y = Gelu (a)", 23, 20),
        ("a = Gelu (x)  y = Neg (a)", 23, 20),
        ("a = RMSNormalization (x, s)  y = Neg (a)", 24, 23),
    ],
)
def test_an_opset_is_lowered_to_17_if_operators_allow_it(
    body: str, opset: int, lowest: int | None, tmp_path: Path
) -> None:
    proto = quantized(opset, "float", body)
    try:
        found: object = lowered(loaded(proto, tmp_path))
    except NotApplicable as why:
        found = str(why)
    title = f"lowers the opset from {opset} to {lowest}"
    limit = {20: "opset 19 has no Gelu", 23: "opset 22 has no RMSNormalization"}.get(lowest or 0, "")
    patch = Patch(title, (), (), set_opset=lowest or 0, limit=limit)
    assert found == (patch if lowest else "the opset is already 17 or older")


def test_a_model_without_operators_of_onnx_has_no_opset_to_lower() -> None:
    text = '< ir_version: 10, opset_import: ["other" : 1] > g (float x) => (float y) { y = other.Op (x) }'
    with pytest.raises(NotApplicable, match="the opset is already 17 or older"):
        lowered(model_of(text))


def test_an_operator_that_the_opset_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotApplicable, match="opset 18 has no Gelu"):
        lowered(loaded(quantized(18, "float", "y = Gelu (x)"), tmp_path))


def test_a_division_in_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotApplicable) as caught:
        lowered(loaded(quantized(23, "float16"), tmp_path))
    assert str(caught.value) == "QuantizeLinear divides in the type of the scale only since opset 23"


def test_a_type_that_an_operator_does_not_take_is_caught_by_the_proof(tmp_path: Path) -> None:
    model = loaded(quantized(21, "float16"), tmp_path)
    proof = prove(model, Patch("lowers the opset", (), (), set_opset=17))
    assert proof.equal is False
    assert proof.words == "QuantizeLinear does not support f16 in opset 17"


def test_a_type_that_is_not_known_is_not_lowered(tmp_path: Path) -> None:
    proto = quantized(22, "float", "u = other.Op (x)  y = Neg (u)")
    proto.opset_import.append(onnx.helper.make_opsetid("other", 1))
    patch = lowered(loaded(proto, tmp_path))
    assert isinstance(patch, Patch)  # Neg takes the same types in all of them
    proto = quantized(22, "float", "u = other.Op (x)  v = Identity (u)  y = Cast <to = 1> (v)")
    proto.opset_import.append(onnx.helper.make_opsetid("other", 1))
    patch = lowered(loaded(proto, tmp_path))
    assert patch.set_opset == 21


def test_other_rewrites_are_made_where_the_opset_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = quantized(
        23, "float16", QUANTIZED.replace("y =", "w =") + "  e = Exp (w)  o = Add (e, c)  y = Log (o)"
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float16), "c"))
    _, after = fixed(tmp_path, proto, "--trt", "10.7")
    assert "lower-opset: QuantizeLinear divides in the type of the scale" in capsys.readouterr().out
    assert "Softplus" in ops(after)


def test_an_opset_that_stays_too_high_names_the_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = quantized(20, "float", "y = Pad (x, p, , a)")
    for name, numbers in (("p", [0, 0]), ("a", [1])):
        proto.graph.initializer.append(numpy_helper.from_array(np.array(numbers), name))
    fixed(tmp_path, proto, "--trt", "8.6")
    out = capsys.readouterr().out
    assert "still reports PORT114 after the rewrite: Pad has another definition in opset 17" in out


def test_axes_in_an_input_need_opset_18(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proto = quantized(20, "float", "y = ReduceMean (x, a)")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "a"))
    fixed(tmp_path, proto, "--trt", "8.6")
    assert "read their axes from an input, and opset 17 and older" in capsys.readouterr().out
