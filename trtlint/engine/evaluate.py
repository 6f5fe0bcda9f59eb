"""Rules against facts and a target: what holds, what would hold, and what to do about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from trtlint.engine.finding import SEVERITIES, Confidence, Finding, ModelReport, Row, Severity, Site
from trtlint.engine.fingerprint import Fingerprints, digest, finding_fingerprint
from trtlint.engine.rulebook import EVIDENCE, Advice, Rule
from trtlint.engine.subjects import Subject, candidates
from trtlint.engine.truth import Truth, Unknown, both
from trtlint.engine.versions import covers_all, in_words, matching
from trtlint.facts import Facts
from trtlint.facts.base import Step
from trtlint.knowledge.releases import Product
from trtlint.model.origin import origin
from trtlint.target import Target

_FINGERPRINTS: WeakKeyDictionary[Facts, Fingerprints] = WeakKeyDictionary()


def evaluate(rules: Iterable[Rule], facts: Facts, target: Target) -> ModelReport:
    """Evaluate rules against the facts of one model, for one target.

    Whatever does not depend on the target is computed once per :class:`Facts`, so that several
    targets cost little more than one.
    """
    fingerprints = _FINGERPRINTS.get(facts)
    if fingerprints is None:
        fingerprints = _FINGERPRINTS[facts] = Fingerprints(facts.model)
    found = [
        finding
        for rule in rules
        if (applies := version_truth(rule, target)) is not False
        for finding in _findings(rule, facts, target, applies, fingerprints)
    ]
    found.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.rule))
    return ModelReport(
        path=str(facts.model.path),
        target=target.words,
        findings=tuple(finding for finding in found if not finding.depends),
        conditional=tuple(finding for finding in found if finding.depends),
        notes=facts.model.notes,
    )


def version_truth(rule: Rule, target: Target) -> Truth:
    """Whether a rule is about the target's product and version."""
    return _affected(rule.applies, target)


def condition(rule: Rule, names: Mapping[str, object], target: Target, applies: Truth) -> Truth:
    """Whether a rule holds with these names, ``applies`` being what :func:`version_truth` says.

    Where no version was given, not knowing it makes no finding conditional: the finding names the
    versions that it holds for.
    """
    known = True if isinstance(applies, Unknown) and target.version is None else applies
    if known is False or rule.where is None:
        return known
    return both(known, rule.where.truth(names))


def _affected(ranges: Mapping[Product, str], target: Target) -> Truth:
    specifier = ranges.get(target.product)
    return False if specifier is None else target.matches(specifier, target.product)


@dataclass(frozen=True, slots=True)
class _Group:
    """What sites must have in common to be one finding."""

    severity: Severity
    message: str
    advice: tuple[str, ...]
    depends: tuple[str, ...]


def _findings(
    rule: Rule, facts: Facts, target: Target, applies: Truth, fingerprints: Fingerprints
) -> Iterator[Finding]:
    """The findings of one rule, in the order of their first sites."""
    hits: list[tuple[Subject, _Group]] = []
    advice = _advice_for(rule, target)
    for candidate in candidates(rule, facts):
        subject, truth = _best_reading(rule, candidate, target, applies)
        # What no option could settle is not known from the file; guessing would be noise.
        if truth is True or (isinstance(truth, Unknown) and truth.needs):
            depends = () if truth is True else tuple(sorted(truth.needs))
            hits.append((subject, _group(rule, advice, subject.names(target), depends)))
    if not hits:
        return
    hits.sort(key=lambda hit: hit[0].node.index if hit[0].node else -1)
    places = [(fingerprints.describe(rule.id, rule.find, hit.node), hit.node) for hit, _ in hits]
    groups: dict[_Group, list[tuple[str, Site]]] = defaultdict(list)
    for (subject, group), (description, _), fingerprint in zip(
        hits, places, fingerprints.number(places), strict=True
    ):
        groups[group].append((description, _site(rule, facts, subject, target, fingerprint)))
    taken: Counter[str] = Counter()
    for group, sites in groups.items():
        fingerprint = finding_fingerprint(rule.id, (description for description, _ in sites))
        taken[fingerprint] += 1
        if taken[fingerprint] > 1:
            # Blocks that are built alike but differ in a value, such as the scale that is named.
            fingerprint = digest(fingerprint, str(taken[fingerprint]))
        yield _finding(rule, target, applies, group, [site for _, site in sites], fingerprint)


