"""Tests of the pattern language on small, hostile and real graphs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from trtlint.language.pattern import Match, Pattern, PatternError
from trtlint.model.graph import Graph, Value
from trtlint.model.load import load


class Initializers:
    """Fake graph constants with initializers only."""

    def foldable(self, value: Value | None) -> bool:
        return value is not None and value.initializer is not None


def graph(body: str, head: str = "(float[2,4] x, float[4,4] u) => (float[2,4] o)", inits: str = "") -> Graph:
    return Graph(onnx.parser.parse_graph(f"g {head} <{inits}> {{ {body} }}"))


def find(pattern: str, searched: Graph) -> list[Match]:
    return list(Pattern.compile(pattern).search(searched, Initializers()).matches)  # type: ignore[arg-type]


def named(match: Match) -> Mapping[str, str | None]:
    return {name: None if value is None else value.name for name, value in match.bindings.items()}


def test_a_chain_in_line_order() -> None:
    model = graph("a = MatMul(x, u) b = Add(a, x) o = Relu(b)")
    (match,) = find("z = Relu(s)\ny = MatMul(q, w)\ns = Add(y, bias)", model)
    assert [node.op for node in match.nodes] == ["Relu", "MatMul", "Add"]
    assert named(match) == {"z": "o", "s": "b", "y": "a", "q": "x", "w": "u", "bias": "x"}


def test_commutative_operators_match_either_way_and_once() -> None:
    for add in ("Add(a, x)", "Add(x, a)"):
        (match,) = find("y = MatMul(q, w)\nz = Add(y, b)", graph(f"a = MatMul(x, u) o = {add}"))
        assert named(match)["b"] == "x"
        assert match.alternatives == ()


def test_operators_that_are_not_commutative_match_one_way() -> None:
    assert not find("y = MatMul(q, w)\nz = Sub(y, b)", graph("a = MatMul(x, u) o = Sub(x, a)"))
    assert find("y = MatMul(q, w)\nz = Sub(b, y)", graph("a = MatMul(x, u) o = Sub(x, a)"))


def test_computed_values_are_read_before_constants() -> None:
    for mul in ("Mul(x, c)", "Mul(c, x)"):
        (match,) = find("y = Mul(v, k)", graph(f"o = {mul}", inits="float c = {2.0}"))
        assert named(match) == {"y": "o", "v": "x", "k": "c"}
        (other,) = match.alternatives
        assert named(other) == {"y": "o", "v": "c", "k": "x"}


def test_the_same_name_is_the_same_value() -> None:
    square = "y = Mul(v, v)"
    assert len(find(square, graph("o = Mul(x, x)"))) == 1
    assert not find(square, graph("o = Mul(x, u)"))
    swish = "s = Sigmoid(v)\ny = Mul(v, s)"
    assert len(find(swish, graph("s = Sigmoid(x) o = Mul(s, x)"))) == 1
    assert not find(swish, graph("s = Sigmoid(x) o = Mul(s, u)"))


def test_two_lines_are_two_nodes() -> None:
    assert not find("a = Add(x, y)\nb = Add(x, z)", graph("o = Add(x, u)"))
    (match,) = find("a = Add(x, y)\nb = Add(x, z)", graph("o = Add(x, u) p = Add(x, x)"))
    assert {node.output.name for node in match.nodes} == {"o", "p"}


def test_either_operator_and_other_domains() -> None:
    model = graph("a = Relu(x) b = com.microsoft.Gelu(a) o = Sigmoid(b)")
    assert [m.nodes[0].op for m in find("y = Relu|Sigmoid(v)", model)] == ["Relu", "Sigmoid"]
    assert not find("y = Gelu(v)", model)
    assert len(find("y = com.microsoft::Gelu(v)", model)) == 1
    assert len(find("y = Gelu|com.microsoft::Gelu(v)\nz = Sigmoid(y)", model)) == 1


def test_the_number_of_inputs_counts() -> None:
    two, three = graph("o = Clip(x, u)"), graph("o = Clip(x, u, x)")
    left_out = graph('o = Clip(x, "", u)')
    assert [len(find("o = Clip(v, lo)", g)) for g in (two, three, left_out)] == [1, 0, 0]
    assert [len(find("o = Clip(v, lo, hi)", g)) for g in (two, three, left_out)] == [0, 1, 0]
    assert [len(find("o = Clip(v, lo?, hi?)", g)) for g in (two, three, left_out)] == [1, 1, 1]
    assert [len(find("o = Clip(v, ...)", g)) for g in (two, three, left_out)] == [1, 1, 1]
    assert [len(find("o = Clip(_, _)", g)) for g in (two, three, left_out)] == [1, 0, 0]
    (match,) = find("o = Clip(v, lo?, hi?)", left_out)
    assert named(match) == {"o": "o", "v": "x", "lo": None, "hi": "u"}


def test_trailing_inputs_left_out_are_not_counted() -> None:
    assert len(find("o = Clip(v, lo)", graph('o = Clip(x, u, "")'))) == 1


def test_variadic_operators_in_any_order() -> None:
    model = graph("a = Relu(x) o = Sum(x, u, a)")
    (match,) = find("r = Relu(v)\ns = Sum(r, v, w)", model)
    assert named(match)["w"] == "u"
    assert len(find("r = Relu(v)\ns = Sum(r, ...)", model)) == 1
    assert not find("r = Relu(v)\ns = Sum(r, v)", model)


def test_outputs() -> None:
    split = graph("a, b = Split <axis = 1> (x) o = Add(a, b)")
    assert len(find("p, q = Split(v)\ns = Add(p, q)", split)) == 1
    assert not find("p = Split(v)", split)
    assert len(find("p, ... = Split(v)", split)) == 1
    assert len(find("_, q = Split(v)\ns = Add(q, p)", split)) == 1
    assert len(find("Split(v, ...)\n", graph("a, b = Split(x) o = Relu(x)"))) == 1
    assert len(find("y = Dropout(v)", graph("o, mask = Dropout(x)"))) == 1


class TestLayout:
    """Tests of values behind layout operators."""

    def test_back_to_a_line(self) -> None:
        model = graph("a = MatMul(x, u) b = Transpose(a) c = Cast <to = 1> (b) o = Softmax(c)")
        pattern = "y = MatMul(q, w)\ns = Softmax(~y)"
        (match,) = find(pattern, model)
        assert named(match) == {"y": "a", "q": "x", "w": "u", "s": "o"}
        assert len(find(pattern, graph("a = MatMul(x, u) o = Softmax(a)"))) == 1
        assert not find(pattern, graph("a = MatMul(x, u) b = Relu(a) o = Softmax(b)"))

    def test_forward_from_a_line(self) -> None:
        # Two products and one Softmax: whichever line the search begins with, it finds one match.
        model = graph("a = Relu(x) b = Transpose(a) o = MatMul(b, u) p = MatMul(x, u)")
        (match,) = find("r = Relu(v)\nm = MatMul(~r, w)", model)
        assert named(match)["m"] == "o"

    def test_a_free_value_is_where_the_chain_begins(self) -> None:
        model = graph("a = Transpose(x) b = Cast <to = 10> (a) o = Relu(b)")
        (match,) = find("r = Relu(~v)", model)
        assert named(match)["v"] == "x"

    def test_a_value_named_elsewhere_without_it(self) -> None:
        model = graph("a = Sqrt(x) b = Transpose(a) c = Cast <to = 1> (b) d = Relu(b) o = Add(c, d)")
        (match,) = find("r = Relu(v)\ns = Add(~v, r)", model)
        assert named(match)["v"] == "b"

    def test_only_the_data_goes_through(self) -> None:
        model = graph("a = Shape(x) b = Reshape(u, a) o = Relu(b)")
        assert not find("a = Shape(v)\nr = Relu(~a)", model)


def test_a_constant_through_identity_is_the_constant() -> None:
    model = graph("i = Identity(c) a = Mul(x, c) o = Add(a, i)", inits="float c = {2.0}")
    (match,) = find("m = Mul(v, k)\ns = Add(m, k)", model)
    assert named(match)["v"] == "x"
    assert not find("m = Mul(v, k)\ns = Add(m, k)", graph("i = Identity(x) a = Mul(u, x) o = Add(a, i)"))
    node = graph("c = Constant <value_float = 2.0> () i = Identity(c) a = Mul(x, c) o = Sub(i, u) ")
    (match,) = find("m = Mul(v, k)\ns = Sub(k, _)", node)


def test_a_pattern_that_begins_at_a_shared_constant() -> None:
    model = graph("i = Identity(c) a = Mul(x, i) o = Sub(u, c)", inits="float c = {2.0}")
    assert len(find("m = Mul(v, k)\ns = Sub(w, k)", model)) == 1


def test_bodies_are_searched() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[4] x) => (float[4] o) {
        o = If (c) <then_branch = t () => (float[4] y) { a = Relu(x) y = Sigmoid(a) },
                    else_branch = e () => (float[4] z) { z = Relu(x) }> }"""
    )
    (match,) = find("r = Relu(v)\ns = Sigmoid(r)", Graph(model.graph))
    assert named(match)["v"] == "x"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        ("# nothing\n", 1, 1, "empty"),
        ("y = MatMul(x, w)\nz = Matmul(y, w)", 2, 5, "did you mean 'MatMul'?"),
        ("y = Relu|Abs|Matmul(x, w)", 1, 14, "did you mean 'MatMul'?"),
        ("y = MatMul(x w)", 1, 12, "is not a valid input"),
        ("y = MatMul(x,, w)", 1, 14, "a name is missing"),
        ("y = MatMul(..., x)", 1, 17, "must come last"),
        ("y, 3 = Split(x)", 1, 4, "is not a valid output name"),
        ("y MatMul(x)", 1, 1, "is not an operator"),
        ("  y = MatMul", 1, 3, "a line must have the form"),
        ("y = MatMul(Add(x, w), b)", 1, 1, "a line must have the form"),
        ("y = MatMul(x, w) # fine\n\nq = Relu(r)", 3, 1, "shares no name"),
        ("y = Relu(_)\nz = Relu(_)", 2, 1, "shares no name"),
        ("y = Relu(x)\ny = Relu(z)", 2, 1, "computed twice"),
        ("y = Relu(z)\nz = Relu(y)", 1, 1, "computed from itself"),
        ("y = Relu(y)", 1, 1, "computed from itself"),
        ("y = Relu(target)", 1, 10, "is not a valid name"),
        ("y = Relu(if)", 1, 10, "is not a valid name"),
        ("y = Relu(" + ", ".join(["_"] * 17) + ")", 1, 1, "at most 16"),
        ("\n".join(f"y{i} = Relu(x)" for i in range(17)), 17, 1, "at most 16"),
    ],
)
def test_mistakes_have_a_line_and_a_column(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(PatternError) as caught:
        Pattern.compile(text)
    assert words in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_plugins_of_the_default_domain_are_operators() -> None:
    assert Pattern.compile("a, b, c, d = EfficientNMS_TRT(boxes, scores)").outputs == ("a",)


def test_names_and_outputs() -> None:
    pattern = Pattern.compile("y = MatMul(x, w)\n\nRelu|Gelu(y)")
    assert pattern.names == ("y", "x", "w")
    assert pattern.outputs == ("y", "Gelu|Relu")


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("xyRelu Add|=(),.~?_#:\n3"), max_size=60))
def test_any_text_is_refused_or_compiled(text: str) -> None:
    try:
        pattern = Pattern.compile(text)
    except PatternError as error:
        assert error.line >= 1
        assert error.column >= 1
    else:
        pattern.search(graph("a = Relu(x) o = Add(a, a)"), Initializers())  # type: ignore[arg-type]


