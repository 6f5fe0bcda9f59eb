"""Tests of the worker's parser queries, with a fake NVIDIA library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.partition import _parser
from trtlint.partition.regions import runs

HEAD = '< ir_version: 8, opset_import: ["" : 17, "my" : 1, "com.microsoft" : 1] >'


class Logger:
    """A fake library logger."""

    ERROR = 1

    def __init__(self, level: int) -> None:
        assert level == Logger.ERROR


class Library:
    """A fake library whose parser refuses some operators and records its models."""

    Logger = Logger

    def __init__(self, refused: Sequence[str], *, never_whole: bool = False) -> None:
        self.asked: list[onnx.ModelProto] = []
        self.paths: set[str] = set()
        self.refused = refused
        self.never_whole = never_whole

    def Builder(self, _: Any) -> Any:  # noqa: N802 - a name of the library
        return SimpleNamespace(create_network=lambda flags: ("network", flags))

    def OnnxParser(self, network: Any, _: Any) -> Parser:  # noqa: N802 - a name of the library
        assert network == ("network", 0)
        return Parser(self)


class Parser:
    """A fake parser that accepts runs of nodes."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._found: tuple[tuple[int, ...], ...] = ()

    def supports_model_v2(self, data: bytes, path: str) -> bool:
        model = onnx.ModelProto.FromString(data)
        self._library.asked.append(model)
        self._library.paths.add(path)
        nodes = model.graph.node
        self._found = runs(at for at, node in enumerate(nodes) if node.op_type not in self._library.refused)
        return self._found == (tuple(range(len(nodes))),) and not self._library.never_whole

    @property
    def num_subgraphs(self) -> int:
        return len(self._found)

    def get_subgraph_nodes(self, at: int) -> tuple[int, ...]:
        return self._found[at]


class Asked:
    """Queries about models with the fake library, by default like the TensorRT provider without rewrites."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = folder / "model.onnx"
        self._monkeypatch = monkeypatch
        self.library = Library(())

    def about(
        self, given: str | onnx.ModelProto, refused: Sequence[str] = (), **settings: Any
    ) -> list[dict[str, Any]]:
        """Return the messages of the worker."""
        never = settings.pop("never_whole", False)
        self.library = Library(refused, never_whole=never)
        self._monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", self.library)
        proto = onnx.parser.parse_model(HEAD + given) if isinstance(given, str) else given
        onnx.save(proto, self._path)
        messages: list[dict[str, Any]] = []
        request: dict[str, Any] = {"model": str(self._path), "rewrite": False, "provider": "tensorrt"}
        request |= {key: settings.pop(key) for key in ("rewrite", "provider") if key in settings}
        _parser.work({**request, "settings": settings}, messages.append)
        assert messages[:-1] == [{"stage": "rewrite"}, {"stage": "parse"}]
        assert self.library.paths <= {str(self._path)}
        return messages

    def result(
        self, given: str | onnx.ModelProto, refused: Sequence[str] = (), **settings: Any
    ) -> dict[str, Any]:
        """Return the last message of the worker."""
        return self.about(given, refused, **settings)[-1]

    def scopes(
        self, given: str | onnx.ModelProto, refused: Sequence[str] = (), **settings: Any
    ) -> dict[str, tuple[Any, ...]]:
        """Return the parts of each scope, and whether TensorRT supports the whole scope."""
        found = self.result(given, refused, **settings)["scopes"]
        return {each["scope"]: (each["parts"], each["whole"]) for each in found}

    @property
    def models(self) -> list[tuple[str, ...]]:
        """Return the models sent to the parser: nodes, inputs, stored tensors and outputs."""
        return [
            (
                " ".join(node.op_type for node in model.graph.node),
                " ".join(each.name for each in model.graph.input),
                " ".join(
                    [
                        *(each.name for each in model.graph.initializer),
                        *(f"sparse {each.values.name}" for each in model.graph.sparse_initializer),
                    ]
                ),
                " ".join(each.name for each in model.graph.output),
            )
            for model in self.library.asked
        ]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return an object that queries the fake library."""
    return Asked(tmp_path, monkeypatch)


CHAIN = """chain (float[4] x) => (float[N] y, float[4] s)
  < float[4] w = {1, 2, 3, 4}, float[4] z = {1, 2, 3, 4} > {
  [a] p = Add (x, w) [b] s = Mul (p, w) [u] q = Unique (s) [c] r = Abs (q) y = Neg (r) }"""


