"""Compare outputs that have no float type: count the elements that a conversion changes."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from trtlint.measurement.narrowing import Rewritten
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import Array, RehearsalSession
from trtlint.measurement.trial import Trial


def changed_shares(trial: Trial, converted: Rewritten) -> dict[str, float]:
    """Return, for each output of an integer or boolean type, the share of the elements that changes.

    If an output gets another shape, each of its elements counts as changed.

    Args:
        trial: the source model.
        converted: the converted model.

    Raises:
        TrialError: a model cannot be run.
    """
    names = tuple(dict.fromkeys(value.name for value in trial.skeleton.graph.outputs if value.dtype))
    before, after = (
        RehearsalSession(replace(each, outputs=names, renamed={}))
        for each in (rewrite(trial.skeleton, probed=False), converted)
    )
    changed, counted = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for feeds in trial.feeds:
        right, found = before.run(feeds)[0], after.run(feeds)[0]
        for name in names:
            changed[name] += _changed(right[name], found[name])
            counted[name] += max(np.size(right[name]), np.size(found[name]))
    return {name: changed[name] / max(1, counted[name]) for name in names}


def _changed(right: Array, found: Array) -> int:
    if np.shape(right) != np.shape(found):
        return max(np.size(right), np.size(found))
    return int(np.count_nonzero(np.asarray(right) != np.asarray(found)))
