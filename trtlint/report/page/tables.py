"""Tables on the HTML page: models, findings, and changes between targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePath

from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.engine.targets import changes
from trtlint.facts.figures import figure
from trtlint.report.counts import no_findings, places_in_baseline
from trtlint.report.page.card import CardEntry, badge, ticked
from trtlint.report.page.markup import Content, Markup, clipped, join, rule_class, table, tag
from trtlint.report.page.sections import Section

_FINDINGS = 400
"""Largest number of findings in the table."""
_MODELS = 400
"""Largest number of models in the table."""
_CHANGES = 200
"""Largest number of changes between targets."""


def row(cells: Sequence[Content]) -> Markup:
    """Return a row of a table."""
    return tag("tr", [tag("td", cell) for cell in cells])


def overview(title: str, name: str, *content: Content) -> Markup:
    """Return a section of the page, with its heading.

    Args:
        title: the heading.
        name: id of the heading.
        content: the content below the heading.
    """
    return tag("section", tag("h2", title, id=name), content, class_="overview", aria_labelledby=name)


def of_models(found: Sequence[Section]) -> Markup:
    """Return the table of models, the model with the most errors first."""
    rows = []
    for section in found[:_MODELS]:
        name = tag("code", clipped(section.shown, 300))
        linked = bool(section.entries or section.problems)
        clean = no_findings(places_in_baseline(section.reports))
        state = "cannot be linted" if section.problems else "" if section.entries else clean
        rows.append(
            tag(
                "tr",
                tag("td", tag("a", name, href=f"#{section.id}") if linked else name),
                tag("td", state or section.target, class_="place"),
                [
                    tag("td", count or None, class_="figure", data_unit=each if count == 1 else f"{each}s")
                    for each, count in ((each, section.counted[each]) for each in SEVERITIES)
                ],
            )
        )
    shown = table(["Model", "Target", "Errors", "Warnings", "Notes"], rows, "Models", "table stacked")
    return overview("Models", "models", shown, _left_out(len(found), _MODELS, "models"))


def of_findings(found: Sequence[tuple[Section, CardEntry]], linked: Collection[str], several: bool) -> Markup:
    """Return the table of all findings, the most severe first.

    Args:
        found: the findings with the sections of their files.
        linked: the ids of the findings that the page shows in full.
        several: true if there are several models.
    """
    names = Counter(PurePath(section.shown).name for section in {s.path: s for s, _ in found}.values())
    timed = any(entry.finding.ms is not None for _, entry in found)
    rows = []
    for section, entry in found[:_FINDINGS]:
        finding = entry.finding
        rule = tag("code", finding.rule)
        cells: list[Content] = [
            tag("td", badge(entry.severity), class_="nowrap"),
            tag("td", tag("a", rule, href=f"#{entry.id}") if entry.id in linked else rule, class_="nowrap"),
            tag("td", ticked(finding.message), class_="what"),
        ]
        if several:
            name = PurePath(section.shown).name
            model = name if names[name] == 1 else section.shown
            cells.append(tag("td", tag("code", clipped(model, 100)), class_="file"))
        cells.append(tag("td", _place(finding), class_="place"))
        places = len(finding.sites)
        unit = "places" if places > 1 else "place"
        cells.append(tag("td", f"{places:,}" if places else None, class_="figure", data_unit=unit))
        if timed:
            ms = None if finding.ms is None else figure(finding.ms)
            cells.append(tag("td", ms, class_="figure", data_unit="ms"))
        classes = f"found {entry.severity} {rule_class(finding.rule)} in-{section.id}"
        rows.append(tag("tr", cells, class_=classes))
    heads = ["Severity", "Rule", "What", *(["Model"] if several else []), "First place", "Places"]
    shown = table([*heads, *(["ms"] if timed else [])], rows, "All findings", "table stacked")
    return overview("Most severe first", "all", shown, _left_out(len(found), _FINDINGS, "findings"))


def of_changes(reports: Sequence[ModelReport]) -> Markup | None:
    """Return the table of findings that each target adds or removes, compared with the previous target.

    The result is None if all targets have the same findings.
    """
    rows = [
        tag(
            "tr",
            tag("td", f"{step.before} → {step.after}", class_="nowrap"),
            tag("td", sign),
            tag("td", clipped(title, 300)),
        )
        for step in changes(reports)
        for sign, titles in (("gone", step.gone), ("new", step.new))
        for title in titles
    ]
    if not rows:
        return None
    heads = ["From target to target", "", "Finding"]
    shown = table(heads, rows[:_CHANGES], "Changes from target to target")
    return join(shown, _left_out(len(rows), _CHANGES, "changes"))


def _left_out(count: int, most: int, what: str) -> Markup | None:
    more = f"{count - most:,} more {what} are not in this table."
    return tag("p", more, class_="notes") if count > most else None


def _place(finding: Finding) -> Markup | None:
    if not finding.sites:
        return None
    place = finding.sites[0].module or finding.sites[0].node
    return tag("code", clipped(place, 120)) if place else None
