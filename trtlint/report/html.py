"""Report as one HTML page without scripts and external resources.

The most severe findings come first, each with a picture of its nodes. The size of the page is limited:
- When the limit of findings with details is reached, further findings appear only as rows of the table.
- When the limit of the table is reached, further findings are only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import SEVERITIES
from trtlint.engine.targets import merge, span
from trtlint.report.counts import HiddenFindings, files_in_words, gone_notes, hidden, left_out, plural
from trtlint.report.formats import Run
from trtlint.report.page.behind import PageData
from trtlint.report.page.card import CardEntry, card
from trtlint.report.page.filters import filters
from trtlint.report.page.markup import Content, Markup, clipped, tag
from trtlint.report.page.measured import measured
from trtlint.report.page.overview_bar import strip
from trtlint.report.page.parts import parts_of
from trtlint.report.page.sections import Section, ranked, sections
from trtlint.report.page.shell import shell
from trtlint.report.page.tables import of_changes, of_findings, of_models
from trtlint.report.text import ANY_VERSION

_CARDS = 150
"""Largest number of findings shown in full."""
_SECTIONS = 200
"""Largest number of models with a section."""
_ROOM = 600_000
"""Largest number of characters in all pictures together.

Findings after this limit show their nodes as text or not at all.
"""
_LARGEST = 60_000
"""Largest number of characters in the HTML of one picture."""
_NOTES = 20
"""Largest number of notes on one model."""


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    found = sections(run)
    chosen, style = filters(ranked(found))
    main = _Page(run, found, chosen).main()
    return shell(f"trtlint: {_what(found)}", _header(run, found), main, style)


def _what(found: Sequence[Section]) -> str:
    forms = Counter(section.reports[0].form for section in found)
    return clipped(found[0].shown, 300) if len(found) == 1 else files_in_words(forms)


def _header(run: Run, found: Sequence[Section]) -> Iterator[Markup]:
    counted = sum((section.counted for section in found), Counter[str]())
    targets = list(dict.fromkeys(report.target for report in run.report.models))
    number = sum(counted[severity] for severity in SEVERITIES)
    yield tag("p", "trtlint report", class_="brand")
    clean = _accepted(found).clean.capitalize()
    yield tag("h1", plural(number, "finding") if number else clean, " in ", _what(found))
    if targets:
        yield tag("p", "for ", span(targets), class_="target")
    shown = [*SEVERITIES, *(["conditional"] if counted["conditional"] else [])]
    tallies = [
        tag("li", tag("strong", counted[each]), " ", _noun(counted[each], each), class_=each)
        for each in shown
    ]
    yield tag("ul", tallies, class_="tally", aria_label="Findings by severity")


def _noun(count: int, severity: str) -> str:
    return severity if count == 1 or severity == "conditional" else f"{severity}s"


def _accepted(found: Iterable[Section]) -> HiddenFindings:
    accepted = HiddenFindings()
    for section in found:
        accepted.add(section.reports)
    return accepted


class _Page:
    """The part of the page below the header."""

    def __init__(self, run: Run, found: Sequence[Section], chosen: Markup | None = None) -> None:
        self._run = run
        self._sections = found
        self._ranked = ranked(found)
        self._room = _ROOM
        self._filters = chosen
        self._explained: set[tuple[str, str]] = set()
        self._cards: dict[str, list[CardEntry]] = {}
        for section, entry in self._ranked[:_CARDS]:
            self._cards.setdefault(section.id, []).append(entry)

    def main(self) -> Iterator[Markup]:
        """Yield the tables of the page, and a section for each model with findings, notes or measurements."""
        notes = list(self._notes())
        if notes:
            yield tag("ul", [tag("li", clipped(note)) for note in notes], class_="notes")
        several = len(self._sections) > 1
        if self._filters is not None:
            yield self._filters
        if several:
            yield of_models(self._sections)
        if len(self._ranked) > 1:
            linked = {entry.id for entries in self._cards.values() for entry in entries}
            yield of_findings(self._ranked, linked, several)
        shown = [one for one in self._sections if one.id in self._cards or one.problems or not several]
        for section in shown[:_SECTIONS]:
            yield self._section(section)

    def _notes(self) -> Iterator[str]:
        yield from self._run.report.notes[:_NOTES]
        yield from left_out(len(self._run.report.notes), _NOTES, "note")
        accepted = _accepted(self._sections)
        if accepted.line:
            yield accepted.line
        warned = [(section.shown, each) for section in self._sections for each in caveats(section.reports)]
        for shown, caveat in warned[:_NOTES]:
            yield f"{caveat.severity}: {shown}: {caveat.message}"
        yield from left_out(len(warned), _NOTES, "such note")
        if not self._run.style.show_conditional:
            groups = [merge([report.conditional for report in one.reports]) for one in self._sections]
            if line := hidden(item.finding for group in groups for item in group):
                yield line

    def _section(self, section: Section) -> Markup:
        cards = self._cards.get(section.id, [])
        behind = self._behind(section) if cards else None
        number = section.id.removeprefix("model-")
        several = len(self._sections) > 1
        problems = section.problems[:_NOTES]
        body: list[Content] = [
            tag("h2", tag("code", clipped(section.shown, 300)), id=f"{section.id}-h"),
            tag("p", "for ", section.target) if several else None,
            [tag("p", clipped(str(problem)), class_="problem") for problem in problems],
            None if behind is None else self._strip(behind, cards, number),
            parts_of(section.reports, behind),
        ]
        if not section.entries and not section.problems:
            skipped = all(report.skipped for report in section.reports)
            partly = any(report.unsearched for report in section.reports)
            words = (
                "Skipped." if skipped else "The search stopped at its limit." if partly else "Nothing found."
            )
            body.append(tag("p", words, class_="notes" if partly else "clean"))
        body += (
            self._card(section, entry, behind, f"p{number}-{place}") for place, entry in enumerate(cards)
        )
        if left := len(section.entries) - len(cards):
            body.append(tag("p", f"{plural(left, 'more finding')}: see the table.", class_="notes"))
        body += [None if behind is None else measured(behind), of_changes(section.reports)]
        notes = dict.fromkeys(note for report in section.reports for note in report.notes)
        listed = [*notes, *gone_notes(section.reports)]
        shown = [*listed[:_NOTES], *left_out(len(listed), _NOTES, "note")]
        lines = [tag("li", clipped(note, 400)) for note in shown]
        body.append(tag("ul", lines, class_="notes") if lines else None)
        return tag("section", body, id=section.id, class_="model", aria_labelledby=f"{section.id}-h")

    def _behind(self, section: Section) -> PageData | None:
        look = self._run.style.look
        facts = None if look is None else look(section.path)
        return None if facts is None or not facts.has_model else PageData(facts)

    def _strip(self, behind: PageData, cards: Sequence[CardEntry], number: str) -> Markup | None:
        drawn = strip(behind, cards, f"s{number}")
        if drawn is None:
            return None
        words = f"{plural(len(behind.nodes), 'node')} in topological order, with findings in colour"
        if behind.times:
            words += "; bars show milliseconds, divided evenly among the nodes of a layer"
        return tag("figure", drawn, tag("figcaption", words), class_="strip-box")

    def _card(self, section: Section, entry: CardEntry, behind: PageData | None, number: str) -> Markup:
        one = len(section.reports) == 1 and ANY_VERSION not in section.target
        target = section.target if one else ""
        key = entry.finding.rule, entry.finding.message
        repeated = key in self._explained and len(self._sections) > 1
        self._explained.add(key)
        made, taken = card(entry, behind, target, number, min(self._room, _LARGEST), repeated=repeated)
        self._room -= taken
        return made
