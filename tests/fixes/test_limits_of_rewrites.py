"""Tests of rewrites at their size limits: the largest valid size, and the reason above it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.fixes import test_masks_selected as masks
from tests.fixes.proposing import proposed, small, spelled
from tests.fixes.test_whole_patches import SELECTING, SIZED, stored
from tests.fixes.test_whole_patches_of_facts import FP16, MEAN, SQUARES, TWICE, facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.constant import Constant
from trtlint.fixes.patch import Patch
from trtlint.fixes.rewrites import (
    _quantizers,
    clamp_mask,
    drop_second_quantizer,
    mask_by_where,
    resize_by_gather,
    select_mask,
    store_raw,
    unify_types,
    widen_chain,
    widen_norm,
    write_out_sequence,
)

RUN_TIME = "(float[4] x, int64 i) => (float[A] n) < int64 one = {1} > { %s }"
MIXED = "(float[4] x, float16[4] h, float16[4] k) => (float[4] y) { y = Sum (x, h, k) }"
CASES: tuple[tuple[ModuleType, str, str, str, str, int, str], ...] = (
    (
        store_raw,
        "MOST_ELEMENTS",
        "store-raw",
        "y",
        stored("y = DequantizeLinear (w, s, z)  n = Neg (y)"),
        8,
        "a tensor has too many elements, or its elements cannot be read",
    ),
    (
        _quantizers,
        "MOST_ELEMENTS",
        "float-quantizers",
        "y",
        stored("y = DequantizeLinear (w, s, odd)  n = Neg (y)"),
        8,
        "the tensor is too large to be stored as floats",
    ),
    (
        _quantizers,
        "MOST_ELEMENTS",
        "fold-quantized-constant",
        "y",
        stored("y = DequantizeLinear (b, s, zc)  n = Neg (y)"),
        4,
        "cast = Cast <to = 1> (b)  sub = Sub (cast, 2.0)  y = Mul (sub, 0.5)",
    ),
    (
        drop_second_quantizer,
        "MOST_ELEMENTS",
        "drop-second-quantizer",
        "y",
        TWICE
        % (
            "",
            "b = DequantizeLinear (q, ss, zz)  y = QuantizeLinear (b, ss, zz)  n = DequantizeLinear (y, s)",
        ),
        1024,
        "there are too many scales to check",
    ),
    (
        resize_by_gather,
        "MOST_ELEMENTS",
        "resize-by-gather",
        "y",
        SIZED % ("4", "2", "float[3] s = {1, 1, 0.5}", 'mode = "linear"', ", s"),
        8,
        "Resize changes no size, or its weights would have too many elements",
    ),
    (
        resize_by_gather,
        "_LONGEST",
        "resize-by-gather",
        "y",
        SIZED % ("4", "2", "float[3] s = {1, 1, 0.5}", 'mode = "linear"', ", s"),
        4,
        "a size is above 3 or known only at run time",
    ),
    (
        mask_by_where,
        "_MOST_NODES",
        "mask-by-where",
        "y",
        SELECTING % ("m", "t = Transpose (y)  p = GatherND (x, t)  n = ReduceSum (p)"),
        4,
        "more than 3 operators depend on NonZero",
    ),
    (
        widen_norm,
        "_MOST_NODES",
        "widen-norm",
        "normalization",
        FP16 % f"{MEAN}  e = Add (v, eps)  r = Sqrt (e)  y = Div (c, r)",
        7,
        "the norm has more than 6 operators",
    ),
    (
        widen_chain,
        "_MOST_NODES",
        "widen-chain",
        "y",
        FP16 % "a = Mul (x, two)  b = Add (a, one)  y = Sin (b)",
        2,
        "more than 1 operators would have to change to FP32",
    ),
    (
        widen_chain,
        "_MOST_NODES",
        "widen-chain",
        "sum_of_squares",
        FP16 % f"{SQUARES}  e = Add (s, eps)  r = Sqrt (e)  y = Div (x, r)",
        2,
        "the sum is stored in 16 bits, so it overflows even if an FP32 operator computes it",
    ),
    (
        write_out_sequence,
        "_MOST_NODES",
        "write-out-sequence",
        "y",
        RUN_TIME % "y = SequenceConstruct (x, x)  n = SequenceAt (y, one)",
        2,
        "more than 1 operators are connected by sequences",
    ),
    (
        write_out_sequence,
        "_MOST_ELEMENTS",
        "write-out-sequence",
        "y",
        RUN_TIME % "y = SequenceConstruct (x, x)  n = SequenceAt (y, one)",
        2,
        "the sequence has more than 1 tensors",
    ),
    (
        write_out_sequence,
        "_MOST_ELEMENTS",
        "write-out-sequence",
        "y",
        RUN_TIME % "y = SplitToSequence (x)  n = SequenceAt (y, one)",
        4,
        "the result of SplitToSequence is known only at run time",
    ),
    (unify_types, "_MOST_CASTS", "unify-types", "y", MIXED, 2, "the rewrite needs more than 1 Casts"),
)


@pytest.mark.parametrize(
    ("module", "limit", "rewrite", "kind", "text", "most", "below"),
    CASES,
    ids=[f"{case[2]} {case[1]} {number}" for number, case in enumerate(CASES)],
)
def test_limits(
    module: ModuleType,
    limit: str,
    rewrite: str,
    kind: str,
    text: str,
    most: int,
    below: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small(text)
    fact = facts_of(kind, Facts(model))[0]
    monkeypatch.setattr(module, limit, most)
    assert isinstance(proposed(rewrite, fact, model), Patch)
    monkeypatch.setattr(module, limit, most - 1)
    assert spelled(proposed(rewrite, fact, model)) == below


SELECTED = f"{masks.SCORES}  m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax (x)"
ABSOLUTE = (
    f"{masks.SCORES}  a = Neg (s)  b = Neg (a)  m = Where (keep, zero, low)  x = Add (b, m)  p = Softmax (x)"
)
STORED = f"{masks.SCORES}  m = Where (keep, zero, two)  x = Add (s, m)  p = Softmax (x)"


@pytest.mark.parametrize(
    ("limit", "body", "most", "below"),
    [
        ("_MOST_NODES", SELECTED, 2, "more than 1 values depend on the constant"),
        ("_MOST_NODES", ABSOLUTE, 3, "the scores depend on more than 2 values"),
        ("MOST_ELEMENTS", STORED, 5, "Add is between the mask and the softmax"),
    ],
)
def test_limits_of_masks(
    limit: str, body: str, most: int, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(masks.GRAPH % body)
    facts = [fact for fact in Facts(model).of("constant") if isinstance(fact, Constant)]
    low = next(fact for fact in facts if fact.values.low is not None and fact.values.low < -65504)
    monkeypatch.setattr(select_mask, limit, most)
    assert isinstance(proposed("select-mask", low, model), Patch)
    monkeypatch.setattr(select_mask, limit, most - 1)
    assert spelled(proposed("select-mask", low, model)) == below


@pytest.mark.parametrize(("most", "fits"), [(5, True), (4, False)])
def test_large_masks_are_not_clamped(most: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small(masks.GRAPH % STORED)
    facts = [fact for fact in Facts(model).of("constant") if isinstance(fact, Constant)]
    fact = next(each for each in facts if each.name == "two")
    monkeypatch.setattr(clamp_mask, "MOST_ELEMENTS", most)
    found = spelled(proposed("clamp-mask", fact, model))
    assert (found == "the mask cannot be read or has too many values") is not fits
