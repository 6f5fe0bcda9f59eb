"""Tests of the checker on structures without weights."""

from __future__ import annotations

import onnx
import pytest

from trtlint.model.check import _name_domain, checker_error


def padded(op: str) -> onnx.ModelProto:
    """Return a model whose padding sizes are in an external file."""
    model = onnx.parser.parse_model(
        f'< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[A] y) {{ y = {op} (x, pads) }}'
    )
    tensor = onnx.TensorProto(name="pads", data_type=onnx.TensorProto.INT64, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    return model


def test_sizes_in_files_of_their_own_are_no_fault() -> None:
    assert not checker_error(padded("Pad"))


def test_another_fault_of_such_a_model_is_told() -> None:
    assert "NoSuchOperator" in checker_error(padded("NoSuchOperator"))


NORM = "SimplifiedLayerNormalization"
HEAD = '< ir_version: 8, opset_import: ["" : 17] > '


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("g (float[2] x) => (float[2] y) { y = Relu (x) }", ""),
        ("g (float[2] x) => (float[3] y) { y = Relu (x) }", "[ShapeInferenceError] "),
        ("g (float[2] x) => (float[2] y) { y = NoSuchOperator (x) }", "No Op registered for NoSuchOperator"),
        ("g (float[2] x) => (float[2] y) { y = Relu (z) }", "Nodes in a graph must be topologically sorted"),
        ("g (float[2] x) => (float[2] y) { y = SimplifiedLayerNormalization (x, x) }", ""),
        ("g (float[2] x) => (float[3] y) { y = LayerNormalization (x, x) }", "[ShapeInferenceError] "),
    ],
)
def test_the_first_line_of_a_fault(text: str, fault: str) -> None:
    model = onnx.parser.parse_model(HEAD + text)
    before = model.SerializeToString()
    found = checker_error(model)
    assert (found.startswith(fault), bool(found), "\n" in found) == (True, bool(fault), False)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("opsets", [{}, {"com.microsoft": 2}])
@pytest.mark.parametrize(("op", "domain"), [(NORM, "com.microsoft"), (f"my.{NORM}", "my"), ("Relu", "")])
def test_domains_of_operators(op: str, domain: str, opsets: dict[str, int]) -> None:
    model = onnx.parser.parse_model(f"{HEAD} g (float[2] x) => (float[2] y) {{ y = {op} (x) }}")
    model.opset_import.extend(onnx.helper.make_opsetid(*each) for each in opsets.items())
    _name_domain(model)
    added = {"com.microsoft": 1} if domain == "com.microsoft" else {}
    assert [node.domain for node in model.graph.node] == [domain]
    assert {each.domain: each.version for each in model.opset_import} == {"": 17, **added, **opsets}
    assert len(model.opset_import) == 1 + len({**added, **opsets})


def test_faults_before_and_behind_sizes_in_other_files() -> None:
    model = padded("Pad")
    model.graph.node.extend([onnx.helper.make_node("NoSuchOperator", ["y"], ["z"])])
    assert "NoSuchOperator" in checker_error(model)
    del model.graph.node[:]
    model.graph.node.extend([onnx.helper.make_node("Pad", ["x", "pads"], ["y"], mode=3)])
    assert "mode" in checker_error(model)


@pytest.mark.parametrize(("opset", "domain"), [(12, "com.microsoft"), (16, "com.microsoft"), (17, "")])
def test_layer_normalization_of_onnx_runtime_in_old_opsets(opset: int, domain: str) -> None:
    """ONNX Runtime's optimizer writes LayerNormalization in ONNX's domain into models of any opset."""
    model = onnx.parser.parse_model(
        f'< ir_version: 8, opset_import: ["" : {opset}] >'
        " g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization (x, s) }"
    )
    assert not checker_error(model)
    _name_domain(model)
    assert model.graph.node[0].domain == domain


def test_layer_normalization_of_onnx_runtime_in_bodies() -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 12] >
        g (float[2,3] x, float[3] s, bool c) => (float[2,3] y) { y = If (c) <
          then_branch = a () => (float[2,3] p) { p = LayerNormalization (x, s) },
          else_branch = b () => (float[2,3] q) { q = Neg (x) }> }"""
    )
    assert not checker_error(model)