def adds(count: int, shape: str) -> Graph:
    """Return a graph of Add nodes: a chain, readers of one value, or readers of the two before."""

    def reads(i: int) -> list[str]:
        return ["v0" if shape == "fan" else f"v{i}", f"v{max(i - 1, 0)}" if shape == "mesh" else "x"]

    nodes = [helper.make_node("Add", reads(i), [f"v{i + 1}"]) for i in range(count)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("v0", "x")]
    output = helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, [4])
    return Graph(helper.make_graph(nodes, "g", inputs, [output]))


PATTERNS = {
    "chain": "a = Add(x, y)\nb = Add(a, z)",
    "through": "a = Add(x, y)\nb = Add(~a, z)",
    "siblings": "\n".join(f"a{i} = Add(x, z{i})" for i in range(16)),
    "tree": "\n".join(f"a{i} = Add(a{2 * i + 1}, a{2 * i + 2})" for i in range(15)),
}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("shape", ["chain", "fan", "mesh"])
def test_calls_grow_no_faster_than_the_nodes(pattern: str, shape: str) -> None:
    compiled = Pattern.compile(PATTERNS[pattern])

    def calls(count: int) -> int:
        """Return the number of calls of a search, which does not depend on machine load."""
        searched = adds(count, shape)
        made = 0

        def note(_: object, event: str, __: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            matches = len(compiled.search(searched, Initializers()).matches)  # type: ignore[arg-type]
        finally:
            sys.setprofile(None)
        assert matches <= 2 * (1_000 + 8 * count)  # a search that is cut short is made again
        return made

    assert calls(1_000) < 16 * calls(125)  # eight times the nodes; a quadratic search takes 64 times


@pytest.mark.slow
def test_every_link_of_a_long_chain_is_found() -> None:
    assert len(find(PATTERNS["chain"], adds(5_000, "chain"))) == 4_999


PAIR = "s = Sin(x)\nc = Cos(x)"


def pairs(decoys: int, *, live: bool = False, shared: bool = False) -> Graph:
    """Return one Sin and one Cos of a value behind many of another value, or of the same if ``shared``."""
    nodes = [
        helper.make_node(op, ["o" if shared else "d"], [f"{op}{i}"])
        for i in range(decoys)
        for op in ("Sin", "Cos")
    ]
    nodes += [helper.make_node(op, ["o"], [op]) for op in ("Sin", "Cos")]
    outputs = [
        "Sin",
        "Cos",
        *(f"Sin{i}" for i in range(decoys) if live),
        *(f"Cos{i}" for i in range(decoys) if live),
    ]
    return Graph(
        helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "do"],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in outputs],
        )
    )


