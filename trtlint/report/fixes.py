"""Report of ``trtlint fix``: text, JSON, and a diff of the ONNX text format."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from trtlint.engine.caveats import caveats
from trtlint.files.problem import Problem
from trtlint.fixes.costs import Costs
from trtlint.fixes.fixing import Fixed
from trtlint.fixes.outcome import proofs
from trtlint.report import modeldiff
from trtlint.report.counts import by_severity, plural
from trtlint.report.escape import clean
from trtlint.report.json import finding_data, problem_data
from trtlint.report.names import collapse
from trtlint.report.partition import headlines, partition_in

if TYPE_CHECKING:
    from trtlint.fixes.outcome import AppliedFix, FixOutcome, RefusedFix
    from trtlint.fixes.verification import CheckResult

SCHEMA = "trtlint.fix/1"
"""Name and version of the format; incompatible changes raise the version."""
_PLACES = 3
"""Largest number of name patterns, such as ``blocks.*.attn``, in one line."""
_CASTING = re.compile(r"widen-|keep-fp32")
"""Names of the rewrites that put Casts to FP32 around nodes."""
_WEAK = re.compile(r"TensorRT (?:8|9|10)\.(?!.*(?<!no )strongly typed)")
"""Pattern of targets with weakly typed networks, in which TensorRT's builder chooses the types."""
_STRONGLY = (
    "the builder respects Casts to FP32 only in a strongly typed build; with --fp16 or --bf16, FP32 "
    "nodes may run in 16 bits. Build with --stronglyTyped (TensorRT 9.0 and newer)"
)


class FixReport:
    """Report about the fixes of all models.

    Args:
        file: the stream to write to.
        as_json: true to write one JSON document at the end, and no text.
        diff: true to show a diff of each model in the ONNX text format.
        selected: the rules that ``--select`` names.  Other rules did not run.
    """

    def __init__(
        self, file: TextIO, *, as_json: bool = False, diff: bool = False, selected: Sequence[str] = ()
    ) -> None:
        self._file = file
        self._selected = selected
        self._as_json = as_json
        self._diff = diff
        self._models: list[dict[str, Any]] = []
        self._problems: list[Problem] = []

    def problem(self, problem: Problem) -> None:
        """Report a file that could not be read or written."""
        self._problems.append(problem)
        if not self._as_json:
            self._print(f"error: {problem}")

    def add(
        self,
        fixed: Fixed,
        written: Path | None,
        verdicts: Sequence[CheckResult] = (),
        costs: Costs | None = None,
    ) -> None:
        """Report the fixes of a model, their costs (file size, run time), and the file that was written."""
        costs = costs or Costs()
        lines = list(difference(fixed)) if self._diff else []
        if self._as_json:
            self._models.append(_data(fixed, written, verdicts, costs, lines if self._diff else None))
            return
        for line in _text(fixed, written, verdicts, costs, self._selected):
            self._print(line)
        for line in lines:
            self._print(line)

    def close(self) -> None:
        """Write the JSON document, if the report is JSON."""
        if self._as_json:
            problems = [problem_data(problem) for problem in self._problems]
            document = {"schema": SCHEMA, "models": self._models, "errors": problems}
            self._file.write(json.dumps(document, indent=2) + "\n")

    def _print(self, line: str) -> None:
        self._file.write(clean(line) + "\n")


