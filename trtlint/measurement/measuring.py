"""Measure a model: what is done in the process of its own.

The order is that of cost: one run in FP32 for the ranges, one in the narrow type for the error, and more
only where the error is too large, to find what to keep in FP32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trtlint.files.problem import shortened
from trtlint.measurement.analysis import Findings, findings, origins, regions, sites
from trtlint.measurement.feeds import digest, given_feeds, random_feeds
from trtlint.measurement.formats import BF16, FORMATS, FP16, Format
from trtlint.measurement.identity import digest as model_digest
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.keeping import Budget, least
from trtlint.measurement.measure import Request
from trtlint.measurement.measurement import Kept, Measurement, Output, to_data
from trtlint.measurement.narrowing import Narrowing, SecondLook
from trtlint.measurement.skeleton import RefusedError, Skeleton, TrialError, skeleton
from trtlint.measurement.trial import Rehearsed, Trial
from trtlint.model.errors import ModelError
from trtlint.model.graph import WITH_BODIES, Node
from trtlint.model.operators import PRODUCTS, RANDOM

MOST_RUNS = 64
MOST_SECONDS = 60.0
"""What the search for nodes to keep may take."""
_SUSPECTS = 64
"""Tensors that are looked at a second time."""
_MARGIN = 0.5
"""The search aims at this share of the bound: other arithmetic of the type differs by a factor of two."""
_BODIES = WITH_BODIES | {"SequenceMap"}

Say = Callable[[Any], None]


def work(request: Mapping[str, Any], say: Say) -> None:
    """Measure a model in a process of its own; the last answer is the measurement, or what went wrong."""
    asked = Request(**{**request, "files": tuple(request["files"]), "lists": tuple(request["lists"])})
    try:
        say({"measurement": to_data(measured(asked, say))})
    except InputsError as error:
        say({"error": "inputs", "text": shortened(str(error))})
    except (ModelError, TrialError) as error:
        say({"error": "model", "text": shortened(str(error))})


def measured(request: Request, say: Say) -> Measurement:
    """Measure a model in this process.

    Raises:
        ModelError, TrialError: it cannot be read or run.
        InputsError: the inputs cannot be used.
    """
    model = skeleton(Path(request.model))
    format_ = _format(model, request.type)
    say({"doing": "ranges"})
    trial, files = _trial(model, request)
    nodes = model.scopes.get("", ())
    _require_finite(trial, made_up=not files)
    found = findings(trial.ranged, format_)
    plain = unclamped = None
    if request.rehearse:
        say({"doing": "rehearsal"})
        plain = trial.rehearse(Narrowing(format_, clamped=found.constants), probed=True)
        if found.constants and not model.typed:
            unclamped = trial.rehearse(Narrowing(format_))
    unsound = None if plain is None else plain.unsound
    begun = origins(nodes, found, trial.ranged, unsound, model.folding)
    kept = None
    if plain is not None and _bad(plain, request.bound, unclamped):
        say({"doing": "search"})
        kept = _Keeping(trial, format_, request.bound, found, unclamped is not None).found(nodes)
    listed = sites(trial.ranged, begun, unsound or frozenset(), format_)
    suspects = [site.tensor for site in listed if site.fits != "ok"][:_SUSPECTS]
    if suspects:
        say({"doing": "closer"})
        looked = trial.closer(SecondLook(frozenset(suspects), format_))
        listed = [replace(site, closer=looked.get(site.tensor)) for site in listed]
    return Measurement(
        path=request.name,
        digest=model_digest(Path(request.model)),
        files=files,
        inputs=digest(trial.feeds),
        batches=len(trial.feeds),
        type=format_.name,
        typed=model.typed,
        rehearsed=plain is not None,
        bound=request.bound,
        sites=tuple(listed),
        outputs=tuple(_outputs(trial, plain, unclamped)),
        first=tuple(node.path for node in begun),
        kept=kept,
        limits=tuple(_limits(model, nodes, trial, files)),
    )


def _format(model: Skeleton, wanted: str) -> Format:
    """The narrow type: the file's own where it has one."""
    if not model.typed:
        return FORMATS[wanted]
    types = {value.dtype for same in model.graph.values.values() for value in same}
    return FP16 if "f16" in types else BF16


def _trial(model: Skeleton, request: Request) -> tuple[Trial, tuple[str, ...]]:
    """The model with its inputs, run in FP32, and the files that the inputs are from."""
    inputs = model.graph.inputs
    if request.inputs.names:
        given = given_feeds(inputs, request.inputs, request.batches)
        return Trial(model, [feeds for _, feeds in given]), tuple(dict.fromkeys(file for file, _ in given))
    attempt, failure = 0, TrialError("no shapes could be made up: give inputs")
    while (made_up := random_feeds(inputs, request.batches or 1, attempt)) is not None:
        try:
            return Trial(model, made_up), ()
        except RefusedError:  # noqa: PERF203 - whatever the inputs are
            raise
        except TrialError as error:  # a choice of shapes that does not fit the model
            failure, attempt = error, attempt + 1
    raise TrialError(f"{failure}; the inputs were made up: give real ones (--inputs)")


def _require_finite(trial: Trial, *, made_up: bool) -> None:
    """Refuse inputs on which the model gives no finite output in FP32: nothing can be compared with it.

    Raises:
        TrialError: the model has float outputs, and none of them is finite.
    """
    names = list(trial.ranged.outputs[0])
    if not names or trial.judged:
        return
    ranged = trial.ranged
    first = next((probe for probe in ranged.probes if not probe.inside and not ranged.finite(probe)), None)
    where = ""
    if first is not None:
        kind = f"of node {first.node}" if first.node else "an input" if first.op == "Input" else "a weight"
        where = f"; the first tensor that is not finite is {first.tensor}, {kind}"
    remedy = "give real inputs (--inputs)" if made_up else "give inputs that the model is made for"
    raise TrialError(
        f"cannot be measured: no output is finite in FP32 on these inputs ({_listed(names)}){where}; {remedy}"
    )


