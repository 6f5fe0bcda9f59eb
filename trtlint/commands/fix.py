"""``trtlint fix``: apply automatic fixes to models, verify the fixed copies and write them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from msgspec import Struct
from msgspec.structs import replace

from trtlint.commands.reportoptions import destination, require_folder, require_outputs
from trtlint.commands.streams import notify
from trtlint.commands.tasks import read_tasks
from trtlint.compare.comparison import Pair, available, missing
from trtlint.errors import SettingError
from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import replace_text, require_output
from trtlint.files.temporary import remove_stale, temporary_file
from trtlint.fixes import verification
from trtlint.fixes.costs import costs_of
from trtlint.fixes.fixing import KEY, FixedModel, fix_file, write_fixed
from trtlint.fixes.keep_fp32 import TITLE as KEPT
from trtlint.fixes.patch import Patch
from trtlint.fixes.source import SourceModel, beside, read_source
from trtlint.fixes.verification import CheckResult
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.model.datafile import copy_data, data_file
from trtlint.model.errors import ModelError
from trtlint.model.writer import files_at_risk, write_to
from trtlint.policy.failing import fails, unsearched
from trtlint.policy.options import LintOptions
from trtlint.policy.selection import split
from trtlint.policy.settings import SettingsReader
from trtlint.process.collection import collect_seldom
from trtlint.remote.addresses import require_local
from trtlint.report.fixes import FixResult
from trtlint.report.fixoutputs import FixOutputs
from trtlint.report.outputs import ReportOutput
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity
from trtlint.runs.task import Task
from trtlint.target.target import first_sm

if TYPE_CHECKING:
    from trtlint.fixes.outcome import Prove


class FixOptions(Struct, frozen=True):
    """The options of ``trtlint fix``."""

    lint: LintOptions
    output: str | None
    diff: bool
    dry_run: bool
    unsafe: bool
    verify: bool
    verify_build: bool
    script: str | None
    inputs: Inputs
    outputs: tuple[ReportOutput, ...]


def run_fix(options: FixOptions) -> int:
    """Fix all models, write the report and return the exit code."""
    require_local(options.lint.paths)
    _require_means(options)
    reader = SettingsReader(options.lint, notify, compare=False)
    tasks = read_tasks(reader, options.lint)
    tasks = _sources(tasks, options.output)
    if any(task.case.alone for task in tasks):
        raise SettingError("trtlint fix needs a model; only build logs, layers or profiles are given")
    if options.output is not None and len(tasks) > 1:
        require_folder(Path(options.output), len(tasks))
    if options.script is not None and len(tasks) > 1:
        raise SettingError(
            f"--script names one file, but {len(tasks)} models are given; fix one model at a time"
        )
    outs = [destination(task.file, options.output, beside(task.file)) for task in tasks]
    protected = files_at_risk([task.file for task in tasks], outs)
    scripts = [] if options.script is None else [Path(options.script)]
    require_outputs(options.outputs, [*protected, *outs], [*outs, *map(data_file, outs), *scripts])
    for script in scripts:
        require_output(script, protected, "the script to")
    report = FixOutputs(options.outputs, diff=options.diff, selected=split(options.lint.select))
    ended = Exit.CLEAN
    collect_seldom()
    for task, out, keep in zip(tasks, outs, [_kept(task) for task in tasks], strict=True):
        ended = max(ended, _fix(task, out, keep, options, report, protected))
    report.close(protected)
    return ended


def _fix(
    task: Task,
    out: Path,
    keep: Sequence[str],
    options: FixOptions,
    report: FixOutputs,
    protected: list[Path],
) -> Exit:
    """Fix one model and report on it.

    Args:
        task: the model and its settings.
        out: the file to write.
        keep: paths of nodes to keep in FP32.
        options: the options of the command.
        report: the report. The function adds the result or the problem to it.
        protected: the files that no output may replace. The function adds the files of the model.

    Raises:
        SettingError: an option cannot be used for this model.
    """
    for unread in task.case.problems:  # the model is fixed without this file
        report.problem(unread)
    verdicts: tuple[CheckResult, ...] = ()
    if not options.dry_run:
        remove_stale(out.parent)
    try:
        with Activity(f"fixing {task.file.name}"):
            source = read_source(task.file)
            protected += source.files
            with limit_work(task.file, allowance=source.allowance()):
                fixed, verdicts = _fixed(source, task, out, keep, options)
                edits = _script(fixed, Path(options.script)) if options.script is not None else None
    except InputsError as error:
        report.problem(Problem(str(task.file), f"not written: {error}"))
        return Exit.USAGE
    except (UnreadableError, OSError) as error:
        report.problem(Problem.of(task.file, error))
        return Exit.UNREADABLE
    try:
        with Activity(f"writing {out.name}"):
            written = None if options.dry_run else _write(fixed, out, verdicts, protected)
            costs = costs_of(fixed, written, verdicts)
    except (ModelError, OSError) as error:
        problem = Problem.of(task.file, error)
        report.problem(replace(problem, path=str(out), message=f"cannot be written: {problem.message}"))
        return Exit.UNREADABLE
    failed = bool(task.case.problems)
    if fixed.fault:
        failed = True
        report.problem(Problem(str(task.file), f"not written: {fixed.fault}"))
    if edits is not None and not fixed.fault:
        try:
            replace_text(Path(str(options.script)), edits, source.files)
        except OSError as error:
            reason = error.strerror or error
            report.problem(Problem(str(options.script), f"cannot be written: {reason}"))
            failed = True
    report.add(FixResult(fixed, written, verdicts, costs))
    if failed or unsearched(fixed.outcome.after.reports, task.settings.fail_on):
        return Exit.UNREADABLE
    unproven = any(verdict.good is None for verdict in verdicts)
    found = fails(fixed.outcome.after.reports, task.settings.fail_on)
    return Exit.FINDINGS if found or unproven else Exit.CLEAN


def _sources(tasks: Sequence[Task], output: str | None) -> list[Task]:
    """Drop the tasks for models that an earlier run of ``trtlint fix`` wrote.

    Args:
        tasks: the tasks.
        output: the file or folder that ``-o`` names.

    Raises:
        SettingError: the fixed copy of a model would overwrite another given model.
    """
    beside_model = {os.path.realpath(beside(task.file)): task.file for task in tasks}
    written = beside_model
    if output is not None:
        written = {os.path.realpath(Path(output, beside(task.file).name)): task.file for task in tasks}
    found = []
    for task in tasks:
        file = os.path.realpath(task.file)
        if (file in beside_model or file in written) and _is_fixed(task.file):
            continue
        if file in written:
            raise SettingError(
                f"the fixed model of {written[file]} would replace {task.file}, another model of this "
                "command; fix the two models in separate commands"
            )
        found.append(task)
    return found


def _is_fixed(model: Path) -> bool:
    """Return whether ``trtlint fix`` has written a model, according to the model's metadata."""
    from trtlint.model.reader import decode, read

    try:
        return any(entry.key == KEY for entry in decode(read(model).data).metadata_props)
    except (UnreadableError, OSError):
        return False


