"""Sentences about findings that several formats use.

The texts of :func:`sureness`, :func:`evidence_lines`, :func:`included` and :func:`target_remark` are not
escaped. The texts of all other functions are escaped, so they are safe to print.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from trtlint.engine.causes import counted
from trtlint.engine.finding import Finding, ModelReport, Row, Suggestion
from trtlint.report.counts import either, plural
from trtlint.report.escape import clean
from trtlint.report.locations import Spot
from trtlint.report.manual import explanation
from trtlint.report.names import collapse, few, line_of


def heading(finding: Finding) -> str:
    """Return the heading of a finding: ``ACC102 sdpa-scale-on-both-operands``."""
    return clean(f"{finding.rule} {finding.name}")


def within(spot: Spot) -> str:
    """Return the modules, nodes or log lines of a finding, as text.

    Examples:
    - ``blocks.0.attn (+11 more: blocks.*.attn)``
    - ``line 20 (+1 more: line 31)`` for a log
    - an empty text for a finding about the whole model
    """
    names = [site.module or site.node for site in spot.finding.sites]
    names = [f"line {line}" if (line := line_of(spot.model, name)) else name for name in names]
    if not names or not names[0]:
        return ""
    if len(names) == 1:
        return clean(names[0])
    return clean(f"{names[0]} (+{len(names) - 1} more: {few(collapse(names[1:]))})")


def site_of(spot: Spot) -> str:
    """Return the model and the modules or nodes of a finding.

    Example: ``vit.onnx at blocks.0 (+11 more: blocks.*)``
    """
    place = within(spot)
    return f"{clean(spot.model)} at {place}" if place else clean(spot.model)


def sentences(spot: Spot) -> Iterator[str]:
    """Yield the sentences below the message of a finding: its place, advice, confidence and references."""
    finding = spot.finding
    yield f"In {site_of(spot)}"
    if finding.depends:
        yield f"Depends on {', '.join(map(either, finding.depends))}, not given"
    if finding.applies:
        yield f"Applies to {clean(finding.applies)}"
    if finding.includes:
        yield f"Includes {included(finding)}"
    for advice in finding.advice:
        yield f"Help: {clean(advice)}"
    if fixable(finding):
        yield f"Help: {fix_command(finding)}"
    yield f"Confidence: {clean(sureness(finding))}"
    for page in filter(None, (explanation(finding.rule), *finding.references)):
        yield f"See {clean(page)}"


def full(spot: Spot) -> str:
    """Return the text of a finding: its message and all further sentences, one on each line."""
    return "\n".join([clean(spot.finding.message), *sentences(spot)])


def sureness(finding: Finding) -> str:
    """Return the confidence and the evidence level of a finding, such as ``high, documented``.

    If the evidence refutes the finding, a remark follows.
    """
    refuted = "; refuted by the evidence" if finding.standing == "refuted" else ""
    return f"{finding.confidence}, {finding.evidence_level}{refuted}"


def evidence_lines(finding: Finding, *, drawn: bool = False) -> tuple[str, ...]:
    """Return the evidence for a finding: lines of a build, and the marked nodes of its first site.

    If no node is marked, all nodes of the site are included.

    Args:
        finding: the finding.
        drawn: true if a drawing shows the marked nodes; the result then omits the marked nodes.
    """
    rows = finding.sites[0].rows if finding.sites else ()
    marked = [row for row in rows if row.label]
    left = () if drawn and marked else marked or rows
    return (*finding.said, *(_node(row) for row in left))


def _node(row: Row) -> str:
    """Format a node: ``/attn/MatMul (MatMul, f32[1,8,197,197]): scores``."""
    says = row.label or row.detail
    typed = f"{row.op}, {row.type}" if row.type else row.op
    return f"{row.node} ({typed})" + (f": {says}" if says else "")


def fix_command(finding: Finding, model: str = "MODEL") -> str:
    """Return the ``trtlint fix`` command that applies the rewrites for a finding."""
    rules = ",".join(dict.fromkeys(each.rule for each in fixable(finding)))
    return clean(shlex.join(("trtlint", "fix", model, "--select", rules, *finding.options)))


def fixable(finding: Finding) -> tuple[Finding, ...]:
    """Return the findings that ``trtlint fix`` can fix: the given finding and its included findings."""
    return tuple(each for each in (finding, *finding.includes) if each.fixes)


def included(finding: Finding) -> str:
    """Count the findings that a finding includes: ``5 findings (BLD201 × 2, BLD211 × 3)``."""
    return f"{plural(len(finding.includes), 'finding')} ({counted(finding.includes)})"


def further_lines(models: Iterable[ModelReport]) -> Iterator[tuple[Suggestion, str]]:
    """Yield suggestions, each with its sentence, if there is an error or a warning.

    A suggestion has a command that includes one more file, and the sentence states what the command shows.
    For several targets, the suggestion to measure the model with real inputs is yielded only once.
    """
    wrong = [model for model in models if any(finding.severity != "note" for finding in model.findings)]
    measured = False
    for more in dict.fromkeys(more for model in wrong for more in model.further):
        if more.what != "inputs" or not measured:
            yield more, clean(f"{more.command} shows {more.settles}")
        measured = measured or more.what == "inputs"


_OWN_TENSORRT = "Torch-TensorRT"


def target_remark(finding: Finding, target: str) -> str:
    """Return a remark that names the user's target, to add after the affected releases.

    The remark is empty if there is no target. It is also empty for Torch-TensorRT, because users of
    Torch-TensorRT do not choose the TensorRT release.
    """
    if not target or finding.applies.startswith(_OWN_TENSORRT):
        return ""
    return f" (you build for {target})"