def test_a_region_is_cut_until_it_is_taken_whole(asked: Asked) -> None:
    scope = {
        "scope": "",
        "nodes": [["a", "Add"], ["b", "Mul"], ["u", "Unique"], ["c", "Abs"], ["Neg_4", "Neg"]],
        "added": [],
        "parts": ((0, 1), (3, 4)),
        "small": (),
        "cyclic": (),
        "joined": False,
        "whole": False,
        "rejected": "",
    }
    result = {"scopes": [scope], "calls": 3, "rewritten": False, "merged": {}, "shapeless": ""}
    assert asked.result(CHAIN, ["Unique"]) == result
    assert asked.models == [
        ("Add Mul Unique Abs Neg", "x", "w", "s y"),
        ("Add Mul", "x", "w", "s"),
        ("Abs Neg", "q", "", "y"),
    ]
    first, _, last = asked.library.asked
    assert {model.ir_version for model in asked.library.asked} == {onnx.IR_VERSION}
    assert [(each.domain, each.version) for each in last.opset_import] == [
        ("", 17),
        ("my", 1),
        ("com.microsoft", 1),
    ]
    assert first.graph.name == "chain"
    assert numpy_helper.to_array(first.graph.initializer[0]).tolist() == [1, 2, 3, 4]
    assert onnx.helper.printable_value_info(first.graph.input[0]) == "%x[FLOAT, 4]"
    assert onnx.helper.printable_value_info(last.graph.input[0]) == "%q[FLOAT, unk__0]"
    assert onnx.helper.printable_value_info(last.graph.output[0]) == "%y[FLOAT, N]"


@pytest.mark.parametrize(
    ("settings", "parts", "small"),
    [
        ({}, ((0, 1), (3, 4)), ()),
        ({"min_nodes": 3}, (), ((0, 1), (3, 4))),
        ({"exclude": ["Mul", "Neg"]}, ((0,), (3,)), ()),
        ({"max_rounds": 1}, ((0, 1), (3, 4)), ()),
        ({"max_rounds": 0}, (), ()),
        ({"never_whole": True}, (), ()),
    ],
)
def test_settings_of_a_provider(
    settings: dict[str, Any], parts: tuple[Any, ...], small: tuple[Any, ...], asked: Asked
) -> None:
    (found,) = asked.result(CHAIN, ["Unique"], **settings)["scopes"]
    assert (found["parts"], found["small"]) == (parts, small)


def test_too_many_calls_leave_everything(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parser, "_MOST_CALLS", 3)
    found = asked.result(CHAIN, ["Unique"])
    assert (found["scopes"][0]["parts"], found["calls"]) == (((0, 1), (3, 4)), 3)
    monkeypatch.setattr(_parser, "_MOST_CALLS", 2)
    found = asked.result(CHAIN, ["Unique"])
    assert (found["scopes"][0]["parts"], found["calls"]) == ((), 2)


