"""A claim of a rule, and how it is checked."""

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
        rule: the rule that says so.
        claim: what it says, in one sentence.
        by: ``builder`` where TensorRT-RTX is asked, which has to be installed; ``numbers`` where it is
            computed.
        holds: whether the claim is true; whatever it raises means that it could not be checked.
    """

    rule: str
    claim: str
    by: By
    holds: Callable[[], bool]


def checks() -> Iterator[Check]:
    """The checks of all themes."""
    for theme in THEMES:
        yield from import_module(f"benchmarks.rule_checks.{theme}").CHECKS
