"""Tests of onnx-graphsurgeon scripts, call by call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.fixes.proposing import small
from trtlint.fixes import surgeon
from trtlint.fixes.patch import Draft, NotApplicable

MODEL = """(float[2,4] x, bool c) => (float[A] y) < float w = {2} >
{ a = Mul (x, w)  b = Neg (a)
  y = If (c) < then_branch = t () => (float[2,4] n) { n = Neg (b) },
               else_branch = e () => (float[2,4] o) { o = Abs (b) } > }"""


@pytest.mark.parametrize(
    ("words", "escaped"),
    [("model.onnx", "model.onnx"), ('a"b', r"a\"b"), ("a'b", "a'b"), ("a\nb\\", r"a\nb\\"), ("", "")],
)
def test_text_in_scripts_is_escaped(words: str, escaped: str) -> None:
    assert surgeon._inside(words) == escaped


@pytest.mark.parametrize(
    ("array", "written"),
    [
        (np.zeros(8, np.float32), f"array([{', '.join(['0.0'] * 8)}], 'float32').reshape((8,))"),
        (np.arange(9).reshape(3, 3), "array([0, 1, 2, 3, 4, 5, 6, 7, 8], 'int64').reshape((3, 3))"),
        (np.array(True), "array([True], 'bool').reshape(())"),
        (np.array([np.inf, -np.inf], np.float16), "array([inf, -inf], 'float16').reshape((2,))"),
    ],
)
def test_arrays_in_scripts(array: Any, written: str) -> None:
    assert surgeon._array(numpy_helper.from_array(array)) == written


@pytest.mark.parametrize(
    ("setting", "written"),
    [
        (2, "2"),
        (0.5, "0.5"),
        ("linear", "'linear'"),
        ([1, 2], "[1, 2]"),
        (["a", "b"], "[b'a', b'b']"),
        (
            numpy_helper.from_array(np.array([3, 4])),
            "gs.Constant('value', array([3, 4], 'int64').reshape((2,)))",
        ),
    ],
)
def test_attributes_in_scripts(setting: Any, written: str) -> None:
    assert surgeon._value(helper.make_attribute("a", setting)) == written


def test_each_part_of_a_patch_is_an_argument() -> None:
    model = small(MODEL)
    first, second, *_ = model.graph.nodes
    draft = Draft(model, first)
    draft.constant(np.array([1.5], np.float32), out="more")
    draft.op("Add", "x", "more", None, out="a", axis=1, mode="sum")
    draft.insert(helper.make_node("Gelu", ["a"], ["c"], "gelu", domain="com.microsoft"))
    every = draft.patch('adds "more"', [first], rewire=[(second, 0, "c"), (second, 1, "x")], opset=18)
    assert (
        surgeon._call(every)
        == r"""
# adds \"more\"
rewrite(
    remove=[
        'a',
    ],
    constants=[
        ('more', array([1.5], 'float32').reshape((1,))),
    ],
    add=[
        ('Add', 'Mul_0/Add', '', {'axis': 1, 'mode': 'sum'}, ['x', 'more', ''], ['a']),
        ('Gelu', 'gelu', 'com.microsoft', {}, ['a'], ['c']),
    ],
    replace_inputs=[
        ('b', 0, 'c'),
        ('b', 1, 'x'),
    ],
    opset=max(graph.opset, 18),
)
"""
    )
    assert (
        surgeon._call(Draft(model, first).patch("removes", [first, second]))
        == """
# removes
rewrite(
    remove=[
        'a',
        'b',
    ],
)
"""
    )
    lower: Any = SimpleNamespace(
        title="lowers", touched=(), initializers=(), remove=(), insert=(), rewire=(), set_opset=17, opset=0
    )
    assert surgeon._call(lower) == "\n# lowers\nrewrite(\n    opset=17,\n)\n"


@pytest.mark.parametrize(("most", "fits"), [(6, True), (5, False)])
def test_large_tensors_are_not_written_into_scripts(
    most: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(MODEL)
    draft = Draft(model, model.graph.nodes[0])
    draft.constant(np.ones((2, 3), np.float32), out="w2")
    patch = draft.patch("stores", model.graph.nodes[:1])
    monkeypatch.setattr(surgeon, "_MOST_ELEMENTS", most)
    if fits:
        assert "('w2', array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 'float32').reshape((2, 3)))" in surgeon._call(
            patch
        )
        return
    with pytest.raises(NotApplicable, match=r"^stores: a new tensor has more than 5 elements$"):
        surgeon._call(patch)


def test_bodies_are_not_written_into_scripts() -> None:
    model = small(MODEL)
    inner = next(node for node in model.graph.nodes if node.scope)
    with pytest.raises(
        NotApplicable, match=r"^removes: the script cannot change an If, a loop or their bodies$"
    ):
        surgeon._call(Draft(model, inner).patch("removes", [model.graph.nodes[0], inner]))
    (choice,) = model.graph.by_op("If")
    draft = Draft(model, choice)
    draft.again(choice, ["c"], ["y"])
    with pytest.raises(
        NotApplicable, match=r"^copies: the script cannot change an If, a loop or their bodies$"
    ):
        surgeon._call(draft.patch("copies", [choice]))


def test_scripts_of_several_rounds() -> None:
    model = small(MODEL)
    first, second, *_ = model.graph.nodes
    patches = [Draft(model, node).patch(f"removes {node.op}", [node]) for node in (first, second)]
    outcome: Any = SimpleNamespace(
        before=SimpleNamespace(model=SimpleNamespace(calls=())),
        rounds=[(None, (patches[0],)), (None, ()), (None, (patches[1],))],
    )
    text = surgeon.script(outcome, 'm".onnx', "s.py")
    head, *calls = text.split("\n# ")
    assert head.startswith(
        '''"""Rewrites of m\\".onnx by trtlint fix, for new exports: python s.py model.onnx'''
    )
    assert [call.partition("\n")[0] for call in calls] == ["removes Mul", "removes Neg"]
    assert text.endswith(")\n\ngraph.cleanup().toposort()\nonnx.save(gs.export_onnx(graph), sys.argv[2])\n")
    outcome.before.model.calls = ("f",)
    with pytest.raises(NotApplicable, match="calls model-local functions, which the script cannot inline"):
        surgeon.script(outcome, "m.onnx", "s.py")


def test_a_node_is_named_by_its_first_output_with_a_name() -> None:
    model = small('(float[2,4] x) => (float[A] y) { "", y = Split <axis = 0> (x) }')
    node = model.graph.nodes[0]
    assert "remove=[\n        'y',\n    ]" in surgeon._call(Draft(model, node).patch("removes", [node]))
