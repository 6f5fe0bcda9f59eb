"""What the rule engine says: findings, as plain data that any report can render.

Nothing here holds on to a graph or a rule, so a finding can be pickled, cached or sent to another
process; what reads the same file again finds the way back by the positions of nodes and facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from trtlint.facts.refusal import Refusal
from trtlint.files.problem import Problem
from trtlint.lean import dataclass
from trtlint.model.source import Source

Severity = Literal["error", "warning", "note"]
Confidence = Literal["confirmed", "high", "medium", "low"]
Standing = Literal["confirmed", "refuted", "open"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the gravest to the mildest."""
CONFIDENCES: tuple[Confidence, ...] = ("confirmed", "high", "medium", "low")
"""From the surest to the least sure."""

SUPPRESS_KEY = "trtlint.suppress"
"""The key of a model's ``metadata_props`` under which it carries suppressions of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the drawing of a site: a node, what flows out of it, and why it matters.

    ``type`` is the type of the node's first output, such as ``f32[1,8,197,64]`` (empty when
    unknown); ``detail`` says what the node does in the block (``q x 0.3536``); a row with a
    ``label`` is a culprit, underlined with carets.
    """

    node: str
    op: str
    type: str = ""
    detail: str = ""
    label: str = ""
    role: str = ""
    """The part that the node plays, a role of the fact or a name of the rule's pattern."""
    index: int | None = None
    """Where the node is among ``graph.nodes`` of the model."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a fact is: ``facts.of(kind)[position]`` of the same model."""

    kind: str
    position: int


