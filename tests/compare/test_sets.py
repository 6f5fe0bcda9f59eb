"""Tests of input sets for a comparison of two models."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.compare.sets import RandomSets, random_sets, size_of
from trtlint.measurement.feeds import random_feeds

INPUTS = model_of(
    """< ir_version: 8, opset_import: ["" : 17] >
    m (float[N,3] x, int64[M] ids) => (float[N,3] y) { y = Neg (x) }"""
).graph.inputs


def test_the_first_set_is_the_first_of_all() -> None:
    made = RandomSets(INPUTS)
    (first,), whole = made.first(), made.all()
    assert len(whole) == 8
    assert all(np.array_equal(first[name], whole[0][name]) for name in first)


def test_no_more_sets_are_made_than_memory_is_meant_for() -> None:
    size = size_of(RandomSets(INPUTS).first())
    made = RandomSets(INPUTS, most=4 * size)
    assert len(made.all()) == 4
    assert len(made.all(beside=size)) == 2
    assert len(made.all(beside=100 * size)) == 1


def test_dimensions_of_several_names_are_equal_in_some_choices() -> None:
    shapes = [
        {name: array.shape for name, array in made.first()[0].items()} for made in random_sets(INPUTS)[2:]
    ]
    assert {"x": (8, 3), "ids": (8,)} in shapes
    still = [made.first()[0]["ids"] for made in random_sets(INPUTS) if made.still]
    assert still
    assert not any(each.any() for each in still)


def test_every_set_is_of_its_kind() -> None:
    made = RandomSets(INPUTS).all()
    random, again, small, zeros, large, ones, masked, last = (each["x"] for each in made)
    assert np.abs(small).max() < 0.1
    assert 10 < np.abs(large).max() < 200
    assert not zeros.any()
    assert (ones == 1).all()
    assert all(0.1 < np.abs(each).max() < 10 for each in (random, again, masked, last))
    assert not any(np.array_equal(random, each) for each in (again, masked, last))
    assert not made[3]["ids"].any()
    assert (made[5]["ids"] == 1).all()
    assert not made[6]["ids"].any()
    np.testing.assert_array_equal(made[2]["ids"].dtype, np.dtype(np.int64))


def test_choices_of_shapes() -> None:
    found = []
    for made in random_sets(INPUTS):
        (batch,) = made.first()
        found.append((batch["x"].shape[0], batch["ids"].shape[0], made.still))
    equal = [(size, size, still) for size in (4, 8, 2, 16) for still in (False, True)]
    mixed = [(a, b, False) for a in (4, 2, 8) for b in (4, 2, 8) if a != b]
    assert found[2:] == equal + mixed
    assert len(found) == 2 + len(equal) + len(mixed)
    assert {made.most for made in random_sets(INPUTS, 99)} == {99}


def test_scales_and_masks_of_kinds() -> None:
    inputs = model_of(
        """< ir_version: 8, opset_import: ["" : 17] >
        m (float[4] x, bool[4,8] mask) => (float[4] y) { y = Neg (x) }"""
    ).graph.inputs
    drawn = random_feeds(inputs, 8, 0)
    assert drawn is not None
    made = RandomSets(inputs).all()
    np.testing.assert_array_equal(made[4]["x"], drawn[4]["x"] * np.float32(30))
    np.testing.assert_array_equal(made[2]["x"], drawn[2]["x"] * np.float32(0.01))
    assert not made[6]["mask"].any()
    assert made[5]["mask"].all()
    assert {each["mask"].dtype for each in made} == {np.dtype(np.bool_)}


@pytest.mark.parametrize(("names", "count"), [("", 0), ("N", 0), ("N,M", 6), ("N,M,K", 24), ("N,M,K,L", 0)])
def test_up_to_three_dimensions_get_different_sizes(names: str, count: int) -> None:
    inputs = model_of(
        f"""< ir_version: 8, opset_import: ["" : 17] >
        m (float[{names or 3}] x) => (float[{names or 3}] y) {{ y = Neg (x) }}"""
    ).graph.inputs
    shapes = [made.inputs[0].shape for made in random_sets(inputs)]
    assert len(shapes) == 10 + count
    assert len(set(shapes[10:])) == count
    assert all(len(set(shape or ())) > 1 for shape in shapes[10:])
