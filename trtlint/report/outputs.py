"""Where a run writes its findings, and in which formats: several from one run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, TextIO

from trtlint.engine.finding import Finding, ModelReport, Report
from trtlint.engine.rulebook import Entry
from trtlint.files.replace import replace_text, require_replaceable
from trtlint.report.accepted import Accepted

STREAMED = ("full", "concise", "summary")
"""Formats for people, in which no other text on standard output does harm."""
DOCUMENTS = ("json", "sarif", "github", "gitlab", "junit", "rdjson", "markdown")
"""Formats for machines, written at the end."""
FORMATS = (*STREAMED, *DOCUMENTS)

Fails = Callable[[Finding], bool]
"""Whether a finding gives exit code 1."""


@dataclass(frozen=True, slots=True)
class Output:
    """A format, and the file that it goes to; None is standard output."""

    format: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """What holds for all outputs of a run.

    Attributes:
        files: how many files will be linted.
        rules: the rules that are wanted, read where a format lists them.
        root: the repository, which paths in formats for machines are relative to.
        show_conditional: also the findings that depend on something not known about the target.
        statistics: counts for each rule after the findings.
        quiet: findings and errors, and nothing else.
        spared: files that the run reads, which no output replaces.
    """

    files: int
    rules: Sequence[Entry]
    root: Path | None
    show_conditional: bool = False
    statistics: bool = False
    quiet: bool = False
    spared: Sequence[Path] = ()


class OutputError(ValueError):
    """An output that cannot be: an unknown format, a file that must stay, two on one file."""


class _Writer(Protocol):
    def add(self, models: Sequence[ModelReport], fails: Fails) -> None: ...

    def close(self, notes: Sequence[str]) -> None: ...


def parse(words: Iterable[str], format: str | None, *, quiet: bool = False) -> list[Output]:
    """The outputs of a command line.

    Args:
        words: values of ``--output``: ``FORMAT`` or ``FORMAT:FILE``.
        format: the value of ``--format``, None if not given.
        quiet: write nothing to standard output that was not asked for.

    Returns:
        At most one of them on standard output: what was asked for there, else the full text.

    Raises:
        OutputError: a value cannot be used.
    """
    outputs = [] if format is None else [Output(format)]
    outputs += [_output(word) for word in words]
    files = [_identity(output.file) for output in outputs]
    if files.count(None) > 1:
        raise OutputError("two outputs go to standard output; give all but one a file: FORMAT:FILE")
    for output, file in zip(outputs, files, strict=True):
        if file is not None and files.count(file) > 1:
            raise OutputError(f"two outputs go to {output.file}")
    if None not in files and not (outputs and quiet):
        outputs.insert(0, Output("full"))
    return outputs


def _output(word: str) -> Output:
    name, _, file = word.partition(":")
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMATS)}"
        raise OutputError(f"no format {name!r}; {hint}")
    if not file or file == "-":
        return Output(name)
    return Output(name, Path(file))


def _identity(file: Path | None) -> str | None:
    return None if file is None else os.path.realpath(file)


class Outputs:
    """Writes the reports of a run to all its outputs.

    Text goes to standard output file by file, as models are linted; everything else is written at
    the end, so that a run that is stopped leaves no half document.

    Raises:
        OutputError: a file cannot be written, or lies where something must stay.
        OSError: from :meth:`close`, for the same reasons.
    """

    def __init__(self, outputs: Iterable[Output], style: Style, stdout: TextIO) -> None:
        self._stdout = stdout
        self._writers: list[_Writer] = []
        self._buffers: list[tuple[Path, io.StringIO]] = []
        self._statistics: _Summary | None = None
        self._spared = list(style.spared)
        for output in outputs:
            file: TextIO = stdout
            if output.file is not None:
                try:
                    require_replaceable(output.file, self._spared)
                except OSError as error:
                    what = f"{output.format} to {output.file}"
                    raise OutputError(f"cannot write {what}: {error.strerror or error}") from None
                buffer = io.StringIO()
                self._buffers.append((output.file, buffer))
                file = buffer
            elif style.statistics and output.format != "summary":
                # The counts must not spoil a document that a program reads from standard output.
                counts = stdout if output.format in STREAMED else sys.stderr
                self._statistics = _Summary(counts, apart=True)
            self._writers.append(_writer(output.format, file, style))
        if self._statistics is not None:
            self._writers.append(self._statistics)

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        """Take the reports of one file, one for each target.

        Args:
            models: with sources located.
            fails: which of their findings give exit code 1.
        """
        self._spared += [Path(model.path).parent / name for model in models[:1] for name in model.data_files]
        for writer in self._writers:
            writer.add(models, fails)

    def close(self, notes: Sequence[str] = ()) -> None:
        """Write what is left.

        Args:
            notes: what concerns the run and no single model.
        """
        for writer in self._writers:
            writer.close(notes)
        for path, buffer in self._buffers:
            replace_text(path, buffer.getvalue(), self._spared)


def _writer(format: str, file: TextIO, style: Style) -> _Writer:
    if format == "full":
        return _Full(file, style)
    if format == "concise":
        return _Concise(file, style)
    if format == "summary":
        return _Summary(file, all_rules=style.statistics)
    return _Document(format, file, style)


class _Full:
    def __init__(self, file: TextIO, style: Style) -> None:
        from trtlint.report.text import TextReport

        self._text = TextReport(
            file, files=style.files, show_conditional=style.show_conditional, quiet=style.quiet
        )

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        self._text.add(models)

    def close(self, notes: Sequence[str]) -> None:
        self._text.close(notes)


class _Concise:
    def __init__(self, file: TextIO, style: Style) -> None:
        self._file = file
        self._style = style
        self._unseen: list[Finding] = []
        self._accepted = Accepted()

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        from trtlint.report import concise

        shown = self._style.show_conditional
        for line in concise.file_lines(models, show_conditional=shown, quiet=self._style.quiet):
            print(line, file=self._file)
        self._unseen += [] if shown else concise.conditional(models)
        self._accepted.add(models)

    def close(self, notes: Sequence[str]) -> None:
        from trtlint.report import concise

        if not self._style.quiet:
            for line in (*concise.run_notes(notes), *concise.closing(self._unseen, self._accepted)):
                print(line, file=self._file)


class _Summary:
    def __init__(self, file: TextIO, *, apart: bool = False, all_rules: bool = True) -> None:
        from trtlint.report.summary import SCREEN, Summary

        self._file = file
        self._apart = apart
        self._height = None if all_rules else SCREEN
        self._summary = Summary()

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        self._summary.add(models)

    def close(self, notes: Sequence[str]) -> None:
        if self._apart:
            print(file=self._file)
        self._summary.write(self._file, height=self._height)


class _Document:
    """A format that is written when everything is known."""

    def __init__(self, format: str, file: TextIO, style: Style) -> None:
        self._format = format
        self._file = file
        self._style = style
        self._models: list[ModelReport] = []
        self._fails: dict[str, Fails] = {}

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        self._models += models
        self._fails.update((model.path, fails) for model in models)

    def close(self, notes: Sequence[str]) -> None:
        for line in self._lines(Report(tuple(self._models), tuple(notes))):
            print(line, file=self._file)

    def _lines(self, report: Report) -> Iterable[str]:
        if self._format == "json":
            from trtlint.report import json

            return [json.dumps(report)]
        from trtlint.report.locations import overview, relative

        root = self._style.root
        seen = overview(report, root, show_conditional=self._style.show_conditional)
        if self._format == "sarif":
            from trtlint.report import sarif

            return [sarif.dumps(seen, [entry.read() for entry in self._style.rules])]
        if self._format == "junit":
            from trtlint.report import junit

            fails = {relative(path, root): fails for path, fails in self._fails.items()}
            return [junit.dumps(seen, lambda model, finding: fails[model](finding))]
        if self._format == "github":
            from trtlint.report import github

            return github.lines(seen)
        if self._format == "gitlab":
            from trtlint.report import gitlab

            return [gitlab.dumps(seen)]
        if self._format == "rdjson":
            from trtlint.report import rdjson

            return [rdjson.dumps(seen)]
        from trtlint.report import markdown

        return [markdown.dumps(seen)]
