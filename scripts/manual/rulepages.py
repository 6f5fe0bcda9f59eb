"""Pages of the rules, and indexes of these pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from scripts.manual.markdown import plain, portable, table
from trtlint.engine.finding import SEVERITIES
from trtlint.engine.rule import EVIDENCE, GROUPS, PATTERN, Advice, Rule, Status
from trtlint.knowledge.ranges import covers_all, in_words, matching
from trtlint.knowledge.redirects import Redirect, redirects
from trtlint.knowledge.releases import PRODUCTS, Product, releases
from trtlint.language.template import Template
from trtlint.report.ruletext import applies, summary

_EXAMPLES = "\n## Fires\n"
_CONCERNS = {"graph": "the model", "command": "the build command", "code": "the program that runs the engine"}
_SEVERITY = {
    "error": "Wrong results, a crash or a failed build.",
    "warning": "A likely loss of accuracy or speed.",
    "note": "Worth knowing.",
}
_STATUS = {
    "preview": "New rules: they run only with `--preview`, or if you select them by id.",
    "stable": "These rules run by default.",
    "deprecated": "These rules still run. A later version of trtlint removes them.",
}


def rule_pages(rules: Iterable[Rule]) -> dict[str, str]:
    """Return the page of each rule and the indexes, by path on the site."""
    listed = sorted(rules, key=lambda rule: rule.id)
    pages = {f"rules/{rule.id}.md": rule_page(rule) for rule in listed}
    pages["rules/index.md"] = _groups(listed)
    pages["rules/by-severity.md"] = _severities(listed)
    pages["rules/by-evidence.md"] = _evidence(listed)
    pages["rules/by-version.md"] = _versions(listed)
    pages["rules/by-status.md"] = _statuses(listed)
    pages |= {f"rules/{old.id}.md": _gone(old) for old in redirects() if f"rules/{old.id}.md" not in pages}
    return pages


def rule_page(rule: Rule) -> str:
    """Return the page of a rule: summary, facts, documentation, message, advice, sources, examples."""
    documentation, _, examples = f"\n{rule.body}".partition(_EXAMPLES)
    facts = _facts(rule)
    parts = [
        f"# {rule.id} {rule.name}",
        *((plain(rule.summary),) if rule.summary else ()),
        table(next(facts), facts),
        documentation.strip(),
        f"## Message\n\n> {plain(_text(rule.message))}",
        "## Advice",
        "\n".join(f"- {_advice(advice)}" for advice in rule.advice),
        "## Sources",
        "\n".join(f"- <{url}>" for url in rule.references),
        f"## Fires\n\n{examples.strip()}",
    ]
    return portable("\n\n".join(parts))


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
    severities = [rule.severity, *(severity for _, severity in rule.severity_when)]
    yield "severity", " or ".join(f"[{name}](by-severity.md#{name})" for name in dict.fromkeys(severities))
    yield "applies to", applies(rule)
    confidence = "high" if EVIDENCE[rule.evidence] else "medium"
    yield (
        "evidence",
        f"[{rule.evidence}](by-evidence.md#{rule.evidence}): findings of {confidence} confidence",
    )
    facts = "a pattern of operators" if rule.find == PATTERN else ""
    yield "status", f"[{rule.status}](by-status.md#{rule.status})"
    yield "group", f"[{rule.group}](index.md#{rule.group})"
    yield "facts", facts or f"[`{rule.find}`](../reference/facts.md#{rule.find})"
    yield "to be changed", _CONCERNS[rule.concerns]
    if any(advice.fix for advice in rule.advice):
        yield "automatic fix", f"`trtlint fix MODEL --select {rule.id}`"
    yield "since", f"trtlint {rule.since}"


def _advice(advice: Advice) -> str:
    ranges = ", ".join(in_words(product, specifier) for product, specifier in advice.applies.items())
    said = plain(_text(advice.do))
    if advice.where is not None:
        said += f" (where `{advice.where.text}`)"
    if advice.fix:
        said += f" Rewrite of `trtlint fix`: {advice.fix}"
        said += "." if advice.safety == "safe" else " (needs `--unsafe`, because it changes results)."
    return f"{ranges}: {said}" if ranges else said


def _text(template: Template) -> str:
    """Return a text of a rule, with expressions as the rule file writes them."""
    return "".join(piece if isinstance(piece, str) else f"`{piece.text}`" for piece in template.pieces)


def _link(rule: Rule) -> str:
    return f"[{rule.id}]({rule.id}.md)"


def _listing(rules: Iterable[Rule]) -> str:
    rows = (
        (f"{_link(rule)} {rule.name}", _coloured(rule.severity), applies(rule), _summary(rule))
        for rule in rules
    )
    return table(("rule", "severity", "applies to", "summary"), rows)


def _coloured(severity: str) -> str:
    """Return a severity as HTML with the class that the style sheet colours."""
    return f'<span class="severity-{severity}">{severity}</span>'


def _summary(rule: Rule) -> str:
    """Return the summary of a rule without links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", summary(rule))


