"""Evaluate rules against facts and a target, and create findings with their advice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.applying import (
    advice_for,
    affects,
    best_reading,
    cited,
    common_versions,
    rewrites_of,
    scope_words,
    sentences,
    shown_advice,
    version_truth,
)
from trtlint.engine.causes import causes_of
from trtlint.engine.evidence.base import BlockTimes, Evidence, Question, Verdict
from trtlint.engine.finding import (
    CONFIDENCES,
    SEVERITIES,
    SUPPRESS_KEY,
    Confidence,
    Finding,
    IncompleteSearch,
    ModelReport,
    Rewrite,
    Route,
    Row,
    Severity,
    Site,
    Standing,
)
from trtlint.engine.fingerprint import Fingerprints, digest, finding_fingerprint
from trtlint.engine.reported import Completeness, ReportedPlaces, about_builds, about_experiments, turn
from trtlint.engine.rule import EVIDENCE, PATTERN, Advice, Rule
from trtlint.engine.rulebook import RuleEntry
from trtlint.engine.sameness import TargetKeys
from trtlint.engine.subjects import Subject, Subjects
from trtlint.engine.taken import RefusedLines, with_taken
from trtlint.facts.base import Step
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.model import ModelFact
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.ranges import covers_all, in_words
from trtlint.knowledge.releases import Product
from trtlint.target.target import Target
from trtlint.target.truth import Truth, Unknown


class Evaluation:
    """Evaluates rules against the facts of one model, for one target at a time.

    Data that do not depend on the target are computed once, so further targets need little time.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.subjects = Subjects(facts)
        self.fingerprints = Fingerprints(facts.model)
        self.refused_lines = RefusedLines(facts)
        self.evidence = tuple(each for each in facts.evidence if isinstance(each, Evidence))
        self._keys = TargetKeys()
        self._complete = Completeness(facts, self.subjects)

    def report(self, rules: Iterable[Rule | RuleEntry], target: Target) -> ModelReport:
        """Return the findings for one target.

        The file of a rule is read only if the model or its evidence may have facts of the rule's kind.
        """
        facts = self.facts
        found: list[Finding] = []
        reported = ReportedPlaces()
        unsearched: list[IncompleteSearch] = []
        looking = sorted(map(_read, filter(self._has_facts, rules)), key=turn)
        for rule in looking:
            applies = version_truth(rule, target)
            if applies is not False and all(each.holds_for(rule.find, target) for each in self.evidence):
                with self._complete.searching(rule):
                    found += self._kept(_RuleSearch(self, rule, target, applies, reported))
                reported.messages.update(*(each.reported_by(rule, facts) for each in self.evidence))
                unsearched += self._complete.missing(rule)
        if facts.record is not None and not any(map(_is_sure_error, found)):
            found += self._last_resort(looking, target)
        found = sorted((with_taken(finding, target) for finding in found), key=_rank)
        return ModelReport(
            path=str(facts.model.path),
            target=target.words,
            findings=tuple(finding for finding in found if not finding.depends),
            conditional=tuple(finding for finding in found if finding.depends),
            notes=facts.notes,
            suppress=facts.model.metadata.get(SUPPRESS_KEY, ""),
            data_files=facts.model.tensors.locations,
            exporter=self._exporter,
            unsearched=tuple(unsearched),
        )

    def _last_resort(self, rules: Iterable[Rule], target: Target) -> Iterator[Finding]:
        """Yield a finding about a failed build, if no rule reports an error that explains the failure."""
        from trtlint.engine.refusals import build_failed, why_failed

        rule = next((rule for rule in rules if rule.default), None)
        failed = rule is not None and build_failed(self.facts)
        if rule and failed and (why := why_failed(self.subjects.of(rule))) is not None:
            yield from _RuleSearch(self, rule, target, True, ReportedPlaces()).of(why)

    @property
    def _exporter(self) -> str:
        found = self.facts.of("model")[0] if self.facts.has_model else None
        return found.exporter if isinstance(found, ModelFact) else ""

    def _has_facts(self, rule: Rule | RuleEntry) -> bool:
        """Return whether a rule can have findings. A pattern needs a model; other rules need facts."""
        facts = self.facts
        if rule.find == PATTERN:
            return facts.has_model
        return facts.has(rule.find) or not facts.searched(rule.find)

    def _kept(self, search: _RuleSearch) -> Iterable[Finding]:
        """Return the findings of one rule. Targets that the rule cannot distinguish share a cached result."""
        rule, reported = search.rule, search.reported
        if self.evidence or rule.default:
            # In these two cases, the findings of a rule depend on the findings of the preceding rules, so
            # they are not cached.
            return search.findings()
        keys = self._keys
        left = tuple(frozenset(reported.places.get(other, ())) for other in sorted(rule.yields))
        seen = left, keys.of(rule, search.target, search.applies, self.subjects.candidates(rule))
        if seen not in keys.found:
            keys.found[seen] = tuple(search.findings()), frozenset(reported.places.get(rule.id, ()))
        found, places = keys.found[seen]
        reported.places[rule.id].update(places)
        return found


