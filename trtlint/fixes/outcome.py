"""What was done to a model: what was rewritten and why, what was not, and the states in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Literal

import onnx

from trtlint.engine.finding import Finding, ModelReport, Severity
from trtlint.facts.facts import Facts
from trtlint.fixes.patch import Bound, Patch
from trtlint.lean import dataclass
from trtlint.model.load import Model

Key = tuple[str, str]
"""A rewrite, and the name of the first value that its place computes."""


@dataclass(frozen=True, slots=True)
class Linted:
    """A model, and what was found in it.

    Attributes:
        proto: the structure.
        facts: what is true of it.
        reports: the findings, one report a target.
    """

    proto: onnx.ModelProto
    facts: Facts
    reports: tuple[ModelReport, ...]

    @property
    def model(self) -> Model:
        """What was read of the structure."""
        return self.facts.model

    @property
    def findings(self) -> list[Finding]:
        """The findings of all targets, each once."""
        found = (finding for report in self.reports for finding in report.findings)
        return list({finding.fingerprint: finding for finding in found}.values())


@dataclass(frozen=True, slots=True)
class Proof:
    """What a local proof of a patch found.

    Attributes:
        equal: whether the results are the same as before; None where that could not be told.
        words: the figures in words.
        figures: by name.
        bounds: the numbers of tensors for which it holds, where it does not for all.
    """

    equal: bool | None
    words: str
    figures: dict[str, float | int | str]
    bounds: tuple[Bound, ...] = ()

    @property
    def difference(self) -> float:
        """The largest difference that was found, 0 where none was computed."""
        return float(self.figures.get("difference", 0.0))

    @property
    def document(self) -> dict[str, object]:
        """It as JSON data."""
        bounds = [
            {"tensor": each.tensor, "low": _number(each.low), "high": _number(each.high)}
            for each in self.bounds
        ]
        return {"equal": self.equal, "says": self.words, "figures": self.figures, "bounds": bounds}

    def under(self, patch: Patch) -> Proof:
        """The proof with what the patch takes for granted, named in its words."""
        if not (self.equal and patch.condition):
            return self
        return replace(self, words=f"{self.words}, for {patch.condition}", bounds=patch.bounds)


def _number(bound: float) -> float | None:
    """A bound as JSON can hold it: None where there is none."""
    return bound if math.isfinite(bound) else None


@dataclass(frozen=True, slots=True)
class Applied:
    """A rewrite that was made at one place.

    ``rule`` is empty where no finding, but a measurement or the checker asks for it.

    Attributes:
        key: the rewrite and the place, under names that outlive other rewrites.
        patch: the edit; None where it is not known.
    """

    rule: str
    severity: Severity
    fix: str
    safety: Literal["safe", "unsafe"]
    place: str
    title: str
    proof: Proof | None = None
    key: Key = field(default=("", ""), repr=False, compare=False)
    patch: Patch | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """A rewrite that was not made at one place, and why; ``fix`` is None where there is none.

    ``rule`` is empty where no finding, but a measurement or the checker asks for it.
    """

    rule: str
    severity: Severity
    fix: str | None
    place: str
    reason: str


@dataclass(slots=True)
class Outcome:
    """What was done to a model.

    Attributes:
        before: the model as it was found.
        after: the model as it is.
        applied: what was done, in order.
        refused: what was not done, each place once.
        patches: the patches of ``applied``, in order, by round; each round with the model it is for.
    """

    before: Linted
    after: Linted
    applied: list[Applied] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    rounds: list[tuple[Linted, tuple[Patch, ...]]] = field(default_factory=list)


def proofs(members: Iterable[Applied]) -> Iterator[str]:
    """What the proofs at several places say, in words: one of those that hold, and one of those not made."""
    found: dict[bool | None, dict[str, None]] = {True: {}, None: {}}
    for each in members:
        if each.proof is not None:
            found.setdefault(each.proof.equal, {})[each.proof.words] = None
    for words in found.values():
        for first in list(words)[:1]:
            yield first + (f" (+{len(words) - 1} more)" if len(words) > 1 else "")


Lint = Callable[[onnx.ModelProto], Linted]
Prove = Callable[[Model, Sequence[Patch]], list[Proof]]
"""Proves patches of one model."""
