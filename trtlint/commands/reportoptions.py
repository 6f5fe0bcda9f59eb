"""Define options for outputs: ``-o FILE`` for a result, ``--format`` and ``--output`` for reports."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trtlint.commands.arguments import bundle
from trtlint.errors import SettingError
from trtlint.report.formats import REPORTS, SYNONYMS

if TYPE_CHECKING:
    from trtlint.report.outputs import ReportOutput


class ResultOption(click.Option):
    """The option ``-o FILE``.  The help does not show the old long name ``--output``."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help: ``-o FILE`` and its description."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        return f"{self.opts[0]} {self.metavar}", record[1]


def result_option(help: str, *, required: bool = False, default: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that adds ``-o FILE`` to a command that writes a file, but no report."""
    # For click, default=None is a given value, so that a missing required option is no error.
    optional = {} if default is None else {"default": default}
    return click.option(
        "-o", "--output", cls=ResultOption, metavar="FILE", required=required, help=help, **optional
    )


def report_options(result: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that adds the output options to a command that writes a report.

    Args:
        result: help of ``-o FILE``; None for a command that writes only reports.
    """
    options = [
        click.option(
            "--format",
            "format_",
            type=click.Choice(REPORTS),
            help="Format of the report on standard output (default: text).",
        ),
        click.option(
            "--output",
            "outputs",
            multiple=True,
            metavar="FORMAT:FILE",
            help="Also write the report to a file in this format; repeatable.",
        ),
    ]
    if result is None:
        options.insert(0, NO_RESULT)
    else:
        options.insert(0, click.option("-o", "output", metavar="FILE", help=result))
    return bundle(*options)


def _refuse_result(ctx: click.Context, _: click.Parameter, file: str | None) -> None:
    if file is not None:
        raise SettingError(f"-o: trtlint {ctx.info_name} writes only reports; use --output FORMAT:FILE")


NO_RESULT = click.option(
    "-o", "output", metavar="FILE", hidden=True, expose_value=False, callback=_refuse_result
)
"""The option ``-o`` of a command that writes only reports.  Anyone who uses this option gets an error."""
HTML = click.option("--html", metavar="FILE", hidden=True, help="Old spelling of --output html:FILE.")


def take_outputs(options: dict[str, Any]) -> tuple[ReportOutput, ...]:
    """Take the report options out of ``options``, and return the outputs that they name.

    A value of ``--output`` without a format is the old spelling of ``-o FILE``, with the same effect.

    Raises:
        SettingError: an output cannot be used.
    """
    from trtlint.report.outputs import format_of_file, parse

    words = list(options.pop("outputs"))
    page = options.pop("html", None)
    if page is not None:
        words.append(f"html:{page}")
    if "output" in options:
        old = [word for word in words if not _is_report(word)]
        words = [word for word in words if _is_report(word)]
        for word in old:
            if (format := format_of_file(word)) in ("html", "markdown"):
                raise SettingError(f"--output {word}: no format is given; write {format}:{word}")
        if len(old) + (options["output"] is not None) > 1:
            raise SettingError("-o is given twice; name one file")
        options["output"] = old[0] if old else options["output"]
    return tuple(parse(words, options.pop("format_"), formats=REPORTS, default=REPORTS[0]))


def take_lint_outputs(options: dict[str, Any]) -> tuple[ReportOutput, ...]:
    """Take the report options out of ``trtlint lint``'s options, and return the outputs that they name.

    Raises:
        SettingError: an output cannot be used.
    """
    from trtlint.report.outputs import parse

    format = options.pop("format_")
    format = SYNONYMS["text"] if format == "text" else format
    return tuple(parse(options.pop("outputs"), format, quiet=options["quiet"]))


def destination(model: Path, given: str | None, usual: Path) -> Path:
    """Return the file to write for a model.

    Args:
        model: the model.
        given: the file or folder that ``-o`` names; None if the option is not given.
        usual: the file to write without ``-o``.  If ``given`` is a folder, the output gets the name of this
            file.

    Raises:
        SettingError: the file is the model itself, or its folder does not exist.
    """
    from trtlint.files.replace import in_folder

    if given is not None and given.endswith(("/", os.sep)) and not Path(given).is_dir():
        raise SettingError(f"-o: folder {given} does not exist; create it first")
    out = usual if given is None else in_folder(Path(given), usual.name)
    if out.exists() and model.exists() and out.samefile(model):
        raise SettingError(f"-o: {out} is the model itself; name another file")
    if not out.parent.is_dir():
        raise SettingError(f"{out}: folder {out.parent} does not exist; create it first")
    return out


def require_folder(folder: Path, models: int) -> None:
    """Check that the output path for several models is a folder.

    Raises:
        SettingError: the path is a file, or does not exist.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise SettingError(
            f"-o: {models} models are given, so -o must name a folder, but {folder} {what}; create "
            "the folder first"
        )


def require_outputs(
    outputs: Sequence[ReportOutput], protected: Iterable[Path], results: Iterable[Path] = ()
) -> None:
    """Check that all outputs can be written, before the work starts.

    Args:
        outputs: the reports.
        protected: files that the run reads.
        results: the files that the run writes in addition to the reports.

    Raises:
        SettingError: an output cannot be written, or two outputs are the same file.
    """
    from trtlint.report.outputs import require_writable

    protected = list(protected)
    files = [*results, *(output.file for output in outputs if output.file is not None)]
    for file, count in Counter(map(os.path.realpath, files)).items():
        if count > 1:
            raise SettingError(
                f"{file}: {count} outputs would be written to this file; use different output files"
            )
    for output in outputs:
        require_writable(output, protected)


def _is_report(word: str) -> bool:
    """Return whether a value begins with a format, such as ``json:out.json``.

    A single letter before a colon is a Windows drive, not a format.
    """
    name, colon, _ = word.partition(":")
    return name in REPORTS or (bool(colon) and name.isidentifier() and len(name) > 1)
