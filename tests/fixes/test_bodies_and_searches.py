"""Tests of the search for the first bad patch of several rounds."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.fixes.proposing import outcome, proposal
from trtlint.fixes import fixing
from trtlint.fixes.edit import EditError
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.fixes.rewrites import drop_declarations
from trtlint.fixes.rewrites.resize_by_gather import _taps

SIZES = (3, 1, 4, 2, 5, 1, 2)


def several() -> Any:
    """Return an outcome of seven rounds whose patches are numbered."""
    numbers = iter(range(sum(SIZES)))
    rounds: list[tuple[Any, tuple[int, ...]]] = []
    for size in SIZES:
        patches = tuple(next(numbers) for _ in range(size))
        before = tuple(chain.from_iterable(each for _, each in rounds))
        rounds.append((SimpleNamespace(proto=before, model=SimpleNamespace(graph=None)), patches))
    applied = [SimpleNamespace(patch=number, key=(f"fix-{number}", "")) for number in range(sum(SIZES))]
    return SimpleNamespace(rounds=rounds, applied=applied)


@pytest.mark.parametrize("bad", range(sum(SIZES)))
@pytest.mark.parametrize("raises", [False, True])
def test_the_first_bad_patch_is_found(bad: int, raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def applied(proto: tuple[int, ...], graph: object, patches: tuple[int, ...]) -> tuple[int, ...]:
        if raises and bad in patches:
            raise EditError("a cycle")
        return (*proto, *patches)

    asked: list[int] = []

    def check(proto: tuple[int, ...], patches: tuple[int, ...]) -> str:
        asked.append(len(proto))
        assert tuple(proto) == tuple(patches)
        return f"worse by {max(proto)}" if bad in proto else ""

    monkeypatch.setattr(fixing, "apply", applied)
    # The search only passes models and patches on, so numbers take their place.
    good, found, why = fixing._search(several(), check, "worse")  # type: ignore[arg-type]
    ends = [sum(SIZES[: index + 1]) for index in range(len(SIZES))]
    assert good == next(index for index, end in enumerate(ends) if bad < end)
    assert found == {(f"fix-{bad}", "")}
    assert why.startswith("worse") or why == "a cycle"
    assert len(asked) <= 6  # three for the rounds, three for the patches of one


def test_the_numbers_of_declarations_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def title(*names: str) -> str:
        found = [(SimpleNamespace(name=name), None) for name in names]
        monkeypatch.setattr(drop_declarations, "contradictions", lambda _: found)
        try:
            patch = drop_declarations.propose(None, SimpleNamespace(graph=None))  # type: ignore[arg-type]
        except NotApplicable as why:
            return str(why)
        return f"{patch.title} {', '.join(patch.retyped)}"

    assert title() == "no declared type differs from the type that the operator returns"
    assert title("a") == "removes a declared type a"
    assert title("a", "b") == "removes 2 declared types a, b"


def test_weights_that_rounding_leaves_of_zero_are_none() -> None:
    def taps(*columns: tuple[float, ...]) -> Any:
        try:
            return tuple(each.tolist() for each in _taps(np.array(columns).T))
        except NotApplicable as why:
            return str(why)

    assert taps((0.1, 2e-7, 0.0)) == ([[0, 1]], [[0.1, 2e-7]])
    assert taps((0.1, 0.9e-7, 0.0)) == ([[0]], [[0.1]])
    assert taps((0.5, 0.0, 0.5), (0.0, 1.0, 0.0)) == ([[0, 2], [1, 1]], [[0.5, 0.5], [0.5, 0.5]])
    assert (
        taps((0.0, 0.0), (0.0, 1.0))
        == "an output element depends on no input element, or on more than 64 input elements"
    )
    assert taps((1.0,) * 64)[0] == [list(range(64))]
    assert tuple(each.tolist() for each in _taps(np.zeros((3, 0)))) == ([], [])
    assert (
        taps((1.0,) * 65)
        == "an output element depends on no input element, or on more than 64 input elements"
    )


def test_a_body_inside_gives_a_value_from_around_it_under_its_new_name() -> None:
    text = """(float[4] x, bool c) => (float[4] y) < bool yes = {1} > {
      y = If (yes) < then_branch = t () => (float[4] p) {
          n = Neg (x)
          p = If (c) < then_branch = a () => (float[4] n) { },
                       else_branch = b () => (float[4] q) { q = Abs (n) } >
        }, else_branch = e () => (float[4] r) { r = Abs (x) } > }"""
    found = proposal("take-branch", text, "y")
    assert isinstance(found, Patch)
    inner, chosen = found.insert
    ends = {
        each.name: (each.g.output[0].name, [list(node.input) for node in each.g.node])
        for each in chosen.attribute
    }
    assert ends == {"then_branch": (inner.output[0], []), "else_branch": ("q", [[inner.output[0]]])}
    assert inner.output[0] != "n"


def test_a_body_that_gives_too_little_is_not_written_out() -> None:
    text = """(float[4] x) => (float[4] y) < int64 two = {2}, bool yes = {1} > {
      y = Loop (two, yes, %s) <body = b (int64 i, bool go, float[4] s) => (bool on%s)
        { on = Identity (go)  t = Neg (s) }> }"""
    why = "the body of the Loop does not have the inputs and outputs that ONNX requires"
    assert outcome("write-out-loop", text % ("x", ""), "y") == why
    assert outcome("write-out-loop", text % ("x, x", ", float[4] t"), "y") == why
    assert outcome("write-out-loop", text % ("x", ", float[4] t"), "y").startswith("t = Neg (x)")
    stored = text.replace("float[4] s)", "float[4] s, float[4] k)").replace(
        "        {", " < float[4] k = {1, 2, 3, 4} > {"
    )
    assert outcome("write-out-loop", stored % ("x", ", float[4] t"), "y") == why