def test_a_region_that_loses_one_node_each_time_ends(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(parser: Any, _: Any) -> tuple[bool, list[list[int]]]:
        parser.calls += 1
        return False, [list(range(1100 - parser.calls))]

    monkeypatch.setattr(_parser._Parser, "_built", lambda *_, **__: None)
    monkeypatch.setattr(_parser._Parser, "_ask", ask)
    nodes = " ".join(f"x{number + 1} = Abs (x{number})" for number in range(1100))
    found = asked.result(f"g (float[4] x0) => (float[4] x1100) {{ {nodes} }}")
    assert (found["scopes"][0]["parts"], found["calls"]) == ((), 1001)


def test_a_model_without_refused_nodes_is_one_part(asked: Asked) -> None:
    assert asked.scopes(CHAIN) == {"": (((0, 1, 2, 3, 4),), True)}
    assert asked.models == [("Add Mul Unique Abs Neg", "x", "w", "s y")]
    text = CHAIN.replace("chain (", "g (")
    proto = onnx.parser.parse_model(HEAD + text)
    proto.graph.name = ""
    asked.about(proto)
    assert asked.library.asked[0].graph.name == "region"


def test_the_regions_between_excluded_nodes_are_asked_for_one_by_one(asked: Asked) -> None:
    asked.about(CHAIN, exclude=["Unique"])
    assert [nodes for nodes, *_ in asked.models] == ["Add Mul", "Abs Neg"]


def test_the_first_tensor_without_a_full_shape_is_named(asked: Asked) -> None:
    text = """g (float[4] x) => (float[4] y) {
        a = my.F (x) b = Neg (a) c = Unique (b) d = Neg (c)
        e = my.F (d) f = Unique (e) h = Abs (a) y = Add (f, h) }"""
    assert asked.result(text, ["Unique"])["shapeless"] == "c"
    assert asked.models[-1] == ("Abs Add", "a f", "", "y")
    assert asked.result(text)["shapeless"] == ""


def test_only_regions_of_regions_need_shapes(asked: Asked) -> None:
    text = "g (float[4] x) => (float[4] y) { a = my.F (x) y = Neg (a) }"
    assert asked.result(text, exclude=["F"])["shapeless"] == ""
    assert asked.result(text, ["F"])["shapeless"] == "a"


def test_shapes_of_the_main_graph_come_from_onnx_runtime(asked: Asked) -> None:
    pytest.importorskip("onnxruntime")
    nodes = "a = com.microsoft.Gelu (x) b = Abs (x) d = Sin (b) y = Add (a, d)"
    assert asked.result(f"g (float[4] x) => (float[4] y) {{ {nodes} }}", ["Sin"])["shapeless"] == ""
    body = f"then_branch = t () => (float[4] y) {{ {nodes} }}"
    other = "else_branch = e () => (float[4] v) { v = Abs (x) }"
    text = f"g (float[4] x, bool c) => (float[4] z) {{ z = If (c) <{body}, {other}> }}"
    assert asked.result(text, ["Sin"])["shapeless"] == "a"


def test_stored_tensors_of_a_region(asked: Asked) -> None:
    proto = onnx.parser.parse_model(
        HEAD
        + """g (float[2] x, bool c) => (float[2] y) < float[2] w = {1, 2}, float[2] v = {3, 4} > {
        a = Add (x, s) b = If (c) <
            then_branch = t () => (float[2] t2) < float[2] own = {5, 6} > {
              t1 = Mul (a, w) t2 = Add (t1, own) },
            else_branch = e () => (float[2] e1) { e1 = Add (a, s) }>
        y = Add (b, v) }"""
    )
    values, indices = helper.make_tensor("s", 1, [1], [9.0]), helper.make_tensor("i", 7, [1], [1])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    scopes = asked.scopes(proto)
    assert scopes == {
        "If_1/then_branch": (((0, 1),), True),
        "If_1/else_branch": (((0,),), True),
        "": (((0, 1, 2),), True),
    }
    assert asked.models == [
        ("Mul Add", "a", "w own", "t2"),
        ("Add", "a s", "", "e1"),
        ("Add If Add", "x c", "w v sparse s", "y"),
    ]
    types = [helper.printable_value_info(each) for each in asked.library.asked[0].graph.input]
    assert types == ["%a[FLOAT, 2]"]


NESTED = """g (bool c, float[4] x) => (float[4] y) {
  [a] p = Relu (x)
  [b] y = If (c) <
    then_branch = t () => (float[4] t2) {
      [i] t1 = If (c) <
        then_branch = u () => (float[4] u1) { u1 = OP (p) },
        else_branch = v () => (float[4] v1) { v1 = Abs (p) } >
      t2 = Exp (t1) },
    else_branch = e () => (float[4] e1) { [e] e1 = Neg (p) }
  > }"""


def test_bodies_come_before_their_nodes(asked: Asked) -> None:
    assert asked.scopes(NESTED.replace("OP", "Neg")) == {
        "b/then_branch/i/then_branch": (((0,),), True),
        "b/then_branch/i/else_branch": (((0,),), True),
        "b/then_branch": (((0, 1),), True),
        "b/else_branch": (((0,),), True),
        "": (((0, 1),), True),
    }
    assert asked.scopes(NESTED.replace("OP", "Sin"), ["Sin"]) == {
        "b/then_branch/i/then_branch": ((), False),
        "b/then_branch/i/else_branch": (((0,),), True),
        "b/then_branch": (((1,),), False),
        "b/else_branch": (((0,),), True),
        "": (((0,),), False),
    }


def test_bodies_that_are_too_deep_are_not_taken(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parser, "MOST_BODIES", 2)
    assert asked.scopes(NESTED.replace("OP", "Neg"))[""] == (((0, 1),), True)
    monkeypatch.setattr(_parser, "MOST_BODIES", 1)
    assert asked.scopes(NESTED.replace("OP", "Neg")) == {
        "b/then_branch": (((1,),), False),
        "b/else_branch": (((0,),), True),
        "": (((0,),), False),
    }


@pytest.mark.parametrize("op", ["my.If", "my.F"])
def test_bodies_of_other_operators_are_not_divided(op: str, asked: Asked) -> None:
    text = f"g (float[4] x) => (float[4] y) {{ y = {op} (x) <b = t () => (float[4] u) {{ u = Sin (x) }}> }}"
    assert asked.scopes(text, ["Sin"]) == {"": (((0,),), True)}


def test_attributes_that_are_no_graphs_have_no_scope(asked: Asked) -> None:
    text = """g (float[4] x, int64 n, bool t) => (float[4] y) { y = Loop (n, t, x) <note = 3,
        body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) { d = Identity (c) w = Neg (v) }> }"""
    assert asked.scopes(text) == {"Loop_0/body": (((0, 1),), True), "": (((0,),), True)}
    assert asked.models[0] == ("Identity Neg", "c v", "", "d w")


TYPED = "g (TYPE[4] x, float[4] z) => (float[4] y) { a = Flatten (x) b = Cast <to = 1> (a) y = Abs (z) }"


@pytest.mark.parametrize(
    ("provider", "dtype", "parts", "rejected"),
    [
        ("tensorrt", "uint16", ((0, 1, 2),), ""),
        ("nv-tensorrt-rtx", "uint16", (), "the provider accepts no u16 inputs or outputs, such as x"),
        ("nv-tensorrt-rtx", "double", (), "the provider accepts no f64 inputs or outputs, such as x"),
        ("nv-tensorrt-rtx", "float16", ((0, 1, 2),), ""),
    ],
)
def test_types_of_inputs(
    provider: str, dtype: str, parts: tuple[Any, ...], rejected: str, asked: Asked
) -> None:
    (found,) = asked.result(TYPED.replace("TYPE", dtype), provider=provider)["scopes"]
    assert (found["parts"], found["rejected"]) == (parts, rejected)


@pytest.mark.parametrize(
    ("provider", "dtype", "parts"),
    [
        ("tensorrt", 4, ((0, 1, 2),)),
        ("nv-tensorrt-rtx", 4, ((2,),)),
        ("nv-tensorrt-rtx", 11, ((0, 1, 2),)),
    ],
)
def test_types_inside_a_graph(provider: str, dtype: int, parts: tuple[Any, ...], asked: Asked) -> None:
    text = (
        f"g (float[4] x) => (float[4] y) {{ a = Cast <to = {dtype}> (x) b = Cast <to = 1> (a) y = Abs (b) }}"
    )
    assert asked.scopes(text, provider=provider)[""][0] == parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g (float[4] x) => (double[4] y) { y = Cast <to = 11> (x) }", "f64 inputs or outputs, such as y"),
        ("g (double x) => (double y) { y = Neg (x) }", ""),
        ("g (float[4] x, double[2] w) => (float[4] y) < double[2] w = {1, 2} > { y = Neg (x) }", ""),
        ("g (string[4] x) => (float[4] y) { y = my.F (x) }", "str inputs or outputs, such as x"),
    ],
)
def test_types_that_the_plugin_rejects_at_the_border(text: str, words: str, asked: Asked) -> None:
    (found,) = asked.result(text, provider="nv-tensorrt-rtx")["scopes"]
    assert found["rejected"] == (words and f"the provider accepts no {words}")


