"""Outputs of a run: pairs of a format and a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from trtlint.engine.finding import Report
from trtlint.errors import SettingError
from trtlint.files.replace import replace_text, replacing, require_output
from trtlint.report.escape import clean
from trtlint.report.formats import (
    BINARY,
    COMMANDS,
    FORMATS,
    OVERLAYS,
    STREAMED,
    ReportWriter,
    Run,
    Style,
    binary_format,
    known,
    lines_of,
    writer_of,
)
from trtlint.report.guard import harmless, unguarded

if TYPE_CHECKING:
    from trtlint.engine.finding import ModelReport
    from trtlint.report.formats import Fails


_SUFFIXES = {
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
    ".sarif": "sarif",
    ".txt": "text",
}
"""The format that each file suffix suggests, for messages."""


class ReportOutput(Struct, frozen=True):
    """An output of a run, with its format and its file. The file None stands for standard output."""

    format: str
    file: Path | None = None


def parse(
    words: Iterable[str],
    format: str | None,
    *,
    quiet: bool = False,
    formats: Sequence[str] = FORMATS,
    default: str = "full",
) -> list[ReportOutput]:
    """Return the outputs that a command line requests.

    Args:
        words: values of ``--output``, each ``FORMAT`` or ``FORMAT:FILE``.
        format: the value of ``--format``; None if not given.
        quiet: true to write to standard output only if the user requests an output there.
        formats: the formats of the command.
        default: the format of standard output if the user requests none.

    Returns:
        The outputs, with at most one on standard output.

    Raises:
        SettingError: a value cannot be used.
    """
    outputs = [] if format is None else [ReportOutput(known(format, formats))]
    outputs += [_output(word, formats) for word in words]
    files = [_identity(output.file) for output in outputs]
    if files.count(None) > 1:
        raise SettingError(
            "two outputs go to standard output; name a file for all but one of them: FORMAT:FILE"
        )
    for output, file in zip(outputs, files, strict=True):
        if file is not None and files.count(file) > 1:
            raise SettingError(f"two outputs go to {output.file}; use different files")
    if None not in files and not (outputs and quiet):
        outputs.insert(0, ReportOutput(default))
    return outputs


def require_writable(output: ReportOutput, protected: Iterable[Path]) -> None:
    """Check that the file of an output can be written, before the work starts.

    Raises:
        SettingError: the file cannot be written.
    """
    if output.file is not None:
        require_output(output.file, protected, f"{output.format} to")


def write_all(
    outputs: Iterable[ReportOutput], render: Callable[[str, TextIO], None], protected: Iterable[Path]
) -> None:
    """Write a report to all outputs.

    Args:
        outputs: the outputs.
        render: function that writes the report in a format to a stream.
        protected: files of the run that no output may overwrite.

    Raises:
        OSError: a file cannot be written, or is protected.
    """
    protected = list(protected)
    for output in outputs:
        if output.file is None:
            render(output.format, sys.stdout)
        else:
            buffer = io.StringIO()
            render(output.format, buffer)
            replace_text(output.file, harmless(buffer.getvalue()), protected)


def _output(word: str, formats: Sequence[str]) -> ReportOutput:
    name, colon, file = word.partition(":")
    if not colon and (format := format_of_file(word)) in formats and word not in formats:
        raise SettingError(f"{word}: no format is given; write {format}:{word}")
    name = known(name, formats)
    if not file or file == "-":
        return ReportOutput(name)
    return ReportOutput(name, Path(file))


def format_of_file(name: str) -> str:
    """Return the format that the suffix of a file name suggests, or an empty string for other suffixes."""
    return _SUFFIXES.get(Path(name).suffix.lower(), "")


def _identity(file: Path | None) -> str | None:
    return None if file is None else os.path.realpath(file)


def _require_possible(output: ReportOutput, files: int) -> None:
    """Check that the format of an output is suitable for its file and for the number of linted files.

    Raises:
        SettingError: the format is unsuitable, or a required package is not installed.
    """
    if output.format in OVERLAYS and files > 1:
        raise SettingError(f"{output.format} is for one model, but {files} models are given")
    if output.file is None:
        if output.format in BINARY:
            raise SettingError(f"{output.format} is binary; write it to a file: {output.format}:FILE")
    elif output.format in OVERLAYS and output.file.suffix.lower() != ".json":
        raise SettingError(f"{output.file}: {output.format} needs a file name that ends in .json")


class Outputs:
    """Writer of the reports of a run, for all outputs.

    Text is written to standard output after each file. The remaining outputs are written at the end, so an
    interrupted run leaves no partial document. Without an output on standard output, errors also go to
    standard error.

    Raises:
        SettingError: a file cannot be written, or is protected.
        OSError: from :meth:`close`, for the same reasons.
    """

    def __init__(self, outputs: Sequence[ReportOutput], style: Style, stdout: TextIO) -> None:
        self._style = style
        self._stdout = stdout
        self._protected = list(style.protected)
        self._writers: list[ReportWriter] = []
        self._buffers: list[tuple[Path, io.StringIO]] = []
        self._documents: list[ReportOutput] = []
        self._statistics: ReportWriter | None = None
        self._models: list[ModelReport] = []
        self._fails: dict[str, Fails] = {}
        self._only_files = all(output.file is not None for output in outputs)
        for output in outputs:
            _require_possible(output, style.files)
            if output.format in BINARY:
                binary_format(output.format).require()
            if output.format in STREAMED:
                self._stream(output)
            else:
                self._documents.append(output)
            if output.file is None and style.statistics and output.format != "summary":
                # The counts must not corrupt a document on standard output.
                from trtlint.report.summary import SummaryWriter

                counts = stdout if output.format in STREAMED else sys.stderr
                self._statistics = SummaryWriter(counts, apart=True)
        for output in outputs:
            require_writable(output, self._protected)

    def _stream(self, output: ReportOutput) -> None:
        """Add a writer for an output in a text format that people read, such as ``full``."""
        file = self._stdout
        if output.file is not None:
            file = io.StringIO()
            self._buffers.append((output.file, file))
        self._writers.append(writer_of(output.format, file, self._style))

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        """Add the reports of one file. There is one report for each target.

        Args:
            models: the reports. The source files in the reports are already located on this machine.
            fails: function that returns whether a finding gives exit code 1.
        """
        self._protected += [
            Path(model.path).parent / name for model in models[:1] for name in model.data_files
        ]
        if self._only_files:
            for problem in dict.fromkeys(problem for model in models for problem in model.errors):
                print(clean(f"error: {problem}"), file=sys.stderr)
        for writer in self._writers:
            writer.add(models)
        if self._statistics is not None:
            self._statistics.add(models)
        if self._documents:
            self._models += models
            self._fails.update((model.path, fails) for model in models)

    def close(self, notes: Sequence[str] = ()) -> None:
        """Write the outputs that were held back until the end of the run.

        Args:
            notes: notes about the whole run.
        """
        for writer in self._writers:
            writer.close(notes)
        contents: list[tuple[Path, str | bytes]] = [
            (file, harmless(buffer.getvalue())) for file, buffer in self._buffers
        ]
        run = Run(Report(tuple(self._models), tuple(notes)), self._style, self._fails)
        for output in self._documents:
            if output.file is not None:
                contents.append((output.file, _content(output.format, run)))
                continue
            stdout = unguarded(self._stdout) if output.format in COMMANDS else self._stdout
            stdout.writelines(lines_of(output.format, run))
        if self._statistics is not None:
            self._statistics.close(notes)
        for file, content in contents:
            if isinstance(content, str):
                replace_text(file, content, self._protected)
            else:
                with replacing(file, self._protected) as binary:
                    binary.write(content)


def _content(name: str, run: Run) -> str | bytes:
    """Return the content of a report file, for a format that needs the complete run."""
    if name in BINARY:
        content: bytes = binary_format(name).content(run)
        return content
    text = "".join(lines_of(name, run))
    return text if name in COMMANDS else harmless(text)