def _text(
    fixed: Fixed,
    written: Path | None,
    verdicts: Sequence[CheckResult],
    costs: Costs,
    selected: Sequence[str],
) -> Iterator[str]:
    outcome = fixed.outcome
    found_before = {finding.rule for finding in outcome.before.findings}
    yield f"{fixed.path}" + (f" -> {written}" if written is not None else "")
    groups: dict[tuple[str, ...], list[AppliedFix]] = defaultdict(list)
    for applied in outcome.applied:
        groups[applied.rule, applied.severity, applied.fix, applied.title].append(applied)
    for (rule, severity, fix, title), members in groups.items():
        label = "unsaved" if fixed.fault else "fixed  "
        later = (
            " (this finding appeared after the first rewrite)" if rule and rule not in found_before else ""
        )
        places = _at(each.place for each in members)
        yield f"  {label}  {_finding(severity, rule)}{fix}: {title}{places}{later}"
        for words in proofs(members):
            yield f"           proof: {words}"
    refusals: dict[tuple[str, str, str | None, str], list[RefusedFix]] = defaultdict(list)
    for refused in outcome.refused:
        refusals[refused.rule, refused.severity, refused.fix, refused.reason].append(refused)
    for (rule, severity, tried, reason), refused_places in refusals.items():
        name = f"{_finding(severity, rule)}{tried or ''}".rstrip()
        yield f"  refused  {name}: {reason}{_at(each.place for each in refused_places)}"
    before, after = outcome.before.findings, outcome.after.findings
    reported = {refused.rule for refused in outcome.refused}
    for finding in after:
        if finding.rule not in reported:
            places = _at(site.module or site.node for site in finding.sites)
            yield f"  left     {finding.severity}[{finding.rule}] {finding.name}: {finding.message}{places}"
    for caveat in caveats(outcome.after.reports):
        yield f"  {caveat.severity + ':':<8} {caveat.message}"
    counts = (by_severity(Counter(finding.severity for finding in found)) for found in (before, after))
    first, last = counts
    if not after and selected:
        last = f"no {' or '.join(selected)}"
    for verdict in verdicts:
        yield f"  {verdict.check + ':':<8} {verdict.judgement}: {verdict.words}"
    if written is not None and _hides_fp16(outcome, verdicts):
        yield (
            "  note:    on a CPU, ONNX Runtime computes most FP16 operators in FP32; to measure the "
            f"FP16 error: trtlint measure {shlex.quote(str(written))} --inputs FILE.npz"
        )
    if note := casts_note(outcome):
        yield f"  note:    {note}"
    for words in costs.words:
        yield f"  costs:   {words}"
    for when, reports in (("before", outcome.before.reports), ("after", outcome.after.reports)):
        for line in headlines(reports):
            yield f"  {when + ':':<8} {line}"
    if fixed.fault:
        yield f"  no model was written, because the fixed model is invalid; {first} as before"
        return
    done = f"{plural(len(outcome.applied), 'place')} rewritten, {len(outcome.refused)} refused"
    yield f"  {done}; {first} before, {last} after"


def casts_note(outcome: FixOutcome) -> str:
    """Return a warning that a weakly typed build may ignore Casts to FP32.

    Return an empty string if there is no such risk.
    https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/inference-library/precision-control.html
    """
    added = any(_CASTING.match(each.fix) for each in outcome.applied)
    weak = any(_WEAK.match(report.target) for report in outcome.after.reports)
    return _STRONGLY if added and weak else ""


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
    """Format the severity and the rule that a rewrite is for.

    The text is empty if no rule recommends the rewrite. Then a measurement or the ONNX checker requires it.
    """
    return f"{severity}[{rule}] " if rule else ""


def _at(places: Iterable[str]) -> str:
    named = [place for place in dict.fromkeys(places) if place]
    if not named:
        return ""
    patterns = collapse(named)
    return f" at {', '.join(patterns[:_PLACES])}" + (", ..." if len(patterns) > _PLACES else "")


def difference(fixed: Fixed) -> Iterator[str]:
    """Yield the lines of the diff between the original and the fixed model, if the model changed."""
    if fixed.changed:
        outcome = fixed.outcome
        yield from modeldiff.difference(outcome.before.proto, outcome.after.proto, fixed.path.name)


def _data(
    fixed: Fixed,
    written: Path | None,
    verdicts: Sequence[CheckResult],
    costs: Costs,
    diff: Sequence[str] | None,
) -> dict[str, Any]:
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
        "refused": [
            {
                "rule": each.rule,
                "severity": each.severity,
                "fix": each.fix,
                "place": each.place,
                "reason": each.reason,
            }
            for each in outcome.refused
        ],
        "left": [finding_data(finding) for finding in outcome.after.findings],
        "caveats": [caveat.message for caveat in caveats(outcome.after.reports)],
        "verified": [verdict.document for verdict in verdicts],
        "costs": costs.document,
        "diff": None if diff is None else list(diff),
        **_partitions(outcome),
    }


def _partitions(outcome: FixOutcome) -> dict[str, Any]:
    """Return which nodes an execution provider runs: in the original and in the fixed model, by target.

    The result is empty if the user gave no execution provider of ONNX Runtime.
    """
    states = {"before": outcome.before.reports, "after": outcome.after.reports}
    found = {when: [*map(partition_in, reports)] for when, reports in states.items()}
    return {"partitions": found} if any(each is not None for each in found["before"]) else {}
