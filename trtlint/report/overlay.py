"""Findings by node, for graph viewers such as Netron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, Severity
from trtlint.engine.targets import merge
from trtlint.report.escape import clean
from trtlint.report.page.behind import PageData

if TYPE_CHECKING:
    from trtlint.engine.finding import Row, Site
    from trtlint.model.elements import Node
    from trtlint.report.formats import Run

_MOST_NODES = 10_000
"""Largest number of nodes with findings."""
_MOST_SITES = 50_000
"""Largest number of sites read from one finding."""


class Remark(Struct, frozen=True):
    """The text of a finding that a graph viewer shows at one node."""

    finding: Finding
    label: str
    """Reason for marking the node; empty if the finding is about all nodes of a site."""

    @property
    def text(self) -> str:
        """Return the text at the node: label, message and advice."""
        finding = self.finding
        lines = [self.label, finding.message, *(f"Help: {words}" for words in finding.advice)]
        return "\n".join(clean(line) for line in lines if line)


class NodeWithFindings(Struct):
    """A node with findings.

    Attributes:
        path: the path of the node.
        node: the node; None if the model cannot be read.
        remarks: the texts of the findings, the most severe first.
    """

    path: str
    node: Node | None
    remarks: list[Remark] = field(default_factory=list)

    @property
    def severity(self) -> Severity:
        """The highest severity of the findings at the node."""
        return self.remarks[0].finding.severity

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of the findings at the node, without duplicates."""
        return tuple(dict.fromkeys(remark.finding.rule for remark in self.remarks))


class Overlay(Struct, frozen=True):
    """The findings of one model by node.

    Attributes:
        spotted: the nodes with findings, the most severe first.
        behind: the data about the model and its build; None if the model cannot be read.
        findings: all findings, the most severe first.
        target: the targets, as text.
        caveats: the caveats about the model.
    """

    spotted: tuple[NodeWithFindings, ...]
    behind: PageData | None
    findings: tuple[Finding, ...]
    target: str
    caveats: tuple[Caveat, ...] = ()


def overlay(run: Run) -> Overlay:
    """Return the findings by node, for a run with one model."""
    reports = run.report.models
    found = [item.finding for item in merge([report.findings for report in reports])]
    if run.style.show_conditional:
        found += [item.finding for item in merge([report.conditional for report in reports])]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    readable = reports and not reports[0].errors
    facts = run.style.look(reports[0].path) if readable and run.style.look is not None else None
    behind = None if facts is None or not facts.has_model else PageData(facts)
    spotted: dict[str, NodeWithFindings] = {}
    for finding in found:
        for site in finding.sites[:_MOST_SITES]:
            for row, label in _marked(site):
                if row.node not in spotted:
                    if len(spotted) == _MOST_NODES:
                        continue
                    spotted[row.node] = NodeWithFindings(
                        row.node, None if behind is None else behind.node(row)
                    )
                spotted[row.node].remarks.append(Remark(finding, label))
    targets = dict.fromkeys(report.target for report in reports)
    return Overlay(tuple(spotted.values()), behind, tuple(found), ", ".join(targets), caveats(reports))


def _marked(site: Site) -> Iterator[tuple[Row, str]]:
    """Yield the labelled nodes of a site, each with its label.

    If no node has a label, yield all nodes of the site.
    """
    marked = [row for row in site.rows if row.label]
    yield from ((row, row.label) for row in marked or site.rows)
