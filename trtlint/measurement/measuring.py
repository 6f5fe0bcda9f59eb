"""Measure a model, in the measuring process.

1. A run in FP32 gives the ranges.
2. One run for each rounding scheme simulates the low-precision type.
3. If an error is too large, further runs search for nodes to keep in FP32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from trtlint.files.problem import first_few, shorten
from trtlint.measurement.analysis import findings, origins, overflowing_inputs, sites
from trtlint.measurement.band import TypeBand, operands, together
from trtlint.measurement.choosing import notes as notes_of_choices
from trtlint.measurement.chosen import most_changed
from trtlint.measurement.feeds import Feeds, digest, given_feeds, random_feeds
from trtlint.measurement.formats import BF16, FORMATS, FP16, TF32, Format
from trtlint.measurement.identity import digest as model_digest
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.measure import ALL, MeasurementRequest
from trtlint.measurement.measurement import MeasuredOutput, Measurement, to_data
from trtlint.measurement.narrowing import SecondLook
from trtlint.measurement.rehearsing import Rehearsal, rehearse
from trtlint.measurement.search import KeepSearch
from trtlint.measurement.trial import Trial
from trtlint.measurement.trialmodel import (
    NARROW,
    ModelNotLoadedError,
    TrialError,
    TrialModel,
    load_trial_model,
)
from trtlint.model.errors import ModelError
from trtlint.model.graph import WITH_BODIES, Node
from trtlint.model.operators import RANDOM
from trtlint.model.protos import FLOAT_DTYPES, text

_SUSPECTS = 64
"""Largest number of tensors for which further statistics are measured."""
_NO_TENSORS = {"sequence_type": "a sequence", "optional_type": "an optional", "map_type": "a map"}
_BODIES = WITH_BODIES | {"SequenceMap"}

Say = Callable[[Any], None]


def work(request: Mapping[str, Any], say: Say) -> None:
    """Measure a model, and send messages with ``say``. The last message is the result or an error."""
    asked = convert(request, MeasurementRequest)
    send_result(lambda: to_data(measured(asked, say)), say)


def send_result(compute: Callable[[], object], say: Say) -> None:
    """Send the result of ``compute``, or an error about the model or its inputs, to the parent process.

    Args:
        compute: function that returns the result as JSON data.
        say: function that sends a message.
    """
    try:
        say({"result": compute()})
    except InputsError as error:
        say({"error": "inputs", "text": shorten(str(error))})
    except (ModelError, TrialError) as error:
        say({"error": "model", "text": shorten(str(error))})


def measured(request: MeasurementRequest, say: Say) -> Measurement:
    """Measure a model in this process.

    Raises:
        ModelError, TrialError: the model cannot be read or run.
        InputsError: the inputs cannot be used.
    """
    model = load_trial_model(Path(request.model))
    format_ = _format(model, request.type)
    say({"doing": "ranges"})
    notes: dict[str, None] = {}
    trial, files = _trial(model, request, notes)
    nodes = model.scopes.get("", ())
    if not model.compared.sentence:  # without a float output, the ranges are still a useful result
        _require_finite(trial, made_up=not files)
    found = findings(trial.ranged, format_)
    rehearsal = kept = None
    if request.rehearse:
        rehearsal = rehearse(trial, format_, found.constants, request.layers, lambda way: say({"doing": way}))
    unsound = None if rehearsal is None else rehearsal.plain.unsound
    inputs = overflowing_inputs(model.graph.inputs, found)
    begun = origins(nodes, found, trial.ranged, unsound, model.folding, inputs)
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
    listed = sites(trial.ranged, begun, unsound or frozenset(), format_, inputs)
    others = _others(trial, format_, found.constants, say) if request.type == ALL and rehearsal else {}
    runs = {} if rehearsal is None else {format_: rehearsal, **others}
    changed = {each.label: most_changed(run.choices()) for each, run in runs.items()}
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
        limits=(
            *_limits(model, nodes, trial, files, format_, request.type),
            *notes,
            *(notes_of_choices(model.choices, changed) if rehearsal else ()),
        ),
        build=None if rehearsal is None else rehearsal.build,
        types=tuple(TypeBand(each.name, together(run.bands().values())) for each, run in others.items()),
        compared=model.compared.sentence,
        choices=() if rehearsal is None else rehearsal.choices(),
    )


def _format(model: TrialModel, wanted: str) -> Format:
    """Return the low-precision type to simulate.

    For a model without 16-bit tensors, the result is ``wanted``, the value of the option ``--type``. For a
    model with 16-bit tensors, the result is the type of these tensors, or TF32 if ``wanted`` is TF32.
    """
    if wanted == TF32.name or not model.typed:
        return FP16 if wanted == ALL else FORMATS[wanted]
    types = {value.dtype for same in model.graph.values.values() for value in same}
    return FP16 if "f16" in types else BF16


def _others(
    trial: Trial, format_: Format, constants: frozenset[str], say: Callable[[Any], None]
) -> dict[Format, Rehearsal]:
    """Simulate the model in the low-precision types other than ``format_``.

    For a model with 16-bit tensors, the only remaining type is TF32.

    Args:
        trial: the model and its inputs.
        format_: the low-precision type that was already measured.
        constants: names of constants beyond the range of ``format_``.
        say: function that sends messages about progress.
    """
    others = [each for each in FORMATS.values() if each is not format_]
    if trial.model.typed:
        others = [each for each in others if each.operands_only and _multiplies_in_fp32(trial.model)]
    found: dict[Format, Rehearsal] = {}
    for other in others:
        say({"doing": other.name})
        beyond = constants if other is FP16 else findings(trial.ranged, other).constants
        found[other] = rehearse(trial, other, beyond, None, lambda _: None)
    return found


def _multiplies_in_fp32(model: TrialModel) -> bool:
    """Return True if a matrix product or convolution reads FP32. TF32 then affects the model."""
    return any(
        value is not None and value.dtype == "f32"
        for node in model.graph.nodes
        for port, value in enumerate(node.inputs)
        if port in operands(node.op, node.domain)
    )


def _trial(
    model: TrialModel, request: MeasurementRequest, notes: dict[str, None]
) -> tuple[Trial, tuple[str, ...]]:
    """Run a model in FP32. Return the finished run, and the names of the input files.

    The function adds sentences about the input files to ``notes``.
    """
    inputs = model.graph.inputs
    _require_tensors(model)
    if request.inputs.names:
        given = given_feeds(inputs, request.inputs, request.batches, lambda text: notes.setdefault(text))
        batches, files = [feeds for _, feeds in given], tuple(dict.fromkeys(file for file, _ in given))
        try:
            return Trial(model, batches), files
        except TrialError as error:
            return _by_reference(model, batches, error), files
    attempt, failure = 0, TrialError("no input shapes could be generated: give inputs (--inputs)")
    while (made_up := random_feeds(inputs, request.batches or 1, attempt)) is not None:
        try:
            return Trial(model, made_up), ()
        except ModelNotLoadedError as error:  # noqa: PERF203 - other inputs do not help
            return _by_reference(model, made_up, error), ()
        except TrialError as error:  # the generated shapes may not fit the model, so try other shapes
            failure, attempt = error, attempt + 1
    raise TrialError(f"{failure}; the inputs were generated: give real inputs (--inputs)")


def _require_tensors(model: TrialModel) -> None:
    """Check that all inputs of a model are tensors.

    Raises:
        TrialError: an input is a sequence, an optional or a map.
    """
    for info in model.proto.graph.input:
        kind = _NO_TENSORS.get(info.type.WhichOneof("value") or "")
        if kind is not None:
            name = text(info.name)
            raise TrialError(f"input {name!r} is {kind}: trtlint measures models with tensor inputs only")


def _by_reference(model: TrialModel, feeds: Sequence[Feeds], error: TrialError) -> Trial:
    """Run a model in ONNX's reference evaluator, after ONNX Runtime failed.

    Raises:
        TrialError: the evaluator cannot run the model either.  The message is the error of ONNX Runtime.
    """
    try:
        return Trial(model, feeds, by_reference=True)
    except TrialError:
        raise error from None


def _require_finite(trial: Trial, *, made_up: bool) -> None:
    """Check that at least one output is finite in FP32.

    Only finite outputs have an error in a low-precision type.

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
    remedy = "give real inputs (--inputs)" if made_up else "give realistic inputs with --inputs"
    raise TrialError(
        f"cannot be measured: every output ({_listed(names)}) contains infinity or NaN in FP32 "
        f"on these inputs{where}; {remedy}"
    )


