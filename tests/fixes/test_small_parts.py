"""Tests of small rewrite functions with complete results."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.fixes.proposing import proposed, small, spelled
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.fixes.patch import Patch
from trtlint.fixes.rewrites import _fractions, _fused_attention, decompose_attention, fuse_norm
from trtlint.fixes.rewrites._attention import AttentionBlock, block_of, letters
from trtlint.fixes.rewrites._forms import rank_of
from trtlint.fixes.rewrites._fractions import is_coarse
from trtlint.model.graph import Value
from trtlint.model.load import Model


def value(model: Model, name: str = "y") -> Value:
    """Return a tensor of a model."""
    found = model.graph.resolve(name)
    assert found is not None
    return found


RANKS = {
    "y = Neg (x)": 2,
    "y = my.Neg (x)": None,
    "t = my.Size (x)  y = Reshape (x, t)": None,
    "y = Reshape (u, sizes)": 3,
    "y = Reshape (u, dims)": None,
    "y = Reshape (u, many)": None,
    "y = my.Reshape (u, sizes)": None,
    "y = Transpose <perm = [2, 0, 1]> (u)": 3,
    "y = Transpose (u)": None,
    "y = Sqrt (u)": None,
    "r = Reshape (u, sizes)  s = Softmax (r)  y = Sqrt (s)": 3,
    "r = Reshape (u, sizes)  y = my.Sqrt (r)": None,
    "r = Reshape (u, sizes)  y = Gather (r, x)": 4,
    "r = Reshape (u, sizes)  y = Gather (r, u)": None,
    "y = Gather (u, x)": None,
}


@pytest.mark.parametrize("body", RANKS)
def test_the_rank_of_a_computed_value(body: str) -> None:
    text = f"""(float[2,3] x, int64[3] sizes, int64[N] dims, int64[3,1] many) => (float z)
    {{ u = my.Op (x)  {body}  z = my.Op (y) }}"""
    assert rank_of(value(small(text))) == RANKS[body]


@pytest.mark.parametrize("step", ["Sqrt (v%d)", "Gather (x, v%d)", "Gather (v%d, i)"])
@pytest.mark.parametrize(("steps", "rank"), [(1, 3), (32, 3), (33, None)])
def test_a_rank_is_followed_through_32_operators(step: str, steps: int, rank: int | None) -> None:
    chain = "  ".join(f"v{i + 1} = {step % i}" for i in range(steps))
    text = f"(float[2] x, int64[3] n, int64[1] i) => (float z) {{ u = my.Op (x)  v0 = Reshape (u, n)  {chain}"
    assert rank_of(value(small(f"{text}  z = my.Op (v{steps}) }}"), f"v{steps}")) == rank


COARSE = {
    "y = Identity (x)": False,
    "y = Cast <to = 1> (n)": True,
    "y = Cast <to = 7> (x)": True,
    "y = Sub (one, x)": True,
    "y = Sub (x, one)": False,
    "y = Sub (two, x)": False,
    "y = Sub (one64, d)": False,
    "y = my.Sub (one, x)": False,
    "y = Add (one, x)": False,
    "y = Add (one, two)": True,
    "c = Cast <to = 1> (n)  y = Mul (c, two)": True,
    "c = Cast <to = 1> (n)  y = Mul (c, half)": False,
    "c = Cast <to = 1> (n)  y = my.Mul (c, two)": False,
    "c = Cast <to = 1> (n)  y = Div (c, two)": False,
    "c = Cast <to = 1> (n)  y = Sub (two, c)": True,
    "c = Cast <to = 1> (n)  y = Where (b, c, two)": True,
    "c = Cast <to = 1> (n)  y = Where (b, c, x)": False,
    "c = Cast <to = 1> (n)  y = Where (b, x, c)": False,
    "y = Cast <to = 1> (b)": True,
    "y = Gather (whole, n)": True,
    "y = Gather (broken, n)": False,
    "y = Reshape (whole, n)": True,
    "y = Tile (x, n)": False,
}


@pytest.mark.parametrize("body", COARSE)
def test_tensors_without_small_fractions(body: str) -> None:
    text = f"""(float[3] x, int64[3] n, bool[3] b, double[3] d) => (float[A] y)
    < float one = {{1}}, float two = {{2}}, float half = {{0.5}}, float[3] whole = {{1, -7, 0}},
      float[3] broken = {{1, 2.5, 0}}, double one64 = {{1}} > {{ {body} }}"""
    model = small(text)
    assert is_coarse(value(model), model.constants) is COARSE[body]


@pytest.mark.parametrize(("steps", "coarse"), [(_fractions.DEEPEST, True), (_fractions.DEEPEST + 1, False)])
def test_whole_numbers_are_followed_so_far(steps: int, coarse: bool) -> None:
    chain = "  ".join(f"v{i + 1} = Neg (v{i})" for i in range(steps - 1))
    model = small(
        f"(int64[3] n) => (float[3] y) {{ v0 = Cast <to = 1> (n)  {chain}  y = Neg (v{steps - 1}) }}"
    )
    last = value(model, f"v{steps - 1}")
    assert is_coarse(last, model.constants) is coarse


def test_large_tensors_are_not_searched_for_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small("(float[3] x) => (float[3] y) < float[3] w = {1, 2, 3} > { y = Add (x, w) }")
    monkeypatch.setattr(_fractions, "MOST_ELEMENTS", 3)
    assert is_coarse(value(model, "w"), model.constants)
    monkeypatch.setattr(_fractions, "MOST_ELEMENTS", 2)
    assert not is_coarse(value(model, "w"), model.constants)


@pytest.mark.parametrize(
    ("equation", "found"),
    [
        ("bhqd,bhkd->bhqk", ("bhqd", "bhkd", "bhqk")),
        ("b h q d, b h k d -> b h q k", ("bhqd", "bhkd", "bhqk")),
        ("...qd,...kd->...qk", None),
        ("bhqd,bhkd", None),
        ("bhqd->bhdq", None),
        ("qd,kd,kv->qv", None),
        ("qq,kd->qk", None),
        ("", None),
    ],
)
def test_axis_letters(equation: str, found: tuple[str, str, str] | None) -> None:
    model = small(f'(float x) => (float y) {{ y = Einsum <equation = "{equation}"> (x, x) }}')
    assert letters(model.graph.nodes[0]) == found


def block(first: str, last: str) -> AttentionBlock:
    """Return the attention of two products."""
    model = small(f"""(float[2,4,6,8] q, float[2,4,6,8] k, float[2,4,6,8] v) => (float[A] y) {{
    t = Transpose <perm = [0, 1, 3, 2]> (k)  a = {first}  p = Softmax <axis = -1> (a)  y = {last} }}""")
    (fact,) = Facts(model).of("attention")
    return block_of(fact, model)


@pytest.mark.parametrize(
    ("first", "ports", "features"),
    [
        ("MatMul (q, t)", (0, 1), (-1, -2)),
        ('Einsum <equation = "bhqd,bhkd->bhqk"> (q, k)', (0, 1), (3, 3)),
        ('Einsum <equation = "bhqd,bhdk->bhqk"> (q, t)', (0, 1), (3, 2)),
        ('Einsum <equation = "bhkd,bhqd->bhqk"> (k, q)', (1, 0), (3, 3)),
        ('Einsum <equation = "bhdk,bhqd->bhqk"> (t, q)', (1, 0), (3, 2)),
    ],
)
def test_the_axes_that_q_and_k_are_summed_over(
    first: str, ports: tuple[int, int], features: tuple[int, int]
) -> None:
    found = block(first, "MatMul (p, v)")
    assert (found.ports, found.features) == (ports, features)
    assert [found.product.inputs[port] for port in ports] == [
        found.path.product.query,
        found.path.product.key,
    ]


@pytest.mark.parametrize(
    ("last", "features"),
    [
        ("MatMul (p, v)", (-1, -1)),
        ('Einsum <equation = "bhqk,bhkd->bhqd"> (p, v)', (3, 3)),
        ('Einsum <equation = "bhkd,bhqk->bhqd"> (v, p)', (3, 3)),
        ('Einsum <equation = "bhqk,bhkd->bqhd"> (p, v)', (3, 3)),
        ('Einsum <equation = "bhqk,bhkd->bhdq"> (p, v)', (3, 2)),
    ],
)
def test_the_feature_axis_of_v(last: str, features: tuple[int, int]) -> None:
    assert block("MatMul (q, t)", last).value_features == features


NORM = """(float[2,8] x, float[2,8] z, float[2,1] o) => (float[2,8] y)
< float one = {1}, float two = {2}, float half = {0.5}, float eps = {0.25} >
{ %s }"""
RMS = "s = Mul (x, x)  v = ReduceMean <axes = [-1]> (s)  e = Add (v, eps)  r = Sqrt (e)  y = Div (x, r)"
LAYER = f"m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  {RMS.replace('(x', '(c').replace('x)', 'c)')}"
DIFFERENCES = "a = Sub (x, z)  b = Sub (x, o)  " + RMS.replace("Mul (x, x)", "Mul (a, b)").replace(
    "Div (x", "Div (a"
)
ROOTS = "r = Sqrt (e)  y = Div (x, r)"
ROOTS_C = ROOTS.replace("x", "c")
INVERSE = "q = Sqrt (e)  r = Reciprocal (q)  y = Mul (x, r)"
ONES = "1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0"
IS_RMS = f"y = RMSNormalization <axis = -1, epsilon = 0.25> (x, [{ONES}])"
IS_LAYER = f"y = LayerNormalization <axis = -1, epsilon = 0.25> (x, [{ONES}])"
NOT_RMS = "the norm does not exactly match RMSNormalization"
NOT_LAYER = "the norm does not exactly match LayerNormalization"


@pytest.mark.parametrize(
    ("base", "old", "new", "written"),
    [
        (RMS, "", "", IS_RMS),
        (RMS, "Mul (x, x)", "Pow (x, two)", IS_RMS),
        (RMS, "Add (v, eps)", "Add (eps, v)", IS_RMS),
        (RMS, ROOTS, INVERSE, IS_RMS),
        (RMS, ROOTS, INVERSE.replace("(x, r)", "(r, x)"), IS_RMS),
        (RMS, ROOTS, INVERSE.replace("Reciprocal (q)", "Div (one, q)"), IS_RMS),
        (RMS, ROOTS, INVERSE.replace("Reciprocal (q)", "Div (two, q)"), NOT_RMS),
        (RMS, ROOTS, INVERSE.replace("(x, r)", "(z, r)"), NOT_RMS),
        (RMS, f"Add (v, eps)  {ROOTS}", f"Max (v, eps)  {INVERSE}", NOT_RMS),
        (RMS, "e = Add (v, eps)  r = Sqrt (e)", "r = Sqrt (v)", IS_RMS.replace("0.25", "0.0")),
        (RMS, "Div (x, r)", "Div (z, r)", NOT_RMS),
        (RMS, "Add (v, eps)", "Max (v, eps)", NOT_RMS),
        (RMS, "Sqrt (e)", "Pow (e, half)", NOT_RMS),
        (RMS, "axes = [-1]", "axes = [-1], keepdims = 0", NOT_RMS),
        (RMS, "s = Mul (x, x)", "a = Sub (x, z)  b = Sub (x, o)  s = Mul (a, b)", NOT_RMS),
        (RMS, "", DIFFERENCES, NOT_RMS),
        (LAYER, "", "", IS_LAYER),
        (LAYER, "Mul (c, c)", "Pow (c, two)", IS_LAYER),
        (LAYER, "s = Mul (c, c)", "d = Sub (x, m)  s = Mul (d, c)", IS_LAYER),
        (LAYER, ROOTS_C, f"d = Sub (x, m)  {ROOTS_C.replace('Div (c', 'Div (d')}", IS_LAYER),
        (LAYER, ROOTS_C, INVERSE.replace("x", "c"), IS_LAYER),
        (LAYER, ROOTS_C, INVERSE.replace("(x, r)", "(r, c)"), IS_LAYER),
        (LAYER, ROOTS_C, INVERSE.replace("Reciprocal (q)", "Div (one, q)").replace("x", "c"), NOT_LAYER),
        (LAYER, "e = Add (v, eps)  r = Sqrt (e)", "r = Sqrt (v)", IS_LAYER.replace("0.25", "0.0")),
        (LAYER, "Add (v, eps)", "Max (v, eps)", NOT_LAYER),
        (LAYER, "Sqrt (e)", "Pow (e, half)", NOT_LAYER),
        (LAYER, "Div (c, r)", "Div (x, r)", NOT_LAYER),
        (LAYER, "m = ReduceMean <axes = [-1]> (x)", "m = ReduceMean <axes = [-1]> (z)", NOT_LAYER),
        (LAYER, "m = ReduceMean <axes = [-1]>", "m = ReduceMean <axes = [-1], keepdims = 0>", NOT_LAYER),
        (LAYER, "v = ReduceMean <axes = [-1]>", "v = ReduceMean <axes = [-1], keepdims = 0>", NOT_LAYER),
        (LAYER, "axes = [-1]", "axes = [0]", "the norm covers axes other than the last axis"),
    ],
)
def test_only_an_exact_norm_is_fused(base: str, old: str, new: str, written: str) -> None:
    assert old in base
    model = small(NORM % (base.replace(old, new) if old else new or base), 17)
    (fact,) = Facts(model).of("normalization")
    assert spelled(proposed("fuse-norm", fact, model)) == written


QKV = "(float[2,3,8] q, float[2,5,8] k, float[2,5,8] v) => (float[2,3,8] y)"


@pytest.mark.parametrize(
    ("module", "rewrite", "text", "elements"),
    [
        (fuse_norm, "fuse-norm", NORM % RMS, 8),
        (
            _fused_attention,
            "write-out-fused",
            f"{QKV} {{ y = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v) }}",
            15,
        ),
        (
            decompose_attention,
            "decompose-attention",
            f"{QKV} {{ y = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, v) }}",
            15,
        ),
    ],
    ids=["norm", "fused attention", "attention"],
)
def test_a_large_constant_is_not_written(
    module: ModuleType, rewrite: str, text: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(text, 23 if rewrite == "decompose-attention" else 17)
    facts = (*Facts(model).of("normalization"), Fact(node=value(model).producer))
    monkeypatch.setattr(module, "MOST_ELEMENTS", elements)
    assert isinstance(proposed(rewrite, facts[0], model), Patch)
    monkeypatch.setattr(module, "MOST_ELEMENTS", elements - 1)
    refused = proposed(rewrite, facts[0], model)
    assert f"more than {elements - 1} elements" in str(refused)
