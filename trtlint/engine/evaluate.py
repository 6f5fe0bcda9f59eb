"""Rules against facts and a target: what holds, what would hold, and what to do about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from trtlint.engine.finding import (
    SEVERITIES,
    SUPPRESS_KEY,
    Confidence,
    Finding,
    ModelReport,
    Row,
    Severity,
    Site,
    Standing,
)
from trtlint.engine.fingerprint import Fingerprints, digest, finding_fingerprint
from trtlint.engine.rule import EVIDENCE, Advice, Rule
from trtlint.engine.rulebook import looking_at
from trtlint.engine.sameness import Facets
from trtlint.engine.subjects import Subject, candidates
from trtlint.engine.witness import Shown, Verdict
from trtlint.facts.base import Refusal, Step
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.knowledge.ranges import covers_all, in_words, matching
from trtlint.knowledge.releases import Product
from trtlint.model.graph import Node
from trtlint.model.origin import origin
from trtlint.target.target import Target
from trtlint.target.truth import Truth, Unknown, both

_FINGERPRINTS: WeakKeyDictionary[Facts, Fingerprints] = WeakKeyDictionary()
_KNOWN: WeakKeyDictionary[Facts, Facets] = WeakKeyDictionary()


def evaluate(rules: Iterable[Rule], facts: Facts, target: Target) -> ModelReport:
    """Evaluate rules against the facts of one model, for one target.

    Whatever does not depend on the target is computed once per :class:`Facts`, so that several
    targets cost little more than one.
    """
    fingerprints = _FINGERPRINTS.get(facts)
    if fingerprints is None:
        fingerprints = _FINGERPRINTS[facts] = Fingerprints(facts.model)
    found: list[Finding] = []
    told = _Told()
    # What a build says of a finding is told there; rules about builds come last, and tell the rest.
    for rule in sorted(looking_at(facts.grounds, rules), key=about_builds):
        applies = version_truth(rule, target)
        if applies is not False:
            found += _kept_findings(rule, facts, target, applies, fingerprints, told)
    found.sort(key=_rank)
    return ModelReport(
        path=str(facts.model.path),
        target=target.words,
        findings=tuple(finding for finding in found if not finding.depends),
        conditional=tuple(finding for finding in found if finding.depends),
        notes=facts.model.notes + (() if facts.record is None else facts.record.notes),
        suppress=facts.model.metadata.get(SUPPRESS_KEY, ""),
        data_files=facts.model.tensors.locations,
    )


def about_builds(rule: Rule) -> bool:
    """Whether a rule is about what a build left behind, and needs no model."""
    return ground_of(rule.find) == "build"


def _rank(finding: Finding) -> tuple[bool, float, int, str]:
    """What to show first: what takes most of the measured time, then the gravest; what is refuted last."""
    refuted = finding.standing == "refuted"
    return refuted, -(finding.share or 0.0), SEVERITIES.index(finding.severity), finding.rule


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


@dataclass(slots=True)
class _Told:
    """What the findings so far have told, for rules about builds, which come last.

    Attributes:
        messages: file and line of the messages that they cite.
        places: by rule, the nodes at which it has a finding.
    """

    messages: set[str] = field(default_factory=set)
    places: dict[str, set[Node]] = field(default_factory=lambda: defaultdict(set))

    def covers(self, rule: Rule, subject: Subject) -> bool:
        """Whether a rule need not say of a subject what others have said."""
        others = (self.places.get(other, ()) for other in rule.yields)
        return subject.values.get("at") in self.messages or any(
            node in told for told in others for node in subject.nodes
        )


@dataclass(frozen=True, slots=True)
class _Versions:
    """The range of releases that a site is about, and whether the target is surely in it."""

    specifier: str
    sure: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """What sites must have in common to be one finding."""

    versions: _Versions
    refusal: Refusal | None
    severity: Severity
    standing: Standing
    message: str
    advice: tuple[str, ...]
    depends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Hit:
    """A place where a rule holds, with all that its finding says of it."""

    subject: Subject
    group: _Group
    verdict: Verdict


def _kept_findings(
    rule: Rule, facts: Facts, target: Target, applies: Truth, fingerprints: Fingerprints, told: _Told
) -> Iterable[Finding]:
    """The findings of one rule, kept for targets in which it sees no difference."""
    if facts.record is not None or rule.yields:  # what others have told counts, too
        return _findings(rule, facts, target, applies, fingerprints, told)
    known = _KNOWN.setdefault(facts, Facets())
    seen = known.of(rule, target, applies, candidates(rule, facts))
    if seen not in known.found:
        found = tuple(_findings(rule, facts, target, applies, fingerprints, told))
        known.found[seen] = found, frozenset(told.places.get(rule.id, ()))
    found, places = known.found[seen]
    told.places[rule.id].update(places)
    return found


def _findings(
    rule: Rule, facts: Facts, target: Target, applies: Truth, fingerprints: Fingerprints, told: _Told
) -> Iterator[Finding]:
    """The findings of one rule, in the order of their first sites.

    What is ``told`` already is left out; what these findings tell is added.
    """
    hits: list[_Hit] = []
    advice = _advice_for(rule, target)
    for candidate in candidates(rule, facts):
        versions = _versions(rule, candidate, target)
        if versions is None or told.covers(rule, candidate):
            continue
        affected = applies if candidate.applies is None else _affected({target.product: versions}, target)
        subject, truth = _best_reading(rule, candidate, target, affected)
        # What no option could settle is not known from the file; guessing would be noise.
        if truth is True or (isinstance(truth, Unknown) and truth.needs):
            verdict = _verdict(rule, facts, subject, target)
            told.messages |= verdict.cited
            depends = tuple(sorted(truth.needs)) if isinstance(truth, Unknown) else ()
            if verdict.standing == "confirmed":
                depends = ()  # whatever the options were, this build shows it
            place = _Versions(versions, affected is True)
            group = _group(rule, advice, subject, target, place, verdict.standing, depends)
            hits.append(_Hit(subject, group, verdict))
            if not depends and verdict.standing != "refuted":
                told.places[rule.id].update(subject.nodes)
    if not hits:
        return
    hits.sort(key=lambda hit: hit.subject.node.index if hit.subject.node else -1)
    places = [(_description(rule, hit.subject, fingerprints), hit.subject.node) for hit in hits]
    groups: dict[_Group, list[tuple[str, Site, _Hit]]] = defaultdict(list)
    for hit, (description, _), fingerprint in zip(hits, places, fingerprints.number(places), strict=True):
        site = _site(rule, facts, hit.subject, target, fingerprint)
        groups[hit.group].append((description, site, hit))
    taken: Counter[str] = Counter()
    for group, sites in groups.items():
        fingerprint = finding_fingerprint(rule.id, (description for description, _, _ in sites))
        taken[fingerprint] += 1
        if taken[fingerprint] > 1:
            # Blocks that are built alike but differ in a value, such as the scale that is named.
            fingerprint = digest(fingerprint, str(taken[fingerprint]))
        shown = _shown([hit for _, _, hit in sites], facts)
        yield _finding(rule, target, group, [site for _, site, _ in sites], fingerprint, shown)


def _verdict(rule: Rule, facts: Facts, subject: Subject, target: Target) -> Verdict:
    if facts.record is None:
        return Verdict()
    from trtlint.engine.testimony import judge

    return judge(rule.witness, facts, subject, target)


def _shown(hits: Sequence[_Hit], facts: Facts) -> Shown:
    if facts.record is None:
        return Shown()
    from trtlint.engine.testimony import shown

    return shown([(hit.subject, hit.verdict) for hit in hits], facts)


def _description(rule: Rule, subject: Subject, fingerprints: Fingerprints) -> str:
    # The number of a log's line and the builder's own names of layers differ from build to build.
    place = "" if about_builds(rule) else subject.place
    return fingerprints.describe(rule.id, rule.find, subject.node, place)


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


def _versions(rule: Rule, subject: Subject, target: Target) -> str | None:
    """The range of the target's product that both the rule and the fact are about, None if there is none."""
    own = rule.applies[target.product]
    if subject.applies is None:
        return own
    specifier = subject.applies.get(target.product)
    if specifier is None:
        return None
    common = ",".join(part for part in (own, specifier) if part)
    return common if matching(target.product, common) else None


