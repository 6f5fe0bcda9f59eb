"""Tests of the sentences in the dry-build report."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from trtlint.dry_build.agreement import Agreement, AmbiguousTensor, ComputationFailure, TensorDifference
from trtlint.dry_build.result import DryBuildResult, UsedShape
from trtlint.dry_build.wording import notes

LABEL = "dry build, TensorRT-RTX 1.7, SM 8.9"


def shape(name: str, *, chosen: bool = False, most: int = 2) -> UsedShape:
    """Return a shape of a vector."""
    return UsedShape(name, (2,), (2,), (most,), chosen, values=False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "the parser accepts the model"),
        ({"level": "parse"}, "the parser accepts the model"),
        ({"parsed": True}, "the parser accepts the model"),
        ({"parsed": False}, "the parser rejects the model"),
        ({"parsed": True, "built": True}, "built"),
        ({"parsed": True, "built": False}, "the builder rejects the model"),
        ({"cause": "crashed", "signal": "SIGSEGV"}, "crashed before the parser (SIGSEGV)"),
        ({"cause": "crashed", "signal": "SIGSEGV", "stage": "parse"}, "crashed in the parser (SIGSEGV)"),
        ({"cause": "time", "seconds": 61.6, "stage": "build"}, "stopped in the builder after 62 s"),
        ({"cause": "memory", "stage": "parse"}, "stopped in the parser at the memory limit"),
        ({"cause": "failed"}, "the process ended before the parser without a result"),
    ],
)
def test_how_it_ended(settings: dict[str, Any], words: str) -> None:
    label = "dry parse, TensorRT-RTX 1.7" if settings.get("level") == "parse" else LABEL
    assert notes(DryBuildResult("1.7", **settings)) == (f"{label}: {words}",)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ((shape("a"),), ", for a=2"),
        ((shape("a", most=8),), ", for a=2..2..8"),
        (tuple(map(shape, "abcd")), ", for a=2, b=2, c=2, d=2"),
        (tuple(map(shape, "abcdef")), ", for a=2, b=2, c=2, d=2 and 2 more"),
        (
            (shape("a"), shape("b", chosen=True)),
            ", for a=2, b=2 (default input shapes; with other shapes, the builder may fuse other layers)",
        ),
        ((UsedShape("n", (), (), (), chosen=False, values=True),), ", for n=scalar"),
    ],
)
def test_the_shapes_it_was_built_for(shapes: tuple[UsedShape, ...], words: str) -> None:
    assert notes(DryBuildResult("1.7", parsed=True, built=True, shapes=shapes)) == (f"{LABEL}: built{words}",)


def test_other_shapes_may_end_a_failed_build_differently() -> None:
    (note,) = notes(DryBuildResult("1.7", parsed=True, built=False, shapes=(shape("a", chosen=True),)))
    assert note == (
        f"{LABEL}: the builder rejects the model, for a=2 (default input shapes; with other shapes, the "
        "result may differ)"
    )


def test_another_gpu_and_zeros_are_named() -> None:
    found = notes(DryBuildResult("1.7", asked_sm=75, zeros=("a.bin", "b.bin")))
    assert found[1:] == (
        "TensorRT-RTX 1.7 cannot build for SM 7.5 without a GPU of this SM; "
        "the dry build uses SM 8.9, the nearest supported SM",
        f"{LABEL}: zeros replace the weights in a.bin, b.bin",
    )
    assert len(notes(DryBuildResult("1.7", asked_sm=89))) == 1
    assert "cannot build for SM 12.0" in notes(DryBuildResult("1.7", asked_sm=120))[1]


@pytest.mark.parametrize(("length", "said"), [(300, "x" * 300), (301, "x" * 297 + "...")])
def test_sizes_of_which_none_fits(length: int, said: str) -> None:
    shapes = (shape("given"), *(shape(name, chosen=True) for name in "abcde"))
    (found,) = notes(DryBuildResult("1.7", shapes=shapes, unfit="x" * length, tried=7))
    assert found == (
        f"{LABEL}: the parser accepts the model, but the builder rejects all 7 "
        f"choices of input sizes that trtlint tried (first choice: a=2, b=2, c=2, d=2; error: {said}); "
        "to test valid sizes, use "
        "--shapes a:... --shapes b:... --shapes c:... --shapes d:..."
    )


DIFFERENCE = TensorDifference("n", "Add", "t", "l", "ELEMENTWISE", "1", "2", (0,), 1.0, 1, 4, "random")
UNCOMPUTED = tuple(ComputationFailure(f"reason {each}", each) for each in range(1, 7))
UNCLEAR = tuple(AmbiguousTensor(f"t{each}", "Mod") for each in range(1, 7))


@pytest.mark.parametrize(
    ("settings", "words", "outcome"),
    [
        ({"reason": "no ONNX Runtime"}, "nothing was compared: no ONNX Runtime", "not-compared"),
        (
            {"inputs": "given", "sets": 1},
            "nothing was compared; compared 0 of 0 tensors by name (1 set of inputs)",
            "not-compared",
        ),
        (
            {"tensors": 5, "compared": 4, "sets": 2, "unnamed": 1},
            "no tensor differs; compared 4 of 5 tensors by name; 1 has no name in the network"
            " (2 sets of random inputs)",
            "agrees",
        ),
        (
            {"tensors": 9, "compared": 4, "sets": 1, "unnamed": 2, "uncomputed": 3, "inputs": "probe"},
            "no tensor differs; compared 4 of 9 tensors by name; 2 have no name in the network;"
            " 3 not computed (1 set of probing inputs)",
            "agrees",
        ),
        (
            {"tensors": 1, "compared": 1, "differences": (DIFFERENCE,), "reasons": UNCOMPUTED},
            "1 tensor differs; compared 1 of 1 tensors by name (0 sets of random inputs);"
            " not computed: reason 1 (1); not computed: reason 2 (2); not computed: reason 3 (3);"
            " not computed: reason 4 (4)",
            "differs",
        ),
        (
            {"tensors": 2, "compared": 2, "differences": (DIFFERENCE,) * 2, "unclear": UNCLEAR[:1]},
            "2 tensors differ; compared 2 of 2 tensors by name (0 sets of random inputs);"
            " the ONNX specification is unclear for Mod t1: ONNX Runtime and ONNX's reference evaluator"
            " compute different results",
            "differs",
        ),
        (
            {"tensors": 2, "compared": 2, "unclear": UNCLEAR, "deviations": ("a", "b"), "widened": True},
            "no tensor differs; compared 2 of 2 tensors by name (0 sets of random inputs);"
            " the ONNX specification is unclear for Mod t1, Mod t2, Mod t3, Mod t4: ONNX Runtime and ONNX's"
            " reference evaluator compute different results; documented deviation: a;"
            " documented deviation: b; ONNX Runtime computed the 16-bit operators in FP32",
            "unclear",
        ),
    ],
)
def test_a_comparison_with_onnx(settings: dict[str, Any], words: str, outcome: str) -> None:
    network = Agreement("1.6", **settings)
    found = notes(DryBuildResult("1.7", network=network))
    assert found[1:] == (f"comparison with ONNX, TensorRT-RTX 1.6: {words}",)
    assert network.outcome == outcome


@pytest.mark.parametrize(
    ("compared", "tensors", "share"), [(0, 0, 0.0), (0, 4, 0.0), (3, 4, 0.75), (4, 4, 1.0)]
)
def test_the_share_of_compared_tensors(compared: int, tensors: int, share: float) -> None:
    assert Agreement("1.7", compared=compared, tensors=tensors).share == share


def test_a_result_comes_back_from_its_document() -> None:
    result = DryBuildResult(
        "1.7", shapes=(shape("a", chosen=True),), zeros=("a.bin",), last_lines=("x",), tried=3
    )
    assert convert(result.document, DryBuildResult) == result
    assert convert({"version": "1.7"}, DryBuildResult) == DryBuildResult("1.7")
    with pytest.raises(ValueError, match="unknown field `other`"):
        convert({"version": "1.7", "other": 1}, DryBuildResult)
