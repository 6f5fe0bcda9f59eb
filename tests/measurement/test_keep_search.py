"""Tests of the search for nodes to keep in FP32, with given errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import cast

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from trtlint.measurement import search
from trtlint.measurement.analysis import Findings
from trtlint.measurement.formats import FP16
from trtlint.measurement.kept import KeptNodes
from trtlint.measurement.measurement import InternalValue, MeasuredTensor
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.rehearsing import Rehearsal
from trtlint.measurement.search import KeepSearch, _size
from trtlint.measurement.trial import NarrowRun, Trial, ratio
from trtlint.measurement.trialmodel import TrialModel, load_trial_model

BOUND = 0.1
CHAIN = (
    "Sin",
    "Sin",
    "Product",
    "Sin",
    "Reshape",
    "Sin",
    "Reshape",
    "Reshape",
    "Product",
    "Sin",
    "Sin",
    "Sin",
)
COMPUTING = [f"n{place}" for place, op in enumerate(CHAIN) if op != "Reshape"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> TrialModel:
    """Return a chain of operators, ``n0`` to ``n11``, three of which only move numbers."""
    calls = {"Sin": "Sin (v%d)", "Product": "MatMul (v%d, w)", "Reshape": "Reshape (v%d, size)"}
    lines = [f"[n{place}] v{place + 1} = {calls[op] % place}" for place, op in enumerate(CHAIN)]
    text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[4,4] v0) => (float[4,4] v{len(CHAIN)})
    < float[4,4] w = {{{", ".join("1" * 16)}}}, int64[2] size = {{4, 4}} > {{ {"  ".join(lines)} }}"""
    path = tmp_path_factory.mktemp("chain") / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return load_trial_model(path)


class Errors:
    """A fake model whose error is the sum of the errors of its FP16 nodes.

    If only operands and results of products are rounded, the error is a tenth of the sum.
    """

    def __init__(self, model: TrialModel, errors: Mapping[str, float], base: float = 0.0) -> None:
        self.model = model
        self.errors = errors
        self.base = base
        self.runs = 0

    def accumulates(self, _: Narrowing) -> bool:
        return False

    def of(self, kept: frozenset[str]) -> float:
        """Return the error with some nodes in FP32, in integer hundredths."""
        return round(self.base + sum(error for name, error in self.errors.items() if name not in kept)) / 100

    def rehearse(self, narrowing: Narrowing) -> NarrowRun:
        self.runs += 1
        return self.result(narrowing)

    def result(self, narrowing: Narrowing) -> NarrowRun:
        """Return the result of a run."""
        return NarrowRun({"y": self.of(narrowing.keep) / (10 if narrowing.fused else 1)})


def searched(
    trial: Errors, *beyond: str, ways: tuple[Narrowing, ...] = (Narrowing(FP16),), thorough: bool = True
) -> KeptNodes:
    """Search for the nodes to keep, by default without limits of runs."""
    results = tuple((way, trial.result(way)) for way in ways)
    rehearsal = Rehearsal(results[0][1], results[0][1], results[0][1], None, None, results)
    found = Findings(frozenset(beyond), frozenset(), frozenset())
    nodes = trial.model.scopes[""]
    return KeepSearch(cast("Trial", trial), nodes, found, rehearsal, BOUND, thorough=thorough).found()


def carried(kept: frozenset[str]) -> Iterator[str]:
    """Yield the operators that only move numbers to a kept node, from another kept node or the input."""
    for place, op in enumerate(CHAIN):
        before = next((each for each in range(place, -1, -1) if CHAIN[each] != "Reshape"), None)
        behind = next((each for each in range(place, len(CHAIN)) if CHAIN[each] != "Reshape"), None)
        if op == "Reshape" and (before is None or f"n{before}" in kept) and f"n{behind}" in kept:
            yield f"n{place}"


ERRORS = st.dictionaries(st.sampled_from(COMPUTING), st.integers(1, 12))


@given(ERRORS, st.integers(0, 12), st.sets(st.integers(1, 12), max_size=2))
def test_no_node_can_leave_the_set(
    chain: TrialModel, errors: dict[str, int], base: int, beyond: set[int]
) -> None:
    trial = Errors(chain, errors, base)
    everything = frozenset(COMPUTING)
    if trial.of(frozenset()) <= BOUND:
        return
    found = searched(trial, *(f"v{each}" for each in beyond))
    kept = frozenset(found.nodes) & everything
    assert list(found.nodes) == sorted({*kept, *carried(kept)}, key=lambda name: int(name[1:]))
    assert (found.runs, found.complete, found.computing, found.products) == (trial.runs, True, 12, 2)
    assert found.kept_products == len(kept & {"n2", "n8"})
    assert found.error == trial.of(kept)
    assert found.verified is (trial.of(everything) <= BOUND)
    if not found.verified:
        return
    aim = BOUND / 2 if trial.of(everything) <= BOUND / 2 else BOUND
    assert trial.of(kept) <= aim
    assert all(trial.of(kept - {name}) > aim for name in kept)
    spare = {name for name in kept if trial.of(kept - {name}) <= BOUND and len(kept) > 1}
    assert frozenset(found.margin) & everything == spare


PLAIN = Narrowing(FP16)
FUSED, ADDING = replace(PLAIN, fused=True), replace(PLAIN, accumulate=True)
STORED = replace(FUSED, stored=frozenset({"v3"}))
CLAMPED = replace(PLAIN, clamped=frozenset({"c"}))


