"""``trtlint fix``: rewrite models so that findings are gone, and write them beside their sources."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.commands.ahead import Begun, destination
from trtlint.commands.fixrequest import FixOptions
from trtlint.commands.inputs import require_here, tasks_of
from trtlint.commands.ranges import kept
from trtlint.commands.stopping import tidying_up
from trtlint.commands.tasks import Task, TaskFactory
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import replace_text, require_replaceable
from trtlint.fixes.fixing import KEY, Fixed, fix_file, write_fixed
from trtlint.fixes.source import beside, read_source
from trtlint.model.errors import ModelError
from trtlint.model.writer import Writing
from trtlint.policy.failing import fails, unsearched
from trtlint.policy.review import Review
from trtlint.report.fixes import FixReport
from trtlint.runs.exits import Exit
from trtlint.runs.judging import judging
from trtlint.trials.comparison import MISSING, available
from trtlint.trials.inputs import InputsError

if TYPE_CHECKING:
    from trtlint.fixes.outcome import Prove
    from trtlint.fixes.relint import Judge
    from trtlint.fixes.verification import Verdict
    from trtlint.report.fixpage import FixPage


def run_fix(options: FixOptions, begun: Begun | None = None) -> int:
    """Fix what was asked for, say what was done, return the exit code.

    Args:
        options: what was asked for.
        begun: the only model, where it was read and is being copied already.
    """
    tasks = _sources(tasks_of(TaskFactory(options.lint), options.lint))
    require_here(tasks)
    if any(task.gathered is not None and task.gathered.alone for task in tasks):
        raise click.UsageError("there is a build and no model to fix")
    if options.output is not None and len(tasks) > 1:
        raise click.UsageError(f"-o names one file, and {len(tasks)} models are given")
    if options.script is not None and len(tasks) > 1:
        raise click.UsageError(f"--script names one file, and {len(tasks)} models are given")
    outs = [destination(task.file, options.output) for task in tasks]
    _require_means(options)
    _require_apart([*outs, *(Path(name) for name in (options.script, options.html) if name is not None)])
    spared = [*(task.file for task in tasks), *outs]
    _require_writable("--script", options.script, spared)
    _require_writable("--html", options.html, spared)
    page = None if options.html is None else _page()
    report = FixReport(sys.stdout, as_json=options.as_json, diff=options.diff, page=page)
    ended = Exit.CLEAN
    for task, out, keep in zip(tasks, outs, [kept(task) for task in tasks], strict=True):
        own = begun if begun is not None and begun.is_of(task.file, out) else None
        ended = max(ended, _fix(task, out, keep, options, report, own))
    report.close()
    if page is not None:
        replace_text(Path(str(options.html)), page.text(), spared)
    return ended


def _fix(
    task: Task, out: Path, keep: Sequence[str], options: FixOptions, report: FixReport, begun: Begun | None
) -> Exit:
    """Fix one model and report on it.

    Args:
        task: the model, and what it is linted with.
        out: where the fixed model goes.
        keep: paths of operators that are to compute in FP32.
        options: what was asked for.
        report: is told what was done, or what kept it from being done.
        begun: the model, where it was read and is being copied already.

    Raises:
        click.UsageError: what was asked for cannot be had of this model.
    """
    writing = Writing(out) if begun is None else begun.writing
    with tidying_up(), writing:
        try:
            source = read_source(task.file) if begun is None else begun.source
            if begun is None and options.writes_at_once:
                writing.begin(source.proto, source.raw.tensors)
            fixed = fix_file(
                source,
                _judge(task),
                unsafe=options.unsafe,
                prove=_prover() if options.verify else None,
                keep=keep,
            )
        except (UnreadableError, OSError) as error:
            report.problem(Problem.of(task.file, error))
            return Exit.UNREADABLE
        edits = _script(fixed, Path(options.script)) if options.script is not None else None
        try:
            written, verdicts = _write(fixed, out, options, task, writing)
        except InputsError as error:
            report.problem(Problem(str(task.file), f"not written: {error}"))
            return Exit.USAGE
        except (ModelError, OSError) as error:
            problem = Problem.of(task.file, error)
            report.problem(replace(problem, path=str(out), message=f"cannot be written: {problem.message}"))
            return Exit.UNREADABLE
    against = [verdict.words for verdict in verdicts if verdict.good is False]
    for words in [fixed.fault, *against] if fixed.fault else against:
        report.problem(Problem(str(task.file), f"not written: {words}"))
    failed = bool(fixed.fault or against)
    if edits is not None and not failed:
        try:
            replace_text(Path(str(options.script)), edits, [task.file])
        except OSError as error:
            reason = error.strerror or error
            report.problem(Problem(str(options.script), f"cannot be written: {reason}"))
            failed = True
    report.add(fixed, written, verdicts)
    if failed or unsearched(fixed.outcome.after.reports, task.fail_on):
        return Exit.UNREADABLE
    unproven = any(verdict.good is None for verdict in verdicts)
    found = fails(fixed.outcome.after.reports, task.fail_on)
    return Exit.FINDINGS if found or unproven else Exit.CLEAN


def _sources(tasks: Sequence[Task]) -> list[Task]:
    """The models without those that an earlier run made of others among them.

    Raises:
        click.UsageError: a model would be replaced by the fixed form of another.
    """
    made = {os.path.realpath(beside(task.file)): task.file for task in tasks}
    found = []
    for task in tasks:
        source = made.get(os.path.realpath(task.file))
        if source is None:
            found.append(task)
        elif not _is_fixed(task.file):
            raise click.UsageError(
                f"{task.file} is to be fixed, and the fixed form of {source} would replace it"
            )
    return found


def _is_fixed(model: Path) -> bool:
    """Whether a model says that it was fixed."""
    from trtlint.model.reader import decode, read

    try:
        return any(entry.key == KEY for entry in decode(read(model).data).metadata_props)
    except (UnreadableError, OSError):
        return False


def _require_means(options: FixOptions) -> None:
    """Refuse a proof for which packages or inputs are missing: nobody is to take for proven what was not.

    Raises:
        click.UsageError: they are.
    """
    if options.verify and not available():
        raise click.UsageError(f"--verify: {MISSING}")
    if options.inputs.names and not options.verify:
        raise click.UsageError(f"{options.inputs.names[0]}: inputs are for --verify, which is not given")
    try:
        options.inputs.require()
    except InputsError as error:
        raise click.UsageError(str(error)) from None
    if options.verify_build:
        from trtlint.trials.errors import WheelError
        from trtlint.trials.wheels import find

        try:
            find()
        except WheelError as error:
            raise click.UsageError(f"--verify-build: {error}") from None


def _require_apart(files: Sequence[Path]) -> None:
    """Refuse two things in one file.

    Raises:
        click.UsageError: they are to be.
    """
    for file, count in Counter(map(os.path.realpath, files)).items():
        if count > 1:
            raise click.UsageError(f"{count} files are to be written to {file}: name each another")


def _require_writable(option: str, file: str | None, spared: Sequence[Path]) -> None:
    """Refuse a file that cannot be written before anything is.

    Raises:
        click.UsageError: it cannot.
    """
    if file is None:
        return
    try:
        require_replaceable(Path(file), spared)
    except OSError as error:
        raise click.UsageError(f"{option}: cannot write {file}: {error.strerror or error}") from None


def _page() -> FixPage:
    from trtlint.report.fixpage import FixPage

    return FixPage()


def _script(fixed: Fixed, path: Path) -> str | None:
    """The edits as a script; None where there are none.

    Raises:
        click.UsageError: there are edits that no script is written for.
    """
    from trtlint.fixes.surgeon import ScriptError, script

    try:
        return script(fixed.outcome, fixed.path.name, path.name) if fixed.changed else None
    except ScriptError as error:
        raise click.UsageError(f"--script: {error}") from None


def _prover() -> Prove:
    from trtlint.fixes.proof import prove

    return prove


def _judge(task: Task) -> Judge:
    """Lints as ``trtlint lint`` does, without what a build of the unfixed model left behind."""
    review = Review()
    return judging(
        partial(task.facts, built=False),
        task.entries,
        task.targets,
        lambda reports: review.apply(task.file, reports, task.policy),
    )


def _write(
    fixed: Fixed, out: Path, options: FixOptions, task: Task, writing: Writing
) -> tuple[Path | None, tuple[Verdict, ...]]:
    """Prove what is to be proven, and write the model if there is something to write and nothing against it.

    What is proven is the file itself, which is therefore written under another name first.
    """
    if not fixed.changed or fixed.fault:
        return None, ()
    outside = fixed.outcome.after.model.tensors.locations
    if outside and out.parent.resolve() != fixed.path.parent.resolve():
        raise click.UsageError(
            f"the weights are in {outside[0]!r} beside the model; write the fixed one to {fixed.path.parent}"
        )
    if options.writes_at_once:
        write_fixed(fixed, writing)
        return out, ()
    if not (options.verify or options.verify_build):
        return None, ()
    trial = out.with_name(f".{out.name}.{os.getpid()}.trial.onnx")
    try:
        with Writing(trial) as tried:
            write_fixed(fixed, tried)
        verdicts = tuple(_verdicts(fixed, trial, options, task))
    finally:
        trial.unlink(missing_ok=True)
    if options.dry_run or any(verdict.good is False for verdict in verdicts):
        return None, verdicts
    write_fixed(fixed, writing, [verdict.document for verdict in verdicts])
    return out, verdicts


def _verdicts(fixed: Fixed, after: Path, options: FixOptions, task: Task) -> Iterator[Verdict]:
    from trtlint.fixes.keeping import NAME as KEEP_FP32
    from trtlint.fixes.verification import build, outputs

    before = fixed.path
    # What is kept in FP32 leaves the range in the source: there they are to differ.
    wide = any(applied.fix == KEEP_FP32 for applied in fixed.outcome.applied)
    made = [patch for _, patches in fixed.outcome.rounds for patch in patches]
    mended, keyed = any(patch.mends for patch in made), any(patch.keeps_a_key for patch in made)
    if options.verify:
        yield outputs(before, after, options.inputs, wide=wide, mended=mended, keyed=keyed)
    if options.verify_build:
        yield build(before, after, next((t.sm for t in task.targets if t.sm is not None), None))
