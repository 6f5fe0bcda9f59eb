"""Use the partition of a model between ONNX Runtime's execution providers as evidence.

trtlint predicts from its findings which nodes TensorRT runs.  If NVIDIA's parser is available, the report
also shows the nodes that this parser accepts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.evidence.base import Evidence
from trtlint.engine.finding import EvidenceSummary, Finding, ModelReport
from trtlint.facts.kinds import ground_of
from trtlint.knowledge.providers import Provider
from trtlint.partition.result import Partition, ProviderSettings, RemainingNode

if TYPE_CHECKING:
    from trtlint.buildfiles.ortlog import OrtLog
    from trtlint.engine.evaluate import Evaluation
    from trtlint.engine.ruleset import RuleSet
    from trtlint.partition.simulate import Simulation
    from trtlint.target.target import Target


class PartitionEvidence(Evidence, Struct, frozen=True):
    """The nodes of a model that one execution provider of ONNX Runtime runs.

    A partition cannot confirm a finding, because trtlint derives the partition from the findings.

    Attributes:
        provider: the execution provider.
        settings: the options of the provider that affect the partition.
        simulation: the partition according to NVIDIA's parser; None if the parser did not run.
        log: the partition in a log of ONNX Runtime; None if no log shows a partition.
        notes: sentences for reports about the partition according to NVIDIA's parser.
    """

    provider: Provider
    settings: ProviderSettings
    simulation: Simulation | None = None
    log: OrtLog | None = None
    notes: tuple[str, ...] = ()

    kind = "partition"
    grounds = frozenset()
    judges = False

    @property
    def data(self) -> Simulation | None:
        """The partition according to NVIDIA's parser."""
        return self.simulation

    @property
    def of_any_form(self) -> PartitionEvidence:
        """Return a copy for rewritten models.

        The copy has no ``simulation`` and no ``log``, because both are about the original model.  trtlint
        predicts the partition again for each rewritten model.
        """
        return replace(self, simulation=None, log=None, notes=())

    def conclude(
        self, evaluation: Evaluation, report: ModelReport, rules: RuleSet, target: Target
    ) -> EvidenceSummary | None:
        """Return the partition as JSON data for a report."""
        if not evaluation.facts.has_model:
            return None
        from trtlint.engine.partition import predicted

        findings = (*report.findings, *_of_other_rules(evaluation, rules, target))
        expected = predicted(evaluation.facts.model, findings, self.provider, self.settings)
        shown = {} if self.log is None else {"log": _compared(self.log, expected)}
        if self.simulation is None or self.simulation.partition is None:
            return EvidenceSummary.of(self.kind, expected.document | shown)
        asked = _explained(self.simulation.partition, expected)
        agreed = {frozenset(part) for part in asked.parts} == {frozenset(part) for part in expected.parts}
        more = {
            "version": self.simulation.version,
            "rewritten": self.simulation.rewritten,
            "calls": asked.calls,
            "as_predicted": agreed,
        }
        return EvidenceSummary.of(self.kind, asked.document | more | shown)


def _compared(log: OrtLog, expected: Partition) -> dict[str, object]:
    """Compare the partition in a log with the prediction ``expected``.

    Return the partition in the log, and the verdict on the prediction, as JSON data.
    """
    others = None if log.others is None else [each.name or each.op for each in log.others]
    left = {each.node for each in expected.left}
    verdicts = [] if log.parts is None else [log.parts == len(expected.parts)]
    if log.others is not None:
        own = {each.name for each in log.others if each.name}
        # Nodes without a name, and nodes that ONNX Runtime adds, are not compared.
        verdicts.append(own >= {each.rpartition("/")[2] for each in left} or own >= left)
    return {
        "line": log.line,
        "parts": log.parts,
        "left": others,
        "copies": log.copies,
        "standing": "open" if not verdicts else "confirmed" if all(verdicts) else "refuted",
    }


def _explained(asked: Partition, expected: Partition) -> Partition:
    """Add reasons from trtlint's prediction ``expected`` to the partition ``asked``.

    NVIDIA's parser determines the partition ``asked``, but gives no reasons.
    """
    reasons = {each.node: each for each in expected.left}
    left = tuple(replace(reasons.get(each.node, each), op=each.op) for each in asked.left)
    paths = {each.node for each in left}
    splits = tuple(split for split in expected.splits if paths.intersection(split.nodes))
    return replace(
        asked,
        failure=asked.failure or expected.failure,
        left=tuple(map(_known, left)),
        folded=expected.folded,
        borders=expected.borders,
        splits=splits,
    )


def _known(left: RemainingNode) -> RemainingNode:
    return left if left.why else replace(left, why="NVIDIA's parser refuses the operator")


def _of_other_rules(evaluation: Evaluation, rules: RuleSet, target: Target) -> Iterable[Finding]:
    """Return the refusals of rules that the user did not select.

    These refusals also affect the partition.
    """
    from trtlint.engine.rulebook import load_builtin
    from trtlint.engine.scope import predicts_refusal

    run = {entry.id for entry in rules.entries}
    others = [
        entry
        for entry in load_builtin().entries
        if entry.id not in run
        and entry.status != "preview"
        and ground_of(entry.find) == "model"
        and predicts_refusal(entry.find)
    ]
    return evaluation.report(others, target).findings if others else ()
