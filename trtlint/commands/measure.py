"""``trtlint measure``: measure on the CPU how FP16 affects the results of a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import Struct
from msgspec.structs import replace

from trtlint.case import Case
from trtlint.commands.reportoptions import require_outputs
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.rulebook import Rulebook, load_builtin, looking_at
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import replace_text, require_output
from trtlint.measurement.fusion import FusedLayers, fused_layers
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.measurement.measure import (
    FailedMeasurementError,
    MeasurementRequest,
    MissingRuntimeError,
    limits_for,
    measure,
)
from trtlint.measurement.measurement import Measurement, to_data
from trtlint.model.load import Model, load
from trtlint.model.origin import origin
from trtlint.model.sources import Sources
from trtlint.model.writer import files_of
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of
from trtlint.process.collection import collect_seldom
from trtlint.remote.addresses import require_local
from trtlint.report.escape import clean
from trtlint.report.measureadvice import MeasurementAdvice, advice, applies_to
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity
from trtlint.target.target import Target, first_sm

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

_STEPS = {
    "layers": (0.02, "reading the layers of the build"),
    "ranges": (0.05, "measuring ranges in FP32"),
    "rehearsal": (0.15, "simulating: the result of every operator is rounded"),
    "fused": (0.25, "simulating: only products and model outputs are rounded"),
    "accumulated": (0.35, "simulating: products accumulate in FP16"),
    "build": (0.45, "simulating the layers of the build"),
    "search": (0.5, "searching for nodes to keep in FP32"),
    "fp16": (0.9, "simulating FP16"),
    "bf16": (0.92, "simulating BF16"),
    "tf32": (0.94, "simulating TF32"),
    "closer": (0.96, "checking the values outside the range of the type"),
}
_SEARCH_ENDS = 0.9


class MeasureOptions(Struct, frozen=True):
    """Options of ``trtlint measure``."""

    model: str
    inputs: tuple[str, ...]
    load_inputs: tuple[str, ...]
    data_loader_script: str | None
    type: str
    rehearse: bool
    batches: int | None
    bound: float
    target: TargetOptions
    output: str | None
    seconds: float | None
    memory: int | None
    thorough: bool
    layers: str | None
    dry_build: str | None
    outputs: tuple[ReportOutput, ...]


def run_measure(options: MeasureOptions) -> int:
    """Measure a model, write the report and return the exit code."""
    require_local([options.model])
    wanted = targets_of(options.target)
    request = MeasurementRequest(
        model=options.model,
        name=options.model,
        inputs=Inputs(options.inputs, options.load_inputs, options.data_loader_script),
        type=options.type,
        rehearse=options.rehearse,
        batches=options.batches,
        bound=options.bound,
        thorough=options.thorough,
    )
    path = Path(options.model)
    read = [path, *map(Path, request.inputs.paths)]
    results = [] if options.output is None else [Path(options.output)]
    for file in results:
        require_output(file, read, "the measurement to")
    require_outputs(options.outputs, read, results)
    collect_seldom()
    try:
        request.inputs.require()
        with _progress() as shown:
            model = load(path)
            data = files_of(path)
            for file in results:
                require_output(file, data, "the measurement to")
            require_outputs(options.outputs, data, results)
            limits = limits_for(model, options.seconds, options.memory)
            if options.layers is not None or options.dry_build is not None:
                shown({"doing": "layers"})
            request = replace(request, layers=layers_of(options, model, wanted))
            found = measure(request, limits, progress=shown)
    except MissingRuntimeError as error:
        raise SettingError(str(error)) from error
    except InputsError as error:
        generated = not request.inputs.names
        raise SettingError(f"{options.model}: {error}" if generated else str(error)) from error
    except FailedMeasurementError as error:
        return _unreadable(Problem(options.model, str(error)))
    except (UnreadableError, OSError) as error:
        return _unreadable(Problem.of(options.model, error))
    text = json.dumps(to_data(found), indent=1) + "\n"
    for file in results:
        replace_text(file, text, read)
    advised = advice(found, wanted, _layers(model), options.output, options.target.arguments)

    def render(format: str, file: TextIO) -> None:
        if format == "json":
            file.write(text)
        elif format == "text":
            _write_text(file, found, model, wanted, advised, options)
        else:
            from trtlint.report.document import render as render_document
            from trtlint.report.measurepages import page

            file.write(render_document(page(found, model, advised), format))

    try:
        write_all(options.outputs, render, read)
    except LimitError as error:
        return _unreadable(Problem.of(options.model, error))
    return Exit.FINDINGS if _broken(found) else Exit.CLEAN


@contextmanager
def _progress() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Show a progress bar if standard error is a terminal. Yield the function that updates the bar."""
    with Activity("reading the model") as activity:

        def show(answer: Mapping[str, Any]) -> None:
            share, words = _STEPS.get(answer["doing"], (None, answer["doing"]))
            run, most = answer.get("run"), answer.get("most")
            if share is not None and run and most:
                share += (_SEARCH_ENDS - share) * min(1.0, run / most)
                words = f"{words}, run {run} of at most {most}"
            activity.step(words, share)

        yield show


