"""Report of ``trtlint fix``: text, JSON, and a diff of the ONNX text format."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from trtlint.engine.caveats import caveats
from trtlint.files.problem import Problem
from trtlint.fixes.costs import Costs
from trtlint.fixes.fixing import FixedModel
from trtlint.fixes.outcome import proofs
from trtlint.report import modeldiff
from trtlint.report.counts import plural, severities_in
from trtlint.report.json import finding_data
from trtlint.report.measureadvice import STRONGLY_TYPED
from trtlint.report.names import collapse, few
from trtlint.report.partition import headlines, partition_in

if TYPE_CHECKING:
    from trtlint.engine.finding import Finding, Severity
    from trtlint.fixes.outcome import AppliedFix, FixOutcome
    from trtlint.fixes.verification import CheckResult

SCHEMA = "trtlint.fix/1"
"""Name and version of the format; incompatible changes raise the version."""
_CASTING = re.compile(r"widen-|keep-fp32")
"""Names of the rewrites that put Casts to FP32 around nodes."""
_WEAK = re.compile(r"TensorRT (?:8|9|10)\.(?!.*(?<!no )strongly typed)")
"""Pattern of targets with weakly typed networks, in which TensorRT's builder chooses the types."""


class FixResult(Struct, frozen=True):
    """The result for one model.

    Attributes:
        fixed: the fixed model.
        written: the file that was written; None if there is none.
        verdicts: the results of the checks.
        costs: the costs of the fixes: file size and run time.
    """

    fixed: FixedModel
    written: Path | None
    verdicts: Sequence[CheckResult]
    costs: Costs


class FixJson:
    """JSON document about the fixes of all models.

    Args:
        diff: true to include a diff of each model in the ONNX text format.
    """

    def __init__(self, *, diff: bool = False) -> None:
        self._diff = diff
        self._models: list[dict[str, Any]] = []

    def add(self, result: FixResult) -> None:
        """Add the result for one model."""
        self._models.append(_data(result, list(difference(result.fixed)) if self._diff else None))

    def content(self, problems: Sequence[Problem]) -> str:
        """Return the document. ``problems`` are the files that could not be read or written."""
        errors = [asdict(problem) for problem in problems]
        return json.dumps({"schema": SCHEMA, "models": self._models, "errors": errors}, indent=2) + "\n"


def lines(result: FixResult, selected: Sequence[str] = ()) -> Iterator[str]:
    """Yield the result for one model as lines of text.

    Args:
        result: the result.
        selected: the rules that ``--select`` names.  Only these rules ran.
    """
    fixed, written, verdicts = result.fixed, result.written, result.verdicts
    outcome = fixed.outcome
    found_before = {finding.rule for finding in outcome.before.findings}
    yield f"{fixed.path}" + (f" -> {written}" if written is not None else "")
    for (rule, severity, fix, title), members in applied_groups(outcome).items():
        label = "unsaved" if fixed.fault else "fixed  "
        later = (
            " (this finding appeared after the first rewrite)" if rule and rule not in found_before else ""
        )
        places = _at(each.place for each in members)
        yield f"  {label}  {_finding(severity, rule)}{fix}: {title}{places}{later}"
        for words in proofs(members):
            yield f"           proof: {words}"
    for (rule, severity, tried, reason), refused_places in refused_groups(outcome).items():
        name = f"{_finding(severity, rule)}{tried or ''}".rstrip()
        yield f"  refused  {name}: {reason}{_at(refused_places)}"
    for finding in remaining(outcome):
        places = _at(site.module or site.node for site in finding.sites)
        yield f"  left     {finding.severity}[{finding.rule}] {finding.name}: {finding.message}{places}"
    for caveat in caveats(outcome.after.reports):
        yield f"  {caveat.severity + ':':<8} {caveat.message}"
    notes = []
    if written is not None and _hides_fp16(outcome, verdicts):
        notes.append(
            "on a CPU, ONNX Runtime computes most FP16 operators in FP32; to measure the "
            f"FP16 error: trtlint measure {shlex.quote(str(written))} --inputs FILE.npz"
        )
    for key, words in remarks(result, notes):
        yield f"  {key + ':':<8} {words}"
    for when, reports in (("before", outcome.before.reports), ("after", outcome.after.reports)):
        for line in headlines(reports):
            yield f"  {when + ':':<8} {line}"
    first, last = (severities_in(state.findings) for state in (outcome.before, outcome.after))
    if not outcome.after.findings and selected:
        last = f"no {' or '.join(selected)}"
    if fixed.fault:
        yield f"  no model was written, because the fixed model is invalid; still {first}"
        return
    done = f"{plural(len(outcome.applied), 'place')} rewritten, {len(outcome.refused)} refused"
    yield f"  {done}; {first} before, {last} after"


