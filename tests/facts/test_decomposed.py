"""Tests of normalizations as several operators: their parts and similar graphs."""

# ruff: noqa: E501 - a graph in one line is read at once

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from tests.graphs import by_body, model_of_bodies
from trtlint.facts.blocks.decomposed import Decomposed, decomposed_norms
from trtlint.model.graph import Node

STORED = """float two = {2}, float three = {3}, float eps = {0.001}, float one = {1}, float half = {0.5},
float minus = {-0.5}, float[16] g = {}, float bessel = {1.0666667}, float[2,8,16] w = {}"""
VARIANCE = (
    "m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  s = Mul (c, c)  v = ReduceMean <axes = [-1]> (s)"
)
RMS = "s = Pow (x, two)  v = ReduceMean <axes = [2]> (s)"
END = "e = Add (v, eps)  r = Sqrt (e)"


def norms(*bodies: str) -> list[Decomposed]:
    inputs = "float[2,8,16] x, float[2,8,16] other, float[1] fed"
    model = model_of_bodies(bodies, inputs, STORED, '"" : 17, "my" : 1')
    return list(decomposed_norms(model.graph, model.constants))


def words(norm: Decomposed) -> str:
    """Return the parts of a normalization: its nodes by their first outputs."""

    def name(node: Node | None) -> str:
        return "-" if node is None else node.output.name

    nodes = (norm.mean, norm.centre, norm.square, norm.variance, norm.epsilon_node, norm.root, norm.divide)
    epsilon = "?" if norm.epsilon is None else f"{norm.epsilon:.4g}"
    flags = f"{'centred ' if norm.centred else ''}{'standard' if norm.standard else 'other'}"
    return f"{norm.family} of {norm.tensor.name}: {' '.join(map(name, nodes))}; {epsilon} {norm.axes} {flags}"


