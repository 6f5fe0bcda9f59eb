"""Filters of the page by severity, rule and model, without scripts.

The CSS selector ``:has()`` selects the page if a check box has a certain state:
https://www.w3.org/TR/selectors-4/#relational. A browser that does not support ``:has()`` shows all findings.
"""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.report.page.card import CardEntry
from trtlint.report.page.markup import Markup, clipped, rule_class, tag
from trtlint.report.page.sections import Section

_RULES = 60
"""Largest number of rules in the filter. The filter lists the most severe rules first."""
_MODELS = 60
"""Largest number of models in the filter."""
_SEVERITIES = ("error", "warning", "note", "conditional")


def filters(found: Sequence[tuple[Section, CardEntry]]) -> tuple[Markup | None, str]:
    """Return the HTML of the filters, and the CSS rules that hide findings.

    A filter needs at least two choices. If there is no filter, return None and an empty text.

    Args:
        found: all findings with the sections of their files, the most severe first.
    """
    severities = [each for each in _SEVERITIES if any(entry.severity == each for _, entry in found)]
    rules = list(dict.fromkeys(entry.finding.rule for _, entry in found))[:_RULES]
    models = list({section.id: section.shown for section, _ in found}.items())[:_MODELS]
    fields: list[Markup] = []
    style: list[str] = []
    if len(severities) > 1:
        boxes = [_input("checkbox", f"f-{each}", each, checked=True) for each in severities]
        fields.append(tag("fieldset", tag("legend", "Severity"), boxes))
        style += (_hide(f"#f-{each}:not(:checked)", f".{each}") for each in severities)
    if len(rules) > 1:
        names = [(f"f-{rule_class(rule)}", rule) for rule in rules]
        fields.append(_choice("Rule", "f-rule", names))
        for id_, rule in names:
            class_ = rule_class(rule)
            style.append(_hide(f"#{id_}:checked", f":not(.{class_})"))
            style.append(f"body:has(#{id_}:checked) .model:not(:has(.{class_})){{display:none}}")
    if len(models) > 1:
        names = [(f"f-{id_}", shown) for id_, shown in models]
        fields.append(_choice("Model", "f-model", names))
        for (id_, _), (section, _) in zip(names, models, strict=True):
            style.append(f"body:has(#{id_}:checked) .model:not(#{section}){{display:none}}")
            style.append(f"body:has(#{id_}:checked) tr.found:not(.in-{section}){{display:none}}")
    if not fields:
        return None, ""
    return tag("details", tag("summary", "Filter"), fields, class_="filters"), "\n".join(style)


def _hide(state: str, which: str) -> str:
    return f"body:has({state}) .finding{which},body:has({state}) tr.found{which}{{display:none}}"


def _choice(legend: str, group: str, names: Sequence[tuple[str, str]]) -> Markup:
    every = _input("radio", f"{group}-all", "all", group=group, checked=True)
    radios = [_input("radio", id_, words, group=group) for id_, words in names]
    return tag("fieldset", tag("legend", legend), every, radios)


def _input(kind: str, id_: str, words: str, *, group: str | None = None, checked: bool = False) -> Markup:
    box = tag("input", type=kind, id=id_, name=group, checked="" if checked else None)
    return tag("label", box, " ", clipped(words, 100))
