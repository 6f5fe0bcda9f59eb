"""Measure a model: what is done in the process of its own.

The order is that of cost: one run in FP32 for the ranges, one in the narrow type for the error, and more
only where the error is too large, to find what to keep in FP32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trtlint.files.problem import shorten
from trtlint.measurement.analysis import findings, origins, sites
from trtlint.measurement.band import TypeBand, together
from trtlint.measurement.feeds import Feeds, digest, given_feeds, random_feeds
from trtlint.measurement.formats import BF16, FORMATS, FP16, TF32, Format
from trtlint.measurement.identity import digest as model_digest
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.measure import ALL, Request
from trtlint.measurement.measurement import Measurement, Output, to_data
from trtlint.measurement.narrowing import SecondLook
from trtlint.measurement.rehearsing import Rehearsal, rehearse
from trtlint.measurement.search import KeepSearch
from trtlint.measurement.skeleton import RefusedError, Skeleton, TrialError, skeleton
from trtlint.measurement.trial import Trial
from trtlint.measurement.ways import operands
from trtlint.model.errors import ModelError
from trtlint.model.graph import WITH_BODIES, Node
from trtlint.model.operators import RANDOM

_SUSPECTS = 64
"""Tensors that are looked at a second time."""
_BODIES = WITH_BODIES | {"SequenceMap"}

Say = Callable[[Any], None]


def work(request: Mapping[str, Any], say: Say) -> None:
    """Measure a model in a process of its own; the last answer is the measurement, or what went wrong."""
    asked = Request.parse(request)
    try:
        say({"measurement": to_data(measured(asked, say))})
    except InputsError as error:
        say({"error": "inputs", "text": shorten(str(error))})
    except (ModelError, TrialError) as error:
        say({"error": "model", "text": shorten(str(error))})


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
    rehearsal = kept = None
    if request.rehearse:
        rehearsal = rehearse(trial, format_, found.constants, request.layers, lambda way: say({"doing": way}))
    unsound = None if rehearsal is None else rehearsal.plain.unsound
    begun = origins(nodes, found, trial.ranged, unsound, model.folding)
    if rehearsal is not None and not format_.operands_only and not rehearsal.is_good(request.bound):
        search = KeepSearch(
            trial,
            nodes,
            found,
            rehearsal,
            request.bound,
            thorough=request.thorough,
            progress=lambda run, most: say({"doing": "search", "run": run, "most": most}),
        )
        kept = search.found()
    listed = sites(trial.ranged, begun, unsound or frozenset(), format_)
    types = _types(trial, format_, found.constants, say) if request.type == ALL and rehearsal else ()
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
        rehearsed=rehearsal is not None,
        bound=request.bound,
        sites=tuple(listed),
        outputs=tuple(_outputs(trial, rehearsal)),
        first=tuple(node.path for node in begun),
        kept=kept,
        limits=tuple(_limits(model, nodes, trial, files, format_)),
        build=None if rehearsal is None else rehearsal.build,
        types=types,
    )


def _format(model: Skeleton, wanted: str) -> Format:
    """The narrow type: the file's own where it has one, unless TF32 is wanted."""
    if wanted == TF32.name or not model.typed:
        return FP16 if wanted == ALL else FORMATS[wanted]
    types = {value.dtype for same in model.graph.values.values() for value in same}
    return FP16 if "f16" in types else BF16


def _types(
    trial: Trial, format_: Format, constants: frozenset[str], say: Callable[[Any], None]
) -> tuple[TypeBand, ...]:
    """The errors of the types other than the measured one.

    Those of 16 bits are left out where the file itself keeps tensors in 16 bits.
    """
    others = [each for each in FORMATS.values() if each is not format_]
    if trial.skeleton.typed:
        others = [each for each in others if each.operands_only and _multiplies_in_fp32(trial.skeleton)]
    found = []
    for other in others:
        say({"doing": other.name})
        beyond = constants if other is FP16 else findings(trial.ranged, other).constants
        bands = rehearse(trial, other, beyond, None, lambda _: None).bands()
        found.append(TypeBand(other.name, together(bands.values())))
    return tuple(found)


def _multiplies_in_fp32(model: Skeleton) -> bool:
    """Whether a product reads FP32, which TF32 rounds."""
    return any(
        value is not None and value.dtype == "f32"
        for node in model.graph.nodes
        for port, value in enumerate(node.inputs)
        if port in operands(node.op, node.domain)
    )


def _trial(model: Skeleton, request: Request) -> tuple[Trial, tuple[str, ...]]:
    """The model with its inputs, run in FP32, and the files that the inputs are from."""
    inputs = model.graph.inputs
    if request.inputs.names:
        given = given_feeds(inputs, request.inputs, request.batches)
        batches, files = [feeds for _, feeds in given], tuple(dict.fromkeys(file for file, _ in given))
        try:
            return Trial(model, batches), files
        except TrialError as error:
            return _by_reference(model, batches, error), files
    attempt, failure = 0, TrialError("no shapes could be made up: give inputs")
    while (made_up := random_feeds(inputs, request.batches or 1, attempt)) is not None:
        try:
            return Trial(model, made_up), ()
        except RefusedError as error:  # noqa: PERF203 - whatever the inputs are
            return _by_reference(model, made_up, error), ()
        except TrialError as error:  # a choice of shapes that does not fit the model
            failure, attempt = error, attempt + 1
    raise TrialError(f"{failure}; the inputs were made up: give real ones (--inputs)")


def _by_reference(model: Skeleton, feeds: Sequence[Feeds], error: TrialError) -> Trial:
    """The model run by ONNX's reference evaluator, where ONNX Runtime cannot run it.

    Raises:
        TrialError: the error of ONNX Runtime, where the reference cannot run it either.
    """
    try:
        return Trial(model, feeds, by_reference=True)
    except TrialError:
        raise error from None


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


def _outputs(trial: Trial, rehearsal: Rehearsal | None) -> list[Output]:
    names = trial.ranged.outputs[0] if trial.ranged.outputs else {}
    if rehearsal is None:
        return [Output(name, None, finite=name in trial.judged) for name in names]
    bands, unclamped = rehearsal.bands(), rehearsal.unclamped
    return [
        Output(
            name,
            rehearsal.plain.errors.get(name),
            None if unclamped is None else unclamped.errors.get(name),
            name in trial.judged,
            bands.get(name),
        )
        for name in names
    ]


def _limits(
    model: Skeleton, nodes: Sequence[Node], trial: Trial, files: Sequence[str], format_: Format
) -> list[str]:
    """List what the measurement does not cover."""
    limits = [
        "rehearsed in the arithmetic of the type on a CPU, not with TensorRT's kernels: the band shows what"
        " fusion and accumulators change, and is no bound"
    ]
    if format_.operands_only and not _multiplies_in_fp32(model):
        limits.append(f"no product of the model reads FP32, so {format_.label} rounds nothing")
    if not files:
        limits.append("the inputs were made up: what real ones do is not known")
    owners = [node.path for node in nodes if node.op in _BODIES]
    if owners:
        limits.append(f"nothing was measured inside of the bodies of {_listed(owners)}")
    if trial.by_reference:
        limits.append(
            "ONNX Runtime cannot run this model, so ONNX's reference evaluator ran it, which is slow"
        )
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