def _bad(plain: Rehearsed, bound: float, other: Rehearsed | None) -> bool:
    return any(each is not None and not _good(each, bound) for each in (plain, other))


def _good(rehearsed: Rehearsed, bound: float) -> bool:
    worst = rehearsed.worst
    return worst is not None and worst <= bound


class _Keeping:
    """The search for the least set of nodes to keep in FP32."""

    def __init__(self, trial: Trial, format_: Format, bound: float, found: Findings, unclamped: bool) -> None:
        self.trial = trial
        self.format = format_
        self.bound = bound
        self.ranges = found
        # Whichever way constants beyond the range are converted, the set is to do.
        self.clamped = (found.constants, frozenset[str]()) if unclamped else (found.constants,)
        self.budget = Budget(MOST_RUNS, MOST_SECONDS)

    def found(self, nodes: Sequence[Node]) -> Kept:
        """What to keep, verified by one more run."""
        folding = self.trial.skeleton.folding
        units = regions(nodes, self.ranges, constants=len(self.clamped) > 1, folding=folding)
        fixed: frozenset[str] = frozenset().union(*units)
        left: list[frozenset[str]] = []
        if not (units and self._enough(fixed)):
            counted = (node.path for node in nodes if self._counts(node) and node.path not in fixed)
            singles = list(dict.fromkeys(folding.together(path) for path in counted))
            if self._enough(fixed.union(*singles)):
                left = least(singles, lambda paths: self._enough(paths | fixed), self.budget)
        rest = frozenset().union(*left)
        if len(units) > 1 or left:
            units = least(units, lambda paths: self._enough(paths | rest), self.budget)
        chosen = self._with_constants(rest.union(*units), nodes)
        last = [self._run(chosen, clamped) for clamped in self.clamped]
        worst = [each.worst for each in last]
        return Kept(
            nodes=tuple(node.path for node in nodes if node.path in chosen),
            error=None if None in worst else max(error or 0.0 for error in worst),
            runs=self.budget.runs,
            verified=all(_good(each, self.bound) for each in last),
            computing=sum(map(self._counts, nodes)),
            products=sum(self._counts(node) for node in nodes if node.op in PRODUCTS),
            kept_products=sum(node.op in PRODUCTS for node in nodes if node.path in chosen),
        )

    def _with_constants(self, chosen: frozenset[str], nodes: Sequence[Node]) -> frozenset[str]:
        """The nodes, and the constants beyond the range that they read, which must stay as they are."""
        values = (
            value for node in nodes if node.path in chosen for value in node.inputs if value is not None
        )
        read = (value.producer for value in values if value.name in self.ranges.constants)
        return chosen | {node.path for node in read if node is not None}

    def _counts(self, node: Node) -> bool:
        narrow = self.trial.skeleton.narrow
        stored = node.op == "Constant" and not node.domain
        computes = not stored and node.path not in self.trial.skeleton.folding.constants
        values = (value for value in (*node.inputs, *node.outputs) if value is not None)
        return computes and any(value.dtype in narrow for value in values)

    def _enough(self, paths: frozenset[str]) -> bool:
        return all(_good(self._run(paths, clamped), self.bound * _MARGIN) for clamped in self.clamped)

    def _run(self, paths: frozenset[str], clamped: frozenset[str]) -> Rehearsed:
        self.budget.charge()
        return self.trial.rehearse(Narrowing(self.format, paths, clamped))


def _outputs(trial: Trial, plain: Rehearsed | None, unclamped: Rehearsed | None) -> list[Output]:
    names = trial.ranged.outputs[0] if trial.ranged.outputs else {}
    return [
        Output(
            name,
            None if plain is None else plain.errors.get(name),
            None if unclamped is None else unclamped.errors.get(name),
            name in trial.judged,
        )
        for name in names
    ]


def _limits(model: Skeleton, nodes: Sequence[Node], trial: Trial, files: Sequence[str]) -> list[str]:
    """What the measurement says nothing of."""
    limits = [
        "checked against half-precision arithmetic, not against TensorRT's kernels: fused kernels round"
        " less often, sums inside of operators may be done in the narrow type; no bound in either direction"
    ]
    if not files:
        limits.append("the inputs were made up: what real ones do is not known")
    owners = [node.path for node in nodes if node.op in _BODIES]
    if owners:
        limits.append(f"nothing was measured inside of the bodies of {_listed(owners)}")
    infinite = [name for name in trial.ranged.outputs[0] if name not in trial.judged]
    if infinite:
        limits.append(
            f"infinite or not a number in FP32 already, so not compared: output {_listed(infinite)}"
        )
    joined = [path for path, affine in model.folding.affine.items() if affine.convolution is not None]
    if joined:
        limits.append(
            f"computed as one layer with the convolution before, as TensorRT fuses them: {_listed(joined)};"
            " nothing was measured between the two"
        )
    if not trial.ranged.outputs[0]:
        limits.append("no output is of a float type: ranges were measured, the effect on outputs was not")
    chance = [node.path for node in nodes if node.op in RANDOM]
    if chance:
        limits.append(f"random numbers differ from run to run: {_listed(chance)}")
    unknown = sum(value.name != "" and value.dtype is None for node in nodes for value in node.outputs)
    if unknown:
        limits.append(f"{unknown} tensors of unknown type were neither measured nor rounded")
    return [*limits, *model.tensors.notes]


_LISTED = 5


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
