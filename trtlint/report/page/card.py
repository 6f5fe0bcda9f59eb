"""One finding on the HTML page: message, nodes, picture, advice and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from trtlint.engine.finding import Finding, Site
from trtlint.facts.figures import figure
from trtlint.report.counts import either, plural
from trtlint.report.drawing import Marks, draw
from trtlint.report.manual import explanation
from trtlint.report.names import collapse
from trtlint.report.page.behind import PageData
from trtlint.report.page.block import block
from trtlint.report.page.markup import Content, Markup, clipped, join, link, rule_class, scrolling, tag
from trtlint.report.page.picture import picture
from trtlint.report.wording import evidence_lines, fix_command, fixable, included, sureness, target_remark

_PLACES = 30
"""Largest number of name patterns, such as ``blocks.*.attn``, in a list."""
_SOURCES = 12
"""Largest number of listed source lines."""
_MOST_EVIDENCE = 8
"""Largest number of listed evidence lines."""
_MOST_SITES = 20_000
"""Largest number of sites for which the names and source lines of one finding are collected."""


class CardEntry(Struct, frozen=True):
    """A finding on the HTML page.

    Attributes:
        finding: the finding.
        seen: the targets of the finding, as text; empty for a single target.
        id: id of the HTML element.
        model: the file, as the page shows its path.
        conditional: true if the finding depends on unset options.
    """

    finding: Finding
    seen: str
    id: str
    model: str
    conditional: bool

    @property
    def severity(self) -> str:
        """The severity of the finding, or ``conditional`` if the finding depends on unset options."""
        return "conditional" if self.conditional else self.finding.severity


def card(
    entry: CardEntry, behind: PageData | None, target: str, number: str, room: int, *, repeated: bool = False
) -> tuple[Markup, int]:
    """Return the HTML element that shows a finding, and the number of characters in its picture.

    Args:
        entry: the finding.
        behind: data about the model; None if the model cannot be read.
        target: the target; empty if another part of the page shows the target.
        number: prefix that makes the element ids unique.
        room: character limit of the picture.
        repeated: true if another model has an equal finding; the details are then collapsed.
    """
    finding = entry.finding
    drawn = _picture(finding, behind, number, room)
    beside = tag("div", _advice(finding), _why(entry, target), class_="beside")
    body = tag("div", drawn, beside, class_="body")
    element = tag(
        "article",
        tag(
            "header",
            tag(
                "h3",
                badge(entry.severity),
                " ",
                tag("a", finding.rule, href=f"#{entry.id}", id=f"{entry.id}-h", class_="rule"),
                " ",
                tag("span", finding.name, class_="name"),
            ),
            tag("p", ticked(finding.message), class_="message"),
            _where(finding),
        ),
        tag("details", tag("summary", "Same message as above: details"), body) if repeated else body,
        _places(finding.sites),
        id=entry.id,
        class_=f"finding {entry.severity} {rule_class(finding.rule)}",
        aria_labelledby=f"{entry.id}-h",
    )
    return element, len(drawn or "")


def badge(severity: str) -> Markup:
    """Return the HTML element that shows a severity."""
    return tag("strong", severity, class_=f"badge {severity}")


def ticked(words: str) -> Markup:
    """Format a text as HTML: words between backticks become code, and a long text is shortened."""
    parts = clipped(words).split("`")
    if len(parts) % 2 == 0:
        return join(clipped(words))
    return join(tag("code", part) if index % 2 else part for index, part in enumerate(parts))


def _where(finding: Finding) -> Markup | None:
    if not finding.sites:
        return None
    site, more = finding.sites[0], len(finding.sites) - 1
    place = site.module or site.node
    parts: list[Content] = [tag("code", clipped(place, 300))] if place else []
    if more:
        parts.append(f" and {plural(more, 'more place')}")
    if site.source is not None:
        parts += [
            " · exported from " if parts else "Exported from ",
            tag("code", clipped(str(site.source), 300)),
        ]
    if finding.ms is not None and finding.share is not None:
        timed = tag("strong", f"{figure(finding.ms)} ms")
        parts += [" · ", timed, f", {finding.share:.0%} of the time of all layers"]
    return tag("p", parts, class_="where") if parts else None


def _picture(finding: Finding, behind: PageData | None, number: str, room: int) -> Markup | None:
    rows = finding.sites[0].rows if finding.sites else ()
    if not rows:
        return None
    site = finding.sites[0]
    place = clipped(site.module or site.node, 200)
    found = None if behind is None else block(rows, behind)
    drawn = None if found is None else picture(found, finding.severity, f"The block at {place}", number)
    if found is None or drawn is None or len(drawn) > room:
        lines = "\n".join(line.plain for line in draw([Marks(rows, "")], None))
        return tag("pre", _lines(lines), class_="drawing", tabindex=0) if len(lines) < room else None
    caption: list[Content] = ["The block at ", tag("code", place)]
    if len(finding.sites) > 1:
        caption.append(f", the first of {len(finding.sites):,} places")
    if found.left:
        caption.append(f"; not drawn: {plural(found.left, 'more node')}")
    scrolls = scrolling(drawn, f"Picture of the block at {place}")
    return tag("figure", scrolls, tag("figcaption", caption))


def _lines(lines: str) -> Markup:
    """Return the lines of a text drawing as preformatted text."""
    return Markup("\n".join(join(clipped(line, 200)) for line in lines.split("\n")))


def _advice(finding: Finding) -> Markup | None:
    if not finding.advice and not fixable(finding):
        return None
    advice = [tag("li", ticked(words)) for words in finding.advice]
    if fixable(finding):
        advice.append(tag("li", "Automatic fix: ", tag("code", fix_command(finding))))
    return tag("section", tag("h4", "What to do"), tag("ul", advice), class_="advice")


def _why(entry: CardEntry, target: str) -> Markup:
    finding = entry.finding
    terms: list[tuple[str, Content]] = []
    if finding.depends:
        terms.append(("Depends on", f"{', '.join(map(either, finding.depends))} (not given)"))
    if finding.applies:
        terms.append(("Applies to", [clipped(finding.applies), target_remark(finding, target) or None]))
    if finding.includes:
        terms.append(("Includes", included(finding)))
    if entry.seen:
        terms.append(("Seen for", entry.seen))
    surely = sureness(finding).removeprefix(finding.confidence)
    terms.append(("Confidence", [tag("strong", finding.confidence), surely]))
    seen = evidence_lines(finding, drawn=True) if finding.said or not finding.sites else ()
    if seen:
        shown: list[Content] = [tag("li", clipped(words, 600)) for words in seen[:_MOST_EVIDENCE]]
        if len(seen) > _MOST_EVIDENCE:
            shown.append(tag("li", f"and {plural(len(seen) - _MOST_EVIDENCE, 'more place')}"))
        terms.append(("Seen in", tag("ul", shown)))
    if page := explanation(finding.rule):
        terms.append(("Explained", link(page) if page.startswith("https://") else tag("code", page)))
    if finding.references:
        terms.append(("Sources", tag("ul", [tag("li", link(url)) for url in finding.references])))
    described = [[tag("dt", key), tag("dd", value)] for key, value in terms]
    return tag("section", tag("h4", "Evidence and confidence"), tag("dl", described), class_="evidence")


def _places(sites: Sequence[Site]) -> Markup | None:
    """Return the list of all sites with their source lines, or None for a single site."""
    if len(sites) < 2:
        return None
    looked = sites[:_MOST_SITES]
    patterns = collapse(site.module or site.node for site in looked)
    sources = list(dict.fromkeys(str(site.source) for site in looked if site.source is not None))
    return tag(
        "details",
        tag("summary", f"{len(sites):,} places"),
        tag("ul", _listed(patterns, _PLACES), class_="places"),
        [tag("p", "Exported from"), tag("ul", _listed(sources, _SOURCES), class_="places")]
        if sources
        else None,
    )


def _listed(names: Sequence[str], most: int) -> Iterator[Markup]:
    yield from (tag("li", tag("code", clipped(name, 300))) for name in names[:most] if name)
    if len(names) > most:
        yield tag("li", f"and {len(names) - most:,} more")
