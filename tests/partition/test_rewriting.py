"""Tests of models after ONNX Runtime's rewrites."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.partition import rewriting
from trtlint.partition.rewriting import rewritten, shapes_of

HEAD = '< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >'


def parsed(text: str) -> onnx.ModelProto:
    """Return a model."""
    return onnx.parser.parse_model(HEAD + text)


def text_of(graph: onnx.GraphProto) -> list[str]:
    """Return the nodes of a graph and of its subgraphs."""
    found = []
    for node in graph.node:
        bodies = [each.g for each in node.attribute if each.HasField("g")]
        inner = "".join(
            f" [{'; '.join([*text_of(body), *(v.name for v in body.output)])}]" for body in bodies
        )
        found.append(f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)}){inner}")
    return found


def test_stored_numbers_are_computed_and_identities_removed(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    given = parsed(
        """g (float[4] x) => (float[4] y) < float[4] w = {1, 2, 3, 4} > {
        s = Neg (w) i = Identity (x) p = Add (i, s) y = Abs (p) }"""
    )
    found = rewritten(given, tmp_path)
    assert found is not None
    (stored,) = found.graph.initializer
    assert text_of(found.graph) == [f"p = Add(x, {stored.name})", "y = Abs(p)"]
    assert numpy_helper.to_array(stored).tolist() == [-1, -2, -3, -4]


def test_external_data_are_read_from_the_folder(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    given = parsed("g (float[1] x) => (float[1] y) < float[1] w = {7} > { s = Neg (w) y = Add (x, s) }")
    (tmp_path / "data").write_bytes(given.graph.initializer[0].raw_data or b"\x00\x00\xe0\x40")
    tensor = given.graph.initializer[0]
    tensor.CopyFrom(TensorProto(name="w", data_type=1, dims=[1], data_location=TensorProto.EXTERNAL))
    tensor.external_data.add(key="location", value="data")
    found = rewritten(given, tmp_path)
    assert found is not None
    assert [numpy_helper.to_array(each).tolist() for each in found.graph.initializer] == [[-7]]
    assert rewritten(given, tmp_path / "elsewhere") is None


def test_models_that_onnx_runtime_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    given = parsed("g (float[1] x) => (float[1] y) { y = com.microsoft.NoSuchOperator (x) }")
    assert rewritten(given, tmp_path) is None
    assert shapes_of(given, ["y"]) == {}
    assert capfd.readouterr() == ("", "")


def test_without_onnx_runtime_nothing_is_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise ImportError

    monkeypatch.setattr(rewriting, "onnx_runtime", absent)
    given = parsed("g (float[1] x) => (float[1] y) { y = Neg (x) }")
    assert rewritten(given, tmp_path) is None
    assert shapes_of(given, ["y"]) == {}


def test_shapes_that_onnx_runtime_infers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    given = parsed(
        """g (float[n,4] x) => (float[n,4] y) {
        a = com.microsoft.Gelu (x) b = NonZero (a) y = Neg (a) }"""
    )
    before = given.SerializeToString()
    found = shapes_of(given, ["a", "b", "y"])
    shapes = {name: str(helper.printable_type(each)) for name, each in found.items()}
    assert list(shapes) == ["y", "a", "b"]
    assert (shapes["a"], shapes["y"]) == ("FLOAT, nx4", "FLOAT, nx4")
    assert given.SerializeToString() == before
    assert shapes_of(given, []) == {}
    assert list(shapes_of(given, ["a"])) == ["a"]
    monkeypatch.setattr(rewriting, "_MOST_SHAPES", 2)
    assert list(shapes_of(given, ["a", "b"])) == ["a", "b"]
    assert shapes_of(given, ["a", "b", "y"]) == {}


def test_models_with_weights_elsewhere_have_no_shapes() -> None:
    given = parsed("g (float[1] x) => (float[1] y) < float[1] v = {7}, float[1] w = {7} > { y = Add (x, v) }")
    assert list(shapes_of(given, ["y"])) == ["y"]
    given.graph.initializer[1].data_location = TensorProto.EXTERNAL
    assert shapes_of(given, ["y"]) == {}


@pytest.mark.parametrize(
    ("text", "shape", "element", "dims"),
    [
        ("tensor(float)", [2, "n", None], 1, [2, "n", ""]),
        ("tensor(float16)", [0], 10, [0]),
        ("tensor(int64)", [], 7, None),
        ("tensor(int64)", None, 7, None),
        ("seq(tensor(float))", [], 0, None),
        ("other", ["", 3], 0, ["", 3]),
    ],
)
def test_types_of_onnx_runtime(
    text: str, shape: list[int | str | None] | None, element: int, dims: list[int | str] | None
) -> None:
    found = rewriting._type(text, shape)
    assert found.tensor_type.elem_type == element
    assert found.tensor_type.HasField("shape") == (dims is not None)
    given = [
        each.dim_value if each.HasField("dim_value") else each.dim_param
        for each in found.tensor_type.shape.dim
    ]
    assert given == (dims or [])


INSERTED = """g (float16[4] x, bool c) => (float16[4] y) < float16[4] w = {1, 2, 3, 4} > {
    [InsertedPrecisionFreeCast_w] InsertedPrecisionFreeCast_w = Cast <to = 1> (w)
    [InsertedCast_x] InsertedCast_x = Cast <to = 1> (x)
    a = Add (InsertedCast_x, InsertedPrecisionFreeCast_w)
    [own] b = Cast <to = 10> (a)
    d = If (c) <
        then_branch = t () => (float InsertedCast_t) {
          [InsertedCast_t] InsertedCast_t = Cast <to = 1> (b) },
        else_branch = e () => (float e2) { e1 = Neg (InsertedCast_x) e2 = Abs (e1) } >
    InsertedCast_y = Neg (a)
    [InsertedCast_y] y = Cast <to = 10> (InsertedCast_y) }"""


def test_casts_for_a_processor_are_removed() -> None:
    given = parsed(INSERTED)
    given.graph.value_info.extend(
        helper.make_tensor_value_info(name, 1, [4]) for name in ("InsertedCast_x", "a", "InsertedCast_y")
    )
    original = parsed("g (float16[4] x) => (float16[4] y) { b = Cast <to = 10> (x) y = Neg (b) }")
    found = rewriting._without_casts(given, original)
    assert found is given
    assert text_of(found.graph) == [
        "a = Add(x, w)",
        "b = Cast(a)",
        "d = If(c) [b] [e1 = Neg(x); e2 = Abs(e1); e2]",
        "y = Neg(a)",
    ]
    assert [value.name for value in found.graph.value_info] == ["a"]
    assert [value.name for value in found.graph.output] == ["y"]


def test_a_cast_of_the_file_that_is_gone_leaves_no_model() -> None:
    lost = parsed("g (float[4] x) => (float16[4] y) { k = Cast <to = 10> (x) y = Neg (k) }")
    assert rewriting._without_casts(parsed(INSERTED), lost) is None
    stored = parsed(INSERTED)
    stored.graph.initializer.append(helper.make_tensor("k", 10, [0], []))
    assert rewriting._without_casts(stored, lost) is stored
    inner = parsed(
        """g (bool c, float[4] x) => (float16[4] y) { y = If (c) <
        then_branch = t () => (float16[4] k) { k = Cast <to = 10> (x) },
        else_branch = e () => (float16[4] l) { l = Cast <to = 10> (x) }> }"""
    )
    assert rewriting._without_casts(parsed(INSERTED), inner) is None
    plain = parsed("g (float[4] x) => (float[4] y) { y = Neg (x) }")
    assert rewriting._without_casts(plain, lost) is plain


def nested(count: int) -> onnx.GraphProto:
    """Return a graph with inner graphs, each with an original and an inserted Cast."""
    inner = [] if count == 1 else [helper.make_node("If", ["x"], ["y"], then_branch=nested(count - 1))]
    nodes = [
        helper.make_node("Cast", ["x"], [f"InsertedCast_{count}"], f"InsertedCast_{count}", to=1),
        helper.make_node("Cast", [f"InsertedCast_{count}"], [f"c{count}"], to=1),
        *inner,
    ]
    return helper.make_graph(nodes, "g", [], [])


def test_casts_in_bodies_are_removed() -> None:
    graph = nested(3)
    assert rewriting._casts(graph) == {f"{name}{at}" for at in (1, 2, 3) for name in ("InsertedCast_", "c")}
    assert rewriting._remove_casts(graph)
    assert text_of(graph) == ["c3 = Cast(x)", "y = If(x) [c2 = Cast(x); y = If(x) [c1 = Cast(x)]]"]
    assert not rewriting._remove_casts(graph)


def test_other_operators_are_no_casts() -> None:
    names = {"Abs": "InsertedCast_a", "Neg": "InsertedCast_n"}
    nodes = [helper.make_node(op, ["x"], [op], name) for op, name in names.items()]
    graph = helper.make_graph([*nodes, helper.make_node("Cast", ["x"], ["y"], "Cast_1", to=1)], "g", [], [])
    assert rewriting._casts(graph) == {"y"}
    assert not rewriting._remove_casts(graph)


def test_casts_in_one_body_only() -> None:
    outer = helper.make_graph(
        [
            helper.make_node("If", ["x"], ["y"], then_branch=nested(1)),
            helper.make_node("If", ["x"], ["z"], then_branch=helper.make_graph([], "g", [], [])),
        ],
        "g",
        [],
        [],
    )
    assert rewriting._remove_casts(outer)
    assert text_of(outer) == ["y = If(x) [c1 = Cast(x)]", "z = If(x) []"]


def test_names_in_bodies_are_replaced() -> None:
    graph = nested(3)
    rewriting._rename(graph, {"x": "z", "c1": "d"})
    inner = "InsertedCast_1 = Cast(z); d = Cast(InsertedCast_1)"
    middle = f"InsertedCast_2 = Cast(z); c2 = Cast(InsertedCast_2); y = If(z) [{inner}]"
    assert text_of(graph) == [
        "InsertedCast_3 = Cast(z)",
        "c3 = Cast(InsertedCast_3)",
        f"y = If(z) [{middle}]",
    ]