class TestBounds:
    """Tests that an exhausted search limit hides no other match, or that the search reports it."""

    def outputs(self, searched: Graph) -> tuple[set[str], bool]:
        found = Pattern.compile(PAIR).search(searched, Initializers())  # type: ignore[arg-type]
        return {match.nodes[0].output.name for match in found.matches}, found.complete

    def test_dead_nodes_hide_no_match(self) -> None:
        names, complete = self.outputs(pairs(110))
        assert "Sin" in names
        assert complete

    def test_dead_readers_of_the_same_value_hide_no_match(self) -> None:
        names, complete = self.outputs(pairs(110, shared=True))
        assert "Sin" in names
        assert complete

    def test_every_beginning_has_a_share(self) -> None:
        names, complete = self.outputs(pairs(110, live=True))
        assert "Sin" in names
        assert not complete

    def test_a_search_that_ends_early_says_so(self) -> None:
        assert not self.outputs(pairs(110, live=True, shared=True))[1]

    def test_a_search_within_the_bounds_is_complete(self) -> None:
        names, complete = self.outputs(pairs(20, live=True, shared=True))
        assert len(names) == 21
        assert complete

    def test_more_ways_to_read_some_nodes_than_are_kept(self) -> None:
        text = "\n".join(f"a{i} = Add(x{i}, y{i})\nb{i} = Add(a{i}, z)" for i in range(5))
        body = " ".join(f"a{i} = Add(x, u{i}) b{i} = Add(a{i}, x)" for i in range(5))
        inputs = ", ".join(["float[4] x", *(f"float[4] u{i}" for i in range(5))])
        outputs = ", ".join(f"float[4] b{i}" for i in range(5))
        found = Pattern.compile(text).search(
            graph(body, f"({inputs}) => ({outputs})"),
            Initializers(),  # type: ignore[arg-type]
        )
        assert not found.complete


