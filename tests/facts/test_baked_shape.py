"""Tests of constants from the export in place of a dynamic dimension."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.graphs import facts_of, model_of
from tests.sampling import sample
from trtlint.buildcommand.scan import read_commands
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.baked_shape import BakedShape
from trtlint.model.load import load


def baked(facts: Facts) -> list[BakedShape]:
    return [fact for fact in facts.of("baked_shape") if isinstance(fact, BakedShape)]


def text(body: str, target: str = "1", shape: str = "n,4,6", extra: str = "") -> str:
    count = target.count(",") + 1
    return f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[{shape}] x) => (float[A] y)
    < int64[{count}] t = {{{target}}}{extra} >
    {{ {body} }}
    """


def told(body: str, target: str = "1", shape: str = "n,4,6", extra: str = "") -> list[tuple[object, ...]]:
    facts = baked(facts_of(text(body, target, shape, extra)))
    return [(fact.op, fact.dimension, fact.axis, fact.effect, fact.size) for fact in facts]


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        # Nothing is left for another size.
        ("n,4,6", "2, 4, 6", [("n", 0, "fixed", 2)]),
        ("n,4,6", "2, 24", [("n", 0, "fixed", 2)]),
        ("n,4,6", "48", [("n", 0, "fixed", 2)]),
        ("n,4,6", "2, 0, 6", [("n", 0, "fixed", 2)]),
        ("n,l,768", "3, 5, 768", [("n", 0, "fixed", None), ("l", 1, "fixed", None)]),
        ("n,l,768", "-1, 128, 12, 64", [("l", 1, "mixed", 128)]),
        ("n,l,768", "4, -1, 12, 64", [("n", 0, "mixed", 4)]),
        # What another size has more goes to the wildcard.
        ("n,4,6,6", "1, 4, -1", [("n", 0, "mixed", 1)]),
        ("n,4,6,6", "2, 4, -1", [("n", 0, "mixed", 2)]),
        ("n,512,1,1", "1, -1", [("n", 0, "mixed", 1)]),
        # The dimension is copied, or whole, or split into two.
        ("n,4,6", "-1, 4, 6", []),
        ("n,4,6", "0, 24", []),
        ("n,4,6", "-1, 6", []),
        ("n,4,6", "1, -1, 4, 6", []),
        ("n,4,6", "2, -1, 4, 6", []),
        ("n,l,768", "0, -1, 12, 64", []),
        ("n,4", "1, -1", []),
        ("2,4,6", "48", []),
        ("n,4,6", "2, 4, 6, 0", []),
    ],
)
def test_reshape(shape: str, target: str, expected: list[tuple[object, ...]]) -> None:
    assert told("y = Reshape (x, t)", target, shape) == [("Reshape", *entry) for entry in expected]


def test_a_target_that_reads_the_size_is_not_stored() -> None:
    body = "s = Shape <end = 1> (x) u = Concat <axis = 0> (s, t) y = Reshape (x, u)"
    assert told(body, "24") == []


def test_expand() -> None:
    assert told("y = Expand (x, t)", "2, 4, 6") == [("Expand", "n", 0, "fixed", 2)]
    assert told("y = Expand (x, t)", "3, 1, 1, 1", "n,1,6") == []


def test_a_stored_tensor_repeated_for_the_traced_batch() -> None:
    stored = ", float[1,1,6] c = {1, 2, 3, 4, 5, 6}"
    body = "e = Tile (c, t) y = Concat <axis = 1> (e, x)"
    (fact,) = baked(facts_of(text(body, "8, 1, 1", extra=stored)))
    assert (fact.op, fact.dimension, fact.effect, fact.size, fact.target) == (
        "Concat", "n", "fixed", 8, (8, 1, 6),
    )  # fmt: skip
    assert [(step.role, step.node.op) for step in fact.chain] == [("stored", "Tile"), ("operator", "Concat")]


def test_a_stored_token_joined_with_a_batch() -> None:
    stored = ", float[1,1,6] c = {1, 2, 3, 4, 5, 6}"
    assert told("y = Concat <axis = 1> (c, x)", extra=stored) == [("Concat", "n", 0, "fixed", 1)]
    assert told("y = Concat <axis = 0> (c, x)", shape="n,1,6", extra=stored) == []


def test_a_stored_table_as_long_as_the_traced_sequence() -> None:
    stored = ", float[1,4,6] c = {}"
    assert told("y = Add (x, c)", shape="n,l,6", extra=stored) == [("Add", "l", 1, "fixed", 4)]
    # One row, or one for every position of a fixed length, is broadcast.
    assert told("y = Add (x, c)", extra=stored) == []


def test_sizes_of_the_build_command() -> None:
    model = model_of(text("y = Reshape (x, t)", "2, 4, 6"))
    (command,) = read_commands(
        "trtexec --onnx=m.onnx --minShapes=x:1x4x6 --optShapes=x:2x4x6 --maxShapes=x:8x4x6"
    )
    (fact,) = baked(Facts(model, command=command))
    assert fact.built == (1, 2, 8)
    (fact,) = baked(Facts(model))
    assert fact.built == ()


