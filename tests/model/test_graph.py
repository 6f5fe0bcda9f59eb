"""Tests of graphs from files: order, bodies, functions, types and invalid graphs."""

from __future__ import annotations

import time
from pathlib import Path

import networkx as nx
import onnx
import pytest
from onnx import inliner, parser

from tests.model.wirebytes import model
from trtlint.model import infer as infer_module
from trtlint.model.errors import ModelError
from trtlint.model.graph import Graph
from trtlint.model.infer import InferenceError, infer
from trtlint.model.load import Model, load
from trtlint.model.origin import origin
from trtlint.model.retype import contradictions

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"


def loaded(folder: Path, proto: onnx.ModelProto | str) -> Model:
    path = folder / "model.onnx"
    onnx.save(model(proto) if isinstance(proto, str) else proto, path)
    return load(path)


def error(folder: Path, proto: onnx.ModelProto | str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        loaded(folder, proto)
    assert "\n" not in caught.value.message
    return caught.value


def types(model_: Model) -> dict[str, str]:
    return {value.name: value.type_text for node in model_.graph.nodes for value in node.outputs}


# ---- graphs


def test_nodes_edges_and_types(tmp_path: Path) -> None:
    result = loaded(
        tmp_path,
        "g (float[N, 8] x, float[8, 4] w) => (float[N, 4] y) { m = MatMul(x, w)\n"
        "s = Softmax(m) y = Add(s, m) }",
    )
    graph = result.graph
    matmul, softmax, add = graph.nodes
    assert [node.index for node in graph.nodes] == [0, 1, 2]
    assert types(result) == {"m": "f32[N,4]", "s": "f32[N,4]", "y": "f32[N,4]"}
    assert matmul.output.uses == [(softmax, 0), (add, 1)]
    assert sorted(key for _, _, key in graph.nx.out_edges(matmul, keys=True)) == [(0, 0), (0, 1)]
    assert [value.name for value in graph.inputs] == ["x", "w"]
    assert add.output.is_output
    assert not matmul.output.is_output
    assert result.opset == 17


def test_nodes_out_of_order_are_sorted(tmp_path: Path) -> None:
    proto = model("g (float[2] x) => (float[2] z) { y = Relu(x) z = Abs(y) }")
    nodes = [proto.graph.node[1], proto.graph.node[0]]
    reordered = onnx.ModelProto()
    reordered.CopyFrom(proto)
    del reordered.graph.node[:]
    reordered.graph.node.extend(nodes)
    assert [node.op for node in loaded(tmp_path, reordered).graph.nodes] == ["Relu", "Abs"]


def test_bodies_are_part_of_the_graph(tmp_path: Path) -> None:
    graph = loaded(
        tmp_path,
        """g (float[2] x, bool p) => (float[2] z) {
            y = Relu(x)
            [branch] z = If (p) <
                then_branch = t () => (float[2] a) { a = Abs(y) },
                else_branch = e () => (float[2] b) { b = Neg(x) }
            >
        }""",
    ).graph
    (absolute,) = graph.by_op("Abs")
    (branch,) = graph.by_op("If")
    (relu,) = graph.by_op("Relu")
    assert absolute.path == "branch/then_branch/Abs_0"
    assert absolute.scope == "branch/then_branch"
    assert graph.owner(absolute) is branch
    assert graph.owner(branch) is None
    assert absolute.inputs == (relu.output,)
    assert nx.has_path(graph.nx, relu, branch)
    assert [node.op for node in graph.nodes][-1] == "If"


@pytest.mark.slow
def test_the_view_and_the_multigraph_agree(exported: Path) -> None:
    paths = [*sorted(exported.glob("*.onnx"))[::25], *MODELS.glob("*.onnx")]
    assert len(paths) > 20
    for path in paths:
        graph = load(path).graph
        assert list(graph.nx) == list(graph.nodes)
        for node in graph.nodes:
            assert list(graph.successors(node)) == list(graph.nx.successors(node))
            assert list(graph.predecessors(node)) == list(graph.nx.predecessors(node))


def test_bodies_nested_deep(tmp_path: Path) -> None:
    text = "a = Abs(x)"
    for depth in range(25):
        name = "a" if depth == 0 else f"z{depth - 1}"
        text = (
            f"z{depth} = If (p) <then_branch = t () => (float[2] {name}) {{ {text} }},"
            f" else_branch = e () => (float[2] q) {{ q = Neg(x) }}>"
        )
    graph = loaded(tmp_path, f"g (float[2] x, bool p) => (float[2] z24) {{ {text} }}").graph
    assert graph.count("If") == 25
    (node,) = graph.by_op("Abs")
    assert node.path.count("then_branch") == 25


def test_nodes_without_and_with_repeated_names(tmp_path: Path) -> None:
    graph = loaded(
        tmp_path, "g (float[2] x) => (float[2] d) { a = Abs(x) [n] b = Abs(a) [n] c = Abs(b) [n] d = Abs(c) }"
    ).graph
    assert [node.path for node in graph.nodes] == ["Abs_0", "n", "n#2", "n#3"]


def test_old_models_list_initializers_as_inputs(tmp_path: Path) -> None:
    proto = model("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", 3, 7)
    assert [value.name for value in loaded(tmp_path, proto).graph.inputs] == ["x"]


def test_graphs_that_make_no_sense(tmp_path: Path) -> None:
    cycle = error(tmp_path, "g (float[2] x) => (float[2] y) { [a] y = Add(x, z) [b] z = Abs(y) }")
    assert "cycle" in cycle.message
    assert cycle.node in {"a", "b"}
    own = error(tmp_path, "g (float[2] x) => (float[2] y) { [a] y = Add(x, y) }")
    assert (own.node, "cycle" in own.message) == ("a", True)
    twice = error(tmp_path, "g (float[2] x) => (float[2] y) { [a] y = Abs(x) [b] y = Abs(x) }")
    assert (twice.node, twice.message) == ("b", "the value 'y' is defined twice")
    dangling = error(tmp_path, "g (float[2] x) => (float[2] y) { [a] y = Add(x, gone) }")
    assert (dangling.node, dangling.message) == ("a", "nothing defines the value 'gone'")
    proto = model("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    proto.graph.input.append(proto.graph.input[0])
    assert error(tmp_path, proto).message == "the value 'x' is defined twice"
    proto = model("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    proto.graph.output[0].name = "z"
    assert error(tmp_path, proto).message == "nothing defines the value 'z'"
    through = "g (float[2] x, bool p) => (float[2] z) { [c] z = If (p) <"
    through += "then_branch = t () => (float[2] a) { a = Abs(z) }> }"
    assert "cycle" in error(tmp_path, through).message


def test_custom_operators_have_unknown_types(tmp_path: Path) -> None:
    proto = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "mine": 1]>
        g (float[2] x) => (float[2] z) { y = mine.Plugin(x) u = Relu(y) z = Abs(x) }"""
    )
    assert types(loaded(tmp_path, proto)) == {"y": "", "u": "", "z": "f32[2]"}


@pytest.mark.isolated
def test_declared_types_survive_a_failed_inference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer_module, "SECONDS", 0.0)
    result = loaded(
        tmp_path, "g (float[2] x) => (float[2] y) <float[2] a> { a = Abs(x) b = Abs(a) y = Abs(b) }"
    )
    assert types(result) == {"a": "f32[2]", "b": "f32", "y": "f32[2]"}
    assert result.notes == (
        "shape inference failed, so only declared types are known: "
        "the ONNX library exceeded the limit of 0 s",
    )


def test_declared_types_that_contradict_the_operators(tmp_path: Path) -> None:
    proto = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w) y = Relu(a) }")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT16, [3]))
    result = loaded(tmp_path, proto)
    assert types(result) == {"a": "f32[2]", "y": "f32[2]"}


def test_the_operators_say_the_types_and_inference_the_shapes(tmp_path: Path) -> None:
    proto = model("g (float16[2] x) => (float[2] y) { a = Cast <to = 1> (x) y = Relu (a) }")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT16, [3]))
    result = loaded(tmp_path, proto)
    assert types(result) == {"a": "f32[2]", "y": "f32[2]"}
    assert [(value.name, declared) for value, declared in contradictions(result.graph)] == [("a", "f16")]


def test_declared_sizes_complete_what_inference_cannot_tell(tmp_path: Path) -> None:
    proto = model("g (float[2,3] x, int64[2] s) => (float[A,B] y) { a = Reshape (x, s) y = Relu (a) }")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [3, "n"]))
    assert types(loaded(tmp_path, proto))["a"] == "f32[3,n]"


def test_a_body_sees_axes_and_first_shapes_from_around(tmp_path: Path) -> None:
    proto = model(
        """g (float[2,3] x, bool c) => (float[A] y, float[B,C] z) <int64[1] axes = {1}, int64 n = {2}> {
            y = If (c) <
                then_branch = t () => (float[D] p) { p = ReduceSum <keepdims = 0> (x, axes) },
                else_branch = e () => (float[D] q) { q = ReduceMax <axes = [1], keepdims = 0> (x) }
            >
            z = Loop (n, c, x) <body = b (int64 i, bool go, float[E,F] v) => (bool again, float[G,H] w) {
                again = Identity (go) w = Concat <axis = 0> (v, v)
            }>
        }""",
        opset=13,
    )
    for attribute in proto.graph.node[1].attribute:
        attribute.g.input[2].type.tensor_type.ClearField("shape")
    graph = loaded(tmp_path, proto).graph
    assert next(graph.by_op("ReduceSum")).output.shape == (2,)
    assert next(graph.by_op("Concat")).output.shape == (4, 3)
    assert all(not body.initializer for node in graph.nodes for a in node.proto.attribute for body in [a.g])


def test_new_opsets_are_noted(tmp_path: Path) -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Abs(x) }", ir_version=99, opset=9999)
    assert loaded(tmp_path, proto).notes[0].startswith("opset 9999 is new")


@pytest.mark.slow
def test_ten_thousand_nodes(tmp_path: Path) -> None:
    lines = "\n".join(f"[n{i}] v{i + 1} = Abs(v{i})" for i in range(10_000))
    proto = model(f"g (float[2] v0) => (float[2] v10000) {{ {lines} }}")
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    assert any(_seconds(path) < 6.0 for _ in range(3))  # less than a second on an idle machine


def _seconds(path: Path) -> float:
    start = time.process_time()
    assert len(load(path).graph.nodes) == 10_000
    return time.process_time() - start


# ---- inference in a separate process


@pytest.mark.slow
@pytest.mark.isolated
def test_inference_that_allocates_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer_module, "SECONDS", 1.0)
    proto = model("g (float[2] x, int64[1000000000000] s) => (y) { y = Slice(x, s, s) }")
    with pytest.raises(InferenceError, match=r"the limit of 1 s|the memory limit"):
        infer(proto.SerializeToString())


@pytest.mark.isolated
def test_inference_of_nonsense_says_why() -> None:
    proto = model("g (float[2] x) => (y) { y = Abs(x) }")
    del proto.opset_import[:]
    with pytest.raises(InferenceError, match="No opset import") as caught:
        infer(proto.SerializeToString())
    assert caught.value.refused


# ---- functions

FUNCTIONS = """
<ir_version: 8, opset_import: ["": 17, "l": 1]>
g (float[4] x, bool p) => (float[4] z) {
    [first] t = l.outer<alpha=2.0>(x)
    [second] y = l.outer(t)
    [third] z = If (p) <
        then_branch = a () => (float[4] u) { [inner] u = l.outer<alpha=3.0>(y) },
        else_branch = b () => (float[4] v) { v = Abs(y) }
    >
}
<domain: "l", opset_import: ["": 17, "l": 1]>
outer <alpha: float = 1.0> (a) => (b) { [c] h = l.half(a) [d] b = LeakyRelu<alpha: float = @alpha>(h) }
<domain: "l", opset_import: ["": 17]>
half (a) => (b) { two = Constant<value_float = 2.0>() [e] b = Div(a, two) }
"""


def test_functions_are_inlined_with_their_scope(tmp_path: Path) -> None:
    result = loaded(tmp_path, parser.parse_model(FUNCTIONS))
    graph = result.graph
    assert [node.path for node in graph.by_op("LeakyRelu")] == [
        "first/d",
        "second/d",
        "third/then_branch/inner/d",
    ]
    assert next(node.path for node in graph.by_op("Div")) == "first/c/e"
    assert [node.attribute("alpha") for node in graph.by_op("LeakyRelu")] == [2.0, 1.0, 3.0]
    assert set(types(result).values()) == {"f32[4]", "f32[]"}
    assert not result.notes


def test_inlining_agrees_with_the_library(tmp_path: Path) -> None:
    proto = parser.parse_model(FUNCTIONS)
    theirs = inliner.inline_local_functions(proto)
    ours = loaded(tmp_path, proto).graph
    assert [node.op for node in ours.nodes if not node.scope] == [node.op_type for node in theirs.graph.node]


def test_bodies_inside_functions_do_not_catch_the_callers_values(tmp_path: Path) -> None:
    graph = loaded(
        tmp_path,
        parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17, "l": 1]>
            g (float[4] x, bool p) => (float[4] y) { [call] y = l.f(x, p) }
            <domain: "l", opset_import: ["": 17]>
            f (a, c) => (b) {
                b = If (c) <
                    then_branch = t () => (float[4] r) { x = Abs(a) r = Neg(x) },
                    else_branch = e () => (float[4] s) { s = Relu(a) }
                >
            }"""
        ),
    ).graph
    (absolute,) = graph.by_op("Abs")
    assert absolute.inputs == (graph.inputs[0],)