def evaluate(rules: Iterable[Rule], facts: Facts, target: Target) -> ModelReport:
    """Evaluate rules against the facts of one model, for one target, and return the findings."""
    return Evaluation(facts).report(rules, target)


def _read(rule: Rule | RuleEntry) -> Rule:
    return rule if isinstance(rule, Rule) else rule.read()


def _is_sure_error(finding: Finding) -> bool:
    """Return whether a finding is a confirmed error that does not depend on an unset option."""
    return finding.severity == "error" and finding.confidence == "confirmed" and not finding.depends


def _rank(finding: Finding) -> tuple[bool, float, int, str]:
    """Return a sort key: slow layers first, then high severities. Refuted findings come last."""
    refuted = finding.standing == "refuted"
    return refuted, -(finding.share or 0.0), SEVERITIES.index(finding.severity), finding.rule


class _Versions(Struct, frozen=True):
    """The releases of a finding.  ``sure`` is True if these releases include the target's version."""

    specifier: str
    sure: bool
    scope: str


class _Group(Struct, frozen=True):
    """The data of a finding, except its sites. Facts or matches with equal data share one finding."""

    versions: _Versions
    refusal: Refusal | None
    severity: Severity
    standing: Standing
    support: Confidence | None
    doubt: Confidence | None
    message: str
    advice: tuple[str, ...]
    references: tuple[str, ...]
    fixes: tuple[Rewrite, ...]
    depends: tuple[str, ...]


class _Hit(Struct, frozen=True):
    """A fact or match for which a rule's condition is true or may be true, with the data of the finding."""

    subject: Subject
    group: _Group
    verdict: Verdict


