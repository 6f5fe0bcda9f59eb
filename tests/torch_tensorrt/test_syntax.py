"""Tests of script parsing within limits, and of imports."""

from __future__ import annotations

import ast

import pytest

from trtlint.torch_tensorrt import syntax
from trtlint.torch_tensorrt.modules import module_classes
from trtlint.torch_tensorrt.syntax import PythonScriptError, expected_to_fail, imports_of, parsed, too_deep


@pytest.mark.parametrize(
    ("text", "source", "words"),
    [
        ("a\0", "s.py", "s.py: not a Python script: it contains a null byte"),
        ("a\0", "", "--build: not a Python script: it contains a null byte"),
        ("a = 1\nb = ", "s.py", "s.py: line 2 is not valid Python: invalid syntax"),
        (
            f"\n{'[' * 151}{']' * 151}",
            "s.py",
            "s.py: line 2 has more than 150 nested brackets; assign the inner parts to variables",
        ),
    ],
)
def test_texts_that_are_no_scripts(text: str, source: str, words: str) -> None:
    with pytest.raises(PythonScriptError) as error:
        parsed(text, source)
    assert str(error.value) == words


def test_brackets_up_to_the_limit() -> None:
    assert isinstance(parsed("(" * 150 + "1" + ")" * 150, "s.py").body[0], ast.Expr)


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(list(ast.walk(ast.parse("a = 1"))))
    monkeypatch.setattr(syntax, "_MOST_NODES", count - 1)
    parsed("a = 1", "s.py")
    monkeypatch.setattr(syntax, "_MOST_NODES", count - 2)
    with pytest.raises(PythonScriptError) as error:
        parsed("a = 1", "s.py")
    assert str(error.value) == (
        f"s.py: the script has more than {count - 2} syntax nodes; "
        "move the calls of Torch-TensorRT to a smaller file"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n" + "b" * 1000 + "\n" + "c" * 999, 2),
        ("a" * 1000 + "\n" + "b" * 1001, 2),
        ("a" * 1000 + "\n" + "b" * 1000, 1),
        ("a" * 999, None),
        ("", None),
    ],
)
def test_the_line_that_is_probably_too_deep(text: str, line: int | None) -> None:
    words = "the script is nested too deeply for Python; split long expressions and chains of elif"
    if line is not None:
        words = (
            f"an expression is nested too deeply for Python, probably in line {line}; "
            "split the expression into several statements"
        )
    assert str(too_deep(text, "s.py")) == f"s.py: {words}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("with pytest.raises(E):\n  f()\n  g(h())\nk()", {"f", "g", "h"}),
        ("with self.assertRaises(E):\n  f()", {"f"}),
        ("with a(), self.assertRaisesRegex(E):\n  f()", {"f"}),
        ("with raises(E):\n  f()", set()),
        ("with a.b.raises(E):\n  f()", set()),
        ("with pytest.warns(E):\n  f()", set()),
        ("with pytest.raises:\n  f()", set()),
    ],
)
def test_calls_that_are_expected_to_fail(text: str, names: set[str]) -> None:
    tree = ast.parse(text)
    found = expected_to_fail(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert {ast.unparse(call.func) for call in calls if id(call) in found} == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b", {"a": "a"}),
        ("import a.b as c, d", {"c": "a.b", "d": "d"}),
        ("from a.b import c, d as e", {"c": "a.b.c", "e": "a.b.d"}),
        ("from . import c\nfrom .a import d", {}),
        ("def f():\n  import a", {"a": "a"}),
        ("import a as b\nimport c as b", {"b": "c"}),
    ],
)
def test_names_of_imports(text: str, names: dict[str, str]) -> None:
    assert imports_of(ast.parse(text)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A(nn.Module): pass", {"A"}),
        ("class A(x.B, nn.Module): pass", {"A"}),
        ("class A(nn.Module): pass\nclass B(A): pass\nclass C(B): pass", {"A", "B", "C"}),
        ("class A: pass\nclass B(A): pass", set()),
        ("class A(nn.Linear): pass", set()),
        ("class A(nn.Module): pass\nclass A(nn.Module): pass", set()),
        ("class nn(nn.Module): pass", set()),
        ("class A(nn.Module):\n  def __new__(cls): pass", set()),
        ("class A(nn.Module):\n  def __init__(cls): pass", {"A"}),
        ("@final\nclass A(nn.Module): pass", set()),
        ("def f():\n  class A(nn.Module): pass", {"A"}),
    ],
)
def test_classes_of_modules(text: str, names: set[str]) -> None:
    assert module_classes(ast.parse(text), {"nn": "torch.nn"}) == names