@pytest.mark.parametrize(
    ("attribute", "dtype", "values"),
    [
        ({"value_float": 2.5}, TensorProto.FLOAT, 2.5),
        ({"value_int": 3}, TensorProto.INT64, 3),
        ({"value_floats": [2.5, 3.0]}, TensorProto.FLOAT, [2.5, 3.0]),
        ({"value_ints": [2, 3]}, TensorProto.INT64, [2, 3]),
        ({"value": helper.make_tensor("other", TensorProto.INT32, [2], [7, 8])}, TensorProto.INT32, [7, 8]),
    ],
)
def test_constants_are_stored(attribute: dict[str, Any], dtype: int, values: Any) -> None:
    inner = helper.make_graph([helper.make_node("Constant", [], ["k"], **attribute)], "b", [], [])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Constant", [], ["c"], **attribute),
        helper.make_node("If", ["c"], ["b"], name="last", then_branch=inner),
    ]
    graph = helper.make_graph(nodes, "g", [], [], [numpy_helper.from_array(np.ones(1), "w")])
    _parser._store_constants(graph)
    assert [node.name for node in graph.node] == ["first", "last"]
    assert [tensor.name for tensor in graph.initializer] == ["w", "c"]
    body = graph.node[1].attribute[0].g
    assert (len(body.node), [tensor.name for tensor in body.initializer]) == (0, ["k"])
    for tensor in (graph.initializer[1], body.initializer[0]):
        assert (tensor.data_type, numpy_helper.to_array(tensor).tolist()) == (dtype, values)


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Constant", [], ["c"], value_string="a"),
        helper.make_node("Constant", [], ["c"], value_float=1.0, domain="my"),
        helper.make_node("Constant", [], ["c"], value_float=1.0, value_int=1),
        helper.make_node("Constant", [], ["c", "d"], value_float=1.0),
        helper.make_node("Constant", [], ["c"]),
        helper.make_node("Other", [], ["c"], value_float=1.0),
    ],
    ids=str,
)
def test_other_nodes_are_not_stored(node: onnx.NodeProto) -> None:
    graph = helper.make_graph([node], "g", [], [])
    before = graph.SerializeToString()
    _parser._store_constants(graph)
    assert graph.SerializeToString() == before


