"""Worker process with two tasks: choose operators to keep in FP32, and measure errors of converted models."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import convert, to_builtins
from msgspec.structs import replace

from trtlint.conversion.batches import trial_of, validation_of
from trtlint.conversion.changes import changed_shares
from trtlint.conversion.fixed import uses_floats
from trtlint.conversion.measuring import KeepSearchResult, RehearsalAnswer, RehearsalRequest, SearchRequest
from trtlint.conversion.result import Magnitude
from trtlint.conversion.search import Candidates, Paths, Search, connected, grouped
from trtlint.files.problem import first_few
from trtlint.measurement.analysis import Findings, findings, regions
from trtlint.measurement.band import worst
from trtlint.measurement.choosing import ChoiceCounter
from trtlint.measurement.feeds import Feeds
from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.keeping import Budget, merged
from trtlint.measurement.measuring import Say, send_result
from trtlint.measurement.narrowing import Narrowing, RewrittenModel
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import Array, RehearsalSession
from trtlint.measurement.trial import Trial, ratio
from trtlint.measurement.trialmodel import TrialError, load_trial_model
from trtlint.measurement.trivial import sentence
from trtlint.model.graph import Node
from trtlint.model.operators import PRODUCTS

MOST_RUNS = 400
MOST_SECONDS = 90.0
_AIM = {"fp16": 0.75, "bf16": 0.9}
"""The search aims at this share of the tolerance, because new inputs may give larger errors."""
_VALID = 0.9
"""If an error on validation inputs is above this share of the tolerance, more operators stay in FP32."""
_SAMPLED = 3
"""Maximum number of batches for the comparison of single products.

The batches that most recently exceeded the limit come first.
"""
_SAMPLE_SECONDS = 0.5
"""Time limit, in seconds, for all batches of one product when products are compared. At least one batch runs.
"""
_MOST_EXTENSIONS = 12
"""Maximum number of times that a validation batch makes the search keep more operators in FP32."""
_LISTED = 40
"""Largest number of operators whose ranges are reported."""
_NEAR = 2.0**13
"""A tensor with at least this magnitude is reported as close to the limit of FP16."""
_MOST_NEAR = 10_000
_NAMED = 5
"""Largest number of tensors that a sentence names."""
_LEAST_MAGNITUDE = 1e-4
"""Smallest divisor of an error in one batch, as a share of the output's largest magnitude in all batches.

Noisy copies of batches do not count.
"""
_MARGIN = 2.0
"""Safety factor for the limit of the 16-bit type.

