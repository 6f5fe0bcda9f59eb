"""``trtlint measure``: the effect of FP16 on a model, measured on the CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from trtlint.case import Case
from trtlint.commands.measurelayers import layers_of
from trtlint.commands.measureprogress import progress
from trtlint.commands.setup import refuse_addresses, rulebook, targets
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import Rulebook, looking_at
from trtlint.engine.ruleset import RuleSet
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import replace_text, require_replaceable
from trtlint.lean import dataclass
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.measure import MeasureError, MissingRuntimeError, Request, limits_for, measure
from trtlint.measurement.measurement import Measurement, to_data
from trtlint.model.load import Model, load
from trtlint.model.origin import origin
from trtlint.model.sources import Sources
from trtlint.policy.options import TargetOptions
from trtlint.report.escape import clean
from trtlint.report.measureadvice import advice
from trtlint.runs.exits import Exit
from trtlint.target.target import Target


@dataclass(frozen=True, slots=True)
class MeasureOptions:
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
    output: str | None = None
    seconds: float | None = None
    memory: int | None = None
    thorough: bool = False
    layers: str | None = None
    dry_build: str | None = None
    format: str = "text"


def run_measure(options: MeasureOptions) -> int:
    """Measure a model, write the report and return the exit code."""
    refuse_addresses([options.model])
    wanted = targets(options.target)
    request = Request(
        model=options.model,
        name=options.model,
        files=options.inputs,
        lists=options.load_inputs,
        script=options.data_loader_script,
        type=options.type,
        rehearse=options.rehearse,
        batches=options.batches,
        bound=options.bound,
        thorough=options.thorough,
    )
    path = Path(options.model)
    read = [path, *map(Path, request.inputs.paths)]
    if options.output is not None:
        require_replaceable(Path(options.output), read)
    try:
        request.inputs.require()
        model = load(path)
        limits = limits_for(model, options.seconds, options.memory)
        with progress() as shown:
            if shown is not None and (options.layers is not None or options.dry_build is not None):
                shown({"doing": "layers"})
            request = replace(request, layers=layers_of(options, model, wanted))
            found = measure(request, limits, progress=shown)
    except (MissingRuntimeError, InputsError) as error:
        raise click.UsageError(str(error)) from error
    except MeasureError as error:
        return _unreadable(Problem(options.model, str(error)))
    except (UnreadableError, OSError) as error:
        return _unreadable(Problem.of(options.model, error))
    text = json.dumps(to_data(found), indent=1)
    if options.output is not None:
        replace_text(Path(options.output), text + "\n", read)
    if options.format == "json":
        print(text)
    elif options.format == "html":
        from trtlint.report.measurepage import page

        for line in page(found, model, advice(found, wanted, _layers(model), options.output)):
            print(line)
    else:
        from trtlint.report.measure import MeasureReport
        from trtlint.report.measuresites import worst_sites
        from trtlint.report.text import TextReport

        try:
            with limit_work(path):
                lines = _sources(model, {site.node for site in worst_sites(found)})
                findings = _findings(path, wanted, found)
        except LimitError as error:
            return _unreadable(Problem.of(options.model, error))
        report = MeasureReport(sys.stdout)
        report.figures(found, lines)
        TextReport(sys.stdout, quiet=True).add(findings)
        report.advice(found, advice(found, wanted, _layers(model), options.output), options.output)
    return Exit.FINDINGS if _broken(found) else Exit.CLEAN


def _findings(path: Path, wanted: Sequence[Target], found: Measurement) -> list[ModelReport]:
    """Return the findings about the measurement, and those that it confirms or refutes."""
    book = rulebook(())
    # The measurement is of a build in the narrow type, so the targets get that type.
    narrow = [target if found.typed else target.completed({found.type: True}) for target in wanted]
    case = Case(path, tuple(narrow), RuleSet(book.entries), evidence=(RangeEvidence(found),))
    sources = Sources()
    return [_measured(each, book).located(sources.find) for each in case.evaluated()]


def _measured(report: ModelReport, book: Rulebook) -> ModelReport:
    """Return the report with only the findings that the measurement is about."""
    own = {entry.id for entry in looking_at(("trial",), book.entries)}
    findings = (each for each in report.findings if each.rule in own or each.standing != "open")
    return replace(report, findings=tuple(findings), conditional=(), errors=(), notes=())


def _broken(found: Measurement) -> bool:
    """Check whether the narrow type breaks an output, or without a simulation, whether it may."""
    if not found.rehearsed or not found.outputs:
        return any(site.origin for site in found.sites)
    return not found.good


def _layers(model: Model) -> dict[str, str]:
    """Return the layer names that the parser gives to nodes without a name.

    https://github.com/onnx/onnx-tensorrt/blob/main/importerUtils.cpp (``getNodeName``)
    """
    nameless = (node for node in model.graph.nodes if not node.proto.name)
    return {node.path: f"node_of_{node.output.name}" for node in nameless}


def _unreadable(problem: Problem) -> int:
    print(clean(f"error: {problem}"), file=sys.stderr)
    return Exit.UNREADABLE


def _sources(model: Model, nodes: set[str]) -> dict[str, str]:
    """Return the lines of code of nodes, if the exporter recorded them."""
    sources = Sources()
    found = {}
    for node in model.graph.nodes:
        if node.path in nodes:
            source = origin(model, node).source
            if source is not None:
                found[node.path] = str(sources.find(source))
    return found
