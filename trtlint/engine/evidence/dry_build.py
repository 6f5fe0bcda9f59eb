"""Use a dry build as evidence: a run of NVIDIA's parser and builder without a GPU.

A dry build runs one release of one product.

- For targets with this product and release, a dry build is evidence like a real build. In addition, a
  success of the parser refutes all predicted parser errors. A success of the builder refutes all predicted
  builder errors.
- For targets with another product or release, errors of the parser support findings.  Reports quote messages
  of the builder, but these messages do not support findings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct, to_builtins
from packaging.version import Version

from trtlint.dry_build.agreement import Agreement
from trtlint.dry_build.result import DryBuild, DryBuildResult
from trtlint.engine.evidence.base import Evidence, Question, Verdict
from trtlint.engine.evidence.build import judged, said_and_cited, statements
from trtlint.engine.evidence.words import quoted, shortened
from trtlint.engine.finding import Confidence, EvidenceSummary
from trtlint.engine.refusals import errors_in_log, errors_of_parser
from trtlint.engine.reported import about_builds, about_experiments
from trtlint.engine.rule import Rule
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.knowledge.rtx import builder
from trtlint.target.target import Target

Stage = Literal["parse", "build"]

_FACTS = frozenset({"dry_build", "parser_refusal", "builder_refusal"})
"""Kinds of facts that come only from a dry build."""
_OF_ANOTHER_BUILD = frozenset({"build", "engine", "layer", "placement"})
"""Kinds of facts about kernels, times and settings.  See :meth:`DryBuildEvidence.holds_for`."""

_INTERNAL = frozenset({"data_files", "unfit", "tried", "network"})
"""Fields of a dry build that do not appear in reports, or appear in another form."""


class DryBuildEvidence(Evidence, Struct, frozen=True):
    """A dry build of the model.

    Attributes:
        build: the result of the dry build; None if the dry build could not run. Then ``notes`` contains the
            reason.
        targets: the targets of the dry build; empty for all targets.
        notes: sentences for reports about the settings and the result of the dry build.
    """

    build: DryBuild | None
    targets: frozenset[Target] = frozenset()
    notes: tuple[str, ...] = ()

    kind = "dry_build"
    grounds = frozenset({"build", "trial"})

    @property
    def data(self) -> DryBuild | None:
        """The result of the dry build."""
        return self.build

    @property
    def summary(self) -> EvidenceSummary | None:
        """The results of the parser and the builder as JSON data."""
        return None if self.build is None else EvidenceSummary.of(self.kind, _values(self.build.result))

    def bears_on(self, target: Target) -> bool:
        """Return whether the dry build applies to a target."""
        return not self.targets or target in self.targets

    def states(self, fact: str) -> bool:
        """Return whether facts of the kind ``fact`` come from the dry build or its log."""
        return fact in _FACTS or ground_of(fact) == "build"

    def holds_for(self, fact: str, target: Target) -> bool:
        """Return whether facts of the kind ``fact`` are true for a target.

        Facts about kernels, times and settings are true only for the product, release and GPU of the dry
        build.
        """
        if self.build is None or fact not in _OF_ANOTHER_BUILD:
            return True
        return confidence_for(self.build.result, "build", target) == "confirmed"

    def judge(self, question: Question) -> Verdict | None:
        """Judge a finding by the result of the dry build."""
        return None if self.build is None else _judged(self.build.result, question)

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:
        """Return ``file:line`` of all errors in the log, if ``rule`` is about parser errors.

        Rules that are evaluated later do not report the same errors again.
        """
        if rule.find != "parser_refusal" or self.build is None or self.build.result.parsed is not False:
            return ()
        return (
            message.at
            for message in facts.of("log_message")
            if isinstance(message, LogMessage) and message.severity in ("error", "fatal")
        )


def confidence_for(result: DryBuildResult, stage: Stage, target: Target) -> Confidence:
    """Return the confidence that the result of a dry build gives for a target.

    A dry build uses TensorRT-RTX.  The dry build and the target can have different GPUs.

    - For TensorRT-RTX of the same release, the confidence is ``confirmed``, as for a real build.  If the GPU
      differs, a result of the builder has only low confidence.
    - For TensorRT, the parser of TensorRT-RTX is good evidence if the parsers of both products come from the
      same sources.  Otherwise, it is weaker evidence.
    - For TensorRT, the builder of TensorRT-RTX is at most an indication: networks are strongly typed, kernels
      differ, and nothing is timed.
    """
    line = _words(Version(result.version).release)
    if target.product == "tensorrt-rtx" and (target.release is None or _words(target.release) == line):
        same_gpu = stage == "parse" or target.sm is None or target.sm == result.sm
        return "confirmed" if same_gpu else "low"
    if stage == "build":
        return "low"
    parser = builder(result.version).parser
    tied = target.product == "tensorrt" and target.release is not None and _words(target.release) == parser
    return "high" if tied else "medium"


def _words(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release[:2]))


def _reached(result: DryBuildResult) -> Stage:
    """Return the last stage that a dry build ran. All errors of the dry build come from this stage."""
    return "build" if result.parsed and result.level == "build" else "parse"


def _judged(result: DryBuildResult, question: Question) -> Verdict:
    rule, stage = question.rule, _reached(result)
    sure = confidence_for(result, stage, question.target)
    if about_builds(rule) or about_experiments(rule):
        if sure == "confirmed" and result.built is False and any(shape.chosen for shape in result.shapes):
            sure = "medium"  # the build could succeed with shapes that trtlint did not try
        return Verdict(support=sure, said=(result.label,) if about_experiments(rule) else ())
    verdict = None if question.subject.refusal is None else _judged_refusal(result, question, sure)
    if verdict is not None:
        return verdict
    if sure == "confirmed":
        return Verdict() if question.facts.of_another_model else judged(question)
    return _cited(question, sure if stage == "parse" else None)


def _judged_refusal(result: DryBuildResult, question: Question, sure: Confidence) -> Verdict | None:
    """Judge a finding that predicts an error of the parser or builder.

    An error at a node of the finding is evidence for the finding. If there is no such error, a success of the
    predicted stage (parser or builder) is evidence against the finding. If this stage did not succeed, the
    result is None.
    """
    facts, subject, holds = question.facts, question.subject, question.holds
    refusal, stage = subject.refusal, _reached(result)
    assert refusal is not None
    errors = errors_of_parser(facts, subject, refusal, holds=holds) if stage == "parse" else ()
    refused = tuple(f"{error.label}: {error.code}: {shortened(error.says)}" for error in errors)
    logged = {message.at: quoted(message) for message in errors_in_log(facts, subject, holds=holds)}
    words, places = refused or tuple(logged.values()), frozenset(logged)
    if words and sure == "confirmed":
        return Verdict("confirmed", words, places)
    if words:
        return Verdict(said=words, cited=places, support=sure if stage == "parse" else None)
    succeeded = result.parsed if refusal.stage == "parse" else result.built
    if succeeded:
        said = _passed_words(result, refusal.stage)
        passed = confidence_for(result, refusal.stage, question.target)
        if passed == "confirmed":
            return Verdict("refuted", (said,))
        return Verdict(said=(said,), doubt="medium") if passed == "high" else Verdict()
    return None


def _cited(question: Question, support: Confidence | None) -> Verdict:
    """Quote the messages of a dry build that match the conditions of a rule.

    This function is for a dry build whose product, release or GPU differs from the target.  Then messages do
    not confirm a finding, but give it the confidence ``support``.
    """
    messages = tuple(entry for entry in question.rule.verdict.confirm if entry.kind == "log")
    found = tuple(statements(messages, question))
    return Verdict("open", *said_and_cited(found), support=support) if found else Verdict()


def _passed_words(result: DryBuildResult, stage: Stage) -> str:
    if stage == "parse":
        return f"{result.label}: the parser accepts the model"
    shapes = ", ".join(shape.words for shape in result.shapes)
    return f"{result.label}: the builder builds the model{f' ({shapes})' if shapes else ''}"


def _values(result: DryBuildResult) -> dict[str, Any]:
    """Return the results of NVIDIA's parser and builder as JSON data."""
    data = {key: value for key, value in result.document.items() if key not in _INTERNAL}
    data["seconds"] = round(result.seconds, 3)
    return data if result.network is None else {**data, "comparison": _comparison(result.network)}


def _comparison(found: Agreement) -> dict[str, Any]:
    """Return JSON data about how well the parsed network matches the model."""
    return {
        # These keys come first in reports; the other fields follow in the order of the struct.
        "release": found.release,
        "outcome": found.outcome,
        "reason": found.reason,
        "tensors": found.tensors,
        "compared": found.compared,
        "share": round(found.share, 4),
        **to_builtins(found),
        "seconds": round(found.seconds, 3),
        "onnxruntime_seconds": round(found.onnxruntime_seconds, 4),
    }