class TestRealModels:
    """Tests of chains from exporters."""

    CASES = (
        ("bert_sdpa_nomask_static__dynamo__op23__fp32.onnx", "y = MatMul(x, w)\nz = Add(y, b)\ng = Gelu(z)"),
        ("conv_clamp__dynamo__op20__fp32.onnx", "y = Conv(x, w, b?)\no = Clip(y, lo?, hi?)"),
        ("conv_relu6__ts__op17__fp32.onnx", "y = Conv(x, w, b?)\no = Clip(y, lo?, hi?)"),
        ("attn_both_sqrt__dynamo__op20__fp16.onnx", "s = MatMul(q, k)\np = Softmax(~s)\no = MatMul(~p, v)"),
        (
            "act_gelu_erf__ts__op17__fp32.onnx",
            "d = Div(x, c)\ne = Erf(d)\na = Add(e, one)\nm = Mul(x, a)\nh = Mul(m, half)",
        ),
    )

    @pytest.mark.parametrize(("name", "pattern"), CASES)
    def test_found_once_per_rarest_node(self, exported: Path, name: str, pattern: str) -> None:
        model = load(exported / name)
        compiled = Pattern.compile(pattern)
        matches = compiled.search(model.graph, model.constants).matches
        rarest = min(sum(model.graph.count(op) for _, op in line.ops) for line in compiled.lines)
        assert len(matches) == rarest > 0
        for match in matches:
            for line, node in zip(compiled.lines, match.nodes, strict=True):
                assert (node.domain, node.op) in line.ops
                assert node.output is match.bindings[line.outputs[0] or ""]

    def test_the_bounds_of_a_clip_can_be_read(self, exported: Path) -> None:
        model = load(exported / "conv_relu6__ts__op17__fp32.onnx")
        matches = Pattern.compile(self.CASES[1][1]).search(model.graph, model.constants).matches
        assert matches
        for match in matches:
            assert model.constants.scalar(match.bindings["lo"]) == 0
            assert model.constants.scalar(match.bindings["hi"]) == 6