def test_functions_written_for_another_opset_are_noted(tmp_path: Path) -> None:
    text = FUNCTIONS.replace("half (a)", "half (a)").replace(
        '<domain: "l", opset_import: ["": 17]>', '<domain: "l", opset_import: ["": 13, "extra": 1]>'
    )
    result = loaded(tmp_path, parser.parse_model(text))
    assert "uses opset 13" in result.notes[0]
    assert result.opsets["extra"] == 1
    assert result.graph.count("Div") == 3


def test_nodes_of_a_function_inherit_the_calls_metadata(tmp_path: Path) -> None:
    proto = parser.parse_model(FUNCTIONS)
    proto.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'blocks.0', 'mul']")
    result = loaded(tmp_path, proto)
    places = [origin(result, node).stable_module for node in result.graph.by_op("Div")]
    assert places == ["blocks.0", None, None]


def test_functions_that_call_themselves(tmp_path: Path) -> None:
    text = FUNCTIONS.replace("[e] b = Div(a, two)", "[e] b = l.outer(a)")
    assert "calls itself" in error(tmp_path, parser.parse_model(text)).message


def test_functions_that_expand_without_measure(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17, "l": 1]>\ng (float x) => (float y) { y = l.f0(x) }\n'
    for i in range(40):
        calls = f"c = l.f{i + 1}(a) b = l.f{i + 1}(c)"
        text += f'<domain: "l", opset_import: ["": 17, "l": 1]> f{i} (a) => (b) {{ {calls} }}\n'
    text += '<domain: "l", opset_import: ["": 17, "l": 1]> f40 (a) => (b) { b = Abs(a) }\n'
    assert "expand to more than" in error(tmp_path, parser.parse_model(text)).message


