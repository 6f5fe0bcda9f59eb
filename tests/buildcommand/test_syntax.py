"""Tests of the parser of Python scripts that may contain build commands."""

from __future__ import annotations

import ast

import pytest

from trtlint.buildcommand import syntax
from trtlint.buildcommand.syntax import nodes_of, single_values

TEXT = "[('TensorrtExecutionProvider', {'trt_fp16_enable': 1})]"


def test_the_first_node_is_the_module() -> None:
    nodes = nodes_of(TEXT)
    assert nodes is not None
    assert isinstance(nodes[0], ast.Module)


@pytest.mark.parametrize("text", ["trtexec -- --fp16 a", "a\0", "(" * 10_000])
def test_text_that_is_not_python(text: str) -> None:
    assert nodes_of(text) is None


def test_the_length_of_a_script_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_LARGEST", len(TEXT))
    assert nodes_of(TEXT) is not None
    assert nodes_of(f"{TEXT} ") is None


def test_the_number_of_nodes_of_a_script_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(list(ast.walk(ast.parse(TEXT))))
    monkeypatch.setattr(syntax, "_MOST_NODES", count)
    assert nodes_of(TEXT) is not None
    monkeypatch.setattr(syntax, "_MOST_NODES", count - 1)
    assert nodes_of(TEXT) is None


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("a = 1", {"a"}),
        ("a: int = 1\nb: int", {"a"}),
        ("a = b = 1\nc.d = 2", {"a", "b"}),
        ("a = 1\na = 2", set()),
        ("a = 1\na += 2", set()),
        ("a = 1\nfor a in b: pass", set()),
        ("def f(a): pass\na = 1", set()),
        ("a = 1\nwith f() as a: pass", set()),
        ("try: from b import a\nexcept ImportError: a = 1", set()),
        ("import c as a, b.c\na = b = 1\nc = 1", {"c"}),
    ],
)
def test_names_with_one_value(text: str, known: set[str]) -> None:
    nodes = nodes_of(text)
    assert nodes is not None
    assert set(single_values(nodes)) == known
