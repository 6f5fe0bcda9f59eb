"""Tests of fingerprints: stable across re-exports, and different for different places."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.disguise import renamed, reordered
from tests.graphs import model_of as model_of_text
from trtlint.engine.fingerprint import Fingerprints, _source, finding_fingerprint
from trtlint.model.graph import Node
from trtlint.model.load import Model, load


def model_of(proto: onnx.ModelProto, folder: Path) -> Model:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return load(path)


def blocks(count: int, *, activation: str = "Relu", tail: str = "Sigmoid") -> onnx.ModelProto:
    """Return a stem, equal blocks with one residual each, and a tail."""
    lines = ["b0 = Tanh(x)"]
    for i in range(count):
        lines += [
            f"y{i} = MatMul(b{i}, w)",
            f"a{i} = {activation}(y{i})",
            f"z{i} = MatMul(a{i}, w)",
            f"b{i + 1} = Add(z{i}, b{i})",
        ]
    lines.append(f"o = {tail}(b{count})")
    nodes = "\n".join(lines)
    return onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] >\n'
        "g (float[1,4] x) => (float[1,4] o)\n< float[4,4] w = {" + ", ".join(["1"] * 16) + "} >\n"
        "{\n" + nodes + "\n}"
    )


def fingerprints(model: Model, op: str | None = None) -> list[str]:
    """Return the fingerprints of all nodes of an operator, or of all nodes, in graph order."""
    return prints(model, [node for node in model.graph.nodes if op is None or node.op == op])


def prints(model: Model, nodes: list[Node]) -> list[str]:
    found = Fingerprints(model)
    return found.number([(found.describe("TST001", "node", node), node) for node in nodes])


def test_no_two_places_share_one(tmp_path: Path) -> None:
    found = fingerprints(model_of(blocks(12), tmp_path))
    assert len(set(found)) == len(found)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6))
def test_names_and_order_do_not_count(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int
) -> None:
    folder = tmp_path_factory.mktemp("models")
    model = blocks(count)
    other = reordered(renamed(model, seed), seed)
    assert [n.name for n in other.graph.node] != [n.name for n in model.graph.node]
    for op in (None, "MatMul", "Relu"):
        found = fingerprints(model_of(model, folder), op)
        assert set(fingerprints(model_of(other, folder), op)) == set(found)


@pytest.mark.parametrize("count", range(1, 5))
def test_one_more_block_is_one_more_fingerprint(tmp_path: Path, count: int) -> None:
    before = set(fingerprints(model_of(blocks(count), tmp_path), "Relu"))
    after = set(fingerprints(model_of(blocks(count + 1), tmp_path), "Relu"))
    assert before < after
    assert len(after) == count + 1


def test_what_follows_a_place_does_not_count(tmp_path: Path) -> None:
    before = fingerprints(model_of(blocks(3), tmp_path), "Relu")
    assert fingerprints(model_of(blocks(3, tail="Tanh"), tmp_path), "Relu") == before


def test_values_of_constants_do_not_count_and_types_do(tmp_path: Path) -> None:
    model = blocks(2)
    before = fingerprints(model_of(model, tmp_path), "Relu")
    weight = model.graph.initializer[0]
    values = onnx.numpy_helper.to_array(weight) * 3
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    assert fingerprints(model_of(model, tmp_path), "Relu") == before
    half = onnx.numpy_helper.from_array(values.astype("float16"), weight.name)
    weight.CopyFrom(half)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    assert not set(before) & set(fingerprints(model_of(model, tmp_path), "Relu"))


def test_an_initializer_is_a_constant_node_is_one_behind_identity(tmp_path: Path) -> None:
    texts = (
        "< float two = {2} > { y = Mul(x, two) }",
        "{ two = Constant<value = float {2}>() y = Mul(x, two) }",
        "< float zwei = {2} > { two = Identity(zwei) y = Mul(x, two) }",
    )
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) '
    found = {
        tuple(fingerprints(model_of(onnx.parser.parse_model(head + text), tmp_path), "Mul")) for text in texts
    }
    assert len(found) == 1


def test_equal_places_are_numbered_along_the_data_flow(tmp_path: Path) -> None:
    model = blocks(5)
    first = prints_by_depth(model_of(model, tmp_path))
    assert prints_by_depth(model_of(reordered(model, 3), tmp_path)) == first


def prints_by_depth(model: Model) -> list[str]:
    """Return the fingerprints of the activations from input to output."""
    nodes: list[Node] = []
    value = model.graph.inputs[0]
    while not value.is_output:
        user = next(user for user, _ in value.uses if user.op in ("Tanh", "Add", "Sigmoid", "MatMul"))
        if user.op == "MatMul":
            (relu, _), *_ = user.output.uses
            nodes.append(relu)
            user = next(user for user, _ in value.uses if user.op == "Add")
        value = user.output
    return prints(model, nodes)


def test_the_two_sides_of_a_symmetric_place_keep_their_numbers(tmp_path: Path) -> None:
    text = (
        '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) '
        "< float[2] a = {1, 2}, float[2] b = {3, 4} > { p = Mul(x, a) q = Mul(x, b) y = Sub(p, q) }"
    )
    model = onnx.parser.parse_model(text)

    def sides(proto: onnx.ModelProto) -> list[str]:
        loaded = model_of(proto, tmp_path)
        (difference,) = loaded.graph.by_op("Sub")
        nodes = [value.producer for value in difference.inputs if value is not None]
        return prints(loaded, [node for node in nodes if node is not None])

    swapped = onnx.ModelProto()
    swapped.CopyFrom(model)
    first, second, last = swapped.graph.node
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in (second, first, last)]
    del swapped.graph.node[:]
    swapped.graph.node.extend(nodes)
    assert sides(swapped) == sides(model)
    assert len(set(sides(model))) == 2


def test_the_module_path_counts_without_its_numbers(tmp_path: Path) -> None:
    def found(scopes: str) -> list[str]:
        model = blocks(1)
        for node in model.graph.node:
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=scopes)
        return fingerprints(model_of(model, tmp_path), "Relu")

    third = found("['', 'blocks', 'blocks.3', 'relu']")
    assert found("['', 'blocks', 'blocks.4', 'relu_7']") == third
    assert found("['', 'blocks', 'head', 'relu']") != third


def test_a_place_without_a_node_has_one_too(tmp_path: Path) -> None:
    found = Fingerprints(model_of(blocks(1), tmp_path))
    places: list[tuple[str, Node | None]] = [(found.describe("TST001", "graph_io", None), None)] * 3
    assert len(set(found.number(places))) == 3


def test_a_finding_does_not_count_its_sites() -> None:
    assert finding_fingerprint("TST001", ["b", "a", "a"]) == finding_fingerprint("TST001", ["a", "b"])
    assert finding_fingerprint("TST001", ["a"]) != finding_fingerprint("TST002", ["a"])


SAMPLE = (
    "attn_qkv_split__ts__op17__fp32",
    "guided_diffusion_chunk__dynamo__op20__fp32",
    "norm_rmsnorm_sqrt_div__ts__op17__fp16",
    "llama_sdpa__*",
    "vae_decoder__ts__op17__fp32",
    "script_if__*",
    "torch_cond__*",
)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", SAMPLE)
def test_real_models(exported: Path, tmp_path: Path, pattern: str) -> None:
    paths = sorted(exported.glob(f"{pattern}.onnx"))[:2]
    assert paths
    for path in paths:
        proto = onnx.load(path, load_external_data=False)
        other = reordered(renamed(proto, 5), 5)
        found = fingerprints(load(path))
        assert len(set(found)) == len(found)
        assert set(fingerprints(model_of(other, tmp_path))) == set(found)


def test_describing_a_place_looks_at_its_surroundings_only(tmp_path: Path) -> None:
    looked: set[Node] = set()

    class Watched(Fingerprints):
        def _operators(self, node: Node, radius: int) -> str:
            looked.add(node)
            return super()._operators(node, radius)

    model = model_of(blocks(200), tmp_path)
    last = [node for node in model.graph.nodes if node.op == "Relu"][-1]
    Watched(model).describe("TST001", "node", last)
    assert 3 < len(looked) < 12


def test_places_without_an_operator_are_told_apart_by_their_names(tmp_path: Path) -> None:
    found = Fingerprints(model_of(blocks(1), tmp_path))
    places = [found.describe("TST001", "flag", None, place) for place in ("--fp16", "--int8", "")]
    assert len(set(places)) == 3
    assert places[2] == found.describe("TST001", "flag", None)


def test_what_feeds_a_port_is_spelled_the_same_in_every_release() -> None:
    """Baselines contain fingerprints, so their parts must not change."""
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[1,4] x) => (float[1,4] y)
    < float[1] w = {2} > { a = Mul (x, w)  b = Identity (w)  y = Clip (a, , b) }"""
    model = model_of_text(text)
    multiply, _, clip = model.graph.nodes
    found = [_source(value, model.constants) for value in (*multiply.inputs, *clip.inputs)]
    assert found == ["input f32", "constant f32", "computed f32", "-", "constant f32"]
