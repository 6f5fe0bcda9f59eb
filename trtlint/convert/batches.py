"""Split the user's inputs into those that are measured and those that are held back for the proof."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtlint.measurement.feeds import Feeds, given_feeds, random_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.skeleton import RefusedError, Skeleton, TrialError
from trtlint.measurement.trial import Trial

_SPLIT_FROM = 4
"""The number of batches from which a quarter is held back."""
_NOISE = 0.05
"""Share of the deviation of an input that is added to it as noise."""
_SEED = 1


def trial_of(model: Skeleton, inputs: Inputs, *, held_back: bool) -> Trial:
    """Run a model in FP32 on inputs.

    Args:
        model: the model.
        inputs: the files; made-up inputs where there are none.
        held_back: whether to use the batches that are not measured.

    Raises:
        TrialError: the model cannot be run.
        InputsError: the inputs cannot be used.
    """
    if inputs.names:
        batches = [feeds for _, feeds in given_feeds(model.graph.inputs, inputs)]
        return Trial(model, _part(batches, held_back=held_back))
    failure: TrialError | None = None
    attempt = 0
    while (made_up := random_feeds(model.graph.inputs, 2, attempt)) is not None:
        try:
            return Trial(model, made_up[1:] if held_back else made_up[:1])
        except RefusedError:  # noqa: PERF203 - whatever the inputs are
            raise
        except TrialError as error:  # a choice of shapes that does not fit the model
            failure, attempt = error, attempt + 1
    raise failure or TrialError("no shapes could be made up: give inputs")


def _part(batches: Sequence[Feeds], *, held_back: bool) -> list[Feeds]:
    """Return the batches to measure, or those that are held back.

    Of fewer than four batches all are measured, and the proof uses them with noise added.
    """
    if len(batches) >= _SPLIT_FROM:
        count = max(1, len(batches) // 4)
        chosen = batches[-count:] if held_back else batches[:-count]
        return list(chosen)
    return [*batches, *map(_noisy, batches)] if held_back else list(batches)


def _noisy(batch: Feeds) -> Feeds:
    generator = np.random.default_rng(_SEED)
    found: Feeds = {}
    for name, array in batch.items():
        if array.dtype.kind == "f" and array.size and np.isfinite(array).all():
            noise = generator.standard_normal(array.shape) * float(array.std()) * _NOISE
            found[name] = (array + noise).astype(array.dtype)
        else:
            found[name] = array
    return found
