"""Tests of rewrites whose output depends on a small difference of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fixes.fixing import Feeds, assert_same, fixed, ops
from tests.fixes.proposing import outcome, proposal, small
from tests.fixes.test_mask_by_where import HEAD, PAIRS, feeds, model
from tests.fixes.test_written_parts import QUANTIZED, REALS
from trtlint.examples.fixed import _same
from trtlint.fixes import proof
from trtlint.fixes.boundary import feeds_of
from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Draft, Patch
from trtlint.fixes.region import Region, region_of


def test_parameters_of_a_group_norm_in_fp16_are_widened() -> None:
    text = """(float16[1,4,4,8] x, float16[8] g, float16[8] b) => (float16[1,4,4,8] y)
    { y = com.microsoft.GroupNorm <groups = 4, activation = 0> (x, g, b) }"""
    written = outcome("write-out-fused", text, "y")
    assert written.count("Cast <to = 1>") == 3
    assert "Cast <to = 1> (g)" in written
    assert "Cast" not in outcome("write-out-fused", text.replace("float16", "float"), "y")


def test_the_number_of_heads_is_left_to_the_reshape() -> None:
    text = """(float[2,3,W] x, int64[2,3] i, float[6,4] c, float[6,4] s) => (float[2,3,W] y)
    { y = com.microsoft.RotaryEmbedding (x, i, c, s) }"""
    assert "[0, 0, -1, 8]" in outcome("write-out-fused", text, "y")


@pytest.mark.parametrize(
    ("width", "settings", "shape"),
    [
        ("W", "num_heads = 2", "[0, 0, 2, 8]"),
        ("W", "num_heads = 2, rotary_embedding_dim = 4", "[0, 0, 2, -1]"),
        ("32", "num_heads = 2", "[0, 0, 2, 16]"),
        ("32", "num_heads = 2, rotary_embedding_dim = 4", "[0, 0, 2, 16]"),
        ("32", "num_heads = 0", "[0, 0, 4, 8]"),
    ],
)
def test_heads_of_a_rotary_embedding_are_as_wide_as_its_caches(width: str, settings: str, shape: str) -> None:
    text = f"""(float[2,3,{width}] x, int64[2,3] i, float[6,4] c, float[6,4] s) => (float[2,3,{width}] y)
    {{ y = com.microsoft.RotaryEmbedding <{settings}> (x, i, c, s) }}"""
    assert f"Reshape (x, {shape})" in outcome("write-out-fused", text, "y")


@pytest.mark.parametrize(
    ("readers", "casts"), [("y = Cast <to = 1> (p)", 0), ("k = Add (p, p)  y = Cast <to = 1> (p)", 1)]
)
def test_a_whole_product_that_others_read_keeps_its_type(readers: str, casts: int) -> None:
    text = QUANTIZED % (REALS, f"p = MatMulInteger (q, w, z)  {readers}")
    written = outcome("write-out-quantized", text, "p", 17)
    assert written.count("p = Cast <to = 6>") == casts
    assert "y = Identity" in written


def test_a_resize_to_sizes_has_the_factors_of_its_shapes() -> None:
    text = """(float[1,2,%s,4] x) => (float[1,2,6,8] y) < int64[4] sizes = {1, 2, 6, 8} >
    { y = Resize <mode = "nearest", nearest_mode = "floor",
                  coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, , , sizes) }"""
    for size, coordinates in ((3, "asymmetric"), (4, "half_pixel"), ("H", "half_pixel")):
        patch = proposal("resize-asymmetric", text % size, "y")
        assert isinstance(patch, Patch)
        assert patch.title == f"resizes with {coordinates} coordinates"


@pytest.mark.parametrize("moved", ["Transpose <perm = [0, 1]> (n)", "Trilu (n)"])
def test_only_a_transpose_makes_positions_of_indices(moved: str, tmp_path: Path) -> None:
    body = (
        f"m = Greater (x, zero)  n = NonZero (m)  t = {moved}  p = GatherND (x, t)  y = ScatterND (x, t, p)"
    )
    _, after = fixed(tmp_path, model(body))
    assert after is None or "NonZero" in ops(after)


def test_floats_are_divided_at_full_size(tmp_path: Path) -> None:
    body = f"{PAIRS}  p = GatherND (x, t)  d = Div (p, two)  y = ScatterND (x, t, d)"
    before, after = fixed(tmp_path, model(body))
    assert "NonZero" not in ops(after)
    assert_same(before, after, feeds())


def test_whole_numbers_are_added_at_full_size(tmp_path: Path) -> None:
    text = f"""{HEAD} g (int64[5] x) => (int64[5] y) < int64 zero = {{0}}, int64 seven = {{7}} >
    {{ {PAIRS}  p = GatherND (x, t)  d = Add (seven, p)  y = ScatterND (x, t, d) }}"""
    before, after = fixed(tmp_path, text)
    assert "NonZero" not in ops(after)
    given: Feeds = {"x": np.array([-1, 2, 0, 3, -4])}
    assert_same(before, after, given, rtol=0)


def test_the_tolerance_of_examples_grows_with_the_numbers() -> None:
    one = np.array([1e4, 2.0], np.float32)
    assert _same([[one], [one + np.float32(0.5)]], 1e-4)
    assert not _same([[one], [one + np.float32(2)]], 1e-4)
    assert not _same([[one / 1e8], [one / 1e8 + np.float32(1e-6)]], 1e-4)


def test_operators_of_other_domains_are_proven_on_plain_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(float[2,4] x, float[2,4] m) => (float[2,4] y) { a = Add (x, m)  y = Softmax (a) }"
    found = small(text)
    draft = Draft(found, found.graph.nodes[0])
    for node in found.graph.nodes:
        draft.again(node, node.proto.input, node.proto.output)
    patch = draft.patch("copies", found.graph.nodes)
    region = region_of(found, patch)
    kinds: list[str] = []

    def prove(drawn: list[tuple[Region, object]]) -> list[Proof]:
        kinds.extend(each.kind for _, sets in drawn for each in sets)  # type: ignore[attr-defined]
        return [Proof(True, "", {})] * len(drawn)

    monkeypatch.setattr(proof, "is_foreign", lambda region: True)
    monkeypatch.setattr(proof, "prove_foreign", prove)
    assert list(proof._computed(found, {b"k": (patch, region)})) == [b"k"]
    assert kinds == [each.kind for each in feeds_of(found, patch, region, plain=True)]
    assert kinds != [each.kind for each in feeds_of(found, patch, region, plain=False)]
