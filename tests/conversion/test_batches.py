"""Tests of the batches for measurement, validation and the final test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.conversion.models import PRODUCTS, saved
from trtlint.conversion import batches
from trtlint.conversion.batches import trial_of, validation_of
from trtlint.measurement.feeds import Feeds
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.trialmodel import ModelNotLoadedError, TrialError, TrialModel, load_trial_model

pytest.importorskip("onnxruntime")


def given(folder: Path, count: int) -> tuple[TrialModel, Inputs]:
    """Return a model with batches of different numbers."""
    files = []
    for index in range(count):
        files.append(str(folder / f"{index}.npz"))
        np.savez(files[-1], x=np.random.default_rng(index).standard_normal((2, 8)).astype(np.float32))
    return load_trial_model(saved(PRODUCTS, folder / "m.onnx")), Inputs(tuple(files))


def rows(feeds: list[dict[str, np.ndarray]]) -> set[bytes]:
    return {batch["x"].tobytes() for batch in feeds}


def test_few_batches_are_validated_with_copies_of_their_own(tmp_path: Path) -> None:
    model, inputs = given(tmp_path, 2)
    measured = rows(list(trial_of(model, inputs, 0, held_back=False).feeds))
    held_back = rows(list(trial_of(model, inputs, 0, held_back=True).feeds))
    validation = validation_of(model, inputs, 0)
    assert validation is not None
    copies = rows(list(validation.feeds))
    assert len(copies) == 2 * (len(measured) - 2)
    assert not copies & (measured | held_back)
    assert len(measured & held_back) == 2


def test_many_batches_need_no_copies(tmp_path: Path) -> None:
    model, inputs = given(tmp_path, 8)
    assert validation_of(model, inputs, 0) is None
    measured = rows(list(trial_of(model, inputs, 0, held_back=False).feeds))
    assert len(measured) == 6
    assert not measured & rows(list(trial_of(model, inputs, 0, held_back=True).feeds))


def batch_of(number: float) -> Feeds:
    """Return a batch of eight bytes."""
    return {"x": np.array([number, -number], np.float32)}


@pytest.mark.parametrize(
    ("count", "attempt", "role", "own", "seeds"),
    [
        (1, 0, "measured", slice(None), range(4)),
        (1, 0, "held back", slice(None), range(4, 8)),
        (1, 0, "validation", slice(0), range(1 << 20, (1 << 20) + 8)),
        (1, 1, "measured", slice(None), range(8)),
        (1, 1, "held back", slice(None), range(8, 12)),
        (3, 0, "measured", slice(None), range(4)),
        (4, 0, "measured", slice(0, 3), ()),
        (4, 0, "held back", slice(3, 4), ()),
        (4, 0, "validation", slice(0), ()),
        (7, 0, "measured", slice(0, 6), ()),
        (8, 0, "held back", slice(6, 8), ()),
        (4, 1, "measured", slice(None), range(4)),
        (4, 1, "held back", slice(None), range(4, 8)),
        (4, 2, "held back", slice(None), range(8, 12)),
        (4, 2, "validation", slice(0), ()),
    ],
)
def test_the_batches_of_each_role(
    count: int, attempt: int, role: batches._Role, own: slice, seeds: Sequence[int]
) -> None:
    given = [batch_of(index + 1) for index in range(count)]
    found, noisy = batches._part(given, attempt, role)
    copies = [batches._noisy(batch, seed) for seed in seeds for batch in given]
    assert [batch["x"].tolist() for batch in found] == [batch["x"].tolist() for batch in given[own]]
    assert [batch["x"].tolist() for batch in noisy] == [batch["x"].tolist() for batch in copies]


@pytest.mark.parametrize(("size", "copies"), [(0, 4), (1 << 20, 4), ((1 << 20) + 4, 3), (5 << 20, 1)])
def test_all_copies_of_a_batch_have_four_mebibytes(size: int, copies: int) -> None:
    found, noisy = batches._part([{"x": np.zeros(size // 4, np.float32)}], 0, "measured")
    assert (len(found), len(noisy)) == (1, copies)


def test_noise_is_added_to_finite_numbers_only() -> None:
    numbers = np.linspace(-3, 3, 1000, dtype=np.float16)
    batch: Feeds = {
        "x": numbers,
        "ids": np.arange(1000),
        "mask": np.array([True, False]),
        "empty": np.zeros(0, np.float32),
        "infinite": np.array([1, 2, np.inf], np.float32),
        "one": np.array([5.0]),
        "scalar": np.array(2, np.float32),
    }
    found = batches._noisy(batch, 7)
    assert list(found) == list(batch)
    for name in ("ids", "mask", "empty", "infinite"):
        assert found[name] is batch[name]
    assert found["one"].tolist() == [5.0]
    assert isinstance(found["scalar"], np.ndarray)  # ONNX Runtime rejects the scalars of NumPy
    assert (found["scalar"].shape, found["scalar"].dtype) == ((), np.float32)
    assert found["x"].dtype == np.float16
    assert (found["x"].min(), found["x"].max()) == (-3, 3)
    inside = np.abs(numbers) < 1
    deviation = (found["x"] - numbers)[inside].std() / numbers.std()
    assert deviation == pytest.approx(0.5, rel=0.1)
    assert (batches._noisy(batch, 8)["x"] != found["x"]).any()
    assert (batches._noisy(batch, 7)["x"] == found["x"]).all()


class Choices:
    """Random inputs by shape choice. A model can reject them."""

    def __init__(self, *errors: Exception | None) -> None:
        self._errors = errors

    def feeds(self, inputs: object, count: int, choice: int) -> list[Feeds] | None:
        return [batch_of(choice + 1)] * count if choice < len(self._errors) else None

    def trial(self, model: object, feeds: list[Feeds], *, noisy: int) -> list[Feeds]:
        error = self._errors[int(feeds[0]["x"][0]) - 1]
        if error is not None:
            raise error
        return feeds


@pytest.mark.parametrize(
    ("errors", "found"),
    [
        ((None, None), 1),
        ((TrialError("first"), None), 2),
        ((TrialError("first"), TrialError("second")), "second"),
        ((ModelNotLoadedError("broken"), None), "broken"),
        ((), "no input shapes could be generated: give inputs (--inputs)"),
    ],
)
def test_shapes_are_tried_until_the_model_accepts_some(
    monkeypatch: pytest.MonkeyPatch, errors: tuple[Exception | None, ...], found: int | str
) -> None:
    choices = Choices(*errors)
    monkeypatch.setattr(batches, "random_feeds", choices.feeds)
    monkeypatch.setattr(batches, "Trial", choices.trial)
    model = cast("TrialModel", SimpleNamespace(graph=SimpleNamespace(inputs=())))
    if isinstance(found, str):
        with pytest.raises(TrialError) as caught:
            trial_of(model, Inputs(), 0, held_back=False)
        assert str(caught.value) == found
    else:
        feeds = cast("list[Feeds]", trial_of(model, Inputs(), 0, held_back=False))
        assert feeds[0]["x"][0] == found
        assert len(feeds) == 5
