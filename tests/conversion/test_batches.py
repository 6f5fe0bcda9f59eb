"""Which inputs a search measures, validates with, and holds back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conversion.models import PRODUCTS, saved
from trtlint.conversion.batches import trial_of, validation_of
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.skeleton import Skeleton, skeleton

pytest.importorskip("onnxruntime")


def given(folder: Path, count: int) -> tuple[Skeleton, Inputs]:
    """Return a model with batches of different numbers."""
    files = []
    for index in range(count):
        files.append(str(folder / f"{index}.npz"))
        np.savez(files[-1], x=np.random.default_rng(index).standard_normal((2, 8)).astype(np.float32))
    return skeleton(saved(PRODUCTS, folder / "m.onnx")), Inputs(tuple(files))


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
