"""Caveats: facts that a reader must know before treating a model as clean.

Every format shows them, even with ``--quiet``: a model that suppresses its own findings must look
different from a model without findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import ModelReport

_RULES = 5
"""Largest number of rules named in one sentence."""


class Caveat(Struct, frozen=True):
    """One sentence about the report of one model.

    Attributes:
        kind: ``suppressed-by-model`` if the model's own metadata hides findings; ``unsearched`` if the
            search for a rule did not finish.
        message: the sentence, without the model's name.
        severity: how formats with severities show it.
    """

    kind: Literal["suppressed-by-model", "unsearched"]
    message: str
    severity: Literal["warning", "note"] = "note"
    rule: str = ""
    """The rule that the caveat is about; empty for several."""


def suppressed_by_model(reports: Iterable[ModelReport]) -> tuple[tuple[str, str], ...]:
    """Rule and fingerprint of each finding that the model's own metadata suppresses, sorted."""
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
    """The caveats of one model, given its report for each target."""
    reports = tuple(reports)
    return (*_unsearched(reports), *_suppressed(suppressed_by_model(reports)))


def _unsearched(reports: Iterable[ModelReport]) -> Iterator[Caveat]:
    found = [each for report in reports for each in report.unsearched]
    reasons = dict.fromkeys(each.reason for each in found if each.cause == "types")
    for reason in reasons:
        words = (
            f"types and shapes are unknown, so findings of all rules about the graph may be missing: shape "
            f"inference reached a limit ({reason}); simplify the model or store its shapes in the file"
        )
        yield Caveat("unsearched", words, "warning")
    walks = sorted({each.rule for each in found if each.cause == "walk"})
    if walks:
        named, some = _named(walks), "a rule" if len(walks) == 1 else f"{len(walks):,} rules"
        words = (
            f"findings of {some} may be missing ({named}): the model has a longer chain of operators "
            f"than trtlint follows; split the chain, or disable the rules with --ignore"
        )
        yield Caveat("unsearched", words, "warning", walks[0] if len(walks) == 1 else "")
    rules = {each.rule: each.name for each in found if each.cause == "places"}
    for rule, name in sorted(rules.items()):
        words = (
            f"{rule} ({name}) was not searched to the end, so its findings may be missing: the model has "
            f"too many similar places; --ignore {rule} disables the rule"
        )
        yield Caveat("unsearched", words, "warning", rule)


def _named(rules: Sequence[str]) -> str:
    """Return the ids of rules as a short list."""
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
        f"{what} {verb} suppressed by the model itself ({named}); --isolated reports {them}",
    )
