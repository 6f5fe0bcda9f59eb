"""Define a rule that is ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from trtlint.engine.finding import Severity
from trtlint.errors import SettingError
from trtlint.knowledge.releases import Product

if TYPE_CHECKING:
    from trtlint.engine.evidence.conditions import EvidenceConditions
    from trtlint.language.expression import Expression
    from trtlint.language.pattern import Pattern
    from trtlint.language.template import Template

LARGEST = 256 << 10
"""Largest size of a rule file in bytes."""

PATTERN = "pattern"
"""The kind of a rule with a pattern in ``match``."""

LOG_MESSAGE = "log_message"
"""The kind of a rule about lines of a log."""

EVIDENCE: Mapping[str, bool] = {
    "documented": True,
    "maintainer-confirmed": True,
    "measured": True,
    "user-reported": False,
    "inferred": False,
}
"""Evidence levels of a rule. The value is True if the level allows high confidence."""

Status = Literal["preview", "stable", "deprecated"]
"""Status of a rule.  A ``preview`` rule runs only on request; a ``deprecated`` rule will be removed."""

GROUPS: Mapping[str, str] = {
    "accuracy": "wrong or less accurate results",
    "performance": "engines that are slower than necessary",
    "build": "failed builds, and builds with settings other than intended",
    "memory": "too little memory for the build or the engine, and wasted memory",
    "quantization": "types of 8 bits and less: scales, calibration, layers that fall back to wider types",
    "portability": "differences between releases, GPUs and platforms",
}
"""Groups of rules.  Keys are folders of rule files.  Values describe the problems."""

Also = Literal["", "torch-tensorrt"]
"""Additional source of facts for a rule about the model: networks of Torch-TensorRT; empty for no source."""

Safety = Literal["safe", "unsafe"]

Concern = Literal["graph", "command", "code"]
"""The object that the user has to change.

It is the model, its build command, or the program that runs the engine.
"""


class RuleError(SettingError):
    """Error: a rule file is wrong.

    The error has the file, the line (from 1; 0 if unknown), and the message.
    """

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line
        self.message = message


class Advice(Struct, frozen=True):
    """Advice in a rule, for all targets or for some.

    Attributes:
        applies: version specifier by product; empty if the advice applies to all versions of all products.
        where: condition on the fact or match; None if the advice applies to all findings.
        do: the sentence of the advice.
        fix: name of the automatic fix; None if there is none.
        safety: ``safe`` if the fix preserves the results for all inputs, up to rounding.  Otherwise
            ``unsafe``, and the user decides.
        folds: True if the fix only stores constants that ONNX Runtime computes itself.
        default: True to show the advice only if no earlier advice of the rule certainly applies.
        see: URLs about this advice.  A report lists these URLs first.
    """

    applies: Mapping[Product, str]
    where: Expression | None
    do: Template
    fix: str | None
    safety: Safety = "safe"
    folds: bool = False
    default: bool = False
    see: tuple[str, ...] = ()


class UnfixableReason(Struct, frozen=True):
    """The reason why trtlint cannot fix a finding automatically.

    Attributes:
        where: condition on the fact or match; None if the reason applies to all findings.
        because: the reason, a clause without a full stop.
    """

    where: Expression | None
    because: str


class Rule(Struct, frozen=True):
    """A rule, ready to be evaluated.

    Attributes:
        id: the id, such as ``ACC102``.
        name: the name in words, such as ``sdpa-scale-on-both-operands``.
        severity: the severity, unless ``severity_when`` sets another severity.
        since: the first trtlint version that has the rule.
        evidence: the basis of the rule, a key of :data:`EVIDENCE`.
        applies: for each product, the affected releases as a PEP 440 specifier.  Products without a specifier
            are not affected.
        find: the kind of fact that the rule is about, or :data:`PATTERN`.
        pattern: the pattern of a :data:`PATTERN` rule.
        where: the condition on a fact or match; None if every fact or match is a finding.
        mark: the roles in the pattern that a report underlines, each with a label; None for the default
            label.
        severity_when: severities with conditions.  The first severity with a true condition is used.
        message: the first line of the finding.
        advice: the advice, in the order of the file.
        unfixable: reasons why there is no automatic fix.  The first reason with a true condition is used.
        references: public URLs that prove or explain the rule.
        concerns: the object that the user has to change: the model, the command or the code.
        verdict: the conditions under which a build or measurement confirms or refutes the findings.
        yields: the ids of rules that trtlint evaluates before this rule. If one of these rules has a finding
            at a node, this rule does not report the node.
        path: the rule file.
        body: the documentation of the rule, in Markdown.
        body_line: line of the file where ``body`` begins.
        status: ``preview``, ``stable`` or ``deprecated``.
        also: ``torch-tensorrt`` if the rule also runs on networks of Torch-TensorRT; else empty.
        summary: one sentence with the defect and its consequence; empty if the file has none.
        default: True if the rule only reports problems that no other rule explains. Then the rule skips
            log lines with a finding of another rule. The rule reports a failed build only if no other rule
            reports an error.
    """

    id: str
    name: str
    severity: Severity
    since: str
    evidence: str
    applies: Mapping[Product, str]
    find: str
    pattern: Pattern | None
    where: Expression | None
    mark: Mapping[str, Template | None]
    severity_when: tuple[tuple[Expression, Severity], ...]
    message: Template
    advice: tuple[Advice, ...]
    references: tuple[str, ...]
    concerns: Concern
    verdict: EvidenceConditions
    yields: frozenset[str]
    path: Path
    body: str
    body_line: int
    status: Status = "stable"
    summary: str = ""
    unfixable: tuple[UnfixableReason, ...] = ()
    default: bool = False
    also: Also = ""

    @property
    def group(self) -> str:
        """The group of the rule, a key of :data:`GROUPS`.

        The group is the name of the rule file's folder. It is empty if this folder is not a group.
        """
        return group_of(self.path)

    def why_unfixable(self, names: Mapping[str, object]) -> str:
        """Return the reason why trtlint cannot fix a finding, or an empty string if the rule gives none.

        ``names`` has the names that the conditions use, with their values.
        """
        for entry in self.unfixable:
            if entry.where is None or entry.where.truth(names) is True:
                return entry.because
        return ""


def group_of(path: Path) -> str:
    """Return the folder name of a rule file if the folder is a group, or else an empty string."""
    folder = path.parent.name
    return folder if folder in GROUPS else ""