def _groups(rules: Sequence[Rule]) -> str:
    parts = [
        f"# Rules\n\n{len(rules)} rules, by group. The rules are also listed [by severity](by-severity.md), "
        "[by evidence](by-evidence.md), [by version](by-version.md) and [by status](by-status.md).",
    ]
    for group, hurts in GROUPS.items():
        if members := [rule for rule in rules if rule.group == group]:
            parts += [f"## {group}", f"{hurts[0].upper()}{hurts[1:]}.", _listing(members)]
    return _page(parts)


def _severities(rules: Sequence[Rule]) -> str:
    return _index("Rules by severity", rules, SEVERITIES, lambda rule: rule.severity, _SEVERITY)


def _statuses(rules: Sequence[Rule]) -> str:
    page = _index("Rules by status", rules, get_args(Status), lambda rule: rule.status, _STATUS)
    rows = [(old.id, old.name, _now(old), old.since, plain(old.because)) for old in redirects()]
    if not rows:
        return page
    return _page(
        [page, "## renamed and removed", table(("id", "name", "new id", "since trtlint", "reason"), rows)]
    )


def _now(old: Redirect) -> str:
    return f"[{old.to}]({old.to}.md)" if old.to else "removed"


def _gone(old: Redirect) -> str:
    """Return the page of a renamed or removed rule, so that old links work."""
    now = f"is now {_now(old)}" if old.to else "was removed"
    return f"# {old.id} {old.name}\n\nThis rule {now}, since trtlint {old.since}: {plain(old.because)}.\n"


def _evidence(rules: Sequence[Rule]) -> str:
    surely = {
        word: f"Findings have {'high' if sure else 'medium'} confidence." for word, sure in EVIDENCE.items()
    }
    return _index("Rules by evidence", rules, tuple(EVIDENCE), lambda rule: rule.evidence, surely)


def _index(
    title: str,
    rules: Sequence[Rule],
    keys: Sequence[str],
    key: Callable[[Rule], str],
    said: Mapping[str, str],
) -> str:
    parts = [f"# {title}"]
    for word in keys:
        if members := [rule for rule in rules if key(rule) == word]:
            parts += [f"## {word}", said[word], _listing(members)]
    return _page(parts)


def _versions(rules: Sequence[Rule]) -> str:
    parts = [
        "# Rules by version",
        "The releases that each rule applies to. `trtlint upgrade` uses the same ranges of releases.",
    ]
    for product, name in PRODUCTS.items():
        parts += [f"## {name}", *_lines_of(product, [rule for rule in rules if product in rule.applies])]
    return _page(parts)


def _lines_of(product: Product, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield a table by release line: rules that apply, new rules, and rules that no longer apply."""
    always = [rule for rule in rules if covers_all(product, rule.applies[product])]
    yield f"For every version: {', '.join(map(_link, always))}."
    rows: list[tuple[str, ...]] = []
    before: dict[str, Rule] = {}
    for minor in dict.fromkeys(release.minor for release in releases(product)):
        there = {
            rule.id: rule
            for rule in rules
            if rule not in always
            and any(f"{v.major}.{v.minor}" == minor for v in matching(product, rule.applies[product]))
        }
        begin = [_link(rule) for key, rule in there.items() if key not in before]
        ended = [_link(rule) for key, rule in before.items() if key not in there]
        minor = minor if rows else f"{minor} and older"
        rows.append((minor, str(len(always) + len(there)), ", ".join(begin), ", ".join(ended)))
        before = there
    yield table(
        ("version", "number of rules", "rules that begin to apply", "rules that no longer apply"), rows
    )


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
