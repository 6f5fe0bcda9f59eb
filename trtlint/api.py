"""The Python API: lint, check, fix, measure and upgrade."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from msgspec.structs import replace

from trtlint.arguments import read_local, read_one, read_paths
from trtlint.cases import cases, one_case
from trtlint.engine.causes import folded
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.rulebook import load_rules as load_rulebook
from trtlint.errors import ArgumentError, SettingError, TrtlintError
from trtlint.files.problem import named
from trtlint.inputfiles import input_files
from trtlint.keywords import AnyPath, Keywords, read_own
from trtlint.model.memory import NAME
from trtlint.model.sources import Sources
from trtlint.policy.baseline import Baseline
from trtlint.policy.failing import fails, unsearched
from trtlint.policy.options import FailOn
from trtlint.policy.review import Review
from trtlint.report.notebook import NotebookReport, NotebookUpgrade
from trtlint.results import Fix, Measured
from trtlint.runs.worker import renamed
from trtlint.target.target import Target

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trtlint.buildfiles.kinds import GivenAs
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.engine.rule import Rule
    from trtlint.engine.upgrade import Upgrade
    from trtlint.fixes.outcome import Prove


def lint(
    path: AnyPath | Iterable[AnyPath] | Any,
    target: Target | Sequence[Target] | None = None,
    **keywords: Unpack[Keywords],
) -> Report:
    """Lint ONNX models: ``trtlint.lint("model.onnx", trt="10.7", gpu="L4", fp16=True)``.

    Args:
        path: a file, a folder with ``*.onnx`` files, an address (``https://``, ``hf://``, ``s3://``), a list
            of these, or a model in memory (an ``onnx.ModelProto``, or the result of ``torch.onnx.export``
            with ``dynamo=True``). Weights in memory are not copied. As on the command line, a file can also
            be the log of a build, or another build file. An empty list lints a build without a model.
        target: one or several targets, instead of keywords such as ``trt``, ``gpu`` and ``fp16``.
        **keywords: target, rules and evidence, listed in :class:`~trtlint.keywords.Keywords`.

    Returns:
        A report, with one :class:`ModelReport` for each file and target. For a file that cannot be read, such
        as a missing model or log, :func:`lint` raises no error. The report then has no findings, or not all
        findings, and ``ModelReport.errors`` has the reason. Check
        ``any(model.errors for model in report.models)``, or use :func:`check`. ``ModelReport.suppressed`` has
        findings that the metadata of the model or a baseline suppresses. A notebook shows the report as a
        page. Configuration files have no effect.

    Raises:
        ArgumentError: a keyword is unknown or has a wrong value, or ``path`` is neither a path nor a model.
        SettingError: a keyword has an invalid version, rule, command or address.
        FileError: a given file, such as a measurement, cannot be used.
        ExperimentError: the requested dry build cannot run on this machine.
    """
    sources, review = Sources(), Review()
    found: list[ModelReport] = []
    baselines: dict[Baseline, None] = {}
    for each in cases(path, target, keywords):
        if each.case.policy.baseline is not None:
            baselines[each.case.policy.baseline] = None
        find = sources.finder()
        reports = (folded(renamed(report, each.name)) for report in each.case.report(review))
        found += (report.with_options(each.options).located(find) for report in reports)
    return NotebookReport(tuple(found), tuple(note for each in baselines for note in each.notes()))


def load_rules(*paths: AnyPath) -> tuple[Rule, ...]:
    """Load rules from folders or files, for the keyword ``rules`` of :func:`lint`.

    Raises:
        ArgumentError: ``paths`` are not paths.
        RuleError: a file is invalid, or two rules share an id or name; the message names file and line.
    """
    return tuple(load_rulebook(map(Path, read_paths("paths", paths))))


def read_build(paths: AnyPath | Iterable[AnyPath | tuple[AnyPath, GivenAs]]) -> BuildRecord:
    """Read the files of one build, for the keyword ``record`` of :func:`lint`.

    Args:
        paths: the files, each a path or a pair of path and kind: ``any``, ``log``, ``layers`` or ``profile``.
            ``-`` is a log on standard input.

    Raises:
        ArgumentError: ``paths`` are not paths.
        BuildFileError: a file cannot be read, its kind differs from the given kind, or two files have the
            same kind. The message starts with the file name.
    """
    from trtlint.buildfiles import record

    return record.read_build(read_one("paths", paths))


class CheckError(TrtlintError):
    """Error: a model failed :func:`check`.

    Attributes:
        report: the report of the model.
    """

    def __init__(self, report: Report) -> None:
        findings = {finding.rule: finding for model in report.models for finding in model.findings}
        errors = dict.fromkeys(str(problem) for model in report.models for problem in model.errors)
        found = [f"{finding.severity} {finding.rule} {finding.name}" for finding in findings.values()]
        missed = sorted({each.rule for model in report.models for each in model.unsearched})
        partly = [f"the search for {rule} stopped at its limit" for rule in missed]
        super().__init__("; ".join([*errors, *found, *partly]))
        self.report = report


def check(
    model: AnyPath | Any,
    target: Target | Sequence[Target] | None = None,
    *,
    fail_on: FailOn = "error",
    file: TextIO | None = None,
    **keywords: Unpack[Keywords],
) -> Report:
    """Lint a model after its export: print the findings, and raise an error for severe findings.

    Findings that depend on unspecified settings do not fail the check, but are counted.

    Args:
        model: as ``path`` in :func:`lint`.
        target: as in :func:`lint`.
        fail_on: the lowest severity that fails the check, or ``never``.
        file: the output stream; standard error by default.
        **keywords: as in :func:`lint`.

    Raises:
        CheckError: a finding fails the check, the model cannot be read, or a search was incomplete.
        ArgumentError, SettingError, FileError, ExperimentError: as in :func:`lint`.
    """
    from trtlint.report.text import render

    own = read_own({"fail_on": fail_on, "file": file}, keywords)
    fail_on = own.get("fail_on", "error")
    report = lint(model, target, **keywords)
    render(report, sys.stderr if file is None else file)
    unread = unsearched(report.models, fail_on) or any(each.errors for each in report.models)
    if unread or fails(report.models, fail_on):
        raise CheckError(report)
    return report


def fix(
    model: Any,
    target: Target | Sequence[Target] | None = None,
    *,
    out: AnyPath | None = None,
    unsafe: bool = False,
    verify: bool = False,
    **keywords: Unpack[Keywords],
) -> Fix:
    """Apply automatic fixes to a copy of a model.

    Findings that the metadata of the model suppresses are not fixed, as in ``trtlint fix``.

    Args:
        model: a path, an ``onnx.ModelProto``, or a graph of onnx-graphsurgeon; it is not changed.
        target: as in :func:`lint`.
        out: the file or folder to write to. The default is ``MODEL.fixed.onnx`` if ``model`` is a path, and
            no file if ``model`` is in memory. If ``out`` is in another folder than the model, the external
            data of the model are copied to ``OUT.data``.
        unsafe: True to apply rewrites that intentionally change results.
        verify: True to compute the rewritten nodes before and after each rewrite, and to skip a rewrite if
            the results differ. Only the command ``trtlint fix --verify`` also compares the whole models.
        **keywords: as in :func:`lint`. If ``ranges`` is given, the nodes that this
            measurement keeps in FP32 stay in FP32.

    Raises:
        ModelError: the model cannot be read, or the fixed model is invalid.
        UnusableMeasurementError: ``ranges`` is invalid, measures another model, or names no node to keep.
        OSError: a file cannot be read or written.
        ArgumentError, SettingError, FileError, ExperimentError: as in :func:`lint`.
    """
    import tempfile

    import onnx

    from trtlint.files.limits import limit_work
    from trtlint.files.replace import in_folder
    from trtlint.fixes.fixing import fix_file, write_fixed
    from trtlint.fixes.source import beside, read_source
    from trtlint.measurement.measurement import Measurement
    from trtlint.model.errors import ModelError
    from trtlint.report.measureadvice import to_keep

    own = read_own({"out": out, "unsafe": unsafe, "verify": verify}, keywords)
    prove: Prove | None = import_module("trtlint.fixes.proof").prove_all if own.get("verify") else None
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        graph: Any = None
        if isinstance(model, str | os.PathLike):
            path = shown = read_local("model", model)
            written = beside(path)
        else:
            if not isinstance(model, onnx.ModelProto):
                if not type(model).__module__.startswith("onnx_graphsurgeon."):
                    expected = "a path, an onnx.ModelProto or an onnx_graphsurgeon.Graph"
                    raise ArgumentError.of("model", model, expected)
                graph = import_module("onnx_graphsurgeon")
            path, shown = Path(folder, "model.onnx"), Path(NAME)
            written = beside(path)
            onnx.save(model if graph is None else graph.export_onnx(model), path)
        if "out" in own:
            written = in_folder(Path(own["out"]), written.name)
        case = one_case(path, target, keywords).case
        case = replace(case, policy=replace(case.policy, baseline=None))
        measured = case.data(Measurement)
        keep = () if measured is None else to_keep(measured)
        result: Any = None
        with named(shown):
            source = read_source(path)
            unsafe = own.get("unsafe", False)
            with limit_work(path, allowance=source.allowance()):
                fixed = fix_file(source, case, unsafe=unsafe, prove=prove, keep=keep)
            if fixed.fault:
                raise ModelError(f"the fixed model is not valid: {fixed.fault}")
            if fixed.changed:
                write_fixed(fixed, written, with_data=path == shown)
                result = written
        if fixed.changed and not isinstance(model, str | os.PathLike):
            result = onnx.load(written, load_external_data=False)
            result = result if graph is None else graph.import_onnx(result)
        outcome = fixed.outcome
        unread = (replace(report, errors=case.problems) for report in outcome.after.reports)
        reports = tuple(renamed(report, str(shown)) for report in unread)
        return Fix(result, tuple(outcome.applied), tuple(outcome.refused), reports)


def upgrade(
    model: AnyPath,
    first: str,
    last: str | None = None,
    *,
    product: Literal["tensorrt", "tensorrt-rtx"] = "tensorrt",
    **keywords: Unpack[Keywords],
) -> Upgrade:
    """Compare the findings of a model between TensorRT versions.

    Args:
        model: the file.
        first: the current version, such as ``"8.6"``.
        last: the new version; the newest known one by default.
        product: the product that both versions belong to.
        **keywords: as in :func:`lint`, without ``trt`` and ``rtx``.

    Raises:
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as in :func:`lint`.
    """
    from trtlint.engine.upgrade import targets, upgrade
    from trtlint.knowledge.releases import minors

    own = read_own({"last": last, "product": product}, keywords)
    first, product = read_one("first", first), own.get("product", "tensorrt")
    for name, version in {"first": first, "last": own.get("last", "")}.items():
        if ".." in version:
            raise ArgumentError.of(name, version, "one version such as '8.6'")
    if "trt" in keywords or "rtx" in keywords:
        raise SettingError("trtlint.upgrade has no arguments trt and rtx; pass first= and last=")
    given = one_case(model, None, keywords)
    case = given.case
    base = replace(case.built_for[0], product=product, version=None, previous=None)
    end = own.get("last", minors(product)[-1])
    way = targets(base, first, end)
    if len(way) < 2:
        raise SettingError(f"{first} and {end} are the same release line; pass two different release lines")
    with named(case.path):
        opened = case.open()
        found = tuple(map(folded, case.reviewed(map(opened.evaluate, way), Review())))
        report = upgrade(opened.facts(), way, found, [entry.read() for entry in case.applicable])
        return NotebookUpgrade.of(report.with_options(given.options))


def measure(
    model: AnyPath,
    target: Target | Sequence[Target] | None = None,
    *,
    inputs: AnyPath | Mapping[str, Any] | Iterable[AnyPath | Mapping[str, Any]] | None = None,
    load_inputs: AnyPath | Iterable[AnyPath] = (),
    data_loader_script: str | None = None,
    type: Literal["fp16", "bf16", "tf32", "all"] = "fp16",
    rehearse: bool = True,
    batches: int | None = None,
    bound: float = 1e-2,
    thorough: bool = False,
    seconds: float | None = None,
    memory: int | None = None,
    **keywords: Unpack[Keywords],
) -> Measured:
    """Measure the effect of FP16 on a model, on the CPU.

    Args:
        model: the file.
        target: as in :func:`lint`. The measured type is added to the precisions of the target.
        inputs: one or several batches, each an ``.npz`` file or a dictionary with an array for each input. A
            generator or a data loader is also possible. By default, the inputs are generated.
        load_inputs: inputs that Polygraphy saved.
        data_loader_script: ``FILE.py:FUNCTION``. trtlint runs the function to get inputs, as Polygraphy does.
        type: the type to measure; ``all`` compares the types. If the model already has 16-bit tensors,
            ``fp16`` and ``bf16`` both mean the type of these tensors.
        rehearse: True to simulate the type and compute the errors of the outputs.
        batches: the largest number of batches; 1024 by default, or 1 for generated inputs.
        bound: the largest accepted error of an output, relative to the largest magnitude of this output.
        thorough: True to search longer for a smaller set of nodes to keep in FP32.
        seconds: the time limit; by default it depends on the size of the model.
        memory: the memory limit in bytes; by default it depends on the size of the model.
        **keywords: as in :func:`lint`, for the report.

    Raises:
        ExperimentError: ONNX Runtime is not installed, or the model cannot be measured.
        InputsError: the inputs cannot be used.
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as in :func:`lint`.
    """
    from trtlint.engine.evidence.ranges import RangeEvidence
    from trtlint.measurement.inputs import Inputs
    from trtlint.measurement.measure import MeasurementRequest, limits_for, measure
    from trtlint.model.load import load

    own = read_own(
        {
            "inputs": inputs,
            "load_inputs": load_inputs,
            "data_loader_script": data_loader_script,
            "type": type,
            "rehearse": rehearse,
            "batches": batches,
            "bound": bound,
            "thorough": thorough,
            "seconds": seconds,
            "memory": memory,
        },
        keywords,
    )
    path = read_local("model", model)
    case = one_case(path, target, {**keywords, "ranges": None}).case
    with input_files(own.get("inputs", ()), own.get("batches")) as files, named(path):
        given = Inputs(files.names, own.get("load_inputs", ()), own.get("data_loader_script"))
        given.require()
        request = MeasurementRequest(
            model=str(path),
            name=str(path),
            inputs=given,
            type=own.get("type", "fp16"),
            rehearse=own.get("rehearse", True),
            batches=own.get("batches"),
            bound=own.get("bound", 1e-2),
            thorough=own.get("thorough", False),
        )
        found = measure(request, limits_for(load(path), own.get("seconds"), own.get("memory")))
        found = replace(found, files=tuple(map(files.shown, found.files)))
    narrow = (each if found.typed else each.completed({found.type: True}) for each in case.targets)
    reports = replace(case, targets=tuple(narrow), evidence=(*case.evidence, RangeEvidence(found))).report()
    find = Sources().finder()
    return Measured(found, NotebookReport(tuple(report.located(find) for report in reports)))
