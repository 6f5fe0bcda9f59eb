"""The sets of inputs that two models are compared on."""

from __future__ import annotations

import numpy as np

from tests.graphs import model_of
from trtlint.compare.sets import RandomSets, UserSets, random_sets, size_of

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


def test_what_the_user_gave_is_taken_whole() -> None:
    given = UserSets(RandomSets(INPUTS).first() * 3)
    assert (len(given.first()), len(given.all(beside=9))) == (1, 3)


def test_dimensions_of_several_names_are_equal_in_some_choices() -> None:
    shapes = [
        {name: array.shape for name, array in made.first()[0].items()} for made in random_sets(INPUTS)[2:]
    ]
    assert {"x": (8, 3), "ids": (8,)} in shapes
    still = [made.first()[0]["ids"] for made in random_sets(INPUTS) if made.still]
    assert still
    assert not any(each.any() for each in still)
