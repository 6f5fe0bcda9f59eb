"""Report of ``trtlint fix`` as one HTML page: the changed nodes before and after each rewrite."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from trtlint.engine.caveats import caveats
from trtlint.engine.finding import SEVERITIES, Row, Severity
from trtlint.files.problem import Problem
from trtlint.fixes.outcome import AppliedFix, FixOutcome, LintedModel, proofs
from trtlint.fixes.patch import Patch
from trtlint.model.graph import Node
from trtlint.report.counts import plural, severities_in
from trtlint.report.fixes import FixResult, refused_groups, remaining, remarks
from trtlint.report.names import collapse
from trtlint.report.page.behind import PageData
from trtlint.report.page.block import block
from trtlint.report.page.card import badge, ticked
from trtlint.report.page.markup import Content, Markup, clipped, scrolling, tag
from trtlint.report.page.picture import Colour, picture
from trtlint.report.page.shell import shell

_REWRITES = 60
"""Largest number of rewrites that the page shows for one model."""
_LISTED = 60
"""Largest number of entries in the list of refused rewrites, and in the list of remaining findings."""
_PLACES = 12
"""Largest number of name patterns, such as ``blocks.*.attn``, in a list."""
_MOST_GONE = 200
"""Largest number of unused nodes that the picture of a patch shows."""
_ROOM = 800_000
"""Largest number of characters in the HTML of all pictures together."""
_LARGEST = 60_000
"""Largest number of characters in the HTML of one picture."""


class FixPage:
    """HTML page about the fixes of all models."""

    def __init__(self) -> None:
        self._sections: list[Markup] = []
        self._rewritten = 0
        self._before: Counter[str] = Counter()
        self._after: Counter[str] = Counter()
        self._paths: list[str] = []
        self._room = _ROOM

    def add(self, result: FixResult) -> None:
        """Add the result for one model."""
        fixed, written = result.fixed, result.written
        outcome = fixed.outcome
        before, after = outcome.before.findings, outcome.after.findings
        self._before.update(finding.severity for finding in before)
        self._after.update(finding.severity for finding in after)
        self._rewritten += len(outcome.applied)
        self._paths.append(str(fixed.path))
        number = len(self._paths)
        where = "not written" if written is None else ["written to ", tag("code", clipped(str(written), 300))]
        body: list[Content] = [
            tag("h2", tag("code", clipped(str(fixed.path), 300)), id=f"model-{number}-h"),
            tag("p", where, f"; {severities_in(before)} before, {severities_in(after)} after"),
            [
                tag("p", clipped(f"{caveat.severity}: {caveat.message}"), class_="notes")
                for caveat in caveats(outcome.after.reports)
            ],
            [tag("p", ticked(f"{key}: {words}"), class_="notes") for key, words in remarks(result)],
            list(self._rewrites(outcome, number)),
            _refused(outcome),
            _list(
                "Remaining findings",
                [
                    [badge(f.severity), " ", tag("code", f.rule), " ", ticked(f.message)]
                    for f in remaining(outcome)
                ],
            ),
        ]
        self._sections.append(
            tag("section", body, id=f"model-{number}", class_="model", aria_labelledby=f"model-{number}-h")
        )

    def content(self, problems: Sequence[Problem]) -> str:
        """Return the HTML of the page. ``problems`` are the files that could not be read or written."""
        what = clipped(self._paths[0], 300) if len(self._paths) == 1 else plural(len(self._paths), "model")
        tallies = [
            tag("li", tag("strong", f"{self._before[each]} → {self._after[each]}"), f" {each}s", class_=each)
            for each in SEVERITIES
        ]
        header = [
            tag("p", "trtlint fix", class_="brand"),
            tag("h1", f"{plural(self._rewritten, 'place')} rewritten in ", what),
            tag("ul", tallies, class_="tally", aria_label="Findings before and after"),
        ]
        errors = [tag("p", clipped(str(problem)), class_="problem") for problem in problems]
        lines = shell(f"trtlint fix: {what}", header, [errors, self._sections])
        return "".join(f"{line}\n" for line in lines)

    def _rewrites(self, outcome: FixOutcome, number: int) -> Iterator[Markup]:
        groups: dict[tuple[str, str], list[AppliedFix]] = defaultdict(list)
        for applied in outcome.applied:
            groups[applied.fix, applied.title].append(applied)
        steps = {}
        for before, patch, after in reversed(list(_steps(outcome))):
            steps[patch.title] = before, patch, after
        for place, ((fix, title), members) in enumerate(list(groups.items())[:_REWRITES]):
            first = members[0]
            ids = f"p{number}-{place}"
            pair = self._pair(*steps[title], first.severity, ids) if title in steps else None
            places = collapse(each.place for each in members if each.place)
            name = tag("span", fix, class_="name")
            heading = tag("h3", _rule(first.severity, first.rule), name, id=f"{ids}-h")
            yield tag(
                "article",
                tag("header", heading),
                tag("p", ticked(title), class_="message"),
                tag("p", _at(places, len(members)), class_="where"),
                pair,
                [tag("p", f"Proof: {clipped(words)}", class_="notes") for words in proofs(members)],
                class_=f"finding {first.severity}",
                aria_labelledby=f"{ids}-h",
            )
        if len(groups) > _REWRITES:
            left = plural(len(groups) - _REWRITES, "more rewrite")
            yield tag("p", f"not shown: {left}", class_="notes")

    def _pair(
        self, before: LintedModel, patch: Patch, after: LintedModel, severity: Severity, number: str
    ) -> Markup | None:
        """Draw the nodes that a patch changes, before and after the patch."""
        known = {node.path: node for node in after.model.graph.nodes}
        new = [known[node.name] for node in patch.insert if node.name in known]
        rewired = [node for node, _, _ in patch.rewire if node not in patch.remove]
        kept = [known[node.path] for node in rewired if node.path in known]
        gone = _gone(before, patch.remove, known)
        drawn = [
            self._picture(before, _rows(gone, "goes", rewired), severity, "Before", f"{number}b"),
            self._picture(after, _rows(new, "new", kept), "good", "After", f"{number}a"),
        ]
        return tag("div", drawn, class_="pair") if any(drawn) else None

    def _picture(
        self, state: LintedModel, rows: Sequence[Row], colour: Colour, title: str, number: str
    ) -> Markup | None:
        behind = PageData(state.facts)
        shown = [row for row in rows if not _constant(row, behind)]
        found = block(shown, behind) if shown else None
        drawn = None if found is None else picture(found, colour, title, number)
        if found is None or drawn is None or len(drawn) > min(self._room, _LARGEST):
            return None
        self._room -= len(drawn)
        more = f"; {plural(found.left, 'more node')} not drawn" if found.left else ""
        return tag("figure", tag("h4", title, more), scrolling(drawn, title), class_=colour)


def _steps(outcome: FixOutcome) -> Iterator[tuple[LintedModel, Patch, LintedModel]]:
    """Yield each applied patch as a triple: the model before, the patch, and the model after.

    Patches that were applied in the same round have the same two models.
    """
    states = [state for state, _ in outcome.rounds] + [outcome.after]
    for (before, patches), after in zip(outcome.rounds, states[1:], strict=True):
        yield from ((before, patch, after) for patch in patches)


def _gone(before: LintedModel, removed: Sequence[Node], known: Collection[str]) -> list[Node]:
    """Return the nodes that a patch removes, and the upstream nodes that become unused.

    Args:
        before: the model before the patch.
        removed: the nodes that the patch removes.
        known: the paths of the nodes in the patched model.
    """
    graph = before.model.graph
    found = dict.fromkeys(removed)
    waiting = list(removed)
    while waiting and len(found) < _MOST_GONE:
        for node in graph.predecessors(waiting.pop()):
            if node not in found and node.path not in known:
                found[node] = None
                waiting.append(node)
    return list(found)


def _constant(row: Row, behind: PageData) -> bool:
    """Return whether a node depends only on constants and shapes, and not on values of the inputs."""
    node = behind.node(row)
    return node is not None and all(map(behind.computes_sizes, node.outputs))


def _rows(changed: Sequence[Node], label: str, rewired: Sequence[Node]) -> list[Row]:
    """Return the nodes of a drawing in graph order. Only the nodes in ``changed`` get ``label``."""
    labels = {**dict.fromkeys(rewired, ""), **dict.fromkeys(changed, label)}
    return [
        Row(node.path, node.op, node.output.type_text, "", labels[node], "", node.index)
        for node in sorted(labels, key=lambda node: node.index)
    ]


def _refused(outcome: FixOutcome) -> Markup | None:
    entries: list[Content] = [
        [
            _rule(severity, rule),
            f"{fix}: " if fix else None,
            ticked(reason),
            " ",
            _at(collapse(filter(None, places)), len(places)),
        ]
        for (rule, severity, fix, reason), places in refused_groups(outcome).items()
    ]
    return _list("Refused", entries)


def _rule(severity: str, rule: str) -> Content:
    """Format the rule that recommends a rewrite, with the severity.

    The result is None if a measurement requires the rewrite.
    """
    return [badge(severity), " ", tag("code", rule), " "] if rule else None


def _at(patterns: Sequence[str], count: int) -> Content:
    names = (tag("code", clipped(name, 200)) for name in patterns[:_PLACES])
    named: list[Content] = [[", " if index else "at ", name] for index, name in enumerate(names)]
    if len(patterns) > _PLACES:
        named.append(", …")
    return [*named, f" ({count:,} places)" if count > 1 else None]


def _list(title: str, entries: Sequence[Content]) -> Markup | None:
    if not entries:
        return None
    shown = [tag("li", entry) for entry in entries[:_LISTED]]
    if len(entries) > _LISTED:
        shown.append(tag("li", f"and {len(entries) - _LISTED:,} more"))
    return tag("section", tag("h4", title), tag("ul", shown), class_="list")
