"""Tests of proof verdicts on correct and wrong patches of small models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from onnx.parser import parse_model

from tests.fixes.proving import prove
from tests.graphs import model_of
from trtlint.fixes import proof
from trtlint.fixes.boundary import Feeds
from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Draft, Patch
from trtlint.fixes.proof import prove_all
from trtlint.fixes.region import Region
from trtlint.model.load import Model
from trtlint.model.protos import DTYPES

TEXT = '< ir_version: 10, opset_import: ["" : {}] > g ({} x) => ({} y) {{ y = Neg (x) }}'


def unary(dtype: str = "float", opset: int = 17) -> Model:
    """Return a model of one Neg."""
    return model_of(TEXT.format(opset, f"{dtype}[N,4]", f"{dtype}[N,4]"))


def proved(model: Model, write: Callable[[Draft], object], **settings: object) -> Proof:
    """Return the proof of new nodes in place of all nodes."""
    draft = Draft(model, model.graph.nodes[0])
    write(draft)
    return prove(model, draft.patch("writes", model.graph.nodes, **settings))  # type: ignore[arg-type]


def scaled(factor: float) -> Callable[[Draft], object]:
    """Multiply by a number near minus one."""
    return lambda draft: draft.op("Mul", "x", draft.like(-factor, draft.node.inputs[0]), out="y")


@pytest.mark.parametrize(
    ("dtype", "within", "beyond", "allowed"),
    [
        ("double", 1 + 5e-10, 1 + 2e-9, "1e-09"),
        ("float", 1 + 5e-5, 1 + 2e-4, "1e-04"),
        ("float16", 1 + 1e-2, 1 + 4e-2, "2e-02"),
        ("bfloat16", 1 + 5e-2, 1 + 2e-1, "1e-01"),
    ],
)
def test_the_narrowest_type_decides_what_may_differ(
    dtype: str, within: float, beyond: float, allowed: str
) -> None:
    right = proved(unary(dtype), scaled(within))
    assert right.equal is True, right.words
    # of six choices of sizes with five kinds each
    assert right.figures["sets"] == 30
    assert right.words.startswith("30 sets of inputs, largest difference ")
    assert right.figures["difference"] == pytest.approx(within - 1, rel=0.2)
    wrong = proved(unary(dtype), scaled(beyond))
    assert wrong.equal is False
    assert f"of the largest result in FP64 (allowed: {allowed})" in wrong.words
    assert wrong.words.startswith("a result differs by ")
    assert wrong.figures == {"difference": pytest.approx(beyond - 1, rel=0.2)}
    assert wrong.difference > 0


def test_half_precision_is_measured_where_it_takes_part() -> None:
    found = proved(unary("float16"), scaled(1.0))
    assert found.figures.keys() == {"sets", "difference", "half_before", "half_after"}
    assert "FP16 error " in found.words
    assert proved(unary(), scaled(1.0)).figures.keys() == {"sets", "difference"}


def overflowing(draft: Draft) -> None:
    """Compute through numbers beyond FP16."""
    large = draft.like(30000.0, draft.node.inputs[0])
    high = draft.op("Mul", draft.op("Mul", "x", large), draft.like(-30000.0, "f16"))
    draft.op("Div", draft.op("Div", high, large), large, out="y")


def test_what_overflows_in_half_precision_is_worse() -> None:
    found = proved(unary("float16"), overflowing)
    assert found.equal is False
    assert found.figures["half_before"] == 0
    assert found.figures["half_after"] == 1


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda draft: draft.op("Abs", "x", out="y"), "a result differs by"),
        (lambda draft: draft.op("Flatten", draft.op("Neg", "x"), axis=0, out="y"), "a result differs by inf"),
        (lambda draft: draft.op("Log", draft.op("Identity", "x"), out="y"), "a result differs by inf"),
        (
            lambda draft: draft.op("Cast", draft.op("Neg", "x"), to=11, out="y"),
            "the rewrite changes the type of y",
        ),
        (
            lambda draft: draft.op("Add", draft.op("Neg", "x"), draft.like(0.0, "f64"), out="y"),
            "an operator of the rewritten model has inputs whose types do not match",
        ),
        (
            lambda draft: draft.op("Reshape", draft.op("Neg", "x"), draft.ints(7, 7, 7), out="y"),
            "the rewritten nodes fail: ",
        ),
    ],
)
def test_wrong_patches(write: Callable[[Draft], object], words: str) -> None:
    found = proved(unary(), write)
    assert found.equal is False
    assert found.words.startswith(words)
    assert len(found.words) <= 200


def test_types_are_checked_with_the_first_set(monkeypatch: pytest.MonkeyPatch) -> None:
    only = Feeds("random", 3, {"x": np.ones((3, 4), np.float32)})
    monkeypatch.setattr(proof, "feeds_of", lambda *_: iter([only]))
    monkeypatch.setattr(proof, "_proven", {})
    found = proved(unary(), lambda draft: draft.op("Cast", draft.op("Neg", "x"), to=11, out="y"))
    assert found == Proof(False, "the rewrite changes the type of y", {})


@pytest.mark.parametrize(
    ("kind", "before", "after", "same"),
    [
        ("int64", "Abs (x)", "Identity (x)", True),
        ("int64", "Abs (x)", "Neg (x)", False),
        ("uint8", "Abs (x)", "Add (x, x)", False),
        ("float", "Abs (x)", "Neg (x)", True),
        ("int64", "Add (x, w)", "Neg (x)", True),
        ("int64", "Neg (x)", "Reshape (x, x)", True),
    ],
)
def test_only_integer_results_are_compared_in_their_own_types(
    kind: str, before: str, after: str, same: bool
) -> None:
    """A model that the reference cannot compute is no reason for a refusal."""
    head = f'< ir_version: 10, opset_import: ["" : 17] > g ({kind}[2] x) => ({kind}[2] y) '
    models = [parse_model(f"{head} {{ y = {body} }}") for body in (before, after)]
    dtype = {"int64": np.int64, "uint8": np.uint8, "float": np.float32}[kind]
    feeds = Feeds("random", 2, {"x": np.array([3, 5]).astype(dtype)})
    assert proof._same_integers(Region((), models[0], models[1], (), ("y",)), feeds) is same


def test_all_integer_results_are_compared() -> None:
    head = '< ir_version: 10, opset_import: ["" : 17] > g (int64[2] x) => (int64[2] y, int64[2] z) '
    models = [parse_model(f"{head} {{ y = Abs (x)  z = {last} (x) }}") for last in ("Abs", "Neg")]
    feeds = Feeds("random", 2, {"x": np.array([3, 5])})
    assert proof._same_integers(Region((), models[0], models[0], (), ("y", "z")), feeds) is True
    assert proof._same_integers(Region((), models[0], models[1], (), ("y", "z")), feeds) is False


def test_a_lack_of_memory_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(proof, "run_reference", full)
    model = parse_model(TEXT.format(17, "float[2]", "float[2]"))
    with pytest.raises(MemoryError):
        proof._same_integers(Region((), model, model, (), ("y",)), Feeds("random", 2, {}))


def test_a_type_that_a_patch_announces_may_change() -> None:
    def widened(draft: Draft) -> None:
        draft.op("Cast", draft.op("Neg", "x"), to=11, out="y")

    assert proved(unary(), widened, retyped=["y"]).equal is True


def test_whole_numbers_are_compared_exactly() -> None:
    text = """< ir_version: 10, opset_import: ["" : 17] > g (int64[N] x) => (int64[N] y) { y = Neg (x) }"""
    model = model_of(text)
    assert proved(model, lambda draft: draft.op("Mul", "x", draft.constant(np.array(-1)), out="y")).equal
    assert proved(model, lambda draft: draft.op("Abs", "x", out="y")).equal is False


def test_sums_of_whole_numbers_are_compared_in_their_own_types() -> None:
    """FP32 represents integers exactly up to 2 ** 24, and FP64 hides the error."""
    text = """< ir_version: 10, opset_import: ["" : 17] > g (uint8[2,512] x, uint8[512,2] w) => (int32[2,2] y)
    { y = MatMulInteger (x, w) }"""

    def through(dtype: str) -> Callable[[Draft], object]:
        kind = next(number for number, short in DTYPES.items() if short == dtype)

        def write(draft: Draft) -> None:
            x, w = (draft.op("Cast", name, to=kind) for name in ("x", "w"))
            draft.op("Cast", draft.op("MatMul", x, w), to=6, out="y")

        return write

    assert proved(model_of(text), through("f64")).equal is True
    found = proved(model_of(text), through("f16"))
    assert found.equal is False
    assert found.words == "in the types of the model, the integer results before and after the patch differ"
    assert found.figures == {"difference": 1.0}


DIVIDED = """< ir_version: 10, opset_import: ["" : 17] > g (float[N,4] x) => (float[N,4] y)
{ y = Reciprocal (x) }"""


def guarded(least: float, factor: float = 1.0, op: str = "Add") -> Callable[[Draft], object]:
    """Divide by a nonzero number."""

    def write(draft: Draft) -> None:
        kept = draft.op(op, "x", draft.like(least, "f32"))
        draft.op("Div", draft.like(factor, "f32"), kept, out="y")

    return write


@pytest.mark.parametrize(
    ("write", "equal"),
    [
        (guarded(1e-6), True),
        (guarded(1e-6, 0.5), False),  # another result where there was one
        (guarded(0.0), False),  # still infinite
        (guarded(1e-6, op="Max"), True),
        (guarded(1e-6, 1.00001, "Max"), False),  # larger near zero
        (lambda draft: draft.op("Flatten", draft.op("Abs", "x"), axis=0, out="y"), False),
    ],
)
def test_what_mends_a_division(write: Callable[[Draft], object], equal: bool) -> None:
    found = proved(model_of(DIVIDED), write, changes_results=True)
    assert found.equal is equal, found.words
    if equal:
        assert found.words.endswith(
            " (where the source result is finite); the fixed result is finite everywhere"
        )
        assert found.figures["sets"] == 18


def test_a_patch_in_parts_is_as_good_as_the_worst() -> None:
    model = model_of(
        '< ir_version: 10, opset_import: ["" : 17] > g (float[4] x) => (float[4] y)'
        " { a = Neg (x)  y = Abs (a) }"
    )

    def part(index: int, op: str) -> Patch:
        node = model.graph.nodes[index]
        draft = Draft(model, node)
        draft.op(op, node.proto.input[0], out=node.proto.output[0])
        return draft.patch("writes", [node])

    right, slight, wrong = part(0, "Neg"), part(1, "Abs"), part(1, "Exp")
    unknown = replace(part(1, "Abs"), parts=(Patch("nothing", (), ()),))
    assert prove(model, replace(right, parts=(right, slight))).equal is True
    assert prove(model, replace(right, parts=(right, wrong))).equal is False
    assert prove(model, replace(right, parts=(wrong, unknown))).equal is False
    both = prove_all(model, [wrong, right, wrong])
    assert [each.equal for each in both] == [False, True, False]


def test_the_worst_of_parts_is_told_by_its_difference() -> None:
    proofs = [Proof(True, "a", {"difference": 1e-9}), Proof(True, "b", {"difference": 1e-6})]
    assert proof._together(proofs).words == "b"
    assert proof._together([*proofs, Proof(None, "c", {})]).words == "c"
    assert proof._together([Proof(False, "d", {}), *proofs, Proof(None, "c", {})]).words == "d"


def test_the_opset_changes_where_all_operators_mean_the_same() -> None:
    model = unary(opset=17)
    found = prove(model, Patch("sets the opset", (), (), set_opset=16))
    assert (found.equal, found.words) == (
        True,
        "every operator has the same meaning in the old and the new opset",
    )
    text = """< ir_version: 10, opset_import: ["" : 13] > g (float[2,3,4] x) => (float[2,3,4] y)
    { a = Neg (x)  y = Softmax (a) }"""
    found = prove(model_of(text), Patch("sets the opset", (), (), set_opset=11))
    assert found.equal is False
    assert "Softmax" in found.words


def test_a_patch_that_changes_no_operator_is_proven() -> None:
    assert prove(unary(), Patch("nothing", (), ())) == Proof(True, "no operator changes", {})


def test_what_cannot_be_cut_out_is_not_proven() -> None:
    model = unary()
    draft = Draft(model, model.graph.nodes[0])
    draft.op("Neg", draft.op("Identity", "x"), out="y")
    found = prove(model, draft.patch("copies", model.graph.nodes, altered=["y"]))
    assert (found.equal, found.words) == (
        None,
        "could not check the changed nodes alone: no node reads the values that the rewrite changes",
    )
    draft = Draft(model, model.graph.nodes[0])
    draft.op("Neg", "y", out="y")
    found = prove(model, draft.patch("copies", model.graph.nodes))
    assert (found.equal, found.words) == (False, "the rewritten nodes form a cycle")


def test_proofs_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proof._MOST_KEPT == 4096
    monkeypatch.setattr(proof, "_MOST_KEPT", 2)
    monkeypatch.setattr(proof, "_proven", {bytes([number]): Proof(True, "", {}) for number in range(2)})
    proved(unary(), scaled(1.0))
    assert len(proof._proven) == 3
    proved(unary(), scaled(1.0 + 1e-6))
    assert len(proof._proven) == 1


def test_sets_are_left_out_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (proof._ENOUGH, proof._FEWEST) == (5.0, 5)
    monkeypatch.setattr(proof, "_ENOUGH", -1.0)
    monkeypatch.setattr(proof, "_proven", {})
    assert proved(unary(), scaled(1.0)).figures["sets"] == 5
    inferred = proved(
        unary(), lambda draft: draft.op("Neg", draft.op("Reshape", "x", draft.ints(-1, 4)), out="y")
    )
    assert inferred.equal is True, inferred.words


def test_numbers_that_are_not_finite_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def only(kind: str, *numbers: float) -> Callable[..., Iterator[Feeds]]:
        return lambda *_: iter([Feeds(kind, 3, {"x": np.array(numbers, np.float32)})])

    text = '< ir_version: 10, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { y = Log (x) }'
    for kind, numbers, equal in (
        ("random", (-1.0, -2.0), None),
        ("random", (-1.0, 2.0), True),
        ("beyond", (-1.0, 2.0), None),
        ("beyond", (1.0, 2.0), True),
    ):
        monkeypatch.setattr(proof, "feeds_of", only(kind, *numbers))
        monkeypatch.setattr(proof, "_proven", {})
        found = proved(model_of(text), lambda draft: draft.op("Log", draft.op("Identity", "x"), out="y"))
        assert found.equal is equal, (kind, numbers)
        if equal is None:
            assert found.words == "could not check the changed nodes alone: no result is finite"
