"""Split the inputs into batches for the search and batches for the check of the search result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from trtlint.measurement.feeds import Feeds, given_feeds, random_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.trial import Trial
from trtlint.measurement.trialmodel import ModelNotLoadedError, TrialError, TrialModel

_SPLIT_FROM = 4
"""With at least this number of batches, the first search leaves a quarter of the batches to its check."""
_NOISE = 0.5
"""Standard deviation of added noise, as a share of the input's standard deviation."""
_MOST_COPIES = 4
"""Largest number of noisy copies of each batch that one search or check adds."""
_COPIED_BYTES = 4 << 20
"""Limit, in bytes, for the noisy copies that one search or check adds.

Each batch gets at least one copy, even if the copies exceed this limit.
"""
_FIRST_OF_VALIDATION = 1 << 20
"""Seed of the first noisy copy for validation. Copies for the search and the check have smaller seeds."""

_Role = Literal["measured", "validation", "held back"]
"""Use of a batch.

- The search runs ``measured`` batches often.
- The search runs ``validation`` batches to check the result of the search on new inputs.
- ``held back`` batches check the converted file.
"""


def trial_of(model: TrialModel, inputs: Inputs, attempt: int, *, held_back: bool) -> Trial:
    """Run a model in FP32 on the batches for the search, or on the batches for the check.

    Args:
        model: the model.
        inputs: the files; without files, generated inputs.
        attempt: number of earlier searches. A new search also uses the batches of all earlier checks.
        held_back: true to use the batches for the check, false to use the batches for the search.

    Raises:
        TrialError: the model cannot be run.
        InputsError: the inputs cannot be used.
    """
    found = _trial_of(model, inputs, attempt, "held back" if held_back else "measured")
    assert found is not None
    return found


def validation_of(model: TrialModel, inputs: Inputs, attempt: int) -> Trial | None:
    """Run a model in FP32 on noisy copies of the batches.

    The result is None if there are enough batches without copies.

    Args:
        model: the model.
        inputs: the files; without files, generated inputs.
        attempt: number of earlier searches.

    Raises:
        TrialError: the model cannot be run.
        InputsError: the inputs cannot be used.
    """
    return _trial_of(model, inputs, attempt, "validation")


def _trial_of(model: TrialModel, inputs: Inputs, attempt: int, role: _Role) -> Trial | None:
    if inputs.names:
        batches = [feeds for _, feeds in given_feeds(model.graph.inputs, inputs)]
        own, noisy = _part(batches, attempt, role)
        return Trial(model, [*own, *noisy], noisy=len(noisy)) if own or noisy else None
    failure: TrialError | None = None
    choice = 0
    while (made_up := random_feeds(model.graph.inputs, 1, choice)) is not None:
        try:
            own, noisy = _part(made_up, attempt, role)
            return Trial(model, [*own, *noisy], noisy=len(noisy))
        except ModelNotLoadedError:  # noqa: PERF203 - other inputs do not help
            raise
        except TrialError as error:  # the chosen shapes may not fit the model, so try other shapes
            failure, choice = error, choice + 1
    raise failure or TrialError("no input shapes could be generated: give inputs (--inputs)")


def _part(batches: Sequence[Feeds], attempt: int, role: _Role) -> tuple[list[Feeds], list[Feeds]]:
    """Return the batches and the noisy copies for one use.

    The uses are search (``measured``), check (``held back``) and ``validation``.

    - With fewer than four batches, both the search and the check use every batch, and also noisy copies of
      the batches. The validation uses only noisy copies. Search, check and validation add different noise.
    - With four or more batches, the first search uses three quarters of the batches, and the check after this
      search uses the last quarter. All later searches and checks use all batches and noisy copies. There is
      no validation.
    """
    if len(batches) >= _SPLIT_FROM:
        if role == "validation":
            return [], []
        count = max(1, len(batches) // 4)
        if not attempt:
            return list(batches[-count:] if role == "held back" else batches[:-count]), []
        attempt -= 1
    size = sum(array.nbytes for batch in batches for array in batch.values()) or 1
    copies = max(1, min(_MOST_COPIES, _COPIED_BYTES // size))
    known = copies * (attempt + 1)
    seeds = {
        "measured": range(known),
        "held back": range(known, known + copies),
        "validation": range(_FIRST_OF_VALIDATION, _FIRST_OF_VALIDATION + 2 * copies),
    }
    noisy = [_noisy(batch, seed) for seed in seeds[role] for batch in batches]
    return [] if role == "validation" else list(batches), noisy


def _noisy(batch: Feeds, seed: int) -> Feeds:
    """Return a copy of a batch with noise added to its float inputs.

    The noisy numbers stay between the smallest and the largest number of each input.
    """
    generator = np.random.default_rng(seed)
    found: Feeds = {}
    for name, array in batch.items():
        if array.dtype.kind == "f" and array.size and np.isfinite(array).all():
            noise = generator.standard_normal(array.shape) * float(array.std()) * _NOISE
            noisy = np.clip(array + noise, array.min(), array.max())
            found[name] = np.asarray(noisy, array.dtype)  # a scalar must stay an array
        else:
            found[name] = array
    return found
