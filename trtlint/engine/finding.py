"""Define findings: results of the rule engine, as plain data for reports.

Findings contain no graph or rule objects, so they can be pickled, cached or sent to another process.
Instead, findings store positions of nodes and facts. The positions stay valid if the same file is read again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.facts.refusal import Refusal
from trtlint.files.problem import Problem
from trtlint.model.source import Source
from trtlint.structs import PartlyCompared

Severity = Literal["error", "warning", "note"]
Confidence = Literal["confirmed", "high", "medium", "low"]
Standing = Literal["confirmed", "refuted", "open"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, from the highest to the lowest."""
CONFIDENCES: tuple[Confidence, ...] = ("confirmed", "high", "medium", "low")
"""The confidences, from the highest to the lowest."""

SUPPRESS_KEY = "trtlint.suppress"
"""Key in the ``metadata_props`` of a model.  Its value lists the suppressions for this model."""


class Row(Struct, frozen=True):
    """One node in the drawing of a site: the node, its output type, and its role in the problem.

    ``type`` is the type of the node's first output, such as ``f32[1,8,197,64]`` (empty if unknown).
    ``detail`` describes what the node computes, such as ``q x 0.3536``.  A row with a ``label`` is part of
    the problem, and reports underline this row with carets.
    """

    node: str
    op: str
    type: str = ""
    detail: str = ""
    label: str = ""
    role: str = ""
    """The node's part in the block: a role of the fact, or a name in the rule's pattern."""
    index: int | None = None
    """Index of the node in ``graph.nodes`` of the model."""


class Route(Struct, frozen=True):
    """The position of a fact among the facts of the same model: ``facts.of(kind)[position]``."""

    kind: str
    position: int


class Site(Struct, frozen=True):
    """A node, log line or script line where a finding is reported."""

    node: str
    """The node's path: subgraph scopes and node name joined with ``/``."""
    op: str
    module: str | None
    """Module path from the exporter's metadata, such as ``blocks.0.attn``; None if unknown."""
    source: Source | None
    rows: tuple[Row, ...]
    fingerprint: str
    """16 hex digits that stay the same if a re-export renames nodes and values."""
    route: Route | None = None
    """The fact that caused the finding; None for a match of a pattern."""
    unfixable: str = ""
    """The reason in the rule why this site has no rewrite; empty if the rule gives no reason."""


class Rewrite(Struct, frozen=True):
    """A rewrite of the model that a rule recommends.

    ``safety`` states whether the rewrite preserves all results, up to rounding.  ``folds`` states whether the
    rewrite only stores constants that ONNX Runtime computes itself.
    """

    name: str
    safety: Literal["safe", "unsafe"]
    folds: bool = False


class Suppression(Struct, frozen=True):
    """The reason why a finding is accepted and not reported.

    ``kind`` is the source: the configuration, the metadata of the model, or a baseline.  ``where`` is the
    path of the configuration, model or baseline.  ``reason`` is a sentence of the user, empty for a baseline.
    ``expires`` is an ISO date, or None.
    """

    kind: Literal["configuration", "model", "baseline"]
    where: str
    reason: str = ""
    expires: str | None = None


class StaleBaselineEntry(Struct, frozen=True):
    """A baseline entry that no longer matches a site in the model."""

    rule: str
    fingerprint: str
    """The site's fingerprint."""
    place: str
    """Module path or node of the site when the baseline was written; empty for the whole model."""


class Finding(PartlyCompared, frozen=True):
    """A problem that a rule found, at one or more sites."""

    _ignored: ClassVar[frozenset[str]] = frozenset({"options"})

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    evidence_level: str
    """The basis of the rule: documented, maintainer-confirmed, measured, ...

    For a refusal: the basis of the list of refusing releases (measured, source or documented).
    """
    message: str
    sites: tuple[Site, ...]
    applies: str
    """The versions, GPUs and precisions to which the finding applies, in words."""
    advice: tuple[str, ...]
    """Actions for this target.

    If the version is unset, an action can begin with versions: ``8.6 to 10.x: ...``.
    """
    references: tuple[str, ...]
    fingerprint: str
    depends: tuple[str, ...] = ()
    """The options that would decide a conditional finding, such as ``--fp16``."""
    said: tuple[str, ...] = ()
    """Sentences with evidence: lines of the log, layers of the engine, measured times."""
    fixes: tuple[Rewrite, ...] = ()
    """The rewrites of ``trtlint fix`` that may remove the finding."""
    refusal: Refusal | None = None
    """TensorRT's refusal, if the finding is about a model that cannot be built."""
    suppression: Suppression | None = None
    """The reason why the finding is suppressed; None if the finding is not suppressed."""
    standing: Standing = "open"
    """``confirmed`` or ``refuted`` by evidence, or ``open``."""
    ms: float | None = None
    """Measured time of the finding's engine layers in one run, in milliseconds; None if not measured."""
    share: float | None = None
    """Time of the finding's engine layers divided by the time of all layers, 0 to 1."""
    causes: tuple[str, ...] = ()
    """The operator types that TensorRT refuses because of the problem in this finding; usually empty."""
    includes: tuple[Finding, ...] = ()
    """Refusals that follow from the problem in this finding.  Reports count but do not explain them."""
    options: tuple[str, ...] = ()
    """The command-line options that describe the target.  Reports show commands with these options."""