def test_functions_that_call_each_other_too_deep(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17, "l": 1]>\ng (float x) => (float y) { y = l.f0(x) }\n'
    for i in range(2000):
        text += f'<domain: "l", opset_import: ["": 17, "l": 1]> f{i} (a) => (b) {{ b = l.f{i + 1}(a) }}\n'
    assert "deep" in error(tmp_path, parser.parse_model(text)).message


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("count", [64, 65])
def test_the_number_of_dimensions_is_limited(tmp_path: Path, count: int, stored: bool) -> None:
    """The limit is 64."""
    tensor = onnx.TensorProto(name="w", dims=[1] * count, data_type=1, float_data=[1])
    nodes = [] if stored else [onnx.helper.make_node("Constant", [], ["w"], name="k", value=tensor)]
    nodes.append(onnx.helper.make_node("Identity", ["w"], ["y"]))
    output = onnx.helper.make_tensor_value_info("y", 1, None)
    graph = onnx.helper.make_graph(nodes, "g", [], [output], [tensor] if stored else [])
    path = tmp_path / "model.onnx"
    opsets = [onnx.helper.make_opsetid("", 17)]
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    if count == 64:
        assert load(path).graph.outputs[0].name == "y"
        return
    with pytest.raises(ModelError) as caught:
        load(path)
    message = "the tensor 'w' has 65 dimensions; trtlint supports at most 64"
    assert (caught.value.message, caught.value.node) == (message, None if stored else "k")


def test_long_scopes_are_cut_at_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.model.graph._LONGEST_SCOPE", 6)
    graph = Graph(onnx.GraphProto())
    named, nameless = onnx.NodeProto(name="n", op_type="Abs"), onnx.NodeProto(op_type="Abs")
    paths = [
        graph.unique_path(scope, node, index)
        for index, (scope, node) in enumerate(
            [
                ("", named),
                ("", named),
                ("", nameless),
                ("If/abc", named),
                ("AIf/abc", named),
                ("If/ab", named),
            ]
        )
    ]
    assert paths == ["n", "n#2", "Abs_2", "If/abc/n", "If/abc/n#2", "If/ab/n"]