def _best_reading(rule: Rule, subject: Subject, target: Target, applies: Truth) -> tuple[Subject, Truth]:
    """The first reading of the subject for which the rule holds, else may hold, and whether it does."""
    possible: tuple[Subject, Truth] = subject, False
    for reading in (subject, *subject.others):
        truth = condition(rule, reading.names(target), target, applies)
        if truth is True:
            return reading, truth
        if isinstance(truth, Unknown) and truth.needs and possible[1] is False:
            possible = reading, truth
    return possible


def _group(
    rule: Rule, advice: Sequence[tuple[str, Advice]], names: Mapping[str, object], depends: tuple[str, ...]
) -> _Group:
    severity = rule.severity
    for when, other in rule.severity_when:
        if when.truth(names) is True:
            severity = other
            break
    texts = (
        prefix + entry.do.fill(names)
        for prefix, entry in advice
        if entry.where is None or entry.where.truth(names) is not False
    )
    return _Group(severity, rule.message.fill(names), tuple(texts), depends)


def _advice_for(rule: Rule, target: Target) -> list[tuple[str, Advice]]:
    """The advice that is not for another version, each with how it begins.

    Where the target leaves open whether it is for this version, it begins with the versions it is
    for, unless these are all that the rule is about.
    """
    found = []
    product = target.product
    for advice in rule.advice:
        affected = _affected(advice.applies, target) if advice.applies else True
        if affected is False:
            continue
        prefix = ""
        if isinstance(affected, Unknown):
            specifier = advice.applies[product]
            if not set(matching(product, rule.applies[product])) <= set(matching(product, specifier)):
                prefix = f"{in_words(product, specifier)}: "
        found.append((prefix, advice))
    return found


def _finding(
    rule: Rule,
    target: Target,
    applies: Truth,
    group: _Group,
    sites: Sequence[Site],
    fingerprint: str,
) -> Finding:
    specifier = rule.applies[target.product]
    confidence: Confidence = "high" if EVIDENCE[rule.evidence] else "medium"
    if group.depends or (applies is not True and not covers_all(target.product, specifier)):
        confidence = "low"
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=group.severity,
        confidence=confidence,
        evidence_level=rule.evidence,
        message=group.message,
        sites=tuple(sites),
        applies=in_words(target.product, specifier),
        advice=group.advice,
        references=rule.references,
        fingerprint=fingerprint,
        depends=group.depends,
        evidence=_witnesses(sites[0]),
    )


def _witnesses(site: Site) -> tuple[str, ...]:
    """The nodes that show it at one site, in words: the marked ones, else the whole chain."""
    rows = [row for row in site.rows if row.label] or site.rows
    return tuple(
        f"{row.node} ({row.op}{', ' if row.type else ''}{row.type})"
        + (f": {row.label or row.detail}" if row.label or row.detail else "")
        for row in rows
    )


def _site(rule: Rule, facts: Facts, subject: Subject, target: Target, fingerprint: str) -> Site:
    node = subject.node
    where = None if node is None else origin(facts.model, node)
    names = subject.names(target)
    return Site(
        node=subject.place,
        op="" if node is None else node.op,
        module=None if where is None else where.module,
        source=None if where is None else where.source,
        rows=tuple(_row(rule, step, names) for step in subject.chain),
        fingerprint=fingerprint,
    )


def _row(rule: Rule, step: Step, names: Mapping[str, object]) -> Row:
    label = ""
    if step.role in rule.mark:
        own = rule.mark[step.role]
        label = (own.fill(names) if own else step.label) or "here"
    node = step.node
    return Row(node.path, node.op, node.output.type_text, step.detail, label)
