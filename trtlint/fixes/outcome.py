"""Results of fixing a model: applied rewrites, refused rewrites, and intermediate models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Literal

import onnx
from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport, Severity
from trtlint.facts.facts import Facts
from trtlint.fixes.patch import Bound, Patch
from trtlint.model.load import Model
from trtlint.structs import PartlyCompared

Key = tuple[str, str]
"""Identifies an applied rewrite: the name of the rewrite, and the first output of the node."""


class LintedModel(Struct, frozen=True):
    """A model and its findings.

    Attributes:
        proto: the ONNX protobuf of the model, without its weights.
        facts: the facts that the rules read.
        reports: one report for each target.
    """

    proto: onnx.ModelProto
    facts: Facts
    reports: tuple[ModelReport, ...]

    @property
    def model(self) -> Model:
        """The graph and the constants of the model."""
        return self.facts.model

    @property
    def findings(self) -> list[Finding]:
        """The findings of all targets, without duplicates."""
        found = (finding for report in self.reports for finding in report.findings)
        return list({finding.fingerprint: finding for finding in found}.values())


class Proof(Struct, frozen=True):
    """Result of running only the nodes that a patch changes, before and after the patch.

    Attributes:
        equal: whether the results are the same; None if unknown.
        words: a summary of the comparison, or the reason why trtlint could not compare the results.
        figures: numbers of the comparison by name, such as ``difference``.
        bounds: tensor ranges for which the proof holds; empty if the proof holds for all numbers.
    """

    equal: bool | None
    words: str
    figures: dict[str, float | int | str]
    bounds: tuple[Bound, ...] = ()

    @property
    def difference(self) -> float:
        """The largest difference between results, or 0 if the proof did not compute one."""
        return float(self.figures.get("difference", 0.0))

    @property
    def document(self) -> dict[str, object]:
        """The proof as JSON data."""
        bounds = [
            {"tensor": each.tensor, "low": _number(each.low), "high": _number(each.high)}
            for each in self.bounds
        ]
        return {"equal": self.equal, "says": self.words, "figures": self.figures, "bounds": bounds}

    def under(self, patch: Patch) -> Proof:
        """Return a copy of the proof, with the bounds and the condition of ``patch`` added."""
        if not (self.equal and patch.condition):
            return self
        return replace(self, words=f"{self.words}, for {patch.condition}", bounds=patch.bounds)


def unproven(reason: str) -> Proof:
    """Return a proof without a result."""
    return Proof(None, f"could not check the changed nodes alone: {reason}", {})


def _number(bound: float) -> float | None:
    """Convert a bound to JSON data.  An infinite bound becomes None."""
    return bound if math.isfinite(bound) else None


class AppliedFix(PartlyCompared, frozen=True):
    """A rewrite that was applied at one node.

    ``rule`` is empty if no finding requested the rewrite. The request then came from a measurement or from
    the ONNX checker.

    Attributes:
        key: name of the rewrite, and name of an output of the node. Other rewrites keep this output name.
        patch: the patch; None if unknown.
    """

    _ignored: ClassVar[frozenset[str]] = frozenset({"key", "patch"})

    rule: str
    severity: Severity
    fix: str
    safety: Literal["safe", "unsafe"]
    place: str
    title: str
    proof: Proof | None = None
    key: Key = ("", "")
    patch: Patch | None = None


class RefusedFix(Struct, frozen=True):
    """A rewrite that trtlint refused at one node. ``fix`` is None if the rule has no rewrite.

    ``rule`` is empty if no finding requested the rewrite. The request then came from a measurement or from
    the ONNX checker.
    """

    rule: str
    severity: Severity
    fix: str | None
    place: str
    reason: str


class FixOutcome(Struct):
    """Result of fixing a model.

    Attributes:
        before: the original model.
        after: the fixed model.
        applied: applied rewrites, in the order in which trtlint applied them.
        refused: refused rewrites with reasons. Each entry is about one node.
        rounds: for each round, the model before the round, and the patches that trtlint applied in the round.
    """

    before: LintedModel
    after: LintedModel
    applied: list[AppliedFix] = field(default_factory=list)
    refused: list[RefusedFix] = field(default_factory=list)
    rounds: list[tuple[LintedModel, tuple[Patch, ...]]] = field(default_factory=list)


def proofs(members: Iterable[AppliedFix]) -> Iterator[str]:
    """Yield one sentence for each kind of result in the proofs of several rewrites.

    The first sentence is about successful proofs, and the second sentence is about proofs without a result.
    """
    found: dict[bool | None, dict[str, None]] = {True: {}, None: {}}
    for each in members:
        if each.proof is not None:
            found.setdefault(each.proof.equal, {})[each.proof.words] = None
    for words in found.values():
        for first in list(words)[:1]:
            yield first + (f" (+{len(words) - 1} more)" if len(words) > 1 else "")


Lint = Callable[[onnx.ModelProto], LintedModel]
Prove = Callable[[Model, Sequence[Patch]], list[Proof]]
"""Function that proves patches of one model."""