def _require_means(options: FixOptions) -> None:
    """Check that the packages and inputs for ``--verify`` and ``--verify-build`` are available.

    Raises:
        SettingError: a package or an input is missing.
    """
    if options.verify and not available():
        raise SettingError(f"--verify: {missing()}")
    if options.inputs.names and not options.verify:
        raise SettingError(f"{options.inputs.names[0]}: inputs need --verify")
    options.inputs.require()
    if options.verify_build:
        from trtlint.dry_build.errors import WheelError
        from trtlint.dry_build.wheels import find

        try:
            find()
        except WheelError as error:
            raise SettingError(f"--verify-build: {error}") from None


def _script(fixed: FixedModel, path: Path) -> str | None:
    """Return the changes of the model as a Python script, or None if the model is unchanged.

    Raises:
        SettingError: a script cannot express a change.
    """
    from trtlint.fixes.patch import NotApplicable
    from trtlint.fixes.surgeon import script

    try:
        return script(fixed.outcome, fixed.path.name, path.name) if fixed.changed else None
    except NotApplicable as error:
        raise SettingError(f"--script: {error}") from None


def _prover() -> Prove:
    from trtlint.fixes.proof import prove_all

    return prove_all


def _fixed(
    source: SourceModel, task: Task, out: Path, keep: Sequence[str], options: FixOptions
) -> tuple[FixedModel, tuple[CheckResult, ...]]:
    """Fix a model.  Return the fixed model and the results of its verification.

    Raises:
        InputsError: the inputs of the user cannot be used.
        UnreadableError: the model cannot be linted, or exceeds a limit.
        OSError: a file cannot be read, or a temporary model cannot be written.
    """
    verifier = None
    if options.verify or options.verify_build:
        sm = first_sm(task.case.built_for)
        verifier = Verifier(source, out, options, sm)
    fixed = fix_file(
        source,
        task.case,
        unsafe=options.unsafe,
        prove=_prover() if options.verify else None,
        keep=keep,
        verify=None if verifier is None else verifier.check,
    )
    return fixed, () if verifier is None else verifier.verdicts(fixed.outcome.after.proto)


