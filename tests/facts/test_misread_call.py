"""Tests of model-local function calls that TensorRT's parser misreads."""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.misread_call import MisreadCall
from trtlint.model.load import load

_F = '< domain: "my", opset_import: ["" : 17] > F (p, r) => (q) { t = Exp (p) q = Sub (t, r) }'
_LEAKY = (
    '< domain: "my", opset_import: ["" : 17] > F <b> (p) => (q) { q = LeakyRelu <alpha: float = @b> (p) }'
)


_GELU = '< domain: "my", opset_import: ["" : 17] > Gelu (p) => (q) { q = Neg (p) }'


def misread(graph: str, functions: str, reason: str) -> list[MisreadCall]:
    text = f'< ir_version: 8, opset_import: ["" : 17, "my" : 1, "our" : 1] > {graph} {functions}'
    facts = facts_of(text).of("misread_call")
    return [fact for fact in facts if isinstance(fact, MisreadCall) and fact.reason == reason]


@pytest.mark.parametrize(
    ("arguments", "crossed", "shadowed"),
    [
        ("r, p", ["p"], ["p", "r"]),
        ("x, p", ["p"], ["p", "r"]),
        ("r, x", [], ["p", "r"]),
        ("p, r", [], []),
        ("p, x", [], ["r"]),
    ],
)
def test_arguments_named_as_formal_inputs(arguments: str, crossed: list[str], shadowed: list[str]) -> None:
    graph = f"g (float[3] p, float[3] r, float[3] x) => (float[3] y) {{ y = my.F ({arguments}) }}"
    assert [fact.detail for fact in misread(graph, _F, "crossed")] == crossed
    assert [fact.detail for fact in misread(graph, _F, "shadowed")] == shadowed


def test_a_tensor_that_comes_later_hides_nothing() -> None:
    graph = "g (float[3] x, float[3] z) => (float[3] y) { a = my.F (x, z) p = Neg (a) y = Add (a, p) }"
    assert misread(graph, _F, "shadowed") == []


def test_names_of_a_function_end_with_it() -> None:
    graph = "g (float[3] x, float[3] z) => (float[3] y) { a = my.F (x, z) y = my.F (a, z) }"
    assert misread(graph, _F, "shadowed") == []


def test_nested_functions_share_names() -> None:
    outer = '< domain: "my", opset_import: ["" : 17, "my" : 1] > G (p, s) => (q) { q = my.F (s, p) }'
    (fact,) = misread(
        "g (float[3] x, float[3] z) => (float[3] y) { y = my.G (x, z) }", f"{_F} {outer}", "shadowed"
    )
    assert (fact.function, fact.detail) == ("F", "p")
    assert fact.node is not None
    assert fact.node.op == "Exp"


@pytest.mark.parametrize(
    ("call", "functions", "expected"),
    [
        ("my.F (x)", _LEAKY, ["0.01"]),
        ("my.F <b = 0.3> (x)", _LEAKY, []),
        ("my.F (x)", _LEAKY.replace("F <b>", "F <b: float = 0.2>"), []),
        (
            "my.G <a = 0.3> (x)",
            f'{_LEAKY} < domain: "my", opset_import: ["" : 17, "my" : 1] >'
            " G <a> (p) => (q) { q = my.F <b: float = @a> (p) }",
            ["0.3"],
        ),
    ],
)  # fmt: skip
def test_lost_attributes(call: str, functions: str, expected: list[str]) -> None:
    found = misread(f"g (float[3] x) => (float[3] y) {{ y = {call} }}", functions, "attribute")
    assert [fact.value for fact in found] == expected


def test_a_function_named_as_an_operator_is_misread_where_there_is_one() -> None:
    (fact,) = misread("g (float[3] x) => (float[3] y) { y = my.Gelu (x) }", _GELU, "operator")
    assert fact.versions["tensorrt"].startswith(">=10.")
    other = _GELU.replace("Gelu", "MyGelu")
    assert misread("g (float[3] x) => (float[3] y) { y = my.MyGelu (x) }", other, "operator") == []


def test_functions_of_one_name() -> None:
    mine = '< domain: "my", opset_import: ["" : 17] > F (p) => (q) { q = Neg (p) }'
    ours = mine.replace('"my"', '"our"')
    graph = "g (float[3] x) => (float[3] y) { a = my.F (x) y = our.F (a) }"
    assert misread(graph, f"{mine} {ours}", "domain") == []
    (fact,) = misread(graph, f"{mine} {ours.replace('Neg', 'Exp')}", "domain")
    assert (fact.domain, fact.detail) == ("our", "my")


def test_calls_without_end_are_bounded() -> None:
    """Twelve functions that each call the next one twice make four thousand calls."""
    functions = [
        f'< domain: "my", opset_import: ["" : 17, "my" : 1] > F{i} (p) => (q)'
        f" {{ t = my.F{i + 1} (p) q = my.F{i + 1} (t) }}"
        for i in range(11)
    ]
    functions.append('< domain: "my", opset_import: ["" : 17] > F11 (p) => (q) { q = Neg (p) }')
    graph = "g (float[3] x) => (float[3] y) { y = my.F0 (x) }"
    assert len(misread(graph, " ".join(functions), "shadowed")) <= 1000


def test_a_long_name_takes_little_time(tmp_path: Path) -> None:
    head = '< ir_version: 8, opset_import: ["" : 17, "my" : 1] >'
    text = f"{head} g (float[3] x) => (float[3] y) {{ a = my.Gelu (x) y = Abs (a) }} {_GELU}"
    proto = onnx.parser.parse_model(text)
    proto.graph.node[1].name = "a/" * 100_000
    onnx.save(proto, tmp_path / "model.onnx")
    facts = Facts(load(tmp_path / "model.onnx"))
    started = time.process_time()
    assert len(facts.of("misread_call")) == 1
    assert time.process_time() - started < 1