def applied_groups(outcome: FixOutcome) -> dict[tuple[str, Severity, str, str], list[AppliedFix]]:
    """Group the applied rewrites by rule, severity, rewrite and title."""
    groups: dict[tuple[str, Severity, str, str], list[AppliedFix]] = defaultdict(list)
    for each in outcome.applied:
        groups[each.rule, each.severity, each.fix, each.title].append(each)
    return groups


def refused_groups(outcome: FixOutcome) -> dict[tuple[str, Severity, str | None, str], list[str]]:
    """Return the places of the refused rewrites, grouped by rule, severity, rewrite and reason."""
    groups: dict[tuple[str, Severity, str | None, str], list[str]] = defaultdict(list)
    for each in outcome.refused:
        groups[each.rule, each.severity, each.fix, each.reason].append(each.place)
    return groups


def remaining(outcome: FixOutcome) -> list[Finding]:
    """Return the findings of the fixed model, except findings of rules with a refused rewrite."""
    reported = {refused.rule for refused in outcome.refused}
    return [finding for finding in outcome.after.findings if finding.rule not in reported]


def remarks(result: FixResult, notes: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield pairs of a key and a text: the results of the checks, then notes, then costs.

    The notes in ``notes`` come before the note about Casts.
    """
    for verdict in result.verdicts:
        yield verdict.check, f"{verdict.judgement}: {verdict.words}"
    for note in (*notes, casts_note(result.fixed.outcome)):
        if note:
            yield "note", note
    for words in result.costs.words:
        yield "costs", words


def casts_note(outcome: FixOutcome) -> str:
    """Return a warning that a weakly typed build may ignore Casts to FP32.

    Return an empty string if there is no such risk.
    """
    added = any(_CASTING.match(each.fix) for each in outcome.applied)
    weak = any(_WEAK.match(report.target) for report in outcome.after.reports)
    return STRONGLY_TYPED.text if added and weak else ""


def _hides_fp16(outcome: FixOutcome, verdicts: Sequence[CheckResult]) -> bool:
    """Return whether the checks may miss errors of an engine that computes in FP16.

    The result is True if both conditions hold:

    - The model uses FP16, or a target uses FP16.
    - A check compared the outputs of the models.
    """
    values = (value for same in outcome.after.model.graph.values.values() for value in same)
    half = any(value.dtype == "f16" for value in values)
    asked = any("FP16" in report.target.split(", ") for report in outcome.after.reports)
    return (half or asked) and any(verdict.check == "outputs" for verdict in verdicts)


def _finding(severity: str, rule: str) -> str:
    """Format the rule that recommends a rewrite, with the severity.

    The text is empty if no rule recommends the rewrite, but a measurement or the ONNX checker requires it.
    """
    return f"{severity}[{rule}] " if rule else ""


def _at(places: Iterable[str]) -> str:
    patterns = collapse(filter(None, places))
    return f" at {few(patterns)}" if patterns else ""


def difference(fixed: FixedModel) -> Iterator[str]:
    """Yield the lines of the diff between the original and the fixed model, if the model changed."""
    if fixed.changed:
        outcome = fixed.outcome
        yield from modeldiff.difference(outcome.before.proto, outcome.after.proto, fixed.path.name)


def _data(result: FixResult, diff: list[str] | None) -> dict[str, Any]:
    fixed, written = result.fixed, result.written
    outcome = fixed.outcome
    return {
        "path": str(fixed.path),
        "output": None if written is None else str(written),
        "source": fixed.source,
        "targets": [report.target for report in outcome.after.reports],
        "applied": [
            {
                "rule": each.rule,
                "severity": each.severity,
                "fix": each.fix,
                "safety": each.safety,
                "place": each.place,
                "does": each.title,
                "proof": None if each.proof is None else each.proof.document,
            }
            for each in outcome.applied
        ],
        "refused": [asdict(each) for each in outcome.refused],
        "left": [finding_data(finding) for finding in outcome.after.findings],
        "caveats": [caveat.message for caveat in caveats(outcome.after.reports)],
        "verified": [verdict.document for verdict in result.verdicts],
        "costs": result.costs.document,
        "diff": diff,
        **_partitions(outcome),
    }


def _partitions(outcome: FixOutcome) -> dict[str, Any]:
    """Return the partitions of the original and the fixed model, for each target.

    The result is empty if the user gave no execution provider of ONNX Runtime.
    """
    states = {"before": outcome.before.reports, "after": outcome.after.reports}
    found = {when: [*map(partition_in, reports)] for when, reports in states.items()}
    return {"partitions": found} if any(each is not None for each in found["before"]) else {}
