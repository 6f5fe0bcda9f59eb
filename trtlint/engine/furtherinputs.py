"""After a warning about accuracy, suggest a measurement of the model with real inputs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from trtlint.engine.finding import Finding, Suggestion
from trtlint.engine.rulebook import RuleEntry
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.model import ModelFact
from trtlint.target.target import Target

_ABOUT_TYPES = re.compile(r"\bb?f16\b|\btarget\.(?:fp16|bf16|tf32)\b")
"""Pattern that finds 16-bit types and TF32 in the conditions of rules about accuracy."""
_STORED = {"f16": "fp16", "bf16": "bf16"}
"""The argument of ``trtlint measure --type`` for each 16-bit type that a model can have."""


def measuring(
    facts: Facts, findings: Iterable[Finding], rules: Iterable[RuleEntry], target: Target
) -> tuple[Suggestion, ...]:
    """Suggest a ``trtlint measure`` command if findings warn that a 16-bit type or TF32 costs accuracy.

    Args:
        facts: the facts of the model.
        findings: the findings for the target.
        rules: the rules that ran.
        target: the target.
    """
    warned = {finding.rule for finding in findings if finding.severity == "warning" and not finding.depends}
    accuracy = (entry for entry in rules if entry.id in warned and entry.group == "accuracy")
    texts = [rule.where.text for rule in (entry.read() for entry in accuracy) if rule.where is not None]
    about = {name for text in texts for name in _ABOUT_TYPES.findall(text)}
    if not about or not facts.has_model:
        return ()
    types = {each for fact in facts.of("model") if isinstance(fact, ModelFact) for each in fact.float_types}
    own = next((name for stored, name in _STORED.items() if stored in types), None)
    type_ = own or ("fp16" if target.fp16 else "tf32" if about == {"target.tf32"} else "bf16")
    chosen = () if own or type_ == "fp16" else ("--type", type_)
    words = ("trtlint measure MODEL --inputs batch.npz", *chosen, *map(shlex.quote, target.arguments))
    shows = f"the {type_.upper()} error of each output, measured with your inputs"
    return (Suggestion("inputs", " ".join(words), shows),)
