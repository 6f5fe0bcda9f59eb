"""Counts of findings, and the options that decide conditional ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trtlint.engine.finding import SEVERITIES, Finding

_WITH_VALUE = frozenset({"--trt", "--rtx", "--gpu"})


def plural(number: int, word: str) -> str:
    """Format a count: ``1 error``, ``2 errors``."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def by_severity(severities: Counter[str]) -> str:
    """Format counts by severity: ``2 errors, 1 note``, or ``no findings``."""
    parts = [plural(severities[severity], severity) for severity in SEVERITIES if severities[severity]]
    return ", ".join(parts) or "no findings"


def either(option: str) -> str:
    """Return an option as the user sets it, and a switch in both forms."""
    if option in _WITH_VALUE or option.startswith("--no-"):
        return option
    return f"{option} or --no-{option.removeprefix('--')}"


def settling(depends: Iterable[tuple[str, ...]]) -> str:
    """List the options that conditional findings depend on: ``--fp16 or --no-fp16 (4), --gpu (3)``.

    Args:
        depends: the options of each finding.
    """
    counts = Counter(option for options in depends for option in options)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{either(option)} ({count})" for option, count in ranked)


def hidden(conditional: Iterable[Finding]) -> str:
    """Return one line about hidden conditional findings; empty without any."""
    depends = [finding.depends for finding in conditional]
    if not depends:
        return ""
    options = settling(depends)
    give = f"give {options}, or " if options else ""
    return f"{plural(len(depends), 'conditional finding')} hidden: {give}see them with --show-conditional"