@dataclass(frozen=True, slots=True)
class Site:
    """One place where a finding holds."""

    node: str
    """The node's path: subgraph scopes and node name joined with ``/``."""
    op: str
    module: str | None
    """Module path from the exporter's metadata, such as ``blocks.0.attn``; None if unknown."""
    source: Source | None
    rows: tuple[Row, ...]
    fingerprint: str
    """16 hex digits that survive a re-export which renames nodes and values."""
    route: Route | None = None
    """The way back to the fact, None for a match of a pattern."""
    unfixable: str = ""
    """Why no rewrite exists for this place, as the rule says; empty where it gives no reason."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite of the model that a rule names for what it found.

    ``safety`` says whether it leaves all results what they are, up to rounding.
    """

    name: str
    safety: Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding is known and accepted.

    ``kind`` says where that was written: in the configuration, in the model's own metadata, or in a
    baseline.  ``where`` names the file (for a model, the model).  ``reason`` is the user's sentence;
    a baseline gives none and leaves it empty.  ``expires`` is an ISO date, None for no end.
    """

    kind: Literal["configuration", "model", "baseline"]
    where: str
    reason: str = ""
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """An entry of a baseline for which the model no longer has a site."""

    rule: str
    fingerprint: str
    """The site's fingerprint."""
    place: str
    """Module path or node as it was when the baseline was written; empty for the whole model."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One risk, at one or more sites."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    evidence_level: str
    """What the rule rests on: documented, maintainer-confirmed, measured, ...

    Of a refusal, what its range of releases rests on: measured, source or documented."""
    message: str
    sites: tuple[Site, ...]
    applies: str
    """In words, the versions, GPUs and precisions that the finding holds for."""
    advice: tuple[str, ...]
    """What to do on this target; ``8.6 to 10.x: ...`` where the target leaves it open."""
    references: tuple[str, ...]
    fingerprint: str
    depends: tuple[str, ...] = ()
    """The options that would settle a conditional finding, such as ``--fp16``."""
    said: tuple[str, ...] = ()
    """What a build says of it: lines of the log, layers of the engine, measured times."""
    fixes: tuple[Rewrite, ...] = ()
    """The rewrites with which ``trtlint fix`` may settle it."""
    refusal: Refusal | None = None
    """What TensorRT says of it, where it is about a model that cannot be built."""
    suppression: Suppression | None = None
    """Why it is in ``ModelReport.suppressed``; None everywhere else."""
    standing: Standing = "open"
    """Whether a build that was read shows it too, or shows that it does not hold."""
    ms: float | None = None
    """Measured milliseconds that the layers of its places take in one run; None without a profile."""
    share: float | None = None
    """Their share of the time of all layers, 0 to 1."""
    causes: tuple[str, ...] = ()
    """The operators whose refusals have this finding as their cause; empty for most findings."""
    includes: tuple[Finding, ...] = field(default=(), metadata={"stored": False})
    """The findings that follow from this one, which reports count and do not explain again."""


@dataclass(frozen=True, slots=True)
class Unsearched:
    """A rule for which a limit of work ended the search of a model: findings of it may be missing."""

    rule: str
    name: str
    severity: Severity
    """The gravest severity that a finding of the rule can have."""
    cause: Literal["places", "types", "walk"] = "places"
    """What ended early: the search for places that match a pattern, the inference of types, or a walk."""
    reason: str = ""
    """The limit that ended the inference of types; empty for the other causes."""


@dataclass(frozen=True, slots=True)
class EvidenceSummary:
    """One piece of evidence, as data of a report."""

    kind: str
    """The kind of evidence, and the key of its data in JSON, such as ``dry_build``."""
    text: str
    """Its JSON text."""

    @classmethod
    def of(cls, kind: str, data: Mapping[str, Any]) -> EvidenceSummary:
        """The summary of JSON data."""
        return cls(kind, json.dumps(data))

    @property
    def data(self) -> Any:
        """Its JSON data."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class Further:
    """A file that was not given, and what it would settle."""

    what: Literal["model", "layers"]
    command: str
    """The command line with it."""
    settles: str


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The findings of one model for one target."""

    path: str
    target: str
    """The target in words, such as ``TensorRT 10.7, SM 8.9, FP16``."""
    findings: tuple[Finding, ...] = ()
    conditional: tuple[Finding, ...] = ()
    """Findings that hold only if something not given about the target is true."""
    errors: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """What limited the lint without stopping it, such as a missing external data file; and
    suppressions in the model that have expired or that nothing needs."""
    suppressed: tuple[Finding, ...] = ()
    """Findings that are accepted, each with its ``suppression``: reported and counted apart, and
    without a say in the exit code.  A finding of which only some sites are accepted is here with
    these and in ``findings`` with the others; both parts have its fingerprint.  One with ``depends``
    is conditional."""
    gone: tuple[Gone, ...] = ()
    """What the baseline holds for this model and the model has for none of the targets; the same in
    the report of each target."""
    suppress: str = ""
    """What the model's metadata holds under :data:`SUPPRESS_KEY`, as written."""
    withheld: int = 0
    """How many findings were left out because they are less sure than ``--min-confidence``."""
    data_files: tuple[str, ...] = ()
    """Files with external data that the model names, relative to its folder."""
    exporter: str = ""
    """What wrote the model, as the fact about the model says it; empty without a model."""
    skipped: bool = False
    """Whether the file was not linted without that being an error (a Git LFS pointer); a note says why."""
    revision: str = ""
    """What the content of the model was known by, where rows are written; empty where nothing is for sure."""
    unsearched: tuple[Unsearched, ...] = ()
    """Rules that were not searched to the end."""
    evidence: tuple[EvidenceSummary, ...] = ()
    """The evidence for this target that is data of its own, such as a dry build."""
    further: tuple[Further, ...] = ()
    """What else to give where a log was given alone and something is wrong."""

    def located(self, find: Callable[[Source], Source]) -> ModelReport:
        """The report with every site's source looked up."""

        def findings(listed: tuple[Finding, ...]) -> tuple[Finding, ...]:
            return tuple(replace(finding, sites=tuple(map(site, finding.sites))) for finding in listed)

        def site(known: Site) -> Site:
            return known if known.source is None else replace(known, source=find(known.source))

        return replace(
            self,
            findings=findings(self.findings),
            conditional=findings(self.conditional),
            suppressed=findings(self.suppressed),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one run: a report a model and target, in the order asked for."""

    models: tuple[ModelReport, ...] = field(default=())
    notes: tuple[str, ...] = ()
    """What concerns the run and no single model: suppressions in the configuration that have expired
    or that nothing needs, and models that only the baseline knows."""