@pytest.mark.parametrize(
    "ways", [(PLAIN,), (PLAIN, CLAMPED), (PLAIN, FUSED)], ids=["one", "two", "a good one"]
)
@pytest.mark.parametrize(
    "errors",
    [
        {"n0": 4, "n3": 4, "n9": 5},
        {"n0": 4, "n3": 5, "n5": 12, "n9": 3},
        {"n5": 20},
        dict.fromkeys(COMPUTING, 3),
    ],
    ids=["three", "four", "one", "all"],
)
def test_a_search_with_few_runs(
    errors: dict[str, float],
    ways: tuple[Narrowing, ...],
    chain: TrialModel,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    """Each row has the run limit, the number of runs, the kept nodes and the margin nodes."""
    whole = searched(Errors(chain, errors), ways=ways)
    assert whole.complete
    rows = []
    for most in range(1, 21):
        monkeypatch.setattr(search, "MOST_RUNS", most)
        trial = Errors(chain, errors)
        found = searched(trial, ways=ways, thorough=False)
        assert found.runs == trial.runs <= max(most, len(ways))
        assert found.verified is (trial.of(frozenset(found.nodes)) <= BOUND)
        assert all(trial.of(frozenset(found.nodes) - {name}) <= BOUND for name in found.margin)
        assert not found.complete or found == replace(whole, runs=found.runs)
        end = "complete" if found.complete else "cut"
        rows.append(f"{most}: {found.runs} {' '.join(found.nodes)} ({' '.join(found.margin)}) {end}")
    assert rows == snapshot


def test_a_model_that_no_set_helps(chain: TrialModel) -> None:
    trial = Errors(chain, {"n3": 1}, base=11)
    assert searched(trial) == KeptNodes((), 0.12, 2, computing=12, products=2)
    assert searched(trial, "v3").nodes == ("n2", "n3")
    assert searched(trial, "v4").nodes == ("n3",)


@pytest.mark.parametrize(
    ("bad", "good", "accumulates", "drivers"),
    [
        ([PLAIN], [], True, [PLAIN]),
        ([PLAIN], [FUSED, ADDING], True, [PLAIN]),
        ([FUSED], [PLAIN], True, [FUSED]),
        ([PLAIN, FUSED], [], True, [PLAIN]),
        ([PLAIN, ADDING], [], True, [ADDING]),
        ([PLAIN, ADDING], [], False, [PLAIN]),
        ([PLAIN, FUSED, ADDING], [], True, [ADDING]),
        ([STORED], [], True, [STORED]),
        ([STORED, replace(STORED, accumulate=True)], [], True, [replace(STORED, accumulate=True)]),
        ([CLAMPED, PLAIN], [], True, [CLAMPED, PLAIN]),
        ([CLAMPED, replace(FUSED, clamped=frozenset({"c"}))], [PLAIN], True, [CLAMPED]),
    ],
)
def test_sets_are_tried_with_the_worst_of_the_ways(
    bad: list[Narrowing],
    good: list[Narrowing],
    accumulates: bool,
    drivers: list[Narrowing],
    chain: TrialModel,
) -> None:
    fine, broken = NarrowRun({"y": BOUND}), NarrowRun({"y": BOUND * 1.01})
    ways = (*((way, fine) for way in good), *((way, broken) for way in bad))
    rehearsal = Rehearsal(fine, fine, fine, None, None, ways)
    trial = SimpleNamespace(model=chain, accumulates=lambda way: accumulates and way.accumulate)
    found = Findings(frozenset(), frozenset(), frozenset())
    made = KeepSearch(cast("Trial", trial), chain.scopes[""], found, rehearsal, BOUND)
    assert made.drivers == drivers
    assert made.ways == [*good, *bad]


def test_products_cost_more_to_keep(chain: TrialModel) -> None:
    fine = NarrowRun({"y": 0.0})
    trial = SimpleNamespace(model=chain)
    made = KeepSearch(
        cast("Trial", trial),
        chain.scopes[""],
        Findings(frozenset(), frozenset(), frozenset()),
        Rehearsal(fine, fine, fine, None, None, ()),
        BOUND,
    )
    assert made.costs == {f"n{place}": 16 * 64 if op == "Product" else 16 for place, op in enumerate(CHAIN)}


@pytest.mark.parametrize(
    ("shape", "size"),
    [(None, 1), ((), 1), ((3,), 3), ((2, 3), 6), ((1, 5), 5), ((0, 5), 5), (("N", 5), 5), ((None, 4, 2), 8)],
)
def test_unknown_and_empty_dimensions_count_as_one(
    shape: tuple[int | str | None, ...] | None, size: int
) -> None:
    assert _size(shape) == size


@pytest.mark.parametrize(
    ("errors", "worst"),
    [
        ({}, 0.0),
        ({"y": 0.5}, 0.5),
        ({"y": 0.5, "z": 0.75}, 0.75),
        ({"y": 0.0}, 0.0),
        ({"y": 0.5, "z": None}, None),
    ],
)
def test_the_worst_error_of_the_outputs(errors: dict[str, float | None], worst: float | None) -> None:
    assert NarrowRun(errors).worst == worst


@pytest.mark.parametrize(
    ("largest", "inside", "greatest"),
    [(None, (), 0.0), (2.0, (), 2.0), (2.0, (1.0, None), 2.0), (2.0, (3.0, 1.0), 3.0), (None, (None,), 0.0)],
)
def test_the_largest_magnitude_of_a_tensor(
    largest: float | None, inside: tuple[float | None, ...], greatest: float
) -> None:
    numbers = tuple(InternalValue("square", each) for each in inside)
    tensor = MeasuredTensor("n", "Mul", "t", largest, None, None, "ok", False, True, numbers)
    assert tensor.greatest == greatest


@pytest.mark.parametrize(
    ("difference", "magnitude", "error"),
    [(0.5, 2.0, 0.25), (0.0, 2.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 3.4028234663852886e38)],
)
def test_the_error_of_an_output(difference: float, magnitude: float, error: float) -> None:
    assert ratio(difference, magnitude) == error
