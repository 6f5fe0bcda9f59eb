"""Tests of rewrites from refused forms to equivalent accepted forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, fixed, ops
from tests.fixes.proposing import outcome
from trtlint.examples.models import model_of_text

HEAD = '< ir_version: 8, opset_import: ["" : {opset}] > g '
RNG = np.random.default_rng(4)
RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")


def model_of(text: str, folder: Path, opset: int = 17, *, checked: bool = True) -> onnx.ModelProto:
    path = folder / "source.onnx"
    model_of_text(HEAD.format(opset=opset) + text, path, checked=checked)
    return onnx.load(path)


def uniform(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


POLICY = """(float[3,1,4] x, float[1,12,4] w, float[1,12,4] r) => (float[1,1,4] y) {{
    s, h = GRU <hidden_size = 4> (x, w, r)
    a = Elu {0} (h)
    b = Neg (a)
    c = Elu {0} (b)
    y = {1} (c) }}"""


@pytest.mark.parametrize("alpha", ["", "<alpha = 0.3>", "<alpha = 2.5>"])
def test_a_second_elu_behind_a_recurrence_is_a_selu(alpha: str, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model_of(POLICY.format(alpha, "Neg"), tmp_path), *RTX)
    assert ops(after) == ["GRU", "Elu", "Neg", "Selu", "Neg"]
    feeds = {"x": uniform(3, 1, 4), "w": uniform(1, 12, 4), "r": uniform(1, 12, 4)}
    assert_same(before, after, feeds, rtol=1e-6 if alpha else 0)


def test_one_elu_behind_a_recurrence_stays(tmp_path: Path) -> None:
    text = POLICY.format("", "Neg").replace("c = Elu", "c = Tanh")
    assert fixed(tmp_path, model_of(text, tmp_path), *RTX)[1] is None


BRANCH = """(float[2] x, float[3,2] z, bool c) => (float[2] y) < int64 n = {{3}}, bool t = {{1}} > {{
    y = If (c) <then_branch = a () => (float[2] p) {{ {0} }},
                else_branch = b () => (float[2] q) {{ q = Abs (x) }}> }}"""
LOOP = """p, one, two = Loop (n, t, x) <body = d (int64 i, bool go, float[2] v)
    => (bool again, float[2] w, float[2] s, float[2] u)
    {{ again = Identity (go) w = Neg (v) s = Abs (v) u = Exp (v) }}>"""
SCAN = """p, one = Scan <num_scan_inputs = 1, scan_output_axes = [0], body = d (float[2] v, float[2] o)
    => (float[2] w, float[2] s) {{ w = Mul (v, o) s = Abs (w) }}> (x, z)"""


@pytest.mark.parametrize("nodes", [LOOP, SCAN], ids=["Loop", "Scan"])
def test_what_a_loop_in_a_branch_stacks_for_nobody_is_left_out(nodes: str, tmp_path: Path) -> None:
    model = model_of(BRANCH.format(nodes.format()), tmp_path)
    before, after = fixed(tmp_path, model, *RTX)
    assert after is not None
    (loop,) = after.graph.node[0].attribute[0].g.node
    assert list(loop.output) == ["p"]
    for choice in (True, False):
        feeds = {"x": uniform(2), "z": uniform(3, 2), "c": np.array(choice)}
        assert_same(before, after, feeds, rtol=0)


def test_what_a_loop_carries_for_nobody_is_not_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = """p, rest = Loop (n, t, x, x) <body = d (int64 i, bool go, float[2] v, float[2] o)
        => (bool again, float[2] w, float[2] s) { again = Identity (go) w = Add (v, o) s = Abs (o) }>"""
    assert fixed(tmp_path, model_of(BRANCH.format(nodes), tmp_path), *RTX)[1] is None
    assert "every unused output is a value that one iteration passes to the next" in capsys.readouterr().out


OPTIONAL = {
    "the mask": ('(float[2,4] x) => (float[2,4] y) { y, "" = Dropout (x) }', ["y"]),
    "positions": (
        '(float[2,4] x, int64[1] k) => (float[A,B] y) { y, "" = TopK (x, k) }',
        ["y", "TopK_0/unread"],
    ),
    "a part": ('(float[4,4] x) => (float[2,4] y) { "", y = Split <axis = 0> (x) }', ["Split_0/unread", "y"]),
    "steps": (
        """(float[4,4] x) => (float[A,B] y) < int64[1] a = {0}, int64[1] b = {2} >
        { y = Slice (x, a, b, a, '') }""",
        ["y"],
    ),
    "a bias": ("(float[2,4] x, float[4,3] w) => (float[A,B] y) { y = Gemm (x, w, '') }", ["y"]),
}


@pytest.mark.parametrize(("text", "outputs"), OPTIONAL.values(), ids=OPTIONAL)
def test_what_has_no_name_is_left_out_or_named(text: str, outputs: list[str], tmp_path: Path) -> None:
    model = model_of(text.replace("''", '""'), tmp_path, checked=False)
    before, after = fixed(tmp_path, model, *RTX[:-1])
    assert after is not None
    (node,) = after.graph.node
    assert list(node.output) == outputs
    assert all(node.input)
    shapes = {"x": (2, 4) if "float[2,4] x" in text else (4, 4), "w": (4, 3)}
    feeds = {info.name: uniform(*shapes[info.name]) for info in before.graph.input if info.name != "k"}
    feeds |= {"k": np.array([2])} if "int64[1] k" in text else {}
    if "TopK" not in text:  # ONNX's checker wants both of its outputs
        assert_same(before, after, feeds, rtol=0)


def test_a_mean_that_is_read_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """(float[2,8] x, float[8] g) => (float[2,8] y, float[2,1] m)
        { y, mean = LayerNormalization (x, g) m = Neg (mean) }"""
    assert fixed(tmp_path, model_of(text, tmp_path), "--trt", "10.8")[1] is None
    assert "the optional output mean is used" in capsys.readouterr().out


RESIZE = """(float[1,2,3,4] x) => (float[A,B,C,D] y) < float[0] roi = {{}}, float[4] s = {{1, 1, {1}}} >
    {{ y = Resize <mode = "nearest", nearest_mode = "{0}",
                   coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, roi, s) }}"""


@pytest.mark.parametrize("factors", ["2, 2", "3, 1", "7, 49"])
def test_resizing_by_whole_factors_begins_at_the_corner(factors: str, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model_of(RESIZE.format("floor", factors), tmp_path, 12), *RTX[:-1])
    assert after is not None
    modes = {each.name: each.s for each in after.graph.node[0].attribute}
    assert modes["coordinate_transformation_mode"] == b"asymmetric"
    data = uniform(1, 2, 3, 4)
    high, wide = (int(factor) for factor in factors.split(","))
    session = pytest.importorskip("onnxruntime").InferenceSession(after.SerializeToString())
    (resized,) = session.run(None, {"x": data})
    np.testing.assert_array_equal(resized, data.repeat(high, 2).repeat(wide, 3))
    (plain,) = (
        pytest.importorskip("onnxruntime").InferenceSession(before.SerializeToString()).run(None, {"x": data})
    )
    np.testing.assert_array_equal(resized, plain)


@pytest.mark.parametrize("factors", ["1.5, 2", "0.5, 0.5", "0.7, 2.3"])
def test_resizing_by_other_factors_rounds_half_up(factors: str, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model_of(RESIZE.format("floor", factors), tmp_path, 12), *RTX[:-1])
    assert after is not None
    modes = {each.name: each.s for each in after.graph.node[0].attribute}
    assert modes["coordinate_transformation_mode"] == b"half_pixel"
    assert modes["nearest_mode"] == b"round_prefer_ceil"
    # ONNX's reference evaluator does not know tf_half_pixel_for_nn.
    runtime = pytest.importorskip("onnxruntime")
    data = {"x": uniform(1, 2, 3, 4)}
    results = [runtime.InferenceSession(each.SerializeToString()).run(None, data) for each in (before, after)]
    np.testing.assert_array_equal(*results)


def test_other_elements_are_not_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fixed(tmp_path, model_of(RESIZE.format("ceil", "2, 2"), tmp_path, 12), *RTX)[1] is None
    assert (
        "Resize has a mode other than nearest, or a nearest_mode other than floor" in capsys.readouterr().out
    )


EINSUM = '(float[{1}] x, float[{2}] z) => (float[{3}] y) {{ y = Einsum <equation = "{0}"> (x, z) }}'


@pytest.mark.parametrize(
    ("equation", "first", "second", "result", "written"),
    [
        ("...ij,...jk->...ik", "2,3,4,5", "3,5,6", "2,3,4,6", "abij,bjk->abik"),
        ("...aj, ... jb", "2,3,4,5", "3,5,6", "A,B,C,D", "cdaj,djb->cdab"),
        ("i...,...i->...i", "3,2", "4,2,3", "4,2,3", "ib,abi->abi"),
    ],
)
def test_an_ellipsis_is_letters(
    equation: str, first: str, second: str, result: str, written: str, tmp_path: Path
) -> None:
    text = EINSUM.format(equation, first, second, result)
    before, after = fixed(tmp_path, model_of(text, tmp_path, checked=False), *RTX[:-1])
    assert after is not None
    (attribute,) = after.graph.node[0].attribute
    assert attribute.s.decode() == written
    feeds = {name: uniform(*map(int, dims.split(","))) for name, dims in (("x", first), ("z", second))}
    assert_same(before, after, feeds)


def test_an_ellipsis_that_broadcasts_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = EINSUM.format("...ij,...jk->...ik", "2,1,4,5", "3,5,6", "2,3,4,6")
    assert fixed(tmp_path, model_of(text, tmp_path), *RTX)[1] is None
    assert "a dimension of the ellipsis is broadcast" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("outputs", "zero", "words"),
    [
        ("float[4] y", "uint8 z = {3}", ""),
        (
            "float[4] y, uint8[4] q",
            "uint8 z = {3}",
            "the quantized tensor holds no 8-bit or 16-bit integers, or is an output of the model or a body",
        ),
        (
            "float[4] y",
            "int4 z = {3}",
            "the quantized tensor holds no 8-bit or 16-bit integers, or is an output of the model or a body",
        ),
    ],
)
def test_a_quantizer_of_an_output_or_of_4_bits_is_kept(outputs: str, zero: str, words: str) -> None:
    text = f"""(float[4] x) => ({outputs}) < float s = {{0.5}}, {zero} >
    {{ q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }}"""
    found = outcome("float-quantizers", text, "q", 21)
    assert words == found if words else "QuantizeLinear" not in found
