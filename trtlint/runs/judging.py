"""What is known of a model and what a team wants to see of it, put together in one place.

Linting, explaining and fixing a model have to see the same: what only one of them knew would be found
by it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.engine.finding import ModelReport
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.engine.rule import Rule
    from trtlint.engine.rulebook import RuleEntry
    from trtlint.facts.facts import Facts
    from trtlint.facts.trials import Trials
    from trtlint.fixes.relint import Judge
    from trtlint.measure.measurement import Measurement
    from trtlint.model.load import Model
    from trtlint.runs.dryjob import DryJob


def trials_of(
    path: Path, targets: tuple[Target, ...], dry: DryJob | None, measurement: Measurement | None
) -> Mapping[Target, Trials]:
    """Return what is found out of a model by running it, and what was measured of it before, by target.

    Raises:
        WheelError: a dry build is wanted, and the wheels are not there.
    """
    from trtlint.facts.trials import Trials

    found: Mapping[Target, Trials] = {}
    if dry is not None:
        from trtlint.runs.dry import tried

        found = tried(dry, path, targets)
    if measurement is None:
        return found
    # Targets of one dry build share it, and the facts with it.
    shared = {id(trials): replace(trials, measurement=measurement) for trials in found.values()}
    other = Trials(measurement=measurement)
    return {target: shared[id(found[target])] if target in found else other for target in targets}


def judging(
    facts_of: Callable[[Model], Facts],
    rules: Iterable[Rule | RuleEntry],
    targets: Sequence[Target],
    review: Callable[[Sequence[ModelReport]], tuple[ModelReport, ...]],
) -> Judge:
    """Return what lints a model while it is being fixed.

    Args:
        facts_of: the facts of a model.
        rules: what is looked for.
        targets: what the model is built for.
        review: takes out of the reports what is suppressed.
    """
    wanted = tuple(rules)

    def judge(model: Model) -> tuple[Facts, tuple[ModelReport, ...]]:
        from trtlint.engine.evaluate import Evaluation
        from trtlint.runs.linting import needed

        facts = facts_of(model)
        evaluation = Evaluation(facts)
        chosen = tuple(needed(wanted, [facts]))
        return facts, review([evaluation.report(chosen, target) for target in targets])

    return judge
