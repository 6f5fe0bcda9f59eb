"""Tests of parts from the regions that the parser accepts."""

from __future__ import annotations

import numpy as np
import pytest

from trtlint.partition import regions
from trtlint.partition.regions import (
    JoinedRegions,
    Operator,
    borders,
    interface_words,
    join,
    runs,
    shapeless_words,
)
from trtlint.partition.result import ProviderSettings


def chain(*names: str, op: str = "Relu") -> list[Operator]:
    """Return a chain of operators."""
    return [Operator(name, op, (f"v{index}",), (f"v{index + 1}",)) for index, name in enumerate(names)]


def test_runs_end_at_gaps() -> None:
    assert runs([0, 1, 2, 5, 7, 8]) == ((0, 1, 2), (5,), (7, 8))
    assert runs([]) == ()


def test_parts_around_a_node_of_the_way_stay_apart() -> None:
    joined = join(chain("a", "left", "b"), [(0,), (2,)], ProviderSettings())
    assert joined.parts == ((0,), (2,))
    assert not joined.joined


def test_parts_without_a_way_through_left_nodes_are_joined() -> None:
    """Both read an input of the model, and the remaining node reads the first."""
    operators = [
        Operator("a", "Relu", ("x",), ("p",)),
        Operator("left", "NonZero", ("p",), ("q",)),
        Operator("b", "Relu", ("x",), ("r",)),
    ]
    joined = join(operators, [(0,), (2,)], ProviderSettings())
    assert joined.parts == ((0, 2),)
    assert joined.joined


def test_small_regions_are_dropped_before_others_are_joined() -> None:
    joined = join(chain("a", "b", "left", "c"), [(0, 1), (3,)], ProviderSettings(min_nodes=2))
    assert joined.parts == ((0, 1),)
    assert joined.small == ((3,),)


def test_left_nodes_without_names_are_one_vertex() -> None:
    """The providers identify nodes outside regions by name, which can cause a false cycle."""
    named = join(chain("a", "left1", "b", "left2", "c"), [(0,), (2,), (4,)], ProviderSettings())
    nameless = join(chain("a", "", "b", "", "c"), [(0,), (2,), (4,)], ProviderSettings())
    assert named.cyclic == ()
    assert named.parts == ((0,), (2,), (4,))
    assert nameless.cyclic == ((2,),)
    assert nameless.parts == ((0,), (4,))


def test_borders_are_between_parts_and_other_nodes() -> None:
    operators = chain("a", "left", "b")
    assert borders(operators, [(0,), (2,)], {"v3"}) == [("v1", False), ("v2", True)]


def test_a_region_with_a_gap_can_be_part_of_a_cycle() -> None:
    joined = join(chain("a", "left", "b", "c"), [(0, 2), (3,)], ProviderSettings())
    assert joined.cyclic == ((0, 2),)
    assert joined.parts == ((3,),)


def test_borders_of_random_graphs() -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        count = int(random.integers(2, 9))
        operators = [
            Operator(
                f"n{at}",
                "Add",
                tuple(f"v{source}" for source in random.integers(-1, at, int(random.integers(1, 4)))),
                (f"v{at}", ""),
            )
            for at in range(count)
        ]
        numbers = random.integers(-1, 2, count)
        parts = [tuple(np.flatnonzero(numbers == number).tolist()) for number in (0, 1)]
        outputs = {f"v{at}" for at in range(count) if random.random() < 0.3}
        into, out = [], []
        for at, operator in enumerate(operators):
            for name in operator.inputs:
                if name == "v-1" or numbers[int(name[1:])] == numbers[at]:
                    continue
                if numbers[at] >= 0:
                    into.append((name, int(numbers[at])))
                source = int(numbers[int(name[1:])])
                if source >= 0 and name not in outputs:
                    out.append((name, source))
        expected = [(name, True) for name, _ in set(into)] + [(name, False) for name, _ in set(out)]
        assert sorted(borders(operators, parts, outputs)) == sorted(expected)


@pytest.mark.parametrize(
    ("names", "given", "possible"),
    [
        (("a", "b", "c"), [(0,), (2,)], False),
        (("a", "b", "c"), [(0, 1), (2,)], False),
        (("a", "b", "c"), [(0, 2)], True),
        (("a", "b", "c"), [(0,), (0, 2)], True),
        (("a", "", "c", ""), [(0,), (2,)], True),
        (("a", "", "c", "b"), [(0,), (2,)], False),
        (("", "b", ""), [(0,), (2,)], False),
        (("a", "b"), [], False),
    ],
)
def test_only_regions_with_gaps_and_nodes_of_one_name_can_be_in_a_cycle(
    names: tuple[str, ...], given: list[tuple[int, ...]], possible: bool
) -> None:
    assert regions._may_have_cycle(chain(*names), given) is possible


def test_regions_are_removed_until_there_is_no_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = chain("a", "b", "c", "d", "e", "f", "g", "h")
    parts = [(0, 2), (3,), (4, 6), (7,)]
    both = ((0, 2), (4, 6))
    for most, cyclic in ((3, both), (2, both), (1, both[:1]), (0, ())):
        monkeypatch.setattr(regions, "_MOST_REMOVALS", most)
        left = tuple(part for part in parts if part not in cyclic)
        assert join(operators, parts, ProviderSettings()) == JoinedRegions(left, (), cyclic)
    assert join(operators, [(), (0,), ()], ProviderSettings()) == JoinedRegions(((0,),))
    assert join([], [], ProviderSettings()) == JoinedRegions(())


def test_small_regions_and_cycles_are_both_reported() -> None:
    found = join(
        chain("a", "b", "", "c", "", "d", "e"), [(0, 1), (3,), (5, 6)], ProviderSettings(min_nodes=2)
    )
    assert found == JoinedRegions(((0, 1), (5, 6)), ((3,),), ())
    gap = join(chain("a", "left", "b", "c", "d"), [(0, 2), (3,), (4,)], ProviderSettings(min_nodes=1))
    assert gap == JoinedRegions(((3, 4),), (), ((0, 2),), joined=True)


def test_vertices_and_the_vertices_that_read_them() -> None:
    operators = [
        Operator("a", "Relu", ("x",), ("p", "q")),
        Operator("", "Sin", ("p", "p"), ("r",)),
        Operator("", "Sin", ("r",), ("s",)),
        Operator("n", "Cos", ("q", "s", "other"), ("t",)),
        Operator("b", "Relu", ("t", "p"), ("y",)),
    ]
    assert regions._following(operators, [(0,), (4,)]) == [[2, 1, 3], [], [2, 3], [1]]
    assert regions._following(operators, [(0, 4)]) == [[1, 2], [1, 2], [0]]
    assert regions._cycle(operators, [(0, 4)]) == [1, 1]
    assert regions._cycle(operators[:1], [(0,)]) == []


def test_words() -> None:
    assert shapeless_words("") == ""
    words = "has no full shape: Please run shape inference on the onnx model first"
    assert shapeless_words("q") == f"tensor q {words}"
    assert interface_words("x", "f64") == "the provider accepts no f64 inputs or outputs, such as x"
