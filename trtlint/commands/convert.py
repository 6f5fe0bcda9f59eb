"""``trtlint convert``: convert FP32 models to strongly typed FP16 or BF16 models."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from msgspec import Struct
from msgspec.structs import asdict, replace

from trtlint.buildcommand import BuildCommand, choose_command, read_commands
from trtlint.commands.reportoptions import destination, require_folder, require_outputs
from trtlint.commands.streams import notify
from trtlint.conversion.buildline import build_line, unbuildable
from trtlint.conversion.fixed import KeepError
from trtlint.conversion.layertypes import LayerTypes, of_command, of_polygraphy
from trtlint.conversion.measuring import ConversionNeedsRuntimeError
from trtlint.conversion.result import SCHEMA, Conversion, ConversionError, to_data
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest
from trtlint.errors import ExperimentError, SettingError
from trtlint.files.expand import expand
from trtlint.files.problem import Problem, UnreadableError, reason_of
from trtlint.files.replace import require_output
from trtlint.files.temporary import remove_stale
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.model.datafile import data_file
from trtlint.model.writer import files_at_risk, files_of
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of
from trtlint.process.collection import collect_seldom
from trtlint.remote.addresses import require_local
from trtlint.report.escape import clean
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity
from trtlint.target.target import Target, first_sm

_DOING = {
    "reading": "reading the model",
    "ranges": "measuring ranges in FP32",
    "search": "searching for nodes to keep in FP32",
    "rewriting": "rewriting products that exceed the range",
    "writing": "writing the model",
    "parser": "parsing with TensorRT-RTX",
    "builder": "building with TensorRT-RTX",
    "rehearsal": "simulating the converted model",
}


class ConvertOptions(Struct, frozen=True):
    """Options of ``trtlint convert``."""

    models: tuple[str, ...]
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
    outputs: tuple[ReportOutput, ...]


class ConvertedFile(Struct, frozen=True):
    """The result of the conversion of one model.

    Attributes:
        conversion: the conversion.
        files: the original model and its external data.
        diff: the lines of the diff; empty without ``--diff``.
    """

    conversion: Conversion
    files: Sequence[Path]
    diff: tuple[str, ...] = ()


def run_convert(options: ConvertOptions) -> int:
    """Convert models, write the reports and return the exit code."""
    require_local(options.models)
    if options.io not in ("fp32", options.type_):
        raise SettingError(f"--io {options.io}: use fp32 or {options.type_} (as in --to)")
    wanted = targets_of(options.target)
    if reason := unbuildable(options.type_, wanted):
        raise SettingError(reason)
    inputs = Inputs(options.inputs, options.load_inputs, options.data_loader_script)
    models = _models(options)
    outs = [
        None if options.dry_run else destination(model, options.output, _beside(model, options))
        for model in models
    ]
    written = [out for out in outs if out is not None]
    protected = [*files_at_risk(models, written), *map(Path, inputs.paths)]
    commands = [_build_command(options, model) for model in models]
    requests = [
        _request(model, options, inputs, command) for model, command in zip(models, commands, strict=True)
    ]
    inputs.require()
    for file in written:
        require_output(file, protected)
    require_outputs(options.outputs, protected, [*written, *map(data_file, written)])
    several = len(models) > 1
    found: list[ConvertedFile] = []
    problems: list[Problem] = []
    ended = Exit.CLEAN
    collect_seldom()
    for request, out, command in zip(requests, outs, commands, strict=True):
        try:
            one = _converted(request, out, options, build_line(wanted, command), wanted, protected)
        except (KeepError, InputsError) as error:
            if not several:
                raise SettingError(str(error)) from error
            one = Problem(str(request.model), str(error))  # the options may be valid for other models
        if isinstance(one, Problem):
            problems.append(one)
            print(clean(f"error: {one}"), file=sys.stderr)
            ended = max(ended, Exit.UNREADABLE)
            protected += files_of(request.model)
        else:
            found.append(one)
            protected += one.files
            ended = max(ended, _exit(one.conversion))

    def write(format: str, file: TextIO) -> None:
        if format == "json":
            file.write(json.dumps(_document(found, problems, several), indent=1) + "\n")
        else:
            _write(found, format, file)

    outputs = [output for output in options.outputs if found or output.format == "json"]
    write_all(outputs, write, protected)
    return ended


def _models(options: ConvertOptions) -> list[Path]:
    """Return the models to convert.

    Leave out files that have the default output name of another model of the command. An earlier run wrote
    these files.

    Raises:
        SettingError: ``-o`` names a file, but there are several models.
    """
    listed = list(expand(options.models))
    made = {os.path.realpath(_beside(model, options)) for model in listed}
    models = [model for model in listed if len(listed) == 1 or os.path.realpath(model) not in made]
    if options.output is not None and len(models) > 1:
        require_folder(Path(options.output), len(models))
    return models


def _request(
    model: Path, options: ConvertOptions, inputs: Inputs, command: BuildCommand | None
) -> ConversionRequest:
    return ConversionRequest(
        model=model,
        type=options.type_,
        io=options.io,
        inputs=inputs,
        keep=options.keep,
        tolerance=options.tolerance,
        measure=options.measure,
        build=options.verify_build,
        seconds=options.seconds,
        memory=options.memory,
        layers=_layers(options, model, command),
    )


def _converted(
    request: ConversionRequest,
    out: Path | None,
    options: ConvertOptions,
    line: str,
    wanted: Sequence[Target],
    protected: Sequence[Path],
) -> ConvertedFile | Problem:
    """Convert one model, or return the reason why it cannot be converted.

    Raises:
        KeepError: a name of ``--keep`` matches no operator of the model.
        InputsError: the inputs do not match the model.
        SettingError: a package is missing.
    """
    if out is not None:
        remove_stale(out.parent)
    sm = first_sm(wanted)
    name = request.model.name
    with Activity(f"{name}: {_DOING['reading']}") as activity:
        try:
            found, draft = run(
                request,
                out,
                command=line,
                sm=sm,
                protected=tuple(protected),
                listen=lambda doing: activity.step(f"{name}: {_DOING.get(doing, doing)}"),
            )
        except ConversionNeedsRuntimeError as error:
            raise SettingError(str(error)) from error
        except ConversionError as error:
            return Problem(str(request.model), str(error))
        except (UnreadableError, OSError) as error:
            return _problem(request.model, out, error)
    if found.output and options.target.arguments:
        linting = shlex.join(["trtlint", found.output, *options.target.arguments])
        found = replace(
            found, notes=(*found.notes, f"convert does not lint the result; lint it with: {linting}")
        )
    if not options.diff or draft.converted is None:
        return ConvertedFile(found, draft.source.files)
    from trtlint.report.modeldiff import difference

    lines = difference(draft.source.proto, draft.converted.proto, draft.source.path.name)
    return ConvertedFile(found, draft.source.files, tuple(map(clean, lines)))


def _problem(model: Path, out: Path | None, error: UnreadableError | OSError) -> Problem:
    """Return an error of a conversion, about the model or about a file that cannot be written."""
    name = error.filename if isinstance(error, OSError) else None
    if out is not None and name is not None and Path(os.fsdecode(name)).name.startswith(out.name):
        return Problem(os.fsdecode(name), f"cannot be written: {reason_of(error)}")
    return Problem.of(model, error)


def _layers(options: ConvertOptions, model: Path, command: BuildCommand | None) -> LayerTypes | None:
    """Return the layer data types that ``--build`` or ``--network-script`` sets.

    The result is None if no option sets data types of layers.

    Raises:
        SettingError: the build command or the script cannot be used, or both options are given.
    """
    if options.network_script is not None:
        from trtlint.conversion.layertypes import NetworkScriptError, of_script

        if options.build is not None:
            raise SettingError("--network-script cannot be used with --build: both set data types of layers")
        try:
            return of_script(model, options.network_script)
        except (NetworkScriptError, ExperimentError) as error:
            raise SettingError(str(error)) from error
    if command is not None:
        return of_command(command)
    return None if options.build is None else of_polygraphy(options.build)


def _build_command(options: ConvertOptions, model: Path) -> BuildCommand | None:
    """Return the trtexec command of ``--build``, or None if ``--build`` has none."""
    if options.build is None or of_polygraphy(options.build) is not None:
        return None
    return choose_command(model, read_commands(options.build), notify)


def _beside(model: Path, options: ConvertOptions) -> Path:
    return model.with_name(f"{model.stem}.{options.type_}{model.suffix}")


def _document(
    found: Sequence[ConvertedFile], problems: Sequence[Problem], several: bool
) -> dict[str, object]:
    """Return the report as JSON data: the conversion of a single model, or all conversions and errors."""
    models = [to_data(each.conversion) for each in found]
    if models and not several:
        return models[0]
    return {"schema": SCHEMA, "models": models, "errors": [asdict(each) for each in problems]}


def _write(found: Sequence[ConvertedFile], format: str, file: TextIO) -> None:
    """Write the report about all conversions, with the diffs."""
    if format in ("html", "markdown"):
        from trtlint.report.convertpages import page
        from trtlint.report.document import render

        file.write(render(page([(each.conversion, each.diff) for each in found]), format))
    else:
        from trtlint.report.convert import ConvertReport

        report = ConvertReport(file)
        for index, each in enumerate(found):
            file.write("\n" if index else "")
            report.add(each.conversion)
            file.writelines(f"{line}\n" for line in each.diff)


def _exit(found: Conversion) -> Exit:
    if found.unchanged:
        return Exit.CLEAN
    if found.verdict == "failed":
        return Exit.UNREADABLE
    return Exit.CLEAN if found.verdict == "proven" else Exit.FINDINGS