BODIES = (
    f"{VARIANCE}  {END}  y = Div (c, r)",
    f"{VARIANCE}  r = Sqrt (v)  y = Div (c, r)",
    f"{RMS}  {END}  y = Div (x, r)",
    f"{RMS}  {END}  i = Reciprocal (r)  y = Mul (x, i)",
    f"{RMS}  {END}  i = Reciprocal (r)  y = Mul (i, x)",
    f"{RMS}  {END}  i = Reciprocal (r)  j = Reciprocal (i)  y = Div (x, j)",
    f"{RMS}  {END}  i = Reciprocal (r)  y = Div (x, i)",
    f"{RMS}  {END}  i = Div (one, r)  y = Mul (x, i)",
    f"{RMS}  {END}  i = Div (one, r)  y = Div (x, i)",
    f"{RMS}  {END}  i = Div (r, two)  y = Div (x, i)",
    f"{RMS}  {END}  i = Mul (r, g)  y = Div (x, i)",
    f"{RMS}  {END}  i = Reciprocal (r)  j = Mul (g, i)  y = Mul (x, j)",
    f"{RMS}  {END}  y = Mul (x, r)",
    f"{RMS}  {END}  y = Div (r, x)",
    f"{RMS}  {END}  y = Sub (x, r)",
    f"{RMS}  {END}  y = my.Div (x, r)",
    f"{RMS}  {END}  y = Exp (r)",
    f"{RMS}  e = Add (eps, v)  r = Pow (e, half)  y = Div (x, r)",
    f"{RMS}  e = Add (v, eps)  r = Pow (e, minus)  y = Mul (x, r)",
    f"{RMS}  e = Add (v, eps)  r = Pow (e, minus)  y = Div (x, r)",
    f"{RMS}  e = Add (v, eps)  r = Pow (half, e)  y = Div (x, r)",
    f"{RMS}  e = Add (v, eps)  r = Pow (e, two)  y = Div (x, r)",
    f"{RMS}  e = Max (v, eps)  r = Sqrt (e)  y = Div (x, r)",
    f"{RMS}  e = Clip (v, eps)  r = Sqrt (e)  y = Div (x, r)",
    f"{RMS}  e = Clip (v)  r = Sqrt (e)  y = Div (x, r)",
    f"{RMS}  e = Add (v, fed)  r = Sqrt (e)  y = Div (x, r)",
    f"{RMS}  e = Exp (v)  r = Sqrt (e)  y = Div (x, r)",
    f"{RMS}  r = Sqrt (v)  e = Add (r, eps)  y = Div (x, e)",
    f"{RMS}  r = Sqrt (v)  e = Clip (r, eps)  y = Div (x, e)",
    f"{RMS}  r = Sqrt (v)  e = Max (eps, r)  y = Div (x, e)",
    f"{RMS}  r = Sqrt (v)  i = Reciprocal (r)  e = Add (i, eps)  y = Mul (x, e)",
    f"{RMS}  b = Mul (v, bessel)  {END.replace('(v', '(b')}  y = Div (x, r)",
    f"{RMS}  b = Mul (v, one)  {END.replace('(v', '(b')}  y = Div (x, r)",
    f"{RMS}  b = Mul (v, bessel)  b1 = Mul (b, one)  r = Sqrt (b1)  y = Div (x, r)",
    f"{RMS}  z = Cast <to = 1> (v)  r = Sqrt (z)  i = Identity (r)  y = Div (x, i)",
    f"{RMS}  m = ReduceMean <axes = [2]> (x)  q = Mul (m, m)  d = Sub (v, q)  r = Sqrt (d)  c = Sub (x, m)  y = Div (c, r)",
    f"{VARIANCE}  {END}  c1 = Sub (x, m)  y = Div (c1, r)",
    f"{VARIANCE.replace('Sub (x, m)', 'Sub (m, x)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Sub (x, m)', 'my.Sub (x, m)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Sub (x, m)', 'Add (x, m)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Sub (x, m)', 'Sub (x, other)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('m = ReduceMean <axes = [-1]> (x)', 'm = ReduceMax <axes = [-1]> (x)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Mul (c, c1)').replace('c = Sub (x, m)', 'c = Sub (x, m)  c1 = Sub (x, m)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Mul (c, c1)').replace('c = Sub (x, m)', 'c = Sub (x, m)  c1 = Sub (other, m)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Mul (c, c1)').replace('c = Sub (x, m)', 'c = Sub (x, m)  c1 = Add (x, m)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Mul (c, other)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Mul (other, x)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Add (c, c)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'my.Mul (c, c)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Pow (c, three)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('Mul (c, c)', 'Abs (c)')}  {END}  y = Div (c, r)",
    f"{VARIANCE.replace('s = Mul (c, c)', 'p = Mul (c, c)  s = Cast <to = 1> (p)')}  {END}  y = Div (c, r)",
    f"{RMS.replace('[2]', '[0, -1]')}  {END}  y = Div (x, r)",
    f"{RMS.replace(' <axes = [2]>', '')}  {END}  y = Div (x, r)",
    f"{RMS.replace('ReduceMean <axes = [2]>', 'GlobalAveragePool')}  {END}  y = Div (x, r)",
    f"s = Pow (w, two)  v = ReduceMean <axes = [2]> (s)  {END}  y = Div (x, r)",
    f"{RMS}  {END}  y = Div (x, r)  s1 = Mul (other, other)  v1 = ReduceMean <axes = [1]> (s1)  r1 = Sqrt (v1)  z = Div (other, r1)",
)  # fmt: skip


def test_the_parts_of_a_norm(snapshot: SnapshotAssertion) -> None:
    found = ((norm.divide.output.name, words(norm)) for norm in norms(*BODIES))
    assert by_body(found, BODIES) == snapshot


def test_axes_of_a_tensor_without_a_rank() -> None:
    reductions = (
        "ReduceMean <axes = [-1, -3]>",
        "ReduceMean <axes = [0, -1]>",
        "ReduceMean",
        "GlobalAveragePool",
    )
    found = norms(
        *(f"u = my.Odd (x)  s = Mul (u, u)  v = {reduce} (s)  {END}  y = Div (u, r)" for reduce in reductions)
    )
    assert [norm.axes for norm in found] == [(-1, -3), None, None, None]


def test_the_steps_of_a_norm(snapshot: SnapshotAssertion) -> None:
    bodies = (
        f"{VARIANCE}  {END}  y = Div (c, r)",
        f"{RMS}  r = Sqrt (v)  y = Div (x, r)",
        f"{RMS}  n = Shape (x)  f = Cast <to = 1> (n)  k = ReduceMax <keepdims = 0> (f)  e = Add (v, k)  r = Sqrt (e)  y = Div (x, r)",
    )
    found = [step for norm in norms(*bodies) for step in norm.steps()]
    assert [(step.node.output.name, step.role, step.detail, step.label) for step in found] == snapshot
