"""Report as GitHub Markdown, for pull request comments and step summaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from trtlint.engine.finding import Finding
from trtlint.report.counts import by_severity, files_in_words, left_out, plural
from trtlint.report.drawing import Marks, draw
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Spot
from trtlint.report.manual import rule_page
from trtlint.report.markdowntext import code, fenced, text
from trtlint.report.wording import heading, sentences, within

_ROWS = 40
"""Largest number of table rows."""
_ROOM = 50_000
"""Largest number of characters of the details. GitHub allows 65,536 characters in a comment."""
_URL = re.compile(r"https://[A-Za-z0-9._~/#?=&%+,;-]+")


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [dumps(run.overview())]


def dumps(overview: Overview) -> str:
    """Convert the findings to Markdown: a heading, a table, and details that the reader can unfold."""
    return "\n".join(_lines(overview))


def _lines(overview: Overview) -> Iterator[str]:
    severities: Counter[str] = Counter(
        spot.finding.severity for spot in overview.spots if not spot.conditional
    )
    yield f"### trtlint: {by_severity(severities) if severities else overview.clean}"
    yield ""
    affected = len({spot.model for spot in overview.spots})
    total = files_in_words(overview.forms)
    sentence = f"{affected} of {total} with findings" if affected else f"{total} linted"
    targets = {target for spot in overview.spots for target in spot.targets}
    sentence += f", for {text(next(iter(targets)))}." if len(targets) == 1 else "."
    yield sentence
    if overview.accepted:
        yield f"{text(overview.accepted)}."
    if overview.caveats:
        yield ""
        shown = overview.caveats[:_ROWS]
        yield from (f"- {caveat.severity}: {text(f'{model}: {caveat.message}')}" for model, caveat in shown)
        if len(shown) < len(overview.caveats):
            yield f"- and {len(overview.caveats) - len(shown):,} more"
    if overview.notes:
        yield ""
        yield from (
            f"- {text(f'{model}: {note}' if model else note)}" for model, note in overview.notes[:_ROWS]
        )
        yield from (f"- {line}" for line in left_out(len(overview.notes), _ROWS, "note"))
    yield from _problems(overview)
    yield from _table(overview.spots)
    yield from _details(overview.spots)


def _problems(overview: Overview) -> Iterator[str]:
    if overview.problems:
        yield ""
        yield f"{plural(len({problem.path for problem in overview.problems}), 'file')} could not be linted:"
        yield ""
        shown = overview.problems[:_ROWS]
        yield from (f"- {code(str(problem))}" for problem in shown)
        if len(shown) < len(overview.problems):
            yield f"- and {len(overview.problems) - len(shown):,} more"


def _table(spots: tuple[Spot, ...]) -> Iterator[str]:
    if not spots:
        return
    yield ""
    yield "| | finding | what | line | model | where |"
    yield "|---|---|---|---|---|---|"
    for spot in spots[:_ROWS]:
        line = f"{spot.place.path}:{spot.place.line}" if spot.place.line else ""
        where = within(spot)
        named = [_severity(spot), _named(spot.finding), text(spot.finding.message)]
        cells = [*named, code(line), code(spot.model), code(where)]
        yield f"| {' | '.join(cells)} |"
    if len(spots) > _ROWS:
        yield ""
        yield f"{len(spots) - _ROWS:,} more are not in this table."


def _named(finding: Finding) -> str:
    """Format the id and the name of a finding's rule, with a link if the rule has a page."""
    page = rule_page(finding.rule)
    return f"[{text(heading(finding))}]({page})" if page else text(heading(finding))


def _severity(spot: Spot) -> str:
    return "conditional" if spot.conditional else spot.finding.severity


def _details(spots: Iterable[Spot]) -> Iterator[str]:
    """Yield the details of findings, up to ``_ROOM`` characters.

    The first finding of each rule comes first, then the remaining findings.
    """
    seen: set[str] = set()
    first: list[Spot] = []
    others: list[Spot] = []
    for spot in spots:
        (others if spot.finding.rule in seen else first).append(spot)
        seen.add(spot.finding.rule)
    room = _ROOM
    left = 0
    for spot in (*first, *others):
        block = "\n".join(_detail(spot))
        if len(block) > room:
            left += 1
            continue
        room -= len(block)
        yield block
    if left:
        yield ""
        yield f"Details of {plural(left, 'finding')} are omitted."


def _detail(spot: Spot) -> Iterator[str]:
    finding = spot.finding
    yield ""
    title = f"{_severity(spot)}: {heading(finding)}: {finding.message}"
    yield f"<details><summary>{text(title)}</summary>"
    yield ""
    if finding.sites and finding.sites[0].rows:
        drawing = "\n".join(line.plain for line in draw([Marks(finding.sites[0].rows, "")], None))
        yield from (*fenced(drawing, "text"), "")
    for sentence in sentences(spot):
        yield f"- {_linked(sentence)}"
    yield ""
    yield "</details>"


def _linked(sentence: str) -> str:
    """Escape a sentence for Markdown.  If the sentence is ``See`` and a URL, turn the URL into a link."""
    url = sentence.removeprefix("See ")
    return f"See <{url}>" if url != sentence and _URL.fullmatch(url) else text(sentence)
