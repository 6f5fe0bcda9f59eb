"""Tests of outer-graph values in bodies, for shape inference."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper, parser

from trtlint.model import scopes
from trtlint.model.scopes import add_outer_values, remove_outer_values

HEAD = '<ir_version: 8, opset_import: ["": 17, "own": 1]>'


def copies(graph: onnx.GraphProto) -> list[tuple[str, list[str]]]:
    """Return the bodies of a graph, outer bodies first, with their stored tensors."""
    found: list[tuple[str, list[str]]] = []
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                found += [(body.name, [tensor.name for tensor in body.initializer]), *copies(body)]
    return found


NESTED = f"""{HEAD} g (bool c, float[2] x) => (y)
<int64[2] a = {{1, 2}}, int64[1] b = {{3}}, int64[1] unread = {{4}}, float s = {{5}}>
{{
    k = Constant <value_ints = [1, 2]> ()
    y = If (c) <then_branch = outer () => (r) {{
        b = Identity (x)
        q = Add (a, b)
        r = If (c) <then_branch = inner () => (t) {{ v = Add (b, s)  w = Add (a, a)  t = Add (k, q) }}>
    }}>
}}"""


def test_stored_tensors_that_a_body_reads_are_copied_and_removed() -> None:
    """Names defined by a body are not copied into the body."""
    model = parser.parse_model(NESTED)
    before = model.SerializeToString(deterministic=True)
    assert add_outer_values(model)
    assert copies(model.graph) == [("outer", ["a"]), ("inner", ["b", "s", "a", "k"])]
    inner = model.graph.node[1].attribute[0].g.node[2].attribute[0].g
    values = {tensor.name: onnx.numpy_helper.to_array(tensor).tolist() for tensor in inner.initializer}
    assert values == {"a": [1, 2], "b": [3], "s": 5.0, "k": [1, 2]}
    remove_outer_values(model.graph)
    assert model.SerializeToString(deterministic=True) == before


def test_a_body_that_has_its_values_is_not_changed() -> None:
    model = parser.parse_model(f"""{HEAD} g (bool c) => (y) <int64[1] a = {{1}}, int64[1] b = {{1}}>
        {{ y = If (c) <then_branch = t () => (r) <int64[1] b = {{2}}> {{ a = Abs (b)  r = Neg (a) }}> }}""")
    assert not add_outer_values(model)
    assert copies(model.graph) == [("t", ["b"])]
    remove_outer_values(model.graph)
    assert copies(model.graph) == [("t", ["b"])]


@pytest.mark.parametrize(("most", "copied"), [(3, ["a", "b", "c"]), (2, ["a", "b"]), (0, [])])
def test_the_number_of_copies_is_limited(
    most: int, copied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "_MOST_COPIES", most)
    model = parser.parse_model(f"""{HEAD} g (bool c) => (y)
        <int64[1] a = {{1}}, int64[1] b = {{1}}, int64[1] c = {{1}}>
        {{ y = If (c) <then_branch = t () => (r) {{ r = Concat <axis = 0> (a, b, c) }},
                       else_branch = e () => (s) {{ s = Identity (a) }}> }}""")
    assert add_outer_values(model) is bool(copied)
    assert copies(model.graph) == [("t", copied), ("e", [])]


def test_only_small_tensors_are_copied() -> None:
    """A tensor of 126 numbers uses up to 1024 bytes with its name, shape and type."""
    model = parser.parse_model(f"""{HEAD} g (bool c) => (y) {{
        i = Constant <value_int = 5> ()  f = Constant <value_float = 1.0> ()
        l = Constant <value_ints = [3]> ()
        o = own.Constant <value_int = 5> ()
        y = If (c) <then_branch = t () => (r) {{ r = Sum (a, b, d, e, f, i, l, m, n, o) }}> }}""")
    for name, count in (("a", 126), ("b", 127)):
        model.graph.initializer.append(
            helper.make_tensor(name, TensorProto.INT64, [count], bytes(count * 8), True)
        )
    small, large = (model.graph.initializer[place] for place in (0, 1))
    assert small.ByteSize() <= scopes._MOST_BYTES < large.ByteSize()
    nodes = [
        helper.make_node("Constant", [], ["d"], other=3, value=small),
        helper.make_node("Constant", [], ["e"], value=large),
        helper.make_node("Constant", [], ["m"], value_ints=[1] * 128),
        helper.make_node("Constant", [], ["n"], value_ints=[1] * 129),
        helper.make_node("Constant", [], [], value_int=1),
    ]
    for node in nodes:
        model.graph.node.insert(0, node)
    assert add_outer_values(model)
    (body,) = copies(model.graph)
    assert body == ("t", ["a", "d", "i", "l", "m"])
    tensors = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.node[-1].attribute[0].g.initializer}
    found = {name: (array.dtype.name, array.shape, array.flat[0]) for name, array in tensors.items()}
    assert found == {
        "a": ("int64", (126,), 0), "d": ("int64", (126,), 0), "i": ("int64", (), 5), "l": ("int64", (1,), 3),
        "m": ("int64", (128,), 1),
    }  # fmt: skip


@pytest.mark.parametrize(("size", "copied"), [(1024, True), (1025, False)])
def test_the_size_of_a_copied_tensor_is_limited(size: int, copied: bool) -> None:
    """The limit is 1024 bytes with the name, shape and type."""
    model = parser.parse_model(
        f"{HEAD} g (bool c) => (y) {{ y = If (c) <then_branch = t () => (r) {{ r = Neg (a) }}> }}"
    )
    tensor = TensorProto(name="a", dims=[1000], data_type=TensorProto.UINT8, raw_data=bytes(1000))
    tensor.doc_string = "d" * (size - tensor.ByteSize() - 2)
    assert tensor.ByteSize() == size
    model.graph.initializer.append(tensor)
    assert add_outer_values(model) is copied


LOOP = """g (int64 n, bool c, float[2,3] x, float[4] u, z) => (y)
<float[5] w = {{1, 2, 3, 4, 5}}, int64[7] h> {{
    h = Cast <to = 7> (z)
    y = {op} (n, c, x, u, w, h, z) <body = b (i, go, p, float[9] q, r, s, t) => (go, p, q, r, s, t) {{
        o = Identity (p)
    }}>
}}"""


@pytest.mark.parametrize(("op", "carried"), [("Loop", True), ("own.Loop", False), ("Scan", False)])
def test_values_that_a_loop_passes_on_get_the_types_of_their_initial_values(op: str, carried: bool) -> None:
    """Declared types and initial values without a shape stay unchanged."""
    model = parser.parse_model(f"{HEAD} {LOOP.format(op=op)}")
    assert add_outer_values(model) is carried
    body = model.graph.node[1].attribute[0].g
    types = {
        info.name: (
            info.type.tensor_type.elem_type,
            [dim.dim_value for dim in info.type.tensor_type.shape.dim],
        )
        for info in body.input
        if info.type.tensor_type.HasField("shape")
    }
    given = {"p": (1, [2, 3]), "r": (1, [5]), "s": (7, [7])} if carried else {}
    assert types == {"q": (1, [9]), **given}


@pytest.mark.parametrize("inputs", ["n, c, x", "n, c, x, x, x"])
def test_a_loop_without_a_value_to_type_is_not_changed(inputs: str) -> None:
    """The operator and its body can have different numbers of inputs."""
    model = parser.parse_model(
        f"{HEAD} g (int64 n, bool c, float[2] x) => (y) {{ y = Loop ({inputs}) "
        "<body = b (i, go, float[2] p, float[2] q) => (go, p, q) { o = Identity (p) }> }"
    )
    assert not add_outer_values(model)
