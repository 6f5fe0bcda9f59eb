"""Fix one model: propose rewrites, apply them, lint again, and undo rewrites that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import onnx
from msgspec import Struct

from trtlint.engine.finding import SEVERITIES, Finding, Rewrite, Severity, Site
from trtlint.facts.base import Fact, Step
from trtlint.files.limits import current
from trtlint.fixes import keep_fp32, names, proposer
from trtlint.fixes.edit import EditError, apply
from trtlint.fixes.outcome import AppliedFix, FixOutcome, Key, Lint, LintedModel, Proof, Prove, RefusedFix
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.fixes.relint import harm_of, places_of
from trtlint.model.check import checker_error
from trtlint.model.errors import ModelError
from trtlint.model.graph import Node
from trtlint.model.load import Model

MOST_ROUNDS = 64
"""Maximum number of rounds. In one round, trtlint applies one rewrite at all places that share no nodes."""
MOST_TRIES = 64
"""Maximum number of nodes to rewrite one by one, if the rewrite at all nodes makes the model worse."""
_RESERVE = 0.15
"""Share of the time limit that is reserved for comparing and writing the model."""
_UNIFY = "unify-types"
"""Rewrite that needs no finding. Without this rewrite, the ONNX checker rejects some models."""


class _RequestedFix(Struct, frozen=True):
    """A rewrite that a finding, a measurement or the ONNX checker requests at one node."""

    rule: str
    severity: Severity
    rewrite: Rewrite
    fact: Fact
    place: str

    @property
    def key(self) -> Key:
        """The name of the rewrite, and the name of an output of the node. Other rewrites keep this name."""
        return self.rewrite.name, _value_of(self.fact.node)


class _Proposal(Struct, frozen=True):
    wanted: _RequestedFix
    patch: Patch
    proof: Proof | None


class FixSession:
    """Applies rewrites to one model until no fixable finding is left.

    Args:
        lint: function that lints an ONNX protobuf, and returns the findings.
        unsafe: whether to apply unsafe rewrites.
        prove: function that proves patches, called before the patches are applied; None to skip proofs.
        withdrawn: the rewrites to skip, by :attr:`AppliedFix.key`, each with the reason.
    """

    def __init__(
        self,
        lint: Lint,
        *,
        unsafe: bool = False,
        prove: Prove | None = None,
        withdrawn: Mapping[Key, str] | None = None,
    ) -> None:
        self._lint = lint
        self._unsafe = unsafe
        self._prove = prove
        self._withdrawn = withdrawn or {}
        self._done: set[Key] = set()

    def run(self, proto: onnx.ModelProto, keep: Sequence[str] = ()) -> FixOutcome:
        """Apply all possible rewrites to a model.

        Args:
            proto: the ONNX protobuf of the model, without its weights.
            keep: paths of operators to keep in FP32.
        """
        state = self._lint(proto)
        outcome = FixOutcome(state, state)
        if keep:
            self._keep(outcome, self._uncovered(outcome, keep))
        self._repeat(outcome, self._next)
        if outcome.applied and _mixed_types(outcome.after) and checker_error(outcome.after.proto):
            self._repeat(outcome, lambda state: self._open(_mixed_types(state)))
            self._repeat(outcome, self._next)
        self._name_unfixable(outcome)
        return outcome

    def _repeat(self, outcome: FixOutcome, due: Callable[[LintedModel], list[_RequestedFix]]) -> None:
        """Apply the rewrites that ``due`` returns for the current model, until ``due`` returns none."""
        for _ in range(MOST_ROUNDS):
            batch = due(outcome.after)
            if not batch:
                break
            self._round(outcome, batch)

    def _uncovered(self, outcome: FixOutcome, paths: Sequence[str]) -> list[str]:
        """Apply the rewrites that fix a finding and also convert nodes of ``paths`` to FP32.

        Returns:
            The paths of the nodes that none of these rewrites converts.
        """
        model = outcome.after.model
        kept = keep_fp32.kept_groups(model, paths)
        keys: set[Key] = set()
        for wanted in self._open(_requested(outcome.after)):
            if wanted.rewrite.name not in keep_fp32.COVERING:
                continue
            try:
                patch = self._propose(wanted, model)
            except NotApplicable:
                continue
            if kept.covered(patch):
                keys.add(wanted.key)

        def due(state: LintedModel) -> list[_RequestedFix]:
            open_ = [each for each in self._open(_requested(state)) if each.key in keys]
            return [each for each in open_ if each.rewrite == open_[0].rewrite]

        self._repeat(outcome, due)
        return kept.left(outcome.after.model)

    def _keep(self, outcome: FixOutcome, paths: Sequence[str]) -> None:
        """Convert operators to FP32 before any other rewrite, because a rewrite can rename operators."""
        state = outcome.after
        wanted = [path for path in paths if (keep_fp32.NAME, path) not in self._withdrawn]
        found, refused = keep_fp32.to_fp32(state.model, wanted)
        refused |= {path: why for (name, path), why in self._withdrawn.items() if name == keep_fp32.NAME}
        made: list[tuple[Patch, Proof | None]] = []
        for patch, proof in zip(found, self._proofs(state.model, found), strict=True):
            if proof is not None and proof.equal is False:
                refused |= {node.path: f"the proof failed: {proof.words}" for node in patch.remove}
            else:
                made.append((patch, proof))
        patches = tuple(patch for patch, _ in made)
        if made:
            try:
                after = self._lint(apply(state.proto, state.model.graph, patches))
                harm = harm_of(state, after, SEVERITIES.index("error"))
            except (EditError, ModelError) as error:
                harm = str(error)
            if harm:
                refused |= {node.path: harm for patch in patches for node in patch.remove}
            else:
                outcome.after = after
                outcome.rounds.append((state, patches))
                outcome.applied += [
                    AppliedFix(
                        rule="",
                        severity="error",
                        fix=keep_fp32.NAME,
                        safety="safe",
                        place=node.path,
                        title=patch.title,
                        proof=proof,
                        key=(keep_fp32.NAME, node.path),
                        patch=patch,
                    )
                    for patch, proof in made
                    for node in patch.remove
                ]
        outcome.refused += [
            RefusedFix("", "error", keep_fp32.NAME, path, why) for path, why in refused.items()
        ]

    def _proofs(self, model: Model, patches: Sequence[Patch]) -> Sequence[Proof | None]:
        """Return the proof of each patch.  If the session skips proofs, return None for each patch."""
        return [None] * len(patches) if self._prove is None else self._prove(model, patches)

    def _name_unfixable(self, outcome: FixOutcome) -> None:
        """Record why each remaining finding was not fixed, unless ``outcome`` already has a reason."""
        reported = {refused.rule for refused in outcome.refused}
        tried = {(refused.fix, refused.place): refused.reason for refused in outcome.refused}
        found: dict[RefusedFix, None] = {}
        for finding in (each for report in outcome.after.reports for each in report.findings):
            if finding.rule in reported:
                continue
            for site in finding.sites:
                name = next((fix.name for fix in finding.fixes if (fix.name, site.node) in tried), None)
                why = tried[name, site.node] if name is not None else _why_unfixable(finding, site)
                if why:
                    found[RefusedFix(finding.rule, finding.severity, name, site.node, why)] = None
        outcome.refused += found

    def _next(self, state: LintedModel) -> list[_RequestedFix]:
        """Return the next rewrites: the fix of the most severe finding, at all nodes that need this fix."""
        wanted = self._open(_requested(state))
        if not wanted:
            return []
        first = min(wanted, key=lambda each: SEVERITIES.index(each.severity))
        same = (each for each in wanted if each.rewrite.name == first.rewrite.name)
        return list({each.key: each for each in reversed(list(same))}.values())[::-1]

    def _open(self, wanted: Iterable[_RequestedFix]) -> list[_RequestedFix]:
        """Return the requested rewrites that have not been tried yet."""
        return [each for each in wanted if each.key not in self._done]

    def _round(self, outcome: FixOutcome, batch: Sequence[_RequestedFix]) -> None:
        """Apply one rewrite at all nodes together. If the model gets worse, apply the rewrite node by node.

        After a success, the session tries refused rewrites again.  Shape inference stops at ONNX Runtime's
        operators, so replacing such an operator can reveal the types and shapes that a rewrite needs.
        """
        count = len(outcome.refused)
        proposals = self._proposals(outcome, batch)
        if not proposals:
            return
        harm = self._try(outcome, proposals)
        if not harm:
            refused = {each.place for each in outcome.refused[count:]}
            del outcome.refused[count:]
            self._done -= {each.key for each in batch if each.place in refused}
        elif len(proposals) == 1:
            self._refuse(outcome, proposals[0].wanted, harm)
        else:
            for each in proposals[:MOST_TRIES]:
                self._apply_alone(outcome, each.wanted)
            for each in proposals[MOST_TRIES:]:
                why = f"tried at all places at once: {harm}; there are too many places to try each one alone"
                self._refuse(outcome, each.wanted, why)

    def _apply_alone(self, outcome: FixOutcome, wanted: _RequestedFix) -> None:
        """Apply a rewrite at one node if the finding that requested it still exists."""
        for again in (_requested if wanted.rule else _mixed_types)(outcome.after):
            if again.key == wanted.key:
                for proposal in self._proposals(outcome, [again]):
                    if harm := self._try(outcome, [proposal]):
                        self._refuse(outcome, again, harm)
                return

    def _second_rewrite_helps(self, trial: FixOutcome, staying: Sequence[_RequestedFix]) -> bool:
        """Return whether a second rewrite removes the findings that still exist in ``trial``.

        A node can need two rewrites. For example, attention heads can be too small, and their axes can also
        have an order that TensorRT does not fuse.
        """
        done = set(self._done)
        places = {(wanted.rule, wanted.key[1]) for wanted in staying}
        rest = [each for each in self._open(_requested(trial.after)) if (each.rule, each.key[1]) in places]
        first = [each for each in rest if each.rewrite.name == rest[0].rewrite.name]
        proposals = self._proposals(trial, first)
        if len(proposals) == len(places) and not self._try(trial, proposals):
            return True
        self._done = done
        return False

    def _proposals(self, outcome: FixOutcome, batch: Iterable[_RequestedFix]) -> list[_Proposal]:
        """Create patches for the requested rewrites, and prove them. No two patches share a node."""
        found: list[tuple[_RequestedFix, Patch]] = []
        touched: set[Node] = set()
        for wanted in batch:
            if wanted.fact.node in touched:
                continue  # saves the creation of a patch that the check below would skip
            try:
                patch = self._propose(wanted, outcome.after.model)
            except NotApplicable as error:
                self._done.add(wanted.key)
                self._refuse(outcome, wanted, str(error))
                continue
            if touched.intersection(patch.touched):
                continue  # the next round tries this rewrite
            self._done.add(wanted.key)
            touched.update(patch.touched)
            found.append((wanted, patch))
        good = []
        proofs = self._proofs(outcome.after.model, [patch for _, patch in found])
        for (wanted, patch), proof in zip(found, proofs, strict=True):
            if proof is not None and proof.equal is False:
                self._refuse(outcome, wanted, f"the proof failed: {proof.words}")
            else:
                good.append(_Proposal(wanted, patch, proof))
        return good

    def _propose(self, wanted: _RequestedFix, model: Model) -> Patch:
        rewrite = wanted.rewrite
        if reason := self._withdrawn.get(wanted.key):
            raise NotApplicable(reason)
        if (allowance := current()) and allowance.left_but(_RESERVE) < 0:
            raise NotApplicable(
                f"trtlint did not try this rewrite, because trtlint had almost reached {allowance.words}"
            )
        if rewrite.safety == "unsafe" and not self._unsafe:
            raise NotApplicable("this rewrite intentionally changes results; --unsafe applies such rewrites")
        if rewrite.name not in names():
            raise NotApplicable(f"there is no rewrite {rewrite.name!r}")
        return proposer(rewrite.name)(wanted.fact, model)

    def _refuse(self, outcome: FixOutcome, wanted: _RequestedFix, reason: str) -> None:
        name = wanted.rewrite.name
        outcome.refused.append(RefusedFix(wanted.rule, wanted.severity, name, wanted.place, reason))

    def _try(self, outcome: FixOutcome, proposals: Sequence[_Proposal]) -> str:
        """Apply patches if they improve the model. If not, return the reason; otherwise, an empty string."""
        state = outcome.after
        patches = tuple(each.patch for each in proposals)
        try:
            after = self._lint(apply(state.proto, state.model.graph, patches))
        except (EditError, ModelError) as error:
            return str(error)
        trial = FixOutcome(state, after, rounds=[(state, patches)])
        made = [each.wanted for each in proposals]
        if (staying := _still_reported(after, made)) and not self._second_rewrite_helps(trial, staying):
            limit = next((f": {each.patch.limit}" for each in proposals if each.patch.limit), "")
            return f"withdrawn because trtlint still reports {staying[0].rule} after the rewrite{limit}"
        mildest = max(SEVERITIES.index(each.severity) for each in made)
        if harm := harm_of(state, trial.after, mildest):
            return harm
        outcome.after = trial.after
        outcome.rounds += trial.rounds
        for each in proposals:
            wanted = each.wanted
            outcome.applied.append(
                AppliedFix(
                    rule=wanted.rule,
                    severity=wanted.severity,
                    fix=wanted.rewrite.name,
                    safety=wanted.rewrite.safety,
                    place=wanted.place,
                    title=each.patch.title,
                    proof=each.proof,
                    key=wanted.key,
                    patch=each.patch,
                )
            )
        outcome.applied += trial.applied
        return ""


def _requested(state: LintedModel) -> list[_RequestedFix]:
    """Return the rewrites of all findings. Rewrites of more severe findings come first."""
    found: dict[tuple[object, ...], _RequestedFix] = {}
    for report in state.reports:
        for finding in report.findings:
            for site in finding.sites if finding.fixes else ():
                fact = _fact(state, site)
                for rewrite in finding.fixes:
                    each = _RequestedFix(finding.rule, finding.severity, rewrite, fact, site.node)
                    nodes = tuple(step.node for step in fact.chain)
                    found.setdefault((finding.rule, rewrite.name, site.route, fact.node, nodes), each)
    return sorted(found.values(), key=lambda each: SEVERITIES.index(each.severity))


def _why_unfixable(finding: Finding, site: Site) -> str:
    """Return why trtlint tried no rewrite for a finding at one node.

    The result is an empty string for a finding with a fix, and for a note whose rule gives no reason.
    """
    if finding.fixes:
        return ""
    unknown = "" if finding.severity == "note" else "trtlint has no automatic fix for this finding"
    return site.unfixable or unknown


def _fact(state: LintedModel, site: Site) -> Fact:
    """Return the fact that caused a finding at one node. For a pattern, the fact lists the matched nodes."""
    if site.route is not None:
        return state.facts.of(site.route.kind)[site.route.position]
    nodes = state.model.graph.nodes
    chain = tuple(Step(nodes[row.index], row.role) for row in site.rows if row.index is not None)
    node = next((step.node for step in chain if step.node.path == site.node), None)
    return Fact(node=node, chain=chain)


def _mixed_types(state: LintedModel) -> list[_RequestedFix]:
    """Return a rewrite for each operator with inputs of two float types.

    The rewrites do not depend on the target. A weakly typed network of TensorRT accepts such operators. But
    the ONNX checker rejects a model with such operators, so trtlint could not write the model.
    """
    return [
        _RequestedFix("", "error", Rewrite(_UNIFY, "safe"), fact, fact.node.path)
        for fact in state.facts.of("mixed_types")
        if fact.node is not None
    ]


def _still_reported(after: LintedModel, made: Sequence[_RequestedFix]) -> list[_RequestedFix]:
    """Return the applied rewrites in ``made`` whose findings still exist."""
    nodes = {node.path: node for node in after.model.graph.nodes}
    there = {(finding.rule, _value_of(nodes.get(place))) for finding, place in places_of(after.reports)}
    return [wanted for wanted in made if (wanted.rule, wanted.key[1]) in there]


def _value_of(node: Node | None) -> str:
    """Return the name of a node's first output, which identifies the node even if the node is renamed."""
    if node is None:
        return ""
    return f"{node.scope}:{next((value.name for value in node.outputs if value.name), node.path)}"
