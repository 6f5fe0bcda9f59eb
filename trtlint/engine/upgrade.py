"""Create an upgrade report: findings of a model for each version of a range.

trtlint evaluates the model for every release line of the range, such as 10.7 and 10.8.  The differences from
one line to the next are the effects of an upgrade.  The safest line is the line with the fewest known risks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Severity
from trtlint.engine.rule import Concern, Rule
from trtlint.engine.targets import merge
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.model import ModelFact
from trtlint.knowledge.releases import PRODUCTS, Product, releases
from trtlint.target.parsing import parse_versions
from trtlint.target.target import Target

CONCERNS: tuple[Concern, ...] = ("graph", "command", "code")
"""The objects that a finding can concern, in the order in which the user should change them."""


class ReleaseAssessment(Struct, frozen=True):
    """One release line of the range, with the counts of its findings.

    Attributes:
        line: the name for users, such as ``10.13``.
        version: the release that represents the line, such as ``10.13.3``.
        target: the evaluated target, in words.
        supported: False if the release is known not to support the GPU.
        risks: for each severity, the number of findings about the graph.  Findings of low confidence do not
            count.
        found: the findings for this line, as indexes into :attr:`Upgrade.findings`.
        refused: number of nodes that the parser or the builder refuses.
    """

    line: str
    version: str
    target: str
    supported: bool
    risks: Mapping[Severity, int]
    found: tuple[int, ...]
    refused: int


class UpgradeFinding(Struct, frozen=True):
    """A finding, and the release lines that have the finding.

    Attributes:
        finding: the finding.  Its text is from the first release line with this finding.
        concern: the object that the user has to change: graph, command or code.
        lines: the release lines, as ascending indexes into :attr:`Upgrade.lines`.
        advice: texts of advice, each with the indexes of the release lines to which the text applies.
    """

    finding: Finding
    concern: Concern
    lines: tuple[int, ...]
    advice: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def already(self) -> bool:
        """True if the first release line of the range and at least one later line have the finding."""
        return self.lines[0] == 0 and len(self.lines) > 1


class UpgradeStep(Struct, frozen=True):
    """Findings that appear or disappear from one release line to the next.

    ``fixed`` and ``new`` are indexes into :attr:`Upgrade.findings`.
    """

    before: str
    after: str
    fixed: tuple[int, ...]
    new: tuple[int, ...]


class SafestRelease(Struct, frozen=True):
    """The release line with the fewest known risks.

    Attributes:
        line: index of the safest line in :attr:`Upgrade.lines`.
        equals: indexes of all lines that are equally safe.  ``line`` is the newest of these lines.
        last_adds: findings that the last line of the range has, but the safest line does not have, as indexes
            into :attr:`Upgrade.findings`.  Only errors and warnings about the graph count.
        first_adds: findings that the first line of the range has, but the safest line does not have.
    """

    line: int
    equals: tuple[int, ...]
    last_adds: tuple[int, ...]
    first_adds: tuple[int, ...]


class Upgrade(Struct, frozen=True):
    """Upgrade report for one model.

    Attributes:
        path: the model.
        product: TensorRT or TensorRT-RTX.
        setting: the known build settings except the version, in words; empty if no setting is known.
        command: the build command in one line; empty if there is no build command.
        model: the fact about the whole model.
        inputs: name and type of each input.
        outputs: name and type of each output.
        lines: the release lines of the range, oldest first.
        findings: every finding once, higher severities first.
        steps: the changes from each line to the next.
        safest: the safest line; None if no line supports the GPU.
        conditional: findings that depend on unset options, each once.
        notes: sentences about parts that could not be evaluated.
        caveats: the caveats of the model.  Every report format shows them.
        unsearched: the severities of graph rules with an unfinished search, for the last line of the range.
            Findings of these rules may be missing.
    """

    path: str
    product: Product
    setting: str
    command: str
    model: ModelFact
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lines: tuple[ReleaseAssessment, ...]
    findings: tuple[UpgradeFinding, ...]
    steps: tuple[UpgradeStep, ...]
    safest: SafestRelease | None
    conditional: tuple[Finding, ...]
    notes: tuple[str, ...]
    caveats: tuple[Caveat, ...] = ()
    unsearched: frozenset[Severity] = frozenset()
    options: tuple[str, ...] = ()
    """The command-line options that describe the target, without its version."""

    def version_options(self, line: int) -> tuple[str, ...]:
        """Return the command-line options that select a release line."""
        return ("--rtx" if self.product == "tensorrt-rtx" else "--trt", self.lines[line].line, *self.options)

    def with_options(self, options: tuple[str, ...]) -> Upgrade:
        """Return a copy with the command-line options of the target in each finding.

        The version in these options is the newest release line that has the finding.
        """
        named = replace(self, options=options)
        findings = (
            replace(
                each,
                finding=replace(each.finding, options=named.version_options(each.lines[-1])),
            )
            for each in self.findings
        )
        return replace(named, findings=tuple(findings))


def targets(base: Target, first: str, last: str) -> list[Target]:
    """Return a target for each release line from ``first`` to ``last``.

    The version of a target is the newest release of its line. But if ``first`` is a full release number, such
    as ``10.7.0``, the first target has exactly this version. If ``last`` is a full release number, the last
    target has exactly this version. In all targets except the first, ``previous`` is the version of the first
    target.

    Raises:
        TargetError: ``first`` or ``last`` is unknown, or ``last`` is older than ``first``.
    """
    product = base.product
    lines = parse_versions(f"{first}..{last}", product)
    versions = [_newest(line, product) for line in lines]
    if first.count(".") > 1:
        versions[0] = first
    if last.count(".") > 1:
        versions[-1] = last
    start, *others = versions
    found = [replace(base, version=start, previous=None)]
    return found + [replace(base, version=version, previous=start) for version in others]


def _newest(line: str, product: Product) -> str:
    return next(release.version for release in reversed(releases(product)) if release.minor == line)


def upgrade(
    facts: Facts, way: Sequence[Target], found: Sequence[ModelReport], rules: Iterable[Rule]
) -> Upgrade:
    """Return the upgrade report for one model.

    Args:
        facts: the facts of the model.
        way: at least two targets, one for each release line, from :func:`targets`.
        found: a report for each target.  The policy may already be applied to these reports.
        rules: the rules that were evaluated.
    """
    rules = tuple(rules)
    concerns = {rule.id: rule.concerns for rule in rules}
    yields = {rule.id: rule.yields for rule in rules if rule.yields}
    advised = _advice(found)
    findings = tuple(
        UpgradeFinding(
            seen.finding,
            concerns[seen.finding.rule],
            seen.targets,
            advised[seen.finding.rule, seen.finding.fingerprint],
        )
        for seen in merge([report.findings for report in found])
    )
    lines = tuple(_assessed(index, target, findings, found[index].target) for index, target in enumerate(way))
    unsettled = [{finding.fingerprint for finding in report.conditional} for report in found]
    base = replace(way[0], version=None)
    graph = facts.model.graph
    return Upgrade(
        path=str(facts.model.path),
        product=base.product,
        setting=base.words.partition(", ")[2],
        command="" if facts.command is None else facts.command.text,
        model=cast("ModelFact", facts.of("model")[0]),
        inputs=tuple(f"{value.name} {value.type_text}" for value in graph.inputs),
        outputs=tuple(f"{value.name} {value.type_text}" for value in graph.outputs),
        lines=lines,
        findings=findings,
        steps=tuple(_step(i, lines, findings, unsettled[i], yields) for i in range(1, len(lines))),
        safest=_safest(lines, findings),
        conditional=tuple(seen.finding for seen in merge([report.conditional for report in found])),
        notes=found[0].notes,
        caveats=caveats(found),
        unsearched=frozenset(
            each.severity for each in found[-1].unsearched if concerns[each.rule] == "graph"
        ),
    )


def _advice(
    found: Sequence[ModelReport],
) -> Mapping[tuple[str, str], tuple[tuple[str, tuple[int, ...]], ...]]:
    """Return the advice of each finding.  The key of a finding is a pair: its rule and its fingerprint.

    Each text of advice comes with the indexes of the release lines for which reports show this text.
    """
    advised: dict[tuple[str, str], dict[str, list[int]]] = {}
    for index, report in enumerate(found):
        for finding in report.findings:
            own = advised.setdefault((finding.rule, finding.fingerprint), {})
            for text in finding.advice:
                own.setdefault(text, []).append(index)
    return {
        key: tuple((text, tuple(indexes)) for text, indexes in own.items()) for key, own in advised.items()
    }


def product_name(product: Product) -> str:
    """Return the name of a product in reports."""
    return PRODUCTS[product]


def _assessed(
    index: int, target: Target, findings: Sequence[UpgradeFinding], words: str
) -> ReleaseAssessment:
    found = tuple(number for number, listed in enumerate(findings) if index in listed.lines)
    counts = Counter(findings[number].finding.severity for number in found if _is_risk(findings[number]))
    return ReleaseAssessment(
        line=target.releases[0].minor,
        version=target.version or "",
        target=words,
        supported=target.gpu_supported is not False,
        risks={severity: counts[severity] for severity in SEVERITIES},
        found=found,
        refused=sum(len(findings[number].finding.sites) for number in found if _refuses(findings[number])),
    )


def _refuses(listed: UpgradeFinding) -> bool:
    """Return whether a finding surely shows that the model cannot be built."""
    finding = listed.finding
    return finding.refusal is not None and finding.severity == "error"


def _is_risk(listed: UpgradeFinding) -> bool:
    """Return whether a finding is a risk for the engine.

    A risk is about the graph, and has a higher confidence than ``low``.
    """
    return listed.concern == "graph" and listed.finding.confidence != "low"


def _step(
    index: int,
    lines: Sequence[ReleaseAssessment],
    findings: Sequence[UpgradeFinding],
    unsettled: set[str],
    yields: Mapping[str, Collection[str]],
) -> UpgradeStep:
    before, after = lines[index - 1], lines[index]
    # A finding is not fixed if another finding hides it.
    there, then = (_with_hidden(line, findings, yields) for line in (before, after))
    gone = (number for number in before.found if number not in then)
    return UpgradeStep(
        before.line,
        after.line,
        tuple(number for number in gone if findings[number].finding.fingerprint not in unsettled),
        tuple(number for number in after.found if number not in there),
    )


def _with_hidden(
    line: ReleaseAssessment, findings: Sequence[UpgradeFinding], yields: Mapping[str, Collection[str]]
) -> frozenset[int]:
    """Return the indexes of a release line's findings, including findings that another finding hides.

    ``yields`` has, for each rule, the rules that hide its findings. If one of these rules has a finding at a
    node, reports do not show the finding of the first rule at this node.
    """
    nodes: dict[str, set[str]] = defaultdict(set)
    for number in line.found:
        nodes[findings[number].finding.rule] |= _nodes(findings[number].finding)
    hidden = (
        number
        for number, listed in enumerate(findings)
        if any(
            not _nodes(listed.finding).isdisjoint(nodes.get(rule, ()))
            for rule in yields.get(listed.finding.rule, ())
        )
    )
    return frozenset((*line.found, *hidden))


def _nodes(finding: Finding) -> set[str]:
    return {row.node for site in finding.sites for row in site.rows} | {site.node for site in finding.sites}


def _safest(lines: Sequence[ReleaseAssessment], findings: Sequence[UpgradeFinding]) -> SafestRelease | None:
    """Return the release line with the fewest errors about the graph, then the fewest warnings.

    If several release lines are equal, return the newest.
    """
    usable = [index for index, line in enumerate(lines) if line.supported]
    if not usable:
        return None

    def risk(index: int) -> tuple[int, int]:
        return lines[index].risks["error"], lines[index].risks["warning"]

    least = min(map(risk, usable))
    equals = tuple(index for index in usable if risk(index) == least)
    best = equals[-1]
    there = set(lines[best].found)

    def adds(index: int) -> tuple[int, ...]:
        return tuple(
            number
            for number in lines[index].found
            if number not in there
            and _is_risk(findings[number])
            and findings[number].finding.severity != "note"
        )

    return SafestRelease(best, equals, adds(len(lines) - 1), adds(0))
