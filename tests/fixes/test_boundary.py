"""Tests of the tensors at the boundary of a patch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from tests.graphs import model_of
from trtlint.fixes import boundary
from trtlint.fixes.boundary import Feeds, feeds_of
from trtlint.fixes.patch import Draft, Patch
from trtlint.fixes.region import RegionError, region_of
from trtlint.model.load import Model

COMMON = ["random", "positive", "zeros", "large", "small"]


def written(text: str, opset: int = 17) -> Model:
    """Read a graph in ONNX text."""
    return model_of(f'< ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1] > g {text}')


def whole(model: Model, **settings: Any) -> Patch:
    """Replace every node by a copy."""
    draft = Draft(model, model.graph.nodes[0])
    for node in model.graph.nodes:
        draft.again(node, node.proto.input, node.proto.output)
    return draft.patch("copies", model.graph.nodes, **settings)


def drawn(model: Model, patch: Patch | None = None, *, plain: bool = False, **settings: Any) -> list[Feeds]:
    """Return the inputs of the region of a patch."""
    patch = patch or whole(model, **settings)
    return list(feeds_of(model, patch, region_of(model, patch), plain=plain))


def kinds(text: str, *, opset: int = 17, plain: bool = False, **settings: Any) -> list[str]:
    """Return the kinds of sets of a model of fixed shapes."""
    return [each.kind for each in drawn(written(text, opset), plain=plain, **settings)]


CLIPPED = "(float[4] x) => (float[4] y) < float low = {-2}, float high = {6} > { y = Clip (x, low, high) }"
MASKED = "(float[2,4] x, float[2,4] m) => (float[2,4] y) { a = Add (x, m)  y = Softmax (a) }"
SOFTPLUS = "(float[2,4] x) => (float[2,4] y) { y = Exp (x) }"


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("(float[4] x) => (float[4] y) { y = Neg (x) }", {}, COMMON),
        (CLIPPED, {}, [*COMMON, "beyond"]),
        (CLIPPED, {"keeps_a_key": True}, COMMON),
        (CLIPPED, {"changes_results": True}, ["away", "zeros", "tiny"]),
        (CLIPPED, {"plain": True}, ["random", "positive", "zeros", "large"]),
        (MASKED, {}, [*COMMON, "masked", "far"]),
        (MASKED, {"keeps_a_key": True}, COMMON),
        (MASKED, {"plain": True}, ["random", "positive", "zeros", "large"]),
        (MASKED.replace("float[", "float16["), {}, [*COMMON, "masked"]),
        (MASKED.replace("float[", "bfloat16["), {}, [*COMMON, "masked", "far"]),
        (MASKED.replace("float[", "double["), {}, [*COMMON, "masked", "far"]),
        (MASKED.replace("Softmax (a)", "LogSoftmax (a)"), {}, [*COMMON, "masked", "far"]),
        (MASKED.replace("Add", "Mul"), {}, COMMON),
        (MASKED.replace("Softmax (a)", "Identity (a)"), {}, COMMON),
        (SOFTPLUS, {}, [*COMMON, "masked"]),
    ],
)
def test_kinds_of_sets(text: str, settings: dict[str, bool], expected: list[str]) -> None:
    assert kinds(text, **settings) == expected


ATTENTION = """(float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[3,3] m) => (float[1,2,3,4] y)
{ y = Attention (q, k, v, m) }"""


def test_only_the_mask_of_an_attention_is_masked() -> None:
    (masked,) = [each for each in drawn(written(ATTENTION, 23)) if each.kind == "masked"]
    assert [name for name, array in masked.arrays.items() if np.isneginf(array).any()] == ["m"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLIPPED, 24),  # four times the farther bound
        (CLIPPED.replace("{6}", "{1000000}"), 4e6),
        (CLIPPED.replace("{6}", "{1000001}"), 8),  # which only a type sets
        (CLIPPED.replace("float", "double").replace("{6}", "{1000001}"), 8),
        (CLIPPED.replace("float", "float16").replace("{-2}", "{0}").replace("{6}", "{17920}"), 28),  # 7
        ("(float[4] x) => (float[4] y) < float low = {-3} > { y = Min (x, low) }", 12),
        ("(float[4] x) => (bool[4] y) < float low = {-3} > { y = Less (x, low) }", 12),
        (
            "(float[4] x) => (uint8[4] y) < float s = {0.5}, uint8 z = {0} >"
            " { y = QuantizeLinear (x, s, z) }",
            512,
        ),
    ],
)
def test_numbers_go_beyond_bounds_on_both_sides(text: str, expected: float) -> None:
    model = written(text)
    (beyond,) = [each.arrays["x"] for each in drawn(model) if each.kind == "beyond"]
    (random,) = [each.arrays["x"] for each in drawn(model) if each.kind == "random"]
    assert (np.sign(beyond.astype(float)) == [1, -1, 1, -1]).all()
    scale = np.abs(beyond.astype(float)).max() / expected
    assert 0.3 < scale < 4  # of a normal distribution
    assert np.abs(random.astype(float)).max() < 4


def test_bounds_in_attributes_count() -> None:
    text = "(float[4] x) => (float[4] y) { y = Clip <min = -2.0, max = 6.0> (x) }"
    (beyond,) = [each.arrays["x"] for each in drawn(written(text, 6)) if each.kind == "beyond"]
    assert 8 < np.abs(beyond).max() < 100


def by_kind(text: str, opset: int = 17, **settings: Any) -> dict[str, dict[str, Any]]:
    """Return the inputs of a model of fixed shapes by the kind of the set."""
    return {each.kind: each.arrays for each in drawn(written(text, opset), **settings)}


def test_numbers_of_each_kind() -> None:
    found = {
        kind: arrays["x"]
        for kind, arrays in by_kind("(float[64] x) => (float[64] y) { y = Neg (x) }").items()
    }
    assert all(array.dtype == np.float32 for array in found.values())
    assert (found["random"] < 0).any()
    assert (found["positive"] > 0).all()
    assert found["positive"].min() < 0.2
    assert not found["zeros"].any()
    assert 2 < found["large"].std() < 4
    assert 0.005 < found["small"].std() < 0.02
    found = {
        kind: arrays["x"]
        for kind, arrays in by_kind(
            "(float[64] x) => (float[64] y) { y = Neg (x) }", changes_results=True
        ).items()
    }
    assert found["away"].min() >= 1
    assert found["away"].max() > 2
    assert (found["tiny"] > 0).all()
    assert not found["zeros"].any()


def test_small_numbers_are_small_beside_what_a_patch_adds() -> None:
    model = written("(float[64] x) => (float[64] y) { y = Neg (x) }")

    def least(number: float, **settings: Any) -> tuple[float, float]:
        sets = []
        for changes_results in (False, True):
            draft = Draft(model, model.graph.nodes[0])
            draft.like(number, "f32")
            draft.like(0.0, "f32")
            draft.op("Neg", "x", out="y", **settings)
            patch = draft.patch("copies", model.graph.nodes, changes_results=changes_results)
            sets += [each.arrays["x"].std() for each in drawn(model, patch) if each.kind in ("small", "tiny")]
        return sets[0], sets[1]

    small, tiny = least(1e-6)
    assert 0.0007 < small < 0.0014  # the root, as it is squared
    assert 4e-7 < tiny < 1.4e-6
    assert least(-1e-6) == (small, tiny)
    assert 0.007 < least(100.0)[0] < 0.014
    assert least(1.0, epsilon=1e-6) == pytest.approx((small, tiny), rel=1e-3)


def test_sizes_of_what_varies() -> None:
    inputs = "float[N,7,100] x, float[9,9] z, float[11,65] w"
    model = written(f"({inputs}) => (float[N,7,100] y) {{ y = Neg (x)  b = Neg (z)  c = Neg (w) }}")
    found = drawn(model, whole(model))
    assert [(each.size, each.kind) for each in found[:5]] == [(3, kind) for kind in COMMON]
    # the usual ones, then the commonest of the others that are not above 64, then none
    sizes = [3, 2, 5, 1, 8, 9, 7, 0]
    assert list(dict.fromkeys(each.size for each in found)) == sizes
    assert [each.arrays["x"].shape for each in found[::5]] == [(size, 7, 100) for size in sizes]
    assert found[-1].kind == "empty"
    assert [each.size for each in found if each.kind == "empty"] == [0]
    assert len(drawn(written("(float[64,64] x) => (float[64,64] y) { y = Neg (x) }"))) == 5


def test_a_dimension_of_64_is_a_size_to_try() -> None:
    sizes = {each.size for each in drawn(written("(float[N,64] x) => (float[N,64] y) { y = Neg (x) }"))}
    assert sizes == {3, 2, 5, 1, 8, 64, 0}


def test_equal_names_have_equal_sizes_and_a_patch_may_name_them() -> None:
    model = written("(float[N,M] x, float[N] z) => (float[N,M] y) { a = Add (x, z)  y = Neg (a) }")
    x, z = model.graph.inputs
    patch = whole(model, shapes=((x, ("N", 4)), (z, (6,))))
    found = drawn(model, patch)
    assert {array.shape for each in found for array in each.arrays.values()} == {(6, 4), (6,)}


def test_tensors_of_a_region_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert boundary._MOST_ELEMENTS == 1 << 24
    monkeypatch.setattr(boundary, "_MOST_ELEMENTS", 16)
    assert drawn(written("(float[4,4] x) => (float[4,4] y) { y = Neg (x) }"))
    with pytest.raises(RegionError, match="x has more than"):
        drawn(written("(float[4,5] x) => (float[4,5] y) { y = Neg (x) }"))
    weight = "(float[4] x) => (float[4] y) < float[1,%d] w = {%s} > { y = Gemm (x, w) }"
    with pytest.raises(RegionError, match="w has more than"):
        drawn(written(weight % (17, ",".join("1" * 17))))
    assert drawn(written(weight % (16, ",".join("1" * 16))))


def test_what_has_no_shape_is_not_drawn() -> None:
    model = written("(float[4] x) => (float[4] y) { a = com.microsoft.Odd (x)  y = Neg (a) }")
    draft = Draft(model, model.graph.nodes[1])
    draft.op("Neg", "a", out="y")
    with pytest.raises(RegionError, match="the shape or type of a is unknown"):
        drawn(model, draft.patch("copies", model.graph.nodes[1:]))


def test_parameters_are_drawn_and_constants_are_kept() -> None:
    text = """(float[4] x) => (float[4] y)
    < float[4] w = {1, 1, 1, 1}, float one = {-1}, float[1] two = {-2} >
    { a = Mul (x, w)  b = Add (a, one)  y = Sub (b, two) }"""
    found = by_kind(text)
    for kind, arrays in found.items():
        assert arrays["one"] == -1, kind
        assert arrays["two"] == -2, kind
        assert arrays["w"].std() > 0.1, kind
        assert arrays["w"].dtype == np.float32
    assert (found["positive"]["w"] > 0).all()
    assert (found["random"]["w"] < 0).any()
    assert (found["zeros"]["w"] == found["random"]["w"]).all()
    assert (by_kind(text, folds=True)["positive"]["w"] == 1).all()


def test_masks_of_truth_values() -> None:
    text = "(bool[4,4] c, float[4,4] x) => (float[4,4] y) { y = Where (c, x, x) }"
    found = {kind: arrays["c"] for kind, arrays in by_kind(text).items()}
    assert not found["zeros"].any()
    assert found["small"].all()
    assert 0 < found["random"].sum() < 16
    assert not found["positive"][0].any()
    assert found["positive"][1:].any()
    assert not found["large"][-1].any()
    assert found["large"][:-1].any()
    flat = by_kind("(bool[64] c, float[64] x) => (float[64] y) { y = Where (c, x, x) }")
    assert flat["positive"]["c"].any()
    kept = by_kind(text, keeps_a_key=True)
    assert all(arrays["c"][:, 0].all() for arrays in kept.values())
    assert not kept["zeros"]["c"][:, 1:].any()


def test_tensors_that_hold_two_numbers_only() -> None:
    model = written("(float[4,4] m, float[4,4] x) => (float[4,4] y) { y = Add (m, x) }")
    found = {each.kind: each.arrays["m"] for each in drawn(model, whole(model, holds=(("m", (0.0, -7.0)),)))}
    assert all(set(np.unique(array)) <= {0.0, -7.0} for array in found.values())
    assert set(np.unique(found["random"])) == {0.0, -7.0}
    assert found["random"].dtype == np.float32
    assert (found["positive"][0] == -7).all()
    assert (found["large"][-1] == -7).all()
    assert not (found["large"][0] == -7).all()


def test_masked_rows() -> None:
    (masked,) = [each.arrays for each in drawn(written(MASKED)) if each.kind == "masked"]
    lowest = np.finfo(np.float32).min
    for name in ("x", "m"):
        assert np.isneginf(masked[name]).tolist() == [[True] * 4, [True, False] * 2]
    model = written(MASKED.replace("[2,4]", "[4,4]"))
    (masked,) = [each.arrays for each in drawn(model) if each.kind == "masked"]
    assert np.isneginf(masked["m"]).tolist() == [[True] * 4, [False] * 4, *[[True, False] * 2] * 2]
    assert (masked["m"][1] == lowest).all()
    found = [each.arrays for each in drawn(model, whole(model, finite=("x",))) if each.kind == "masked"]
    assert np.isfinite(found[0]["x"]).all()
    assert np.isneginf(found[0]["m"]).any()
    model = written(SOFTPLUS.replace("[2,4]", "[4,4]"))
    (masked,) = [each.arrays for each in drawn(model) if each.kind == "masked"]
    assert np.isneginf(masked["x"][:2]).all()  # of which the sum may be taken only after that
    half = written(MASKED.replace("float[2,4]", "bfloat16[4,4]"))
    (masked,) = [each.arrays for each in drawn(half) if each.kind == "masked"]
    assert masked["m"].dtype == ml_dtypes.bfloat16
    assert np.isfinite(masked["m"][1].astype(float)).all()
    assert (masked["m"][1].astype(float) < -3e38).all()


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("4", ".0.0"),
        ("1,4", ".0.0"),
        ("2,4", ".... .0.0"),
        ("3,4", ".... ---- .0.0"),
        ("4,2", ".. -- .0 .0"),
        ("2,2,3", "... --- .0. .0."),
        ("2,4,1", "0 0 0 0 0 0 0 0"),
        ("1", "0"),
    ],
)
def test_the_first_rows_are_masked(shape: str, expected: str) -> None:
    text = MASKED.replace("float[2,4] m", f"float[{shape}] m")
    (masked,) = [each.arrays["m"] for each in drawn(written(text)) if each.kind == "masked"]
    rows = masked.reshape(-1, masked.shape[-1])
    kinds = np.where(np.isneginf(rows), ".", np.where(rows == np.finfo(np.float32).min, "-", "0"))
    assert " ".join("".join(row) for row in kinds.tolist()) == expected


def test_a_tensor_of_one_column_is_not_masked() -> None:
    text = MASKED.replace("float[2,4] m", "float[2,1] m")
    (masked,) = [each.arrays for each in drawn(written(text)) if each.kind == "masked"]
    assert np.isfinite(masked["m"]).all()
    assert np.isneginf(masked["x"]).any()


def test_scores_that_fp16_cannot_hold() -> None:
    text = MASKED.replace("(float[2,4] y) {", "(float[2,4] y) < float[1] w = {2} > {").replace(
        "(x, m)", "(p, m)"
    )
    text = text.replace("{ a =", "{ p = Mul (x, w)  a =")
    (far,) = [each.arrays for each in drawn(written(text)) if each.kind == "far"]
    assert (far["m"] < -7e4).all()
    assert far["m"].mean() == pytest.approx(-2e5, rel=0.3)
    assert far["m"].std() == pytest.approx(2e4, rel=0.6)
    assert np.abs(far["x"]).max() < 10  # which is not only added
    (masked,) = [each.arrays for each in drawn(written(text)) if each.kind == "masked"]
    assert np.isfinite(masked["x"]).all()


ONE_HOT = "(int64[64] i) => (float y) < %sfloat[2] v = {0, 1} > { y = OneHot (i, d, v) }"
INDEXED = "(float[6,5] x, int64[%s] i) => (float y) { y = %s (x, i) }"


@pytest.mark.parametrize(
    ("text", "opset", "low", "high"),
    [
        (INDEXED % (64, "Gather"), 17, -6, 5),
        (INDEXED % (64, "Gather <axis = 1>"), 17, -5, 4),
        (INDEXED % (64, "Gather <axis = -1>"), 17, -5, 4),
        (INDEXED % (64, "Gather"), 11, -6, 5),
        (INDEXED % (64, "Gather"), 10, 0, 5),
        (INDEXED % ("64,1", "GatherND"), 17, -6, 5),
        (INDEXED % ("64,2", "GatherND"), 17, -5, 4),
        (INDEXED % (64, "Mod"), 17, 0, 1),
        ("(float[6,5] x, int64[64] i) => (int64[64] y) { y = Neg (i)  z = Neg (x) }", 17, 0, 1),
        ("(float[6,5] x, uint64[64] i) => (float y) { y = Gather (x, i) }", 17, 0, 5),
        (ONE_HOT % "int64 d = {7}, ", 17, -7, 6),
        (ONE_HOT % "int64 d = {7}, ", 10, 0, 6),
        (ONE_HOT % "int64 d = {1}, ", 17, -1, 0),
        (ONE_HOT % "int64 d = {0}, ", 17, 0, 1),
        (ONE_HOT % "int64 d = {-3}, ", 17, 0, 1),
        (ONE_HOT.replace("int64[64] i", "int64[64] i, int64 d") % "", 17, 0, 1),
        ("(int64[64] i, int64 c) => (float y) < float[2] v = {0, 1} > { y = OneHot (c, i, v) }", 17, 0, 1),
    ],
)
def test_indices_reach_from_end_to_end(text: str, opset: int, low: int, high: int) -> None:
    found = by_kind(text, opset)
    assert (found["random"]["i"].min(), found["random"]["i"].max()) == (low, high)
    assert (found["zeros"]["i"].min(), found["zeros"]["i"].max()) == (0, 1)


def test_lengths_of_keys_reach_up_to_the_keys() -> None:
    text = """(float[64,1,3,4] q, float[64,1,9,4] k, float[64,1,9,4] v, int64[64] n) => (float[64,1,3,4] y)
    { y = Attention (q, k, v, , , , n) }"""
    found = by_kind(text, 24)["random"]["n"]
    assert found.min() == 0
    assert found.max() > 3


def test_indices_of_what_has_no_known_shape_are_small() -> None:
    model = written(
        "(float[4] x, int64[64] i) => (float[64] y) { a = com.microsoft.Odd (x)  y = Gather (a, i) }"
    )
    found = {each.kind: each.arrays["i"] for each in drawn(model)}
    assert (found["random"].min(), found["random"].max()) == (0, 1)


def test_indices_that_two_read_suit_both() -> None:
    text = "(float[6,3] x, int64[64] i) => (float y) { y = Gather (x, i)  z = Gather <axis = 1> (x, i) }"
    found = by_kind(text)["random"]["i"]
    assert (found.min(), found.max()) == (-3, 2)


def test_positions_of_rotary_embeddings_are_not_negative() -> None:
    text = """(float[1,2,64,4] x, float[5,2] c, float[5,2] s, int64[1,64] i) => (float[1,2,64,4] y)
    { y = RotaryEmbedding (x, c, s, i) }"""
    found = by_kind(text, 23)["random"]["i"]
    assert (found.min(), found.max()) == (0, 4)


def test_whole_numbers_of_no_known_meaning() -> None:
    text = "(int64[256] i, float[4] x) => (int64[256] y) { y = Neg (i)  z = Neg (x) }"
    found = by_kind(text)
    assert {kind: (arrays["i"].min(), arrays["i"].max()) for kind, arrays in found.items()} == {
        **dict.fromkeys(COMMON, (0, 1)),
        "large": (-40, 39),
    }
    unsigned = by_kind(text.replace("int64", "uint64"))
    assert (unsigned["large"]["i"].min(), unsigned["large"]["i"].max()) == (0, 39)
    plain = {each.kind: each.arrays["i"] for each in drawn(written(text), plain=True)}
    assert (plain["large"].min(), plain["large"].max()) == (0, 1)


@pytest.mark.parametrize(("dtype", "low", "high"), [("uint8", 0, 255), ("int8", -128, 127)])
def test_quantized_numbers_span_their_type(dtype: str, low: int, high: int) -> None:
    text = f"({dtype}[64,64] q) => (float[64,64] y) < float s = {{1}} > {{ y = DequantizeLinear (q, s) }}"
    found = {kind: arrays["q"] for kind, arrays in by_kind(text).items()}
    assert (found["random"].min(), found["random"].max()) == (low, high)
    assert len(np.unique(found["random"])) == 256
    assert set(np.unique(found["positive"])) == {low, high}
    assert not found["zeros"].any()
    assert (found["small"] == low).all()
    assert (found["large"] == high).all()
    assert {array.dtype for array in found.values()} == {np.dtype(dtype)}


def test_results_of_plain_sets_are_to_be_finite() -> None:
    found = {each.kind: each.is_common for each in drawn(written(CLIPPED))}
    assert found == {**dict.fromkeys(COMMON, True), "small": False, "beyond": False}


def test_the_same_places_get_the_same_numbers() -> None:
    first, second = (
        by_kind("(float[N,4] x) => (float[N,4] y) { y = Neg (x) }")["random"]["x"] for _ in range(2)
    )
    assert (first == second).all()
    assert helper.np_dtype_to_tensor_dtype(first.dtype) == 1
