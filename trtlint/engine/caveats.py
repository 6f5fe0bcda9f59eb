"""Caveats about a report, such as suppressed findings or a search that did not finish.

Every format shows caveats, even with ``--quiet``.  So a model whose metadata suppresses findings looks
different from a model without findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import ModelReport

_RULES = 5
"""Largest number of rules that one sentence names."""


class Caveat(Struct, frozen=True):
    """One sentence about the report of one model.

    Attributes:
        kind: ``suppressed-by-model`` if the metadata of the model suppresses findings. ``unsearched`` if the
            search for the findings of a rule did not finish.
        message: the sentence, without the model's name.
        severity: the severity in formats that have severities.
    """

    kind: Literal["suppressed-by-model", "unsearched"]
    message: str
    severity: Literal["warning", "note"] = "note"
    rules: tuple[str, ...] = ()
    """The rules whose findings may be missing; empty for a caveat about suppressed findings."""


def suppressed_by_model(reports: Iterable[ModelReport]) -> tuple[tuple[str, str], ...]:
    """Return the rule and the fingerprint of each finding that the metadata of the model suppresses.

    The pairs are sorted.
    """
    return tuple(
        sorted(
            {
                (finding.rule, finding.fingerprint)
                for report in reports
                for finding in report.suppressed
                if finding.suppression is not None and finding.suppression.kind == "model"
            }
        )
    )


def caveats(reports: Iterable[ModelReport]) -> tuple[Caveat, ...]:
    """Return the caveats about one model.  ``reports`` has one report of the model for each target."""
    reports = tuple(reports)
    return (*_unsearched(reports), *_suppressed(suppressed_by_model(reports)))


def _unsearched(reports: Iterable[ModelReport]) -> Iterator[Caveat]:
    found = [each for report in reports for each in report.unsearched]
    untyped: dict[str, dict[str, None]] = {}
    for each in found:
        if each.cause == "types":
            untyped.setdefault(each.reason, {})[each.rule] = None
    for reason, unknown in untyped.items():
        words = (
            f"shape inference reached a limit ({reason}), so types and shapes are unknown and "
            "findings about the graph may be missing; simplify the model, or store the shapes in the file"
        )
        yield Caveat("unsearched", words, "warning", tuple(unknown))
    walks = sorted({each.rule for each in found if each.cause == "walk"})
    if walks:
        named, some = _named(walks), "a rule" if len(walks) == 1 else f"{len(walks):,} rules"
        words = (
            f"findings of {some} may be missing ({named}): a chain of operators in the model is "
            "longer than trtlint follows; split the chain, or disable the rules with --ignore"
        )
        yield Caveat("unsearched", words, "warning", tuple(walks))
    rules = {each.rule: each.name for each in found if each.cause == "places"}
    for rule, name in sorted(rules.items()):
        words = (
            f"findings of {rule} ({name}) may be missing: too many operators may match its pattern, so "
            f"the search stopped at its limit; --ignore {rule} disables the rule"
        )
        yield Caveat("unsearched", words, "warning", (rule,))


def _named(rules: Sequence[str]) -> str:
    """Return the ids of the first few rules as a list in words, such as ``ACC101, BLD201, ...``."""
    return ", ".join(rules[:_RULES]) + (", ..." if len(rules) > _RULES else "")


def _suppressed(own: Sequence[tuple[str, str]]) -> Iterator[Caveat]:
    if not own:
        return
    rules = sorted({rule for rule, _ in own})
    named = _named(rules)
    what = "1 finding" if len(own) == 1 else f"{len(own):,} findings"
    verb, them = ("is", "it") if len(own) == 1 else ("are", "them")
    yield Caveat(
        "suppressed-by-model",
        f"{what} {verb} suppressed by metadata of the model ({named}); --isolated reports {them}",
    )