def _group(
    rule: Rule,
    advice: Sequence[tuple[str, Advice]],
    subject: Subject,
    target: Target,
    versions: _Versions,
    standing: Standing,
    depends: tuple[str, ...],
) -> _Group:
    names, severity = subject.names(target), rule.severity
    for when, other in rule.severity_when:
        if when.truth(names) is True:
            severity = other
            break
    if standing == "refuted":
        severity = "note"
    texts = (
        prefix + entry.do.fill(names)
        for prefix, entry in advice
        if entry.where is None or entry.where.truth(names) is not False
    )
    message = rule.message.fill(names)
    return _Group(versions, subject.refusal, severity, standing, message, tuple(texts), depends)


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
    group: _Group,
    sites: Sequence[Site],
    fingerprint: str,
    shown: Shown,
) -> Finding:
    specifier = group.versions.specifier
    confidence: Confidence = "high" if EVIDENCE[rule.evidence] else "medium"
    if group.depends or (not group.versions.sure and not covers_all(target.product, specifier)):
        confidence = "low"
    if group.standing == "confirmed" or (about_builds(rule) and not group.depends):
        confidence = "confirmed"
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
        evidence=(*shown.words, *_witnesses(sites[0])),
        refusal=group.refusal,
        standing=group.standing,
        ms=shown.ms,
        share=shown.share,
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