class _RuleSearch(Struct, frozen=True):
    """Search for the findings of one rule, for one target.

    Attributes:
        evaluation: the evaluation of the model.
        rule: the rule.
        target: the target.
        applies: True if the rule applies to the target's version; unknown if the version is unset.
        reported: the log messages and nodes in earlier findings. The search does not report them again.
    """

    evaluation: Evaluation
    rule: Rule
    target: Target
    applies: Truth
    reported: ReportedPlaces

    @property
    def facts(self) -> Facts:
        return self.evaluation.facts

    def findings(self) -> Iterator[Finding]:
        """Return the findings, in the order of their first sites."""
        hits = sorted(self._hits(), key=lambda hit: hit.subject.node.index if hit.subject.node else -1)
        return self._findings(hits)

    def of(self, subject: Subject) -> Iterator[Finding]:
        """Return the rule's finding for one fact or match, even if the rule's condition is false."""
        versions = common_versions(self.rule, subject, self.target)
        if versions is not None:
            verdict = self._verdict(subject, holds=True)
            place = _Versions(versions, self.applies is True, scope_words(self.rule, subject, self.target))
            group = self._group(advice_for(self.rule, self.target), subject, place, verdict, ())
            yield from self._findings([_Hit(subject, group, verdict)])

    def _findings(self, hits: Sequence[_Hit]) -> Iterator[Finding]:
        rule = self.rule
        fingerprints = self.evaluation.fingerprints
        places = [(self._description(hit.subject), hit.subject.node) for hit in hits]
        groups: dict[_Group, list[tuple[str, Site, _Hit]]] = defaultdict(list)
        for hit, (description, _), fingerprint in zip(hits, places, fingerprints.number(places), strict=True):
            groups[hit.group].append((description, self._site(hit.subject, fingerprint), hit))
        taken: Counter[str] = Counter()
        for group, sites in groups.items():
            fingerprint = finding_fingerprint(rule.id, (description for description, _, _ in sites))
            taken[fingerprint] += 1
            if taken[fingerprint] > 1:
                # An earlier finding has sites of the same structure, but with other values in its message.
                fingerprint = digest(fingerprint, str(taken[fingerprint]))
            lines, times = self._lines([hit for _, _, hit in sites])
            finding = self._finding(group, [site for _, site, _ in sites], fingerprint, lines, times)
            subjects = [hit.subject for _, _, hit in sites]
            if group.refusal is None:
                yield finding
            else:
                refusing, limit = self.evaluation.refused_lines.of(subjects, self.target.product)
                refusal = replace(group.refusal, lines=refusing, limit=limit)
                yield replace(finding, refusal=refusal, causes=causes_of(subjects))

    def _hits(self) -> Iterator[_Hit]:
        """Yield the facts or matches for which the rule's condition is true or may be true."""
        rule, target, reported = self.rule, self.target, self.reported
        advice = advice_for(rule, target)
        for candidate in self.evaluation.subjects.candidates(rule):
            versions = common_versions(rule, candidate, target)
            if versions is None or reported.covers(rule, candidate):
                continue
            own = candidate.applies
            affected = self.applies if own is None else affects({target.product: versions}, target)
            subject, truth = best_reading(rule, candidate, target, affected)
            # If no option can decide the condition, the file does not contain the answer. A finding would
            # only be a guess.
            if truth is not True and not (isinstance(truth, Unknown) and truth.needs):
                continue
            verdict = self._verdict(subject, holds=truth is True)
            reported.messages |= verdict.cited
            depends = tuple(sorted(truth.needs)) if isinstance(truth, Unknown) else ()
            if verdict.standing == "confirmed":
                depends = ()  # this build shows the problem, so the unset options do not matter
            place = _Versions(versions, affected is True, scope_words(rule, subject, target))
            if not depends and verdict.standing != "refuted":
                reported.add(rule, subject)
            yield _Hit(subject, self._group(advice, subject, place, verdict, depends), verdict)

    def _verdict(self, subject: Subject, *, holds: bool) -> Verdict:
        if not self.evaluation.evidence:
            return Verdict()
        from trtlint.engine.evidence.judge import judge

        question = Question(self.rule, self.facts, subject, self.target, holds)
        return judge(self.evaluation.evidence, question)

    def _lines(self, hits: Sequence[_Hit]) -> tuple[tuple[str, ...], BlockTimes | None]:
        """Return the lines that evidence adds to the report, and the measured time of the operators."""
        if not self.evaluation.evidence:
            return (), None
        from trtlint.engine.evidence.judge import lines_of

        return lines_of(self.evaluation.evidence, [(hit.subject, hit.verdict) for hit in hits], self.facts)

    def _description(self, subject: Subject) -> str:
        # Line numbers and names of layers differ from build to build, so a description does not contain them.
        whole = subject.fact is not None and subject.fact.is_whole
        place = "" if whole or about_builds(self.rule) else subject.place
        node = None if whole else subject.node
        return self.evaluation.fingerprints.describe(self.rule.id, self.rule.find, node, place)

    def _group(
        self,
        advice: Sequence[tuple[str, Advice]],
        subject: Subject,
        versions: _Versions,
        verdict: Verdict,
        depends: tuple[str, ...],
    ) -> _Group:
        rule, names = self.rule, subject.names(self.target)
        others = (other for when, other in rule.severity_when if when.truth(names) is True)
        severity = next(others, rule.severity)
        if verdict.standing == "refuted":
            severity = "note"
        elif verdict.ended:
            severity = "error"
        given = shown_advice(advice, names)
        return _Group(
            versions=versions,
            refusal=subject.refusal,
            severity=severity,
            standing=verdict.standing,
            support=verdict.support,
            doubt=verdict.doubt,
            message=rule.message.fill(names),
            advice=sentences(given, names),
            references=cited(rule, given),
            fixes=rewrites_of(given) if self.facts.has_model else (),
            depends=depends,
        )

    def _site(self, subject: Subject, fingerprint: str) -> Site:
        node = subject.node
        where = subject.origin(self.facts.model)
        names = subject.names(self.target)
        return Site(
            node=subject.place,
            op="" if node is None else node.op,
            module=None if where is None else where.module,
            source=None if where is None else where.source,
            rows=tuple(self._row(step, names) for step in subject.chain),
            fingerprint=fingerprint,
            route=None if subject.position is None else Route(self.rule.find, subject.position),
            unfixable=self.rule.why_unfixable(names),
        )

    def _row(self, step: Step, names: Mapping[str, object]) -> Row:
        rule, node = self.rule, step.node
        label = ""
        if step.role in rule.mark:
            own = rule.mark[step.role]
            label = (own.fill(names) if own else step.label) or "here"
        type_ = self.facts.model.constants.type_text(node.output)
        return Row(node.path, node.op, type_, step.detail, label, step.role, node.index)

    def _finding(
        self,
        group: _Group,
        sites: Sequence[Site],
        fingerprint: str,
        lines: tuple[str, ...],
        times: BlockTimes | None,
    ) -> Finding:
        rule, product, versions = self.rule, self.target.product, group.versions
        return Finding(
            rule=rule.id,
            name=rule.name,
            severity=group.severity,
            confidence=_confidence(rule, product, group),
            evidence_level=rule.evidence if group.refusal is None else group.refusal.known or rule.evidence,
            message=group.message,
            sites=tuple(sites),
            applies=versions.scope or in_words(product, versions.specifier),
            advice=group.advice,
            references=group.references,
            fingerprint=fingerprint,
            depends=group.depends,
            said=lines,
            fixes=group.fixes,
            refusal=group.refusal,
            standing=group.standing,
            ms=None if times is None else times.ms,
            share=None if times is None else times.share,
        )


def _confidence(rule: Rule, product: Product, group: _Group) -> Confidence:
    """Return the confidence of a finding, from the rule's level of evidence or from a build."""
    if group.standing == "confirmed":
        return "confirmed"
    own: Confidence = "high" if EVIDENCE[rule.evidence] else "medium"
    if group.depends or not (group.versions.sure or covers_all(product, group.versions.specifier)):
        own = "low"
    if group.depends:
        return own
    if about_builds(rule) or about_experiments(rule):
        return group.support or "confirmed"
    if group.support is not None:
        own = min(own, group.support, key=CONFIDENCES.index)
    return own if group.doubt is None else max(own, group.doubt, key=CONFIDENCES.index)
