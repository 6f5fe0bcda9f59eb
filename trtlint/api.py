"""Linting, checking and fixing from Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from trtlint.buildcommand import BuildCommand, commands_for, config_beside, read_commands, read_config
from trtlint.case import Case
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import TrtlintError
from trtlint.files.expand import expand
from trtlint.lean import dataclass
from trtlint.model.memory import NAME, HeldModel
from trtlint.model.sources import Sources
from trtlint.policy.failing import fails, unsearched
from trtlint.policy.options import FailOn
from trtlint.policy.review import Policy, Review, names
from trtlint.policy.selection import choose
from trtlint.remote.addresses import Address, is_address, parse
from trtlint.remote.file import require_packages
from trtlint.runs.worker import renamed
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.fixes.outcome import Applied, Prove, Refused

AnyPath = str | os.PathLike[str]


def lint(
    path: AnyPath | Iterable[AnyPath] | Any,
    target: Target | Sequence[Target] | None = None,
    *,
    rules: Iterable[Rule] | None = None,
    command: str | None = None,
    record: BuildRecord | None = None,
    isolated: bool = False,
) -> Report:
    """Lint ONNX models.

    Args:
        path: a file, a folder that is searched for ``*.onnx``, an address (``https://``, ``hf://``,
            ``s3://``), or several; or one model in memory: an
            ``onnx.ModelProto``, or what ``torch.onnx.export(..., dynamo=True)`` gives.  Of a model in memory
            the structure is copied, and no weights.
        target: what the engine is built for, or several; what is not given is unknown.
        rules: the rules to apply, as :func:`~trtlint.engine.rulebook.load_rules` gives them; those
            that come with trtlint and are not in preview if left out.
        command: the trtexec command that builds the models, or a file with such commands; where it says
            what ``target`` leaves open, that counts.
        record: what a build of the model left behind, from :func:`~trtlint.buildfiles.record.read_build`;
            without a model (``path`` empty) the build alone is looked at, and the command, if there is one.
        isolated: ignore suppressions that a model carries in its own metadata.

    Returns:
        A report for each file and target.  A file that cannot be linted has its reason in
        ``errors``.  What a model's own metadata suppresses is in ``suppressed``; configuration
        files are for the command line only.

    Raises:
        RuleError: a rule file is wrong.
        CommandError: ``command`` holds no build command.
        TypeError: ``path`` is neither a path nor a model.
        AddressError: an address that cannot be read from, or needs the extra ``remote``.
    """
    held: HeldModel | None = None
    if not isinstance(path, str | os.PathLike | Iterable):
        path, held = NAME, HeldModel(path)
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    targets = [target or Target()] if target is None or isinstance(target, Target) else list(target)
    book = _rule_set(rules)
    policy = Policy(known=names(book.entries), own=not isolated)
    sources, review = Sources(), Review()
    commands = read_commands(command) if command is not None else ()

    def reports(
        file: Path, source: Address | HeldModel | None = None, *, alone: bool = False
    ) -> Iterator[ModelReport]:
        case = Case(
            file,
            tuple(targets),
            book,
            policy,
            _command_for(file, commands),
            () if record is None else (BuildEvidence(record),),
            source=source,
            alone=alone,
        )
        find = sources.finder()
        yield from (report.located(find) for report in case.report(review))

    if record is not None and not paths:
        return Report(tuple(reports(Path(next(iter(record.files), "")), alone=True)))
    listed: list[str] = [os.fspath(entry) for entry in paths]
    found = [
        report
        for file in expand(name for name in listed if not is_address(name))
        for report in reports(file, held)
    ]
    for address in (parse(name) for name in listed if is_address(name)):
        require_packages(address)
        remote = reports(Path(address.name), address)
        found += (renamed(report, address.name) for report in remote)
    return Report(tuple(found))


def _command_for(file: Path, commands: Sequence[BuildCommand]) -> BuildCommand | None:
    """The command that builds a model, or the configuration of Triton beside it."""
    if not commands and (config := config_beside(file)) is not None:
        return read_config(config)
    return next(iter(commands_for(file, commands)), None)


def _unsearched_rules(report: Report) -> list[str]:
    return sorted({each.rule for model in report.models for each in model.unsearched})


def _rule_set(rules: Iterable[Rule] | None) -> RuleSet:
    """The rules that were given, or those that come with trtlint and are not in preview."""
    return RuleSet(choose(load_builtin().entries)) if rules is None else RuleSet.of(rules)


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
    rules: Iterable[Rule] | None = None,
    command: str | None = None,
    file: TextIO | None = None,
    isolated: bool = False,
) -> Report:
    """Lint a model at the end of the script that exports it: print what is found, raise where it is grave.

    Findings that depend on what ``target`` leaves open are counted and do not fail the check.

    Args:
        model: as ``path`` of :func:`lint`.
        target: what the engine is built for, or several; what is not given is unknown.
        fail_on: the mildest severity that raises, or ``never``.
        rules: the rules to apply; those that come with trtlint if left out.
        command: the trtexec command that builds the model, or a file with such commands.
        file: where to print to; standard error if left out.
        isolated: ignore suppressions that a model carries in its own metadata.

    Raises:
        CheckError: there are findings of that severity, the model cannot be read, or a rule of that severity
            was not searched to the end.
        RuleError: a rule file is wrong.
        CommandError: ``command`` holds no build command.
        TypeError: ``model`` is neither a path nor a model.
    """
    from trtlint.report.text import render

    report = lint(model, target, rules=rules, command=command, isolated=isolated)
    render(report, file or sys.stderr)
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
    ranges: AnyPath | None = None,
    rules: Iterable[Rule] | None = None,
) -> Fix:
    """Rewrite a model so that findings are gone.

    Args:
        model: a path, an ``onnx.ModelProto``, or a graph of onnx-graphsurgeon; it is not changed.
        target: what the engine is built for, or several; what is not given is unknown.
        out: for a path, the file to write; ``MODEL.fixed.onnx`` beside the model if left out.
        unsafe: whether rewrites that change results by choice are made.
        verify: whether what each rewrite changes is computed before and after; what differs is not done.
        ranges: what ``trtlint measure`` wrote of this model: what must be is kept in FP32, as with
            ``trtlint fix --ranges``.
        rules: the rules to apply; those that come with trtlint and are not in preview if left out.

    What the model's own metadata suppresses is not rewritten, as with ``trtlint fix``.

    Raises:
        ModelError: the model cannot be read, or the checker refuses the fixed one.
        MeasurementError: ``ranges`` is no measurement, one of another model, or names nothing to keep.
        OSError: a file cannot be read or written.
        TypeError: ``model`` is none of these.
    """
    import tempfile

    import onnx

    from trtlint.files.limits import limited
    from trtlint.fixes.fixing import fix_file, write_fixed
    from trtlint.fixes.relint import judging
    from trtlint.fixes.source import beside, read_source
    from trtlint.model.errors import ModelError
    from trtlint.model.writer import Writing

    targets = [target or Target()] if target is None or isinstance(target, Target) else list(target)
    book = _rule_set(rules)
    prove: Prove | None = import_module("trtlint.fixes.proof").prove_all if verify else None

    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        graph: Any = None
        if isinstance(model, str | os.PathLike):
            path = Path(model)
            written = beside(path) if out is None else Path(out)
        else:
            if not isinstance(model, onnx.ModelProto):
                if not type(model).__module__.startswith("onnx_graphsurgeon."):
                    raise TypeError(
                        f"no path, no ModelProto and no graph of onnx-graphsurgeon: {type(model)}"
                    )
                graph = import_module("onnx_graphsurgeon")
            path, written = Path(folder, "model.onnx"), Path(folder, "fixed.onnx")
            onnx.save(model if graph is None else graph.export_onnx(model), path)
        keep = () if ranges is None else _measured_to_keep(Path(ranges), path)
        result: Any = None
        case = Case(path, tuple(targets), book, Policy(known=names(book.entries)))
        with Writing(written) as writing:
            source = read_source(path)
            writing.begin(source.proto, source.raw.tensors)
            with limited(path, allowance=source.allowance()):
                fixed = fix_file(source, judging(case, Review()), unsafe=unsafe, prove=prove, keep=keep)
            if fixed.fault:
                raise ModelError(f"the fixed model is not valid: {fixed.fault}")
            if fixed.changed:
                write_fixed(fixed, writing)
                result = written
        if fixed.changed and not isinstance(model, str | os.PathLike):
            result = onnx.load(written)
            result = result if graph is None else graph.import_onnx(result)
        outcome = fixed.outcome
        return Fix(result, tuple(outcome.applied), tuple(outcome.refused), outcome.after.reports)


def _measured_to_keep(ranges: Path, model: Path) -> tuple[str, ...]:
    """The operators of a model that a measurement of it wants in FP32."""
    from trtlint.measurement.identity import digest
    from trtlint.measurement.measurement import MeasurementError, read_measurement
    from trtlint.report.measureadvice import to_keep

    found = read_measurement(ranges)
    if found.digest != digest(model):
        raise MeasurementError(f"{ranges}: measured on another model ({found.path}, or what it was then)")
    try:
        return to_keep(found)
    except MeasurementError as error:
        raise MeasurementError(f"{ranges}: {error}") from None
