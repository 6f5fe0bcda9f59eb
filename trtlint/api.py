"""Linting, checking, fixing, measuring and upgrading from Python."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from trtlint.arguments import read, read_local, read_one, read_paths
from trtlint.cases import AnyPath, Keywords, cases, one_case
from trtlint.engine.causes import folded
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.rulebook import load_rules as load_rulebook
from trtlint.errors import ArgumentError, SettingError, TrtlintError
from trtlint.files.problem import Problem, UnreadableError
from trtlint.lean import dataclass
from trtlint.model.sources import Sources
from trtlint.policy.failing import fails, unsearched
from trtlint.policy.options import FailOn
from trtlint.policy.review import Review
from trtlint.report.notebook import NotebookReport
from trtlint.runs.worker import renamed
from trtlint.target.target import Target

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trtlint.buildfiles.record import BuildRecord
    from trtlint.buildfiles.witnesses import GivenAs
    from trtlint.engine.rule import Rule
    from trtlint.engine.upgrade import Upgrade
    from trtlint.fixes.outcome import Applied, Prove, Refused
    from trtlint.measurement.measurement import Measurement


def lint(
    path: AnyPath | Iterable[AnyPath] | Any,
    target: Target | Sequence[Target] | None = None,
    **keywords: Unpack[Keywords],
) -> Report:
    """Lint ONNX models: ``trtlint.lint("model.onnx", trt="10.7", gpu="L4", fp16=True)``.

    Args:
        path: a file, a folder that is searched for ``*.onnx``, an address (``https://``, ``hf://``,
            ``s3://``), or several; or one model in memory: an
            ``onnx.ModelProto``, or what ``torch.onnx.export(..., dynamo=True)`` gives.  Of a model in memory
            the structure is copied, and no weights.  Empty for a build without its model.
        target: what the engine is built for, or several, in place of ``trt``, ``gpu``, ``fp16`` and so on.
        **keywords: the target, the rules and the evidence: :class:`~trtlint.cases.Keywords` lists them.

    Returns:
        A report for each file and target.  A file that cannot be linted has its reason in
        ``errors``.  What a model's own metadata suppresses is in ``suppressed``; configuration
        files are for the command line only.  A notebook shows the report as cards.

    Raises:
        ArgumentError: there is no such keyword, its value is not one that is allowed, or ``path`` is neither
            a path nor a model.  All functions check their arguments before anything else.
        SettingError: a keyword has a value that cannot be used: a version, a rule, a command, an address.
        FileError: a measurement or another file that a keyword names cannot be used.
        ExperimentError: a dry build is asked for, and cannot be made here.
    """
    sources, review = Sources(), Review()
    found: list[ModelReport] = []
    for each in cases(path, target, keywords):
        find = sources.finder()
        reports = each.case.report(review)
        found += (folded(renamed(report, each.name)).located(find) for report in reports)
    return NotebookReport(tuple(found))


def load_rules(*paths: AnyPath) -> tuple[Rule, ...]:
    """Load the rules of folders or files, for the keyword ``rules``.

    Raises:
        ArgumentError: ``paths`` are not paths.
        RuleError: a file is wrong, or two rules have one id or name; the message names file and line.
    """
    return tuple(load_rulebook(map(Path, read_paths("paths", paths))))


def read_build(paths: AnyPath | Iterable[AnyPath | tuple[AnyPath, GivenAs]]) -> BuildRecord:
    """Read the files of one build, for the keyword ``record``.

    Args:
        paths: the files, each as a path or as a path with its kind: ``any``, ``log``, ``layers`` or
            ``profile``.  ``-`` is a log on standard input.

    Raises:
        ArgumentError: ``paths`` are not paths.
        BuildFileError: a file cannot be read, is not of the kind given, or is the second of its kind; the
            message begins with the file's name.
    """
    from trtlint.buildfiles import record

    return record.read_build(read_one("paths", paths))


def _unsearched_rules(report: Report) -> list[str]:
    return sorted({each.rule for model in report.models for each in model.unsearched})


class CheckError(TrtlintError):
    """A model that must not go on as it is.

    Attributes:
        report: what was found.
    """

    def __init__(self, report: Report) -> None:
        findings = {finding.rule: finding for model in report.models for finding in model.findings}
        errors = dict.fromkeys(str(problem) for model in report.models for problem in model.errors)
        found = [f"{finding.severity} {finding.rule} {finding.name}" for finding in findings.values()]
        partly = [f"{rule} was not searched to the end" for rule in _unsearched_rules(report)]
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
    """Lint a model at the end of the script that exports it: print the findings, raise for grave ones.

    Findings that depend on what the target leaves open are counted and do not fail the check.

    Args:
        model: as ``path`` of :func:`lint`.
        target: as of :func:`lint`.
        fail_on: the mildest severity that raises, or ``never``.
        file: where to print to; standard error if left out.
        **keywords: as of :func:`lint`.

    Raises:
        CheckError: there are findings of that severity, the model cannot be read, or a rule of that severity
            was not searched to the end.
        ArgumentError, SettingError, FileError, ExperimentError: as :func:`lint`.
    """
    from trtlint.report.text import render

    fail_on = read({"fail_on": fail_on, "file": file}).get("fail_on", "error")
    report = lint(model, target, **keywords)
    render(report, sys.stderr if file is None else file)
    unread = unsearched(report.models, fail_on) or any(each.errors for each in report.models)
    if unread or fails(report.models, fail_on):
        raise CheckError(report)
    return report


@dataclass(frozen=True, slots=True)
class Fix:
    """What came of fixing a model.

    Attributes:
        model: the fixed model as it was given: a path, a ModelProto or a graph of onnx-graphsurgeon; None
            where nothing was done.
        applied: what was done, in order.
        refused: what was not done, and why.
        reports: the findings that are left, a report a target.
    """

    model: Any
    applied: tuple[Applied, ...]
    refused: tuple[Refused, ...]
    reports: tuple[ModelReport, ...]


def fix(
    model: Any,
    target: Target | Sequence[Target] | None = None,
    *,
    out: AnyPath | None = None,
    unsafe: bool = False,
    verify: bool = False,
    **keywords: Unpack[Keywords],
) -> Fix:
    """Rewrite a model so that findings are gone.

    What the model's own metadata suppresses is not rewritten, as with ``trtlint fix``.

    Args:
        model: a path, an ``onnx.ModelProto``, or a graph of onnx-graphsurgeon; it is not changed.
        target: as of :func:`lint`.
        out: for a path, the file to write; ``MODEL.fixed.onnx`` beside the model if left out.
        unsafe: whether rewrites that change results by choice are made.
        verify: whether what each rewrite changes is computed before and after; what differs is not done.
        **keywords: as of :func:`lint`; with ``ranges``, what must be is kept in FP32.

    Raises:
        ModelError: the model cannot be read, or the checker refuses the fixed one.
        MeasurementError: ``ranges`` is no measurement, one of another model, or names nothing to keep.
        OSError: a file cannot be read or written.
        ArgumentError, SettingError, FileError, ExperimentError: as :func:`lint`.
    """
    import tempfile

    import onnx

    from trtlint.files.limits import limit_work
    from trtlint.fixes.fixing import fix_file, write_fixed
    from trtlint.fixes.relint import judging
    from trtlint.fixes.source import beside, read_source
    from trtlint.measurement.measurement import Measurement
    from trtlint.model.errors import ModelError
    from trtlint.report.measureadvice import to_keep

    own = read({"out": out, "unsafe": unsafe, "verify": verify})
    prove: Prove | None = import_module("trtlint.fixes.proof").prove_all if own.get("verify") else None
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        graph: Any = None
        if isinstance(model, str | os.PathLike):
            path = read_local("model", model)
            written = Path(own["out"]) if "out" in own else beside(path)
        else:
            if not isinstance(model, onnx.ModelProto):
                if not type(model).__module__.startswith("onnx_graphsurgeon."):
                    expected = "a path, an onnx.ModelProto or a graph of onnx-graphsurgeon"
                    raise ArgumentError.of("model", model, expected)
                graph = import_module("onnx_graphsurgeon")
            path, written = Path(folder, "model.onnx"), Path(folder, "fixed.onnx")
            onnx.save(model if graph is None else graph.export_onnx(model), path)
        case = one_case(path, target, keywords)
        measured = case.data(Measurement)
        keep = () if measured is None else to_keep(measured)
        result: Any = None
        with _named(path):
            source = read_source(path)
            with limit_work(path, allowance=source.allowance()):
                judge = judging(case, Review())
                fixed = fix_file(source, judge, unsafe=own.get("unsafe", False), prove=prove, keep=keep)
            if fixed.fault:
                raise ModelError(f"the fixed model is not valid: {fixed.fault}")
            if fixed.changed:
                write_fixed(fixed, written)
                result = written
        if fixed.changed and not isinstance(model, str | os.PathLike):
            result = onnx.load(written)
            result = result if graph is None else graph.import_onnx(result)
        outcome = fixed.outcome
        return Fix(result, tuple(outcome.applied), tuple(outcome.refused), outcome.after.reports)


def upgrade(
    model: AnyPath,
    first: str,
    last: str | None = None,
    *,
    product: Literal["tensorrt", "tensorrt-rtx"] = "tensorrt",
    **keywords: Unpack[Keywords],
) -> Upgrade:
    """Compare what TensorRT makes of a model from one version to another.

    Args:
        model: the file.
        first: the version in use, such as ``"8.6"``.
        last: the version to move to; the newest known one if left out.
        product: the product that both are of.
        **keywords: as of :func:`lint`, without ``trt`` and ``rtx``.

    Raises:
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as :func:`lint`.
    """
    from trtlint.engine.upgrade import targets, upgrade
    from trtlint.knowledge.releases import minors

    own = read({"last": last, "product": product})
    first, product = read_one("first", first), own.get("product", "tensorrt")
    if "trt" in keywords or "rtx" in keywords:
        raise SettingError("the versions of an upgrade are its first and its last: leave out trt and rtx")
    case = one_case(model, None, keywords)
    base = replace(case.built_for[0], product=product, version=None, previous=None)
    way = targets(base, first, own.get("last", minors(product)[-1]))
    if len(way) < 2:
        raise SettingError(f"{first} and {last} are one release line: nothing is upgraded")
    with _named(case.path):
        opened = case.open()
        found = tuple(map(folded, case.reviewed(map(opened.evaluate, way), Review())))
        return upgrade(opened.facts(), way, found, [entry.read() for entry in case.applicable])


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of measuring a model.

    Attributes:
        measurement: the figures, for the keyword ``ranges`` of other functions.
        report: the findings about them, and about the model with them as evidence.
    """

    measurement: Measurement
    report: Report

    def save(self, path: AnyPath) -> None:
        """Write the figures to a file, for ``trtlint lint --ranges``.

        Raises:
            OSError: it cannot be written.
        """
        from trtlint.files.replace import replace_text
        from trtlint.measurement.measurement import to_data

        replace_text(Path(read_one("out", path)), json.dumps(to_data(self.measurement), indent=1) + "\n", ())


def measure(
    model: AnyPath,
    target: Target | Sequence[Target] | None = None,
    *,
    inputs: AnyPath | Iterable[AnyPath] = (),
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
    """Measure what FP16 does to a model, on a CPU.

    Args:
        model: the file.
        target: as of :func:`lint`; the type that is measured counts as asked for.
        inputs: ``.npz`` files, a batch each; made-up inputs if left out.
        load_inputs: inputs that Polygraphy saved.
        data_loader_script: ``FILE.py:FUNCTION``, which yields inputs as for Polygraphy; it is run.
        type: the type; a file with tensors in 16 bits sets it itself.  ``all`` measures FP16 and compares it
            with the others.
        rehearse: whether to compute the outputs in that type.
        batches: the greatest number of batches.
        bound: the greatest error of an output within tolerance.
        thorough: whether to search on until no node can leave the set to keep in FP32.
        seconds: the time limit; by default enough for the size of the model.
        memory: the limit of memory in bytes; by default as much as the model may need.
        **keywords: as of :func:`lint`, for the report.

    Raises:
        ExperimentError: ONNX Runtime is not installed, or the model cannot be measured.
        InputsError: the inputs cannot be used.
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as :func:`lint`.
    """
    from trtlint.engine.evidence.ranges import RangeEvidence
    from trtlint.measurement.measure import Request, limits_for, measure
    from trtlint.model.load import load

    own = read(
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
        }
    )
    path = read_local("model", model)
    case = one_case(path, target, {**keywords, "ranges": None})
    request = Request(
        model=str(path),
        name=str(path),
        files=own.get("inputs", ()),
        lists=own.get("load_inputs", ()),
        script=own.get("data_loader_script"),
        type=own.get("type", "fp16"),
        rehearse=own.get("rehearse", True),
        batches=own.get("batches"),
        bound=own.get("bound", 1e-2),
        thorough=own.get("thorough", False),
    )
    with _named(path):
        request.inputs.require()
        found = measure(request, limits_for(load(path), own.get("seconds"), own.get("memory")))
    narrow = (each if found.typed else each.completed({found.type: True}) for each in case.targets)
    reports = replace(case, targets=tuple(narrow), evidence=(*case.evidence, RangeEvidence(found))).report()
    find = Sources().finder()
    return Measured(found, NotebookReport(tuple(report.located(find) for report in reports)))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in the message of what is wrong with it."""
    try:
        yield
    except UnreadableError as error:
        error.message = str(Problem.of(path, error))
        error.args = (error.message,)
        raise
