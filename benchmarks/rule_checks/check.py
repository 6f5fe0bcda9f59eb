"""A claim of a rule, and its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from benchmarks.rule_checks import THEMES

By = Literal["builder", "numbers"]


@dataclass(frozen=True, slots=True)
class Check:
    """A claim of a rule.

    Attributes:
        rule: the rule that makes the claim.
        claim: the claim in one sentence, which is clear without the other claims.
        by: ``builder`` if the check runs TensorRT-RTX, which must be installed; ``numbers`` for a
            computation.
        holds: function that returns whether the claim is true.  An exception means that the check could not
            run.
    """

    rule: str
    claim: str
    by: By
    holds: Callable[[], bool]


def checks() -> Iterator[Check]:
    """Yield the checks of all themes."""
    for theme in THEMES:
        yield from import_module(f"benchmarks.rule_checks.{theme}").CHECKS