MANY = """< ir_version: 8, opset_import: ["" : 17, "my" : 1] >
g (float[4,6] fixed, float[n,l,6] x, float[n,3,l] z, int64[3] sizes) => (float[A,B,C] y)
< int64[3] whole = {2, 5, 6}, int64[3] all = {0, 5, 6}, int64[2] flat = {1, -1}, int64[3] rows = {3, 1, 6},
  float[1,5,6] table = {}, float[5,6] low = {}, float[1,1,6] token = {}, int64[3] empty = {0, 0, 7} >
{
  a = Reshape (x, sizes)
  b = Reshape (fixed, flat)
  c = my.Reshape (x, whole)
  d = Add (x, x)
  e = Reshape (x, whole)
  f = Reshape (x, all)
  g = Reshape (z, flat)
  h = Mul (low, x)
  i = Expand (x, rows)
  j = Tile (token, rows)
  k = Where (d, j, x)
  l = Concat <axis = -2> (token, x)
  m = Concat <axis = 2> (x, table)
  n = Sub (x, token)
  o = my.Add (x, table)
  p = Reshape (x, empty)
  q = Reshape <allowzero = 1> (x, empty)
  r = Reshape <allowzero = 1> (x, whole)
  y = Div (x, table)
}"""


def test_all_places_of_a_model() -> None:
    (command,) = read_commands("trtexec --onnx=m.onnx --minShapes=x:1x4x6,z:1x3x4 --maxShapes=x:9x8x6")
    found = baked(Facts(model_of(MANY), command=command))
    batch, length = ("n", (1, 9)), ("l", (4, 8))
    assert [
        (
            fact.node and fact.node.output.name,
            (fact.dimension, fact.built),
            fact.effect,
            fact.size,
            fact.target,
        )
        for fact in found
    ] == [
        ("e", batch, "fixed", None, (2, 5, 6)),
        ("e", length, "fixed", None, (2, 5, 6)),
        ("g", batch, "mixed", 1, (1, -1)),
        ("h", length, "fixed", 5, (5, 6)),
        ("i", batch, "fixed", 3, (3, 1, 6)),
        ("k", batch, "fixed", 3, (3, 1, 36)),
        ("l", batch, "fixed", 1, (1, 1, 6)),
        ("m", length, "fixed", 5, (1, 5, 6)),
        ("m", batch, "fixed", 1, (1, 5, 6)),
        ("r", batch, "fixed", None, (2, 5, 6)),
        ("r", length, "fixed", None, (2, 5, 6)),
        ("y", length, "fixed", 5, (1, 5, 6)),
    ]
    assert {(fact.dimension, fact.input, fact.axis) for fact in found} == {("n", "x", 0), ("l", "x", 1)}
    label = "has the traced size"
    for fact in found:
        roles = [(step.role, step.node.op, step.label) for step in fact.chain]
        if fact.op == "Where":
            assert roles == [("stored", "Tile", label), ("operator", "Where", "joined here")]
        elif fact.effect == "fixed":
            assert roles == [("operator", fact.op, label)]


def test_a_zero_that_means_no_elements() -> None:
    body, shape = "y = Reshape (x, t)", "4,n,6"
    assert told(body, "0, 5, 6", shape) == [("Reshape", "n", 1, "fixed", 5)]
    zero = body.replace("Reshape", "Reshape <allowzero = 1>")
    assert told(zero, "0, 5, 6", shape) == []
    assert told(zero, "4, 5, 6", shape) == [("Reshape", "n", 1, "fixed", 5)]


@pytest.mark.slow
def test_exported_models_with_dynamic_sizes_have_none(exported: Path) -> None:
    for path in sample(sorted(exported.glob("*__fp32.onnx"))):
        assert not baked(Facts(load(path))), path.stem


def test_static_exports_whose_batch_was_renamed(exported: Path, tmp_path: Path) -> None:
    """Users rename the batch to get a dynamic batch."""
    expected = {
        "attn_sdpa_static__ts__op17__fp32": ("Reshape", "fixed", 2),
        "bert_sdpa_nomask_static__dynamo__op20__fp16": ("Add", "fixed", 2),
        "guided_diffusion_static__ts__op17__fp32": ("Reshape", "mixed", 2),
        "conv_weight_input__ts__op17__fp32": None,
        "t5_encoder_static__ts__op17__fp32": None,
    }
    for name, first in expected.items():
        model = onnx.load(exported / f"{name}.onnx")
        for value in model.graph.input:
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        del model.graph.value_info[:]
        onnx.save(model, tmp_path / f"{name}.onnx")
        found = baked(Facts(load(tmp_path / f"{name}.onnx")))
        assert [(fact.op, fact.effect, fact.size) for fact in found[:1]] == ([] if first is None else [first])
