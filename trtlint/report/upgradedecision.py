"""Summary of an upgrade of several models: the best version, the affecting rules, and shared findings."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath

from msgspec import Struct, field

from trtlint.engine.finding import SEVERITIES, Finding, Severity
from trtlint.engine.rule import Concern
from trtlint.engine.upgrade import Upgrade, UpgradeFinding, product_name
from trtlint.report.counts import plural
from trtlint.report.upgradematrix import Matrix
from trtlint.report.upgradewording import newest_words, safest_line, some, when
from trtlint.report.wording import fixable

MANY = 30
"""Smallest number of models at which equal lines about different models are merged."""
_CONVERT = re.compile(r"trtlint convert (?!--)\S.*? --to (\w+)")
"""Pattern of a ``trtlint convert`` command in advice, with the type to convert to.

A finding about the build has such advice if a conversion of the model resolves the finding.
"""
_OPTION = re.compile(r"(?<!\S)--[\w-]+$")
"""Pattern of the option in the name of a place in a build command, such as ``build.sh:3 --workspace``."""
_NAMED = 3
"""Largest number of model paths in a command. For more models, the command names the common folder."""
_MODELS = 60
"""Largest number of listed models that need changes."""


class UpgradeRuleRow(Struct):
    """The models with findings of one rule about the graph.

    Attributes:
        severity: the highest severity of the findings.
        rule: id of the rule.
        name: name of the rule.
        first: the release lines for which the first of the models has a finding, as text.
        current: the release line from which the user upgrades.
        models: the paths of the models.
        already: the models that already have a finding for ``current``.
        fixes: true if ``trtlint fix`` can fix all findings of the rule.
    """

    severity: Severity
    rule: str
    name: str
    first: str
    current: str
    models: list[str] = field(default_factory=list)
    already: set[str] = field(default_factory=set)
    fixes: bool = True

    @property
    def released(self) -> str:
        """The release lines, with a remark if the current release line is one of them."""
        if not self.already:
            return self.first
        if len(self.already) < len(self.models):
            return f"{self.first}; in {plural(len(self.already), 'model')} already on {self.current}"
        return f"{self.first}, already on {self.current}"


class Decision(Struct, frozen=True):
    """The best release line for all models.

    Attributes:
        line: index of the release line; None if no release line supports the GPU.
        safe: models without an error or a warning for this line.
        fixable: models whose errors and warnings ``trtlint fix`` can fix.
        open: the remaining models, each with its errors and warnings.
    """

    line: int | None
    safe: tuple[str, ...]
    fixable: tuple[str, ...]
    open: tuple[tuple[str, tuple[UpgradeFinding, ...]], ...]


def decide(upgrades: Sequence[Upgrade]) -> Decision:
    """Choose the release line with the fewest errors over all models.

    Ties are decided by the fewest warnings, then by the newest release line.
    """
    lines = range(len(upgrades[0].lines))
    usable = [index for index in lines if all(upgrade.lines[index].supported for upgrade in upgrades)]
    if not usable:
        return Decision(None, (), (), ())

    def risk(index: int) -> tuple[int, int, int]:
        ends = [upgrade.lines[index].risks for upgrade in upgrades]
        errors, warnings = (sum(end.get(name, 0) for end in ends) for name in ("error", "warning"))
        return errors, warnings, -index

    best = min(usable, key=risk)
    safe, fixes, left = [], [], []
    for upgrade in upgrades:
        work = risks_at(upgrade, best)
        if not work:
            safe.append(upgrade.path)
        elif all(fixable(item.finding) for item in work):
            fixes.append(upgrade.path)
        else:
            left.append((upgrade.path, work))
    return Decision(best, tuple(safe), tuple(fixes), tuple(left))


def risks_at(upgrade: Upgrade, line: int) -> tuple[UpgradeFinding, ...]:
    """Return the errors and warnings about the graph at a release line.

    Findings of low confidence and refuted findings are left out.
    """
    return tuple(
        item
        for item in _found(upgrade, line)
        if item.concern == "graph"
        and item.finding.severity != "note"
        and item.finding.confidence != "low"
        and item.finding.standing != "refuted"
    )


def _found(upgrade: Upgrade, line: int) -> Iterator[UpgradeFinding]:
    return (upgrade.findings[number] for number in upgrade.lines[line].found)


def convertible(upgrades: Sequence[Upgrade], line: int) -> dict[str, str]:
    """Return the models that need ``trtlint convert`` to keep their precision at a release line.

    Args:
        upgrades: the upgrade of each model.
        line: index of the release line.

    Returns:
        The type to convert to, such as ``fp16``, by the path of the model.
    """
    found: dict[str, str] = {}
    for upgrade in upgrades:
        for item in _found(upgrade, line):
            advised = " ".join(item.finding.advice) if item.concern != "graph" else ""
            if named := _CONVERT.search(advised):
                found.setdefault(upgrade.path, named[1].upper())
    return found


def changed_commands(upgrades: Sequence[Upgrade], line: int) -> tuple[str, ...]:
    """Return the errors about the build command that are new at a release line.

    An error is new if it does not exist at the first release line.  ``line`` is the index of the release line
    with the new errors.  Each text has a rule, the message of its first error, and the options of its further
    errors.  If an error has no option, its message replaces the option.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for upgrade in upgrades:
        for item in _found(upgrade, line):
            if item.concern == "command" and item.finding.severity == "error" and 0 not in item.lines:
                messages = found.setdefault(item.finding.rule, {})
                messages.setdefault(item.finding.message, tuple(_options(item.finding)))
    texts = []
    for rule, messages in found.items():
        first = next(iter(messages))
        names = dict.fromkeys(chain.from_iterable(names or [text] for text, names in messages.items()))
        others = [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", first)]
        texts.append(f"{rule}: {first}" + (f" (also {', '.join(others)})" if others else ""))
    return tuple(texts)


def _options(finding: Finding) -> Iterator[str]:
    """Yield the options of the build command that a finding is about, such as ``--workspace``."""
    for site in finding.sites:
        if option := _OPTION.search(site.node):
            yield option[0]


def changed_code(upgrades: Sequence[Upgrade], line: int) -> tuple[str, ...]:
    """Return the rules about code that find new errors or warnings at a release line.

    An error or a warning is new if it does not exist at the first release line.
    """
    found = {
        item.finding.rule: f"{item.finding.rule} {item.finding.name}"
        for upgrade in upgrades
        for item in _found(upgrade, line)
        if item.concern == "code" and item.finding.severity != "note" and 0 not in item.lines
    }
    return tuple(found[rule] for rule in sorted(found))


def rule_rows(upgrades: Sequence[Upgrade]) -> list[UpgradeRuleRow]:
    """Return one row for each rule about the graph, the most severe and frequent first."""
    rows: dict[str, UpgradeRuleRow] = {}
    for upgrade in upgrades:
        names = [line.line for line in upgrade.lines]
        for item in upgrade.findings:
            finding = item.finding
            if item.concern != "graph":
                continue
            row = rows.get(finding.rule)
            if row is None:
                row = UpgradeRuleRow(
                    finding.severity, finding.rule, finding.name, when(item.lines, names), names[0]
                )
                rows[finding.rule] = row
            row.severity = min(row.severity, finding.severity, key=SEVERITIES.index)
            row.fixes = row.fixes and bool(fixable(finding))
            if upgrade.path not in row.models:
                row.models.append(upgrade.path)
            if item.already:
                row.already.add(upgrade.path)
    return sorted(rows.values(), key=lambda row: (SEVERITIES.index(row.severity), -len(row.models), row.rule))


def sentences(upgrades: Sequence[Upgrade]) -> Iterator[tuple[str, str]]:
    """Yield the decision as pairs of a heading and a sentence."""
    lines = upgrades[0].lines
    product = product_name(upgrades[0].product)
    decision = decide(upgrades)
    total = plural(len(upgrades), "model")
    yield "upgrade", f"{total} from {product} {lines[0].line} to {lines[-1].line}"
    if decision.line is None:
        yield "version", "none: no version in the range supports this GPU"
        return
    best = lines[decision.line].line
    newest = f" ({newest_words(upgrades[0])})" if decision.line == len(lines) - 1 else ""
    converted = convertible(upgrades, decision.line)
    unchanged = [path for path in decision.safe if path not in converted]
    work = len(upgrades) - len(decision.safe)
    why = (
        "fewest errors and warnings for these models" if work else "no known errors or warnings in the graphs"
    )
    yield "version", f"{product} {best}{newest}: {why}"
    yield "unchanged", f"{len(unchanged)} of {total}"
    if decision.fixable:
        count = len(decision.safe) + len(decision.fixable)
        both = " and convert" if converted else ""
        yield f"after trtlint fix{both}", f"{count} of {total} ({some(decision.fixable)})"
        yield "fix them with", fix_all(upgrades, decision)
    if converted:
        types = " and ".join(dict.fromkeys(converted.values()))
        need = f"{len(converted)} of {total} ({some(list(converted))}); otherwise, these models run in FP32"
        yield f"trtlint convert is needed to keep {types}", need
    if commands := changed_commands(upgrades, decision.line):
        yield "the build command must change", "; ".join(commands)
    if rules := changed_code(upgrades, decision.line):
        yield "the code must change", some(rules)
    if decision.open:
        old = sum(all(item.already for item in work) for _, work in decision.open)
        verb = "has" if old == 1 else "have"
        known = f" ({old} of them already {verb} these findings on {lines[0].line})" if old else ""
        yield "needs changes", f"{plural(len(decision.open), 'model')}{known}: see Exceptions"


def fix_all(upgrades: Sequence[Upgrade], decision: Decision) -> str:
    """Return the ``trtlint fix`` command for all models that the command can fix.

    The command names the chosen version.
    """
    paths: Sequence[str] = decision.fixable
    if len(paths) > _NAMED:
        folders = [os.path.dirname(path) for path in paths]  # noqa: PTH120
        folder = os.path.commonpath(list(map(os.path.abspath, folders)))
        # If one path is absolute, the folder must be absolute, because a relative folder does not contain
        # this path.
        paths = [folder if any(map(os.path.isabs, folders)) else os.path.relpath(folder)]
    options = upgrades[0].version_options(decision.line or 0)
    return shlex.join(("trtlint", "fix", *paths, *options))


def exceptions(upgrades: Sequence[Upgrade]) -> Iterator[tuple[str, str]]:
    """Yield the models that ``trtlint fix`` cannot fix, each with the rules of the remaining findings."""
    for path, work in decide(upgrades).open[:_MODELS]:
        rules: dict[str, bool] = {}
        for item in work:
            rule = f"{item.finding.severity}[{item.finding.rule}]"
            rules[rule] = rules.get(rule, True) and item.already
        mark = f" (already on {upgrades[0].lines[0].line})"
        yield path, ", ".join(f"{rule}{mark if already else ''}" for rule, already in rules.items())


def joined_rows(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """If there are many models, merge the lines that differ only in the path of the model.

    Each line has the path of the model and two texts.
    """
    if len(rows) <= MANY:
        return list(rows)
    groups: dict[tuple[str, str], list[str]] = {}
    for path, *words in rows:
        groups.setdefault((words[0], words[1]), []).append(path)
    return [(_named(paths), *words) for words, paths in groups.items()]


def joined_matrix(found: Matrix) -> Matrix:
    """Merge rows of the matrix that have equal numbers, if there are many models."""
    if len(found.rows) <= MANY:
        return found
    groups: dict[tuple[int, ...], list[str]] = {}
    for path, counts in found.rows:
        groups.setdefault(counts, []).append(path)
    return Matrix(found.columns, tuple((_named(paths), counts) for counts, paths in groups.items()))


def _named(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths)} models: {paths[0]}, ..."


class SharedFinding(Struct):
    """A finding about the build command or code, with all models that have the finding."""

    upgrade: Upgrade
    item: UpgradeFinding
    models: list[str] = field(default_factory=list)


def shared(upgrades: Sequence[Upgrade], concern: Concern) -> list[SharedFinding]:
    """Return the findings about the build command or about code, each once for all models.

    The findings are in the order of their first release line.
    """
    found: dict[object, SharedFinding] = {}
    for upgrade in upgrades:
        for item in upgrade.findings:
            if item.concern == concern:
                finding = item.finding
                # Advice that names the model is shown once, for the first model.
                advice = str(item.advice).replace(PurePath(upgrade.path).name, "")
                key = finding.rule, finding.message, item.lines, advice
                found.setdefault(key, SharedFinding(upgrade, item)).models.append(upgrade.path)
    return sorted(found.values(), key=lambda each: each.item.lines[0])


def conditional_rows(upgrades: Sequence[Upgrade]) -> Iterator[str]:
    """Yield a line for each rule with findings that depend on unset options.

    The line has the options and the number of models.
    """
    found: dict[tuple[str, str, str, tuple[str, ...]], set[str]] = {}
    for upgrade in upgrades:
        for finding in upgrade.conditional:
            key = finding.severity, finding.rule, finding.name, finding.depends
            found.setdefault(key, set()).add(upgrade.path)
    for (severity, rule, name, depends), paths in found.items():
        yield f"{severity}[{rule}] {name} ({', '.join(depends)}): {plural(len(paths), 'model')}"


def rows(upgrades: Sequence[Upgrade]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each model: path, safest version, and risks in the last version."""
    for upgrade in upgrades:
        end = upgrade.lines[-1]
        risks = [plural(end.risks[name], name) for name in SEVERITIES if end.risks.get(name)]
        there = ", ".join(risks) or "no known risks"
        yield (
            upgrade.path,
            safest_line(upgrade),
            there if end.supported else f"{there}; the GPU is not supported",
        )
