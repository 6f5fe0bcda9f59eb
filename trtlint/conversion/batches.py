"""Split the user's inputs into batches to measure and batches to check the result with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtlint.measurement.feeds import Feeds, given_feeds, random_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.skeleton import ModelNotLoadedError, Skeleton, TrialError
from trtlint.measurement.trial import Trial

_SPLIT_FROM = 4
"""Smallest number of batches of which a quarter is held back for the check."""
_NOISE = 0.5
"""Standard deviation of added noise, as a share of the input's standard deviation."""
_MOST_COPIES = 4
"""Largest number of noisy copies of each batch, if there are few batches."""
_COPIED_BYTES = 2 << 20
"""Largest size of all copies in bytes; each batch has at least one copy."""


def trial_of(model: Skeleton, inputs: Inputs, attempt: int, *, held_back: bool) -> Trial:
    """Run a model in FP32 on inputs.

    Args:
        model: the model.
        inputs: the files; without files, generated inputs.
        attempt: number of earlier searches; batches that were held back in these are measured now.
        held_back: whether to use the held-back batches instead of the measured ones.

    Raises:
        TrialError: the model cannot be run.
        InputsError: the inputs cannot be used.
    """
    if inputs.names:
        batches = [feeds for _, feeds in given_feeds(model.graph.inputs, inputs)]
        return Trial(model, _part(batches, attempt, held_back=held_back))
    failure: TrialError | None = None
    choice = 0
    while (made_up := random_feeds(model.graph.inputs, 1, choice)) is not None:
        try:
            return Trial(model, _part(made_up, attempt, held_back=held_back))
        except ModelNotLoadedError:  # noqa: PERF203 - whatever the inputs are
            raise
        except TrialError as error:  # a choice of shapes that does not fit the model
            failure, choice = error, choice + 1
    raise failure or TrialError("no input shapes could be generated: give inputs (--inputs)")


def _part(batches: Sequence[Feeds], attempt: int, *, held_back: bool) -> list[Feeds]:
    """Return the batches to measure, or those that are held back.

    If there are fewer than four batches, all are measured, together with noisy copies.  The check uses other
    copies.
    """
    if len(batches) >= _SPLIT_FROM:
        count = max(1, len(batches) // 4)
        if not attempt:
            return list(batches[-count:] if held_back else batches[:-count])
        attempt -= 1
    size = sum(array.nbytes for batch in batches for array in batch.values()) or 1
    copies = max(1, min(_MOST_COPIES, _COPIED_BYTES // size))
    known = copies * (attempt + 1)
    seeds = range(known, known + copies) if held_back else range(known)
    return [*batches, *(_noisy(batch, seed) for seed in seeds for batch in batches)]


def _noisy(batch: Feeds, seed: int) -> Feeds:
    """Return a batch with noise on its floats, which stay within the smallest and largest of each input."""
    generator = np.random.default_rng(seed)
    found: Feeds = {}
    for name, array in batch.items():
        if array.dtype.kind == "f" and array.size and np.isfinite(array).all():
            noise = generator.standard_normal(array.shape) * float(array.std()) * _NOISE
            found[name] = np.clip(array + noise, array.min(), array.max()).astype(array.dtype)
        else:
            found[name] = array
    return found