def _outputs(trial: Trial, rehearsal: Rehearsal | None) -> list[MeasuredOutput]:
    names = trial.ranged.outputs[0] if trial.ranged.outputs else {}
    if rehearsal is None:
        return [MeasuredOutput(name, None, finite=name in trial.judged) for name in names]
    bands, unclamped = rehearsal.bands(), rehearsal.unclamped
    return [
        MeasuredOutput(
            name,
            rehearsal.plain.errors.get(name),
            None if unclamped is None else unclamped.errors.get(name),
            name in trial.judged,
            bands.get(name),
            trial.trivial.get(name, ""),
        )
        for name in names
    ]


def _limits(
    model: TrialModel, nodes: Sequence[Node], trial: Trial, files: Sequence[str], format_: Format, wanted: str
) -> list[str]:
    """Return sentences about the limits of the measurement, such as the use of generated inputs."""
    limits = [
        "the errors are simulated on a CPU, without TensorRT's kernels. The range of errors shows "
        "the effect of fusion and of accumulators; errors on a GPU can be outside this range"
    ]
    if format_.operands_only and not _multiplies_in_fp32(model):
        limits.append(
            f"no matrix product or convolution of the model reads FP32, so {format_.label} changes nothing"
        )
    if not files:
        limits.append("the inputs were generated; real inputs can give other results")
    owners = [node.path for node in nodes if node.op in _BODIES]
    if owners:
        limits.append(f"the bodies of these operators were not measured: {_listed(owners)}")
    if trial.by_reference:
        limits.append(
            "ONNX Runtime cannot run this model, so ONNX's reference evaluator ran it, which is slow"
        )
    infinite = [name for name in trial.ranged.outputs[0] if name not in trial.judged]
    if infinite:
        what = f"{model.compared.noun}s not compared"
        limits.append(f"{what}, because FP32 already gives infinity or NaN: {_listed(infinite)}")
    others = [end.name for end in model.graph.outputs if end.dtype and end.dtype not in FLOAT_DTYPES]
    left = [name for name in others if name not in model.choices.outputs]
    if left and len(others) < len(model.graph.outputs):
        limits.append(f"outputs not compared, because they have no float type: {_listed(left)}")
    joined = [path for path, affine in model.folding.affine.items() if affine.convolution is not None]
    if joined:
        limits.append(
            "these nodes were simulated as one layer with the convolution before them, as in TensorRT: "
            f"{_listed(joined)}; the tensors inside such a layer were not measured"
        )
    if wanted == ALL and model.typed:
        limits.append(f"the model already has {format_.label} types, so other 16-bit types were not measured")
    if not trial.ranged.outputs[0]:
        limits.append(
            "no output has a float type, so only the ranges of tensors were measured, not "
            "the errors of outputs"
        )
    if {value.dtype for same in model.graph.values.values() for value in same} >= NARROW:
        limits.append(f"the model has FP16 and BF16 tensors; all of them were rounded to {format_.label}")
    chance = [node.path for node in nodes if node.op in RANDOM]
    if chance:
        limits.append(
            "these operators used a fixed seed, so they drew the same random numbers in each run: "
            f"{_listed(chance)}"
        )
    unknown = sum(value.name != "" and value.dtype is None for node in nodes for value in node.outputs)
    if unknown:
        what = "1 tensor of unknown type was" if unknown == 1 else f"{unknown} tensors of unknown type were"
        limits.append(f"{what} neither measured nor rounded")
    return [*limits, *model.tensors.notes]


_LISTED = 5


def _listed(names: Sequence[str]) -> str:
    return first_few(names, _LISTED)