The limit is divided by this factor. Numbers above the reduced limit count as beyond the range.
"""


def work(request: Mapping[str, Any], say: Say) -> None:
    """Process a request, and send messages with ``say``. The last message is the result or the error."""
    asked: SearchRequest | RehearsalRequest = convert(request, SearchRequest | RehearsalRequest)
    send_result(lambda: to_builtins(_answer(asked, say)), say)


def _answer(request: SearchRequest | RehearsalRequest, say: Say) -> KeepSearchResult | RehearsalAnswer:
    return _searched(request, say) if isinstance(request, SearchRequest) else _measure_converted(request)


def _searched(request: SearchRequest, say: Say) -> KeepSearchResult:
    model = load_trial_model(Path(request.model))
    format_ = FORMATS[request.type]
    say({"doing": "ranges"})
    trial = trial_of(model, request.inputs, request.attempt, held_back=False)
    if list(trial.ranged.outputs[0]) and not trial.judged and not model.compared.sentence:
        raise TrialError("every output contains infinity or NaN in FP32 on these inputs")
    found = findings(trial.ranged, format_)
    say({"doing": "search"})
    wide = _beyond(trial, format_, found)
    budget = Budget(MOST_RUNS, MOST_SECONDS)
    bound, valid = request.tolerance * _AIM[format_.name], request.tolerance * _VALID
    narrowing = Narrowing(format_, clamped=found.constants, round_inputs=request.io != "fp32")
    errors = ErrorMeter(trial, narrowing, bound, budget)
    candidates = _candidates(request, model.scopes.get("", ()), trial, wide)
    search = Search(candidates, errors.measure, budget, errors.sample)
    if request.kept:
        errors.limit(valid)
        choice = search.resumed(request.kept, valid)
    else:
        choice = search.chosen(bound)
    if choice.enough and choice.kept and not budget.spent:
        say({"doing": "validation"})
        errors.limit(valid)
        errors.validate(validation_of(model, request.inputs, request.attempt))
        for _ in range(_MOST_EXTENSIONS):
            if budget.spent or not errors.adopt(candidates.fixed.union(choice.kept)):
                break
            choice = search.extended(choice, valid)
    final = candidates.fixed | frozenset(choice.kept)
    failed = "no tested set of operators in FP32 keeps the errors within the tolerance"
    return KeepSearchResult(
        kept=choice.kept,
        error=errors.all(final),
        enough=choice.enough,
        notes=() if choice.enough else (failed,),
        ranges=_ranges(trial),
        greatest=_greatest(trial),
    )


def _ranges(trial: Trial) -> tuple[Magnitude, ...]:
    """Return the operators that compute the largest numbers, the largest first."""
    found: dict[tuple[str, str], float] = {}
    for probe in trial.ranged.probes:
        greatest = trial.ranged.greatest(probe)
        if greatest is not None and probe.node and probe.op != "Constant":
            key = probe.node, probe.op
            found[key] = max(found.get(key, 0.0), greatest)
    largest = sorted(found.items(), key=lambda each: -each[1])[:_LISTED]
    return tuple(Magnitude(node, op, greatest) for (node, op), greatest in largest)


def _greatest(trial: Trial) -> dict[str, float]:
    """Return the largest magnitude of each tensor that exceeds the range of FP16 or comes close to it."""
    found: dict[str, float] = {}
    for probe in trial.ranged.probes:
        greatest = trial.ranged.greatest(probe)
        if greatest is not None and greatest >= _NEAR and not probe.inside and len(found) < _MOST_NEAR:
            found[probe.tensor] = greatest
    return found


def _beyond(trial: Trial, format_: Format, found: Findings) -> Findings:
    """Add to ``found`` the tensors and operators whose numbers come close to the limit of the type."""
    beyond, inside = set(found.beyond), set(found.inside)
    for probe in trial.ranged.probes:
        greatest = trial.ranged.greatest(probe)
        if greatest is None or greatest * _MARGIN < format_.infinite_from or not probe.narrow:
            continue
        if probe.inside:
            inside.add(probe.node)
        elif probe.op not in ("Constant", "Input"):
            beyond.add(probe.tensor)
    return Findings(frozenset(beyond), found.constants, frozenset(inside))


def _candidates(request: SearchRequest, nodes: Sequence[Node], trial: Trial, wide: Findings) -> Candidates:
    folding, fixed = trial.model.folding, request.fixed
    tied = list(request.groups)
    settled = folding.constants | fixed
    counted = [
        node for node in nodes if node.op != "Constant" and node.path not in settled and uses_floats(node)
    ]
    tied += [pair for node in counted if len(pair := folding.together(node.path)) > 1]
    units = grouped((node.path for node in counted), merged(tied))
    has_product = {node.path for node in counted if node.op in PRODUCTS}
    products = [unit for unit in units if unit & has_product]
    others = [unit for unit in units if not unit & has_product]
    edges = [
        (value.producer.path, node.path)
        for node in counted
        for value in node.inputs
        if value is not None and value.producer is not None and value.dtype == "f32"
    ]
    leader = {path: unit for unit in units for path in unit}
    forced = [
        frozenset().union(*(leader.get(path, frozenset()) for path in region))
        for region in regions(nodes, wide, constants=False, folding=folding)
    ]
    ranges = [each - fixed for each in forced if each - fixed]
    return Candidates(fixed, ranges, products, connected(others, edges), request.costs)


def _measure_converted(request: RehearsalRequest) -> RehearsalAnswer:
    """Measure the errors of the converted model in its 16-bit types, relative to the source in FP32."""
    model = load_trial_model(Path(request.model))
    trial = trial_of(model, request.inputs, request.attempt, held_back=True)
    converted = _rewritten(trial, Path(request.converted), FORMATS[request.type])
    counter = ChoiceCounter(model.choices)
    errors = _errors(trial, RehearsalSession(converted), counter)
    compared = model.compared
    left = [name for name in trial.ranged.outputs[0] if name not in errors] if compared.sentence else []
    infinite = f"; not compared, because FP32 gives infinity or NaN: {first_few(left, _NAMED)}"
    return RehearsalAnswer(
        errors=errors,
        worst=worst(errors.values()),
        trivial=sentence(trial.trivial, compared.noun) if trial.trivial else "",
        batches=len(trial.feeds),
        generated=not request.inputs.names,
        floats=bool(trial.ranged.outputs[0]),
        compared=compared.sentence + (infinite if errors and left else ""),
        decides=compared.decides and not left,
        changed=changed_shares(trial, converted),
        choices=counter.shares(),
    )


def _rewritten(trial: Trial, converted: Path, format_: Format) -> RewrittenModel:
    model = replace(load_trial_model(converted), compared=trial.model.compared)
    narrowing = Narrowing(format_) if model.typed else None
    return rewrite(model, narrowing, probed=False, fixed=trial.fixed)


class ErrorMeter:
    """Measures the errors of a model in 16 bits with some operators in FP32.

    The batch that most recently exceeded the limit is measured first.

    Args:
        trial: the source model, run in FP32.
        narrowing: the settings of the simulation, without operators in FP32.
        bound: limit of the error. A measurement ends at the first batch with a larger error.
        budget: limit of time and number of measurements.
    """

    def __init__(self, trial: Trial, narrowing: Narrowing, bound: float, budget: Budget) -> None:
        self._trial = trial
        self._narrowing = narrowing
        self._bound = bound
        self._budget = budget
        self._batches = list(zip(trial.fed, trial.ranged.outputs, strict=True))
        self._order = list(range(len(self._batches)))
        self._unused: list[tuple[Feeds, Mapping[str, Array]]] = []
        self._smallest_divisors = _smallest_divisors(trial)
        self._sampled: list[int] | None = None
        self._known: dict[tuple[Paths, bool], float | None] = {}

    def measure(self, paths: Paths) -> float | None:
        """Return the largest error over all batches with the operators ``paths`` in FP32.

        If a batch exceeds the limit, return its error at once.
        """
        return self._error(paths, self._order)

    def sample(self, paths: Paths) -> float | None:
        """Return the largest error over a few batches.

        The batches that most recently exceeded the limit come first.
        """
        if self._sampled is None:
            began = time.monotonic()
            self._run(self._session(paths), self._order[:1])
            count = int(_SAMPLE_SECONDS / max(time.monotonic() - began, 1e-3))
            self._sampled = self._order[: max(1, min(_SAMPLED, count))]
        return self._error(paths, self._sampled)

    def all(self, paths: Paths) -> float | None:
        """Return the largest error over all batches, without a limit."""
        return worst(_errors(self._trial, self._session(paths)).values())

    def limit(self, bound: float) -> None:
        """Set the limit of the error at which a measurement ends."""
        self._bound = bound
        self._known.clear()

    def validate(self, trial: Trial | None) -> None:
        """Store the batches of ``trial`` for :meth:`adopt`, without measuring them yet."""
        if trial is not None:
            self._unused = list(zip(trial.fed, trial.ranged.outputs, strict=True))

    def adopt(self, paths: Paths) -> bool:
        """Find a stored batch whose error exceeds the limit, and add it to the measured batches.

        Returns:
            False if there is no such batch.
        """
        session = self._session(paths)
        for index, (feeds, reference) in enumerate(self._unused):
            errors = _compared(reference, session.run(feeds)[0], self._smallest_divisors)
            error = worst(errors.values())
            if error is None or error > self._bound:
                self._order.insert(0, len(self._batches))
                self._batches.append(self._unused.pop(index))
                self._known.clear()
                return True
        return False

    def _session(self, paths: Paths) -> RehearsalSession:
        narrowing = replace(self._narrowing, keep=paths)
        fixed = self._trial.fixed
        return RehearsalSession(rewrite(self._trial.model, narrowing, probed=False, fixed=fixed))

    def _error(self, paths: Paths, batches: list[int]) -> float | None:
        key = paths, batches is self._sampled
        if key not in self._known:
            self._budget.charge()
            self._known[key] = self._run(self._session(paths), batches)
        return self._known[key]

    def _run(self, session: RehearsalSession, batches: list[int]) -> float | None:
        largest = 0.0
        for index in tuple(batches):
            feeds, reference = self._batches[index]
            errors = _compared(reference, session.run(feeds)[0], self._smallest_divisors)
            error = worst(errors.values())
            if error is None or error > self._bound:
                batches.remove(index)
                batches.insert(0, index)
                return error
            largest = max(largest, error)
        return largest


def _errors(
    trial: Trial, session: RehearsalSession, counter: ChoiceCounter | None = None
) -> dict[str, float | None]:
    """Return the largest error of each output over all batches.

    An error is the largest difference from FP32, divided by the largest magnitude. The function adds the
    choices of operators such as TopK to ``counter``.
    """
    least = _smallest_divisors(trial)
    found: dict[str, float | None] = dict.fromkeys(least, 0.0)
    ranged = trial.ranged
    for feeds, reference, chosen in zip(trial.fed, ranged.outputs, ranged.choices, strict=True):
        outputs, _ = session.run(feeds)
        if counter is not None:
            counter.add(chosen, outputs)
        for name, error in _compared(reference, outputs, least).items():
            before = found[name]
            found[name] = None if before is None or error is None else max(before, error)
    return found


def _smallest_divisors(trial: Trial) -> dict[str, float]:
    """Return the smallest divisor for the error of each output.

    This divisor prevents large errors in batches in which all elements of the output are almost zero. Noise
    can add large numbers to an output that is always small, so noisy copies do not affect the divisor.
    """
    given = trial.ranged.outputs[: len(trial.feeds) - trial.noisy]
    return {
        name: _LEAST_MAGNITUDE * max(_magnitude(outputs[name]) for outputs in given)
        for name in sorted(trial.judged)
    }


def _compared(
    reference: Mapping[str, Array], outputs: Mapping[str, Array], least: Mapping[str, float]
) -> dict[str, float | None]:
    """Return the error of each output in one batch, or None for an output that is not finite.

    Args:
        reference: the outputs in FP32.
        outputs: the outputs in 16 bits.
        least: for each output, the smallest divisor of the error.
    """
    found: dict[str, float | None] = {}
    for name, smallest in least.items():
        right, got = reference[name], outputs.get(name)
        if got is None or right.shape != got.shape or not np.isfinite(got).all():
            found[name] = None
        elif right.size:
            difference = float(np.abs(right.astype(np.float64) - got).max())
            found[name] = ratio(difference, max(_magnitude(right), smallest))
        else:
            found[name] = 0.0
    return found


def _magnitude(array: Array) -> float:
    return float(np.abs(array).max()) if array.size else 0.0