def tensor_type(element: int, *dims: int | str | None) -> onnx.TypeProto:
    """Return a type with a shape; None is a dimension without size and name."""
    return helper.make_tensor_type_proto(element, dims)


@pytest.mark.parametrize(
    ("known", "has"),
    [
        (None, False),
        (onnx.TypeProto(), False),
        (tensor_type(1), True),
        (tensor_type(1, 2, "n"), True),
        (tensor_type(1, 0), True),
        (tensor_type(1, 2, None), False),
        (tensor_type(1, None, 2), False),
    ],
)
def test_a_full_shape(known: onnx.TypeProto | None, has: bool) -> None:
    assert _parser._has_shape(known) is has


def test_types_that_inference_does_not_give() -> None:
    graph = onnx.parser.parse_graph(
        """g (int64[2] x, int64[2] n) => (int64[2] y) < int32[1] w = {1} > {
        a, b = my.F (n, x) c = my.F (w) d = my.F () e = my.F (u) f = my.F (k, w) h = my.F (x) }"""
    )
    types = {
        "x": tensor_type(7, 2),
        "n": onnx.TypeProto(),
        "b": tensor_type(11, 3),
        "h": tensor_type(0, 5),
    }
    assert _parser._lacking(graph, types) == ["a", "c", "d", "e", "f"]
    _parser._complete(graph, types)
    elements = {name: each.tensor_type.elem_type for name, each in types.items()}
    assert elements == {"x": 7, "n": 0, "b": 11, "h": 7, "a": 7, "c": 6, "d": 1, "e": 1, "f": 6}
    assert types["h"] == tensor_type(7, 5)


def test_types_of_outputs_without_names_are_not_given() -> None:
    graph = helper.make_graph([helper.make_node("F", ["x"], ["", "y"])], "g", [], [])
    types: dict[str, onnx.TypeProto] = {}
    _parser._complete(graph, types)
    assert list(types) == ["y"]
    assert _parser._lacking(graph, {}) == ["y"]


def test_a_model_whose_types_contradict_each_other_is_read(asked: Asked) -> None:
    text = "g (float[4] x, float[3] z) => (float[4] y) { a = Add (x, z) y = Unique (a) }"
    assert asked.scopes(text, ["Unique"])[""][0] == ((0,),)


def test_functions_are_inlined(asked: Asked) -> None:
    text = """g (float[4] x) => (float[4] y) { [f] y = my.F (x) }
        <domain: "my", opset_import: ["" : 17]> F (a) => (b) { [n] c = Neg (a) [s] b = Sin (c) }"""
    (found,) = asked.result(text, ["Sin"])["scopes"]
    assert ([op for _, op in found["nodes"]], found["parts"]) == (["Neg", "Sin"], ((0,),))


def test_onnx_runtime_rewrites_the_model_first(asked: Asked) -> None:
    pytest.importorskip("onnxruntime")
    text = """g (float[4] x) => (float[4] y) < float[4] w = {1, 2, 3, 4} > {
        [s] s = Neg (w) [i] i = Identity (x) [a] p = Add (i, s) [t] q = Sin (p) [m] y = Mul (q, q) }"""
    found = asked.result(text, ["Sin"], rewrite=True)
    assert (found["rewritten"], found["merged"]) == (True, {})
    assert found["scopes"][0]["nodes"] == [["a", "Add"], ["t", "Sin"], ["m", "Mul"]]
    assert [inputs for _, inputs, _, _ in asked.models] == ["x", "x", "q"]
    assert asked.result(text.replace("Sin", "my.Sin"), ["Sin"], rewrite=True)["rewritten"] is False
