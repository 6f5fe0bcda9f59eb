"""Summary of an upgrade of several models: the findings that they share, and one line for each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from msgspec import Struct, field

from trtlint.engine.finding import SEVERITIES
from trtlint.engine.rule import Concern
from trtlint.engine.upgrade import Upgrade, UpgradeFinding
from trtlint.report.counts import plural
from trtlint.report.upgradewording import safest_line


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
