"""``trtlint convert``: convert an FP32 model to a strongly typed FP16 or BF16 model."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click
from msgspec import Struct
from msgspec.structs import replace

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.setup import build_command, build_commands, refuse_addresses, targets
from trtlint.commands.stopping import tidying_up
from trtlint.conversion.buildline import build_line
from trtlint.conversion.fixed import KeepError
from trtlint.conversion.layertypes import LayerTypes, of_command, of_polygraphy
from trtlint.conversion.measuring import ConversionNeedsRuntimeError
from trtlint.conversion.result import Conversion, ConversionError, to_data
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest
from trtlint.errors import ExperimentError
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import require_replaceable
from trtlint.files.temporary import remove_stale
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.policy.options import TargetOptions
from trtlint.report.escape import clean
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity

_DOING = {
    "reading": "reading the model",
    "ranges": "measuring ranges in FP32",
    "search": "searching for nodes to keep in FP32",
    "rewriting": "rewriting products that leave the range",
    "writing": "writing the model",
    "parser": "parsing with TensorRT-RTX",
    "builder": "building with TensorRT-RTX",
    "rehearsal": "simulating the converted model",
}


class ConvertOptions(Struct, frozen=True):
    """Options of ``trtlint convert``."""

    model: str
    type_: str
    output: str | None
    inputs: tuple[str, ...]
    load_inputs: tuple[str, ...]
    data_loader_script: str | None
    keep: tuple[str, ...]
    io: str
    tolerance: float
    measure: bool
    verify_build: bool
    dry_run: bool
    diff: bool
    seconds: float | None
    memory: int | None
    build: str | None
    network_script: str | None
    target: TargetOptions
    outputs: tuple[ReportOutput, ...] = (ReportOutput("text"),)


def run_convert(options: ConvertOptions) -> int:
    """Convert a model and write the report to standard output; return the exit code."""
    refuse_addresses([options.model])
    if options.io not in ("fp32", options.type_):
        raise click.UsageError(f"--io {options.io}: use fp32 or {options.type_}, the type of --to")
    wanted = targets(options.target)
    model = Path(options.model)
    out = _destination(model, options)
    request = ConversionRequest(
        model=model,
        type=options.type_,
        io=options.io,
        inputs=Inputs(options.inputs, options.load_inputs, options.data_loader_script),
        keep=options.keep,
        tolerance=options.tolerance,
        measure=options.measure,
        build=options.verify_build,
        seconds=options.seconds,
        memory=options.memory,
    )
    request = replace(request, layers=_layers(options, model))
    protected = [model, *map(Path, request.inputs.paths)]
    try:
        request.inputs.require()
    except InputsError as error:
        raise click.UsageError(str(error)) from error
    _require_writable(out, protected)
    require_outputs(options.outputs, protected, [] if out is None else [out])
    if out is not None:
        remove_stale(out.parent)
    sm = next((target.sm for target in wanted if target.sm is not None), None)
    with tidying_up(), Activity(_DOING["reading"]) as activity:
        try:
            found, draft = run(
                request,
                out,
                command=build_line(wanted),
                sm=sm,
                protected=tuple(protected),
                listen=lambda doing: activity.step(_DOING.get(doing, doing)),
            )
        except (KeepError, InputsError, ConversionNeedsRuntimeError) as error:
            raise click.UsageError(str(error)) from error
        except ConversionError as error:
            return _unreadable(Problem(options.model, str(error)))
        except (UnreadableError, OSError) as error:
            return _unreadable(Problem.of(options.model, error))
    lines: tuple[str, ...] = ()
    if options.diff and draft.converted is not None:
        from trtlint.report.convertdiff import difference

        lines = tuple(difference(draft))
    write_all(options.outputs, lambda format, file: _write(found, lines, format, file), protected)
    return _exit(found)


def _layers(options: ConvertOptions, model: Path) -> LayerTypes | None:
    """Return the layer types that a build command or a network script sets; None without one.

    Raises:
        click.UsageError: the command or script cannot be used, or both are given.
    """
    if options.network_script is not None:
        from trtlint.conversion.script import NetworkScriptError, of_script

        if options.build is not None:
            raise click.UsageError("--network-script cannot be used with --build: both set layer types")
        try:
            return of_script(model, options.network_script)
        except (NetworkScriptError, ExperimentError) as error:
            raise click.UsageError(str(error)) from error
    if options.build is None:
        return None
    found = of_polygraphy(options.build)
    if found is not None:
        return found
    command = build_command(build_commands(options.build), model)
    return None if command is None else of_command(command)


def _destination(model: Path, options: ConvertOptions) -> Path | None:
    """Return the file to write; None for a dry run.

    Raises:
        click.UsageError: the file cannot be written there.
    """
    if options.dry_run:
        return None
    if options.output is None:
        return model.with_name(f"{model.stem}.{options.type_}{model.suffix}")
    out = Path(options.output)
    if out.exists() and model.exists() and out.samefile(model):
        raise click.UsageError(f"-o: {out} is the model itself; name another file")
    return out


def _require_writable(file: Path | None, protected: Sequence[Path]) -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises:
        click.UsageError: the file cannot be written.
    """
    if file is None:
        return
    try:
        require_replaceable(file, protected)
    except OSError as error:
        raise click.UsageError(f"cannot write {file}: {error.strerror or error}") from None


def _write(found: Conversion, diff: Sequence[str], format: str, file: TextIO) -> None:
    """Write the report in a format; text and Markdown also have the diff."""
    if format == "html":
        from trtlint.report.convertpage import page

        file.write(page(found))
    elif format == "json":
        file.write(json.dumps(to_data(found), indent=1) + "\n")
    elif format == "markdown":
        from trtlint.report.convertmarkdown import markdown

        file.write(markdown(found, diff))
    else:
        from trtlint.report.convert import ConvertReport

        ConvertReport(file).add(found)
        file.writelines(diff)


def _exit(found: Conversion) -> Exit:
    if found.unchanged:
        return Exit.CLEAN
    if found.verdict == "failed":
        return Exit.UNREADABLE
    return Exit.CLEAN if found.verdict == "proven" else Exit.FINDINGS


def _unreadable(problem: Problem) -> int:
    print(clean(f"error: {problem}"), file=sys.stderr)
    return Exit.UNREADABLE
