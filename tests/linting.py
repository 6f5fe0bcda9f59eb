"""Lint one file without a command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trtlint.case import Case
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.finding import ModelReport
from trtlint.engine.rule import Rule
from trtlint.engine.ruleset import RuleSet
from trtlint.target.target import Target


def lint_file(
    path: Path, targets: Sequence[Target], rules: Iterable[Rule], evidence: Iterable[Evidence] = ()
) -> tuple[ModelReport, ...]:
    """Return the report of one file for each target, before any review."""
    return Case(path, tuple(targets), RuleSet.of(rules), evidence=tuple(evidence)).evaluated()