class IncompleteSearch(Struct, frozen=True):
    """A rule whose findings may be missing, because the search for them did not finish."""

    rule: str
    name: str
    severity: Severity
    """The highest severity that a finding of the rule can have."""
    cause: Literal["places", "types", "walk"] = "places"
    """The step that reached its limit: search for matches (``places``), inference of types
    (``types``), or traversal of the graph (``walk``).
    """
    reason: str = ""
    """For the cause ``types``: the limit that the inference of types reached.  Else empty."""


class EvidenceSummary(Struct, frozen=True):
    """The data that one piece of evidence, such as a dry build, adds to a report."""

    kind: str
    """The kind of evidence, such as ``dry_build``.  In JSON reports, it is the key of the data."""
    text: str
    """The data as JSON text."""

    @classmethod
    def of(cls, kind: str, data: Mapping[str, Any]) -> EvidenceSummary:
        """Create the object from JSON data."""
        return cls(kind, json.dumps(data))

    @property
    def data(self) -> Any:
        """The evidence as JSON data."""
        return json.loads(self.text)


class Suggestion(Struct, frozen=True):
    """A suggestion to add a file, and the open question that the file would answer."""

    what: Literal["model", "layers", "inputs"]
    command: str
    """The trtlint command that includes the suggested file.

    If the path of the model is not yet known, the command contains the placeholder ``MODEL``.
    """
    settles: str

    def named(self, path: str) -> Suggestion:
        """Return a copy in which the command contains the path of the model."""
        command = self.command.replace(" MODEL ", f" {shlex.quote(path)} ", 1)
        return replace(self, command=command)


class ModelReport(Struct, frozen=True):
    """The findings of one model for one target."""

    path: str
    target: str
    """The target in words, such as ``TensorRT 10.7, SM 8.9, FP16``."""
    findings: tuple[Finding, ...] = ()
    conditional: tuple[Finding, ...] = ()
    """Findings that are true only for certain values of unset options."""
    errors: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """Problems that limit the lint but did not stop it, such as a missing external data file.

    Expired or unused suppressions in the model are included.
    """
    suppressed: tuple[Finding, ...] = ()
    """Accepted findings, each with its ``suppression``.

    They are reported and counted separately, and do not affect the exit code.  If only some sites of a
    finding are accepted, the finding is split.  This list has the accepted sites, and ``findings`` has the
    remaining sites.  The two parts have the same fingerprint.  If an accepted finding has a ``depends``, it
    is true only for certain values of unset options.
    """
    gone: tuple[StaleBaselineEntry, ...] = ()
    """Baseline entries for this model that match no finding of any target.

    The reports of all targets have the same entries.
    """
    suppress: str = ""
    """The value of :data:`SUPPRESS_KEY` in the metadata of the model."""
    withheld: int = 0
    """Number of findings that were left out because of ``--min-confidence``."""
    data_files: tuple[str, ...] = ()
    """Paths of the external data files that the model names, relative to the folder of the model."""
    exporter: str = ""
    """The exporter that wrote the model; empty if there is no model."""
    skipped: bool = False
    """True if trtlint skipped the file without an error, for example a Git LFS pointer.

    A note gives the reason.
    """
    revision: str = ""
    """Revision of the model's content, from :func:`trtlint.runs.cache.revision`; empty if it is unknown.

    Formats with one row for each finding write this revision.
    """
    unsearched: tuple[IncompleteSearch, ...] = ()
    """Rules whose search did not finish."""
    evidence: tuple[EvidenceSummary, ...] = ()
    """The JSON data of the evidence for this target, such as the results of a dry build."""
    further: tuple[Suggestion, ...] = ()
    """Suggestions for files that would explain a problem in a log, or settle an accuracy warning."""
    form: str = "model"
    """The kind of the file: ``model``, or a kind of evidence such as ``log`` if there is no model."""

    def with_options(self, options: tuple[str, ...]) -> ModelReport:
        """Return a copy with the command-line options of the target in each finding.

        ``trtlint fix`` needs these options to lint for the same target.
        """
        return replace(
            self,
            findings=tuple(replace(each, options=options) for each in self.findings),
            conditional=tuple(replace(each, options=options) for each in self.conditional),
            further=tuple(each.named(self.path) for each in self.further),
        )

    def located(self, find: Callable[[Source], Source]) -> ModelReport:
        """Return a copy with new source locations.  ``find`` returns the new location for an old one."""

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


class Report(Struct, frozen=True):
    """Result of one run: a report for each model and target.

    The reports have the order of the arguments.
    """

    models: tuple[ModelReport, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes about the run.

    They are about expired or unused suppressions in the configuration, and about models that only the
    baseline lists.
    """
