"""Decide whether a rule applies to a target, and whether the condition of the rule is true.

The condition is evaluated for a subject: a fact about the model or build, or a match of the rule's pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from trtlint.engine.finding import Rewrite
from trtlint.engine.rule import Advice, Rule
from trtlint.engine.subjects import Subject
from trtlint.knowledge.parsers import range_of
from trtlint.knowledge.ranges import in_words, matching
from trtlint.knowledge.releases import Product, minors
from trtlint.target.target import Target
from trtlint.target.truth import Truth, Unknown, both

_OR = "Or "
_OF_RELEASE = "target.opset_max"
"""Property of a release that the conditions of rules compare."""


def version_truth(rule: Rule, target: Target) -> Truth:
    """Return whether a rule applies to the product and version of the target."""
    return affects(rule.applies, target)


def condition(rule: Rule, names: Mapping[str, object], target: Target, applies: Truth) -> Truth:
    """Return whether the condition of a rule is true for a target.

    An unset version of the target does not make the result unknown.  The finding names the affected versions,
    so the user can decide.

    Args:
        rule: the rule.
        names: the names that the condition can use, with their values.
        target: the target.
        applies: the result of :func:`version_truth`.
    """
    known = True if isinstance(applies, Unknown) and target.version is None else applies
    if known is False or rule.where is None:
        return known
    return both(known, rule.where.truth(names))


def affects(ranges: Mapping[Product, str], target: Target) -> Truth:
    """Return whether the version of the target is in the version range of its product.

    ``ranges`` has the version range of each product.  Without a range for the product, the result is False.
    """
    specifier = ranges.get(target.product)
    return False if specifier is None else target.matches(specifier, target.product)


def best_reading(rule: Rule, subject: Subject, target: Target, applies: Truth) -> tuple[Subject, Truth]:
    """Return the best match of a subject, and the truth of the rule's condition for this match.

    A pattern can match the same nodes in several ways.  The best match is the first one for which the
    condition is true. Without such a match, the best match is the first one for which the condition may be
    true.
    """
    possible: tuple[Subject, Truth] = subject, False
    for reading in (subject, *subject.others):
        truth = condition(rule, reading.names(target), target, applies)
        if truth is True:
            return reading, truth
        if isinstance(truth, Unknown) and truth.needs and possible[1] is False:
            possible = reading, truth
    return possible


def common_versions(rule: Rule, subject: Subject, target: Target) -> str | None:
    """Return the versions to which both the rule and the fact apply.

    Only the ranges for the target's product count.  The result is None if the fact has no range for this
    product, or if no version is in both ranges.
    """
    own = rule.applies[target.product]
    if subject.applies is None:
        return own
    specifier = subject.applies.get(target.product)
    if specifier is None:
        return None
    common = ",".join(part for part in (own, specifier) if part)
    return common if matching(target.product, common) else None


def scope_words(rule: Rule, subject: Subject, target: Target) -> str:
    """Return the affected releases in words, or an empty text if the versions of the rule state them.

    If the condition of the rule compares a property of the release, the function evaluates the condition for
    each release line. Otherwise, the result is the scope of the subject.
    """
    if rule.where is None or _OF_RELEASE not in rule.where.text:
        return subject.scope
    lines = minors(target.product)
    versions = (replace(target, version=line) for line in lines)
    held = [version_truth(rule, each) and rule.where.truth(subject.names(each)) is True for each in versions]
    specifier = range_of(target.product, [line for line, holds in zip(lines, held, strict=True) if holds])
    return subject.scope if specifier is None else in_words(target.product, specifier)


def advice_for(rule: Rule, target: Target) -> list[tuple[str, Advice]]:
    """Return the advice for the target's version, each with a prefix such as ``TensorRT 8.6: ``.

    The prefix names the versions to which the advice applies.  The prefix is empty if the target has a
    version, or if the advice applies to all versions that the rule affects.
    """
    found = []
    product = target.product
    for advice in rule.advice:
        affected = affects(advice.applies, target) if advice.applies else True
        if affected is False:
            continue
        prefix = ""
        if isinstance(affected, Unknown):
            specifier = advice.applies[product]
            if not set(matching(product, rule.applies[product])) <= set(matching(product, specifier)):
                prefix = f"{in_words(product, specifier)}: "
        found.append((prefix, advice))
    return found


def shown_advice(
    advice: Iterable[tuple[str, Advice]], names: Mapping[str, object]
) -> list[tuple[str, Advice]]:
    """Return the advice in ``advice`` whose condition is true, or may be true, for one node.

    Advice with ``default: true`` is left out if earlier advice certainly applies: its condition is true and
    its prefix is empty.

    Args:
        advice: the result of :func:`advice_for`.
        names: values of the names in conditions.
    """
    shown: list[tuple[str, Advice]] = []
    sure = False
    for prefix, entry in advice:
        truth = True if entry.where is None else entry.where.truth(names)
        if truth is False or (entry.default and sure):
            continue
        shown.append((prefix, entry))
        sure = sure or (truth is True and not prefix)
    return shown


def sentences(shown: Iterable[tuple[str, Advice]], names: Mapping[str, object]) -> tuple[str, ...]:
    """Return the advice from :func:`shown_advice` as the texts of a report.

    In a rule file, an alternative to the preceding advice begins with "Or".  If such a text comes first in
    the report, "Or" is removed.
    """
    found: list[str] = []
    for prefix, entry in shown:
        text = entry.do.fill(names)
        if not found and text.startswith(_OR):
            rest = text.removeprefix(_OR)
            text = rest[:1].upper() + rest[1:]
        found.append(prefix + text)
    return tuple(found)


def cited(rule: Rule, shown: Iterable[tuple[str, Advice]]) -> tuple[str, ...]:
    """Return the references of a rule, without duplicates.

    The order is: references in the advice that the report shows, then references of the rule itself.
    """
    return tuple(dict.fromkeys([*(url for _, entry in shown for url in entry.see), *rule.references]))


def rewrites_of(shown: Iterable[tuple[str, Advice]]) -> tuple[Rewrite, ...]:
    """Return the rewrites that the advice in a report recommends."""
    found = (Rewrite(entry.fix, entry.safety, entry.folds) for _, entry in shown if entry.fix)
    return tuple(dict.fromkeys(found))