def _kept(task: Task) -> tuple[str, ...]:
    """Return the nodes that the measurement of a model requires in FP32.

    The result is empty if there is no measurement.

    Raises:
        SettingError: the measurement names no node that Casts can keep in FP32.
    """
    from trtlint.measurement.measurement import Measurement, UnusableMeasurementError
    from trtlint.report.measureadvice import to_keep

    found = task.case.data(Measurement)

    try:
        return () if found is None else to_keep(found)
    except UnusableMeasurementError as error:
        raise SettingError(f"{task.file}: {error}") from None


def _write(
    fixed: FixedModel, out: Path, verdicts: Sequence[CheckResult], protected: Sequence[Path]
) -> Path | None:
    """Write the fixed model, and return its path, or None if the model did not change."""
    if not fixed.changed or fixed.fault:
        return None
    write_fixed(fixed, out, [verdict.document for verdict in verdicts], protected)
    return out


class Verifier:
    """Compares rewritten versions of a model (candidates) with the original model.

    Args:
        source: the original model.
        out: the file of the fixed model.  Candidates are written to the same folder.
        options: the options of the command.
        sm: compute capability of the GPU to build for, such as 89 for 8.9; None for any GPU.
    """

    def __init__(self, source: SourceModel, out: Path, options: FixOptions, sm: int | None) -> None:
        self._source = source
        self._out = out
        self._options = options
        self._sm = sm
        self._found: list[tuple[onnx.ModelProto, tuple[CheckResult, ...]]] = []

    def check(self, proto: onnx.ModelProto, patches: Sequence[Patch]) -> str:
        """Return how a rewritten model is worse than the original model.

        The result is an empty string if the rewritten model is not worse.

        Raises:
            InputsError: the inputs of the user cannot be used.
            ModelError: the original file changed after it was read, or its external data cannot be read.
            OSError: the rewritten model cannot be written.
        """
        with self._trial(proto) as trial:
            verdicts = tuple(self._verdicts(trial, patches))
        self._found.append((proto, verdicts))
        worse = [f"{each.check}: {each.words}" for each in verdicts if each.good is False]
        return f"with this rewrite, a check of the whole model fails ({'; '.join(worse)})" if worse else ""

    @contextmanager
    def _trial(self, proto: onnx.ModelProto) -> Iterator[Path]:
        """Write a rewritten model to a temporary file that can read its external data."""
        folder, tensors = self._out.parent, self._source.raw.tensors
        with ExitStack() as files:
            try:
                if not self._source.has_data_beside(self._out):
                    data = files.enter_context(temporary_file(folder))
                    with data.open("wb") as file:
                        proto = copy_data(proto, tensors, file, data.name)
                trial = files.enter_context(temporary_file(folder, ".trial.onnx"))
                with trial.open("wb") as file:
                    write_to(file, proto, tensors)
            except OSError as error:
                reason = f"the fixed model cannot be written: {error.strerror or error}"
                raise OSError(error.errno, reason) from error
            yield trial

    def verdicts(self, proto: onnx.ModelProto) -> tuple[CheckResult, ...]:
        """Return the results of all checks of a rewritten model.

        The result is empty if :meth:`check` has not checked this model yet.
        """
        return next((verdicts for form, verdicts in reversed(self._found) if form is proto), ())

    def _verdicts(self, after: Path, patches: Sequence[Patch]) -> Iterator[CheckResult]:
        before = self._source.path
        if self._options.verify:
            pair = Pair(
                before,
                after,
                self._options.inputs,
                # If a fix keeps nodes in FP32, the original model may overflow in its own types.
                wide=any(patch.title == KEPT for patch in patches),
                ignore_nan=any(patch.changes_results for patch in patches),
                keep_a_key=any(patch.keeps_a_key for patch in patches),
                timed=True,
            )
            yield verification.outputs(pair)
        if self._options.verify_build:
            yield verification.build(before, after, self._sm)
            found = verification.network(before, after, self._options.inputs)
            if found is not None:
                yield found
