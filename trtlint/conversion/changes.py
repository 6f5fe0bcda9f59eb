"""Compare outputs that have no float type: count the elements that a conversion changes."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from trtlint.measurement.narrowing import RewrittenModel
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import Array, RehearsalSession
from trtlint.measurement.trial import Trial
from trtlint.model.protos import FLOAT_DTYPES


def changed_shares(trial: Trial, converted: RewrittenModel) -> dict[str, float]:
    """Return the share of changed elements for each output of an integer or boolean type.

    If an output gets another shape, each of its elements counts as changed.

    Args:
        trial: the source model.
        converted: the converted model.

    Raises:
        TrialError: a model cannot be run.
    """
    outputs = trial.model.graph.outputs
    names = tuple(
        dict.fromkeys(value.name for value in outputs if value.dtype and value.dtype not in FLOAT_DTYPES)
    )
    if not names:
        return {}
    before, after = (
        RehearsalSession(replace(each, outputs=names, renamed={}, choices={}))
        for each in (rewrite(trial.model, probed=False), converted)
    )
    changed, counted = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for feeds, fed in zip(trial.feeds, trial.fed, strict=True):
        right, found = before.run(feeds)[0], after.run(fed)[0]
        for name in names:
            changed[name] += _changed(right[name], found[name])
            counted[name] += max(np.size(right[name]), np.size(found[name]))
    return {name: changed[name] / max(1, counted[name]) for name in names}


def _changed(right: Array, found: Array) -> int:
    if np.shape(right) != np.shape(found):
        return max(np.size(right), np.size(found))
    return int(np.count_nonzero(np.asarray(right) != np.asarray(found)))
