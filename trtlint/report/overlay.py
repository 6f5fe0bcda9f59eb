"""Findings by node, as viewers of graphs take them: what lies over the picture of one model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, Severity
from trtlint.engine.targets import merge
from trtlint.lean import dataclass
from trtlint.report.escape import clean
from trtlint.report.page.behind import Behind

if TYPE_CHECKING:
    from trtlint.engine.finding import Row, Site
    from trtlint.model.elements import Node
    from trtlint.report.formats import Run

_MOST_NODES = 10_000
"""Nodes with findings that are told of."""
_MOST_SITES = 50_000
"""Sites of one finding that are looked at."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What a finding says of one node."""

    finding: Finding
    label: str
    """Why the node is marked, empty where the block is meant as a whole."""

    @property
    def text(self) -> str:
        """The sentences for who looks at the node."""
        finding = self.finding
        said = [self.label, finding.message, *(f"Help: {words}" for words in finding.advice)]
        return "\n".join(clean(words) for words in said if words)


@dataclass(slots=True)
class Spotted:
    """A node with findings.

    Attributes:
        path: its path.
        node: the node; None where the model is not to be had.
        remarks: what is said of it, the gravest first.
    """

    path: str
    node: Node | None
    remarks: list[Remark] = field(default_factory=list)

    @property
    def severity(self) -> Severity:
        """The gravest of its findings."""
        return self.remarks[0].finding.severity

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its findings, each once."""
        return tuple(dict.fromkeys(remark.finding.rule for remark in self.remarks))


@dataclass(frozen=True, slots=True)
class Overlay:
    """What is known of a model by node.

    Attributes:
        spotted: the nodes with findings, in the order of the gravest.
        behind: the model; None where it is not to be had.
        findings: all findings, the gravest first.
        target: what it was linted for, in words.
        caveats: what every format shows of the model.
    """

    spotted: tuple[Spotted, ...]
    behind: Behind | None
    findings: tuple[Finding, ...]
    target: str
    caveats: tuple[Caveat, ...] = ()


def overlay(run: Run) -> Overlay:
    """What lies over the one model of a run."""
    reports = run.report.models
    found = [item.finding for item in merge([report.findings for report in reports])]
    if run.style.show_conditional:
        found += [item.finding for item in merge([report.conditional for report in reports])]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    readable = reports and not reports[0].errors
    facts = run.style.look(reports[0].path) if readable and run.style.look is not None else None
    behind = None if facts is None or not facts.has_model else Behind(facts)
    spotted: dict[str, Spotted] = {}
    for finding in found:
        for site in finding.sites[:_MOST_SITES]:
            for row, label in _marked(site):
                if row.node not in spotted:
                    if len(spotted) == _MOST_NODES:
                        continue
                    spotted[row.node] = Spotted(row.node, None if behind is None else behind.node(row))
                spotted[row.node].remarks.append(Remark(finding, label))
    targets = dict.fromkeys(report.target for report in reports)
    return Overlay(tuple(spotted.values()), behind, tuple(found), ", ".join(targets), caveats(reports))


def _marked(site: Site) -> Iterator[tuple[Row, str]]:
    """The culprits of a site with their labels; all of its nodes where none is marked."""
    marked = [row for row in site.rows if row.label]
    yield from ((row, row.label) for row in marked or site.rows)