def _write_text(
    file: TextIO,
    found: Measurement,
    model: Model,
    wanted: Sequence[Target],
    advised: Sequence[MeasurementAdvice],
    options: MeasureOptions,
) -> None:
    """Write the report as text.

    Raises:
        LimitError: linting the model for the report exceeds a limit.
    """
    from trtlint.report.measure import MeasureReport
    from trtlint.report.measureband import worst_sites
    from trtlint.report.text import TextReport

    path = Path(options.model)
    with limit_work(path):
        lines = _sources(model, {site.node for site in worst_sites(found)})
        findings = _findings(path, wanted, found)
    report = MeasureReport(file)
    report.figures(found, lines)
    TextReport(file, quiet=True).add(findings)
    report.advice(found, advised, options.output)


def _findings(path: Path, wanted: Sequence[Target], found: Measurement) -> list[ModelReport]:
    """Return the findings about a measurement, and the findings that the measurement confirms or refutes."""
    book = load_builtin()
    # The measurement simulates a build in the low-precision type, so the targets get that type.
    narrow = [target if found.typed else target.completed({found.type: True}) for target in wanted]
    case = Case(path, tuple(narrow), RuleSet(book.entries), evidence=(RangeEvidence(found),))
    sources = Sources()
    return [_measured(each, book, found).located(sources.find) for each in case.evaluated()]


def _measured(report: ModelReport, book: Rulebook, found: Measurement) -> ModelReport:
    """Keep only findings about the measurement, and findings that the measurement confirms or refutes.

    The report advises the user to keep some nodes in FP32.  A finding that contains such a node is shown
    without its own fixes.
    """
    own = {entry.id for entry in looking_at(("trial",), book.entries)}
    about = (each for each in report.findings if each.rule in own or each.standing != "open")
    findings = (replace(each, fixes=()) if applies_to(found, _nodes(each)) else each for each in about)
    return replace(report, findings=tuple(findings), conditional=(), errors=(), notes=())


def _nodes(finding: Finding) -> set[str]:
    return {row.node for site in finding.sites for row in site.rows}


def _broken(found: Measurement) -> bool:
    """Return whether the measured type makes an output wrong, or whether no output can be compared.

    If the type was not simulated, return whether a tensor exceeds the range of the type.
    """
    return not found.good if found.rehearsed else any(site.origin for site in found.sites)


def _layers(model: Model) -> dict[str, str]:
    """Return the names of TensorRT layers for unnamed nodes, as NVIDIA's parser generates them.

    https://github.com/onnx/onnx-tensorrt/blob/main/importerUtils.cpp (``getNodeName``)
    """
    nameless = (node for node in model.graph.nodes if not node.proto.name)
    return {node.path: f"node_of_{node.output.name}" for node in nameless}


def _unreadable(problem: Problem) -> int:
    print(clean(f"error: {problem}"), file=sys.stderr)
    return Exit.UNREADABLE


def _sources(model: Model, nodes: set[str]) -> dict[str, str]:
    """Return the lines of Python code that nodes come from, if the exporter recorded the lines."""
    sources = Sources()
    found = {}
    for node in model.graph.nodes:
        if node.path in nodes:
            source = origin(model, node).source
            if source is not None:
                found[node.path] = str(sources.find(source))
    return found


def layers_of(options: MeasureOptions, model: Model, targets: Sequence[Target]) -> FusedLayers | None:
    """Return the engine layers that ``trtlint measure`` simulates, or None if no option requests layers.

    Raises:
        SettingError: the file cannot be read or belongs to another model, or the dry build fails.
    """
    if options.layers is not None and options.dry_build is not None:
        raise SettingError("--layers cannot be used with --dry-build; keep --layers, which is more exact")
    if options.layers is not None:
        from trtlint.buildfiles.gather import of_model

        gathered = of_model(Path(options.model), [(options.layers, "layers")])
        if gathered.problems or gathered.record is None:
            raise SettingError("; ".join(map(str, gathered.problems)) or f"{options.layers}: no layers")
        return _joined(model, gathered.record, options.layers)
    if options.dry_build is None:
        return None
    from trtlint.dry_build.drybuild import dry_build
    from trtlint.dry_build.errors import DryBuildError, WheelError

    try:
        built = dry_build(Path(options.model), version=options.dry_build or None, sm=first_sm(targets))
    except (WheelError, DryBuildError) as error:
        raise SettingError(f"--dry-build: {error}") from None
    if built.record is None or not built.result.built:
        raise SettingError(f"--dry-build: {built.result.label}: the model was not built")
    return _joined(model, built.record, built.result.label)


def _joined(model: Model, record: BuildRecord, source: str) -> FusedLayers:
    found = fused_layers(model, record, source)
    if found is None:
        raise SettingError(
            f"{source}: no layer belongs to a node of {model.path}; pass the layer information of "
            "this model's build"
        )
    return found
