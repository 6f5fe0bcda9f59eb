"""The formats that findings are written in: the table of them, and what a module of one offers.

A format is one module of this package and one line below.  A module in :data:`STREAMED` has a function
``writer(file, style)`` that gives a :class:`Writer`; one in :data:`DOCUMENTS` has a function
``document(run)`` that gives the lines of the whole, of a :class:`Run`; one in :data:`BINARY` a function
``content(run)`` that gives its bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, BinaryIO, Protocol, TextIO

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import did_you_mean
from trtlint.lean import dataclass
from trtlint.report.guard import unguarded

if TYPE_CHECKING:
    from pathlib import Path

    from trtlint.engine.finding import Finding, ModelReport, Report
    from trtlint.engine.rulebook import RuleEntry
    from trtlint.facts.facts import Facts
    from trtlint.report.locations import Overview

    Fails = Callable[[Finding], bool]
    """Whether a finding gives exit code 1."""

STREAMED: Mapping[str, str] = {
    "full": "text",
    "concise": "concise",
    "summary": "summary",
}
"""Formats for people, in which no other text on standard output does harm, with their modules."""
DOCUMENTS: Mapping[str, str] = {
    "json": "json",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "rdjson": "rdjson",
    "markdown": "markdown",
    "html": "html",
    "netron": "netron",
    "model-explorer": "modelexplorer",
    "jsonl": "rows",
}
"""Formats that are written at the end, most of them for machines, with their modules."""
OVERLAYS = frozenset({"netron", "model-explorer"})
"""Formats that a viewer lays over one model; it opens files whose name ends in ``.json``."""
BINARY: Mapping[str, str] = {"parquet": "parquet"}
"""Formats that are no text, with their modules, which have ``content(run)`` and ``require()``."""
ROWS = frozenset({"jsonl", "parquet"})
"""Formats that tell revisions of models apart."""
TEXTS = (*STREAMED, *DOCUMENTS)
FORMATS = (*TEXTS, *BINARY)


class FormatError(SettingError):
    """There is no such format; the text names the nearest."""


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
        protected: files that the run reads, which no output replaces.
        look: by the path of a model, what is known of it, for formats that draw it; None where it cannot be
            read.  It is read once more for that.
    """

    files: int
    rules: Sequence[RuleEntry]
    root: Path | None
    show_conditional: bool = False
    statistics: bool = False
    quiet: bool = False
    protected: Sequence[Path] = ()
    look: Callable[[str], Facts | None] | None = None


class Writer(Protocol):
    """Writes the reports of a run, file by file or at its end."""

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        """Take the reports of one file, one for each target, and which of their findings fail the run."""

    def close(self, notes: Sequence[str]) -> None:
        """Write what is left, and notes that concern the run and no single model."""


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run, as formats that are written at its end see it.

    Attributes:
        report: the reports of all models.
        style: what holds for all outputs.
        fails: by the path of a model, which of its findings give exit code 1.
    """

    report: Report
    style: Style
    fails: Mapping[str, Fails]

    def overview(self) -> Overview:
        """The findings at their places, with paths relative to the repository."""
        from trtlint.report.locations import overview

        return overview(self.report, self.style.root, show_conditional=self.style.show_conditional)


def known(name: str) -> str:
    """The name of a format, if it is one.

    Raises:
        FormatError: it is none.
    """
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS, otherwise=f"; there are {', '.join(FORMATS)}")
        raise FormatError(f"no format {name!r}{hint}")
    return name


def writer_of(name: str, file: TextIO, style: Style) -> Writer:
    """What writes a format to a file.

    Raises:
        FormatError: there is no such format.
    """
    if known(name) in STREAMED:
        writer: Callable[[TextIO, Style], Writer] = import_module(f"trtlint.report.{STREAMED[name]}").writer
        return writer(file, style)
    file = unguarded(file) if name in COMMANDS else file
    return _AtTheEnd(import_module(f"trtlint.report.{DOCUMENTS[name]}").document, file, style)


COMMANDS = frozenset({"github"})
"""Formats whose lines are meant as commands to a CI system; they take them out of names themselves."""


class _AtTheEnd:
    """Writes a format when everything is known."""

    def __init__(self, document: Callable[[Run], Iterable[str]], file: TextIO, style: Style) -> None:
        self._document = document
        self._file = file
        self._style = style
        self._models: list[ModelReport] = []
        self._fails: dict[str, Fails] = {}

    def add(self, models: Sequence[ModelReport], fails: Fails) -> None:
        self._models += models
        self._fails.update((model.path, fails) for model in models)

    def _run(self, notes: Sequence[str]) -> Run:
        from trtlint.engine.finding import Report

        return Run(Report(tuple(self._models), tuple(notes)), self._style, self._fails)

    def close(self, notes: Sequence[str]) -> None:
        for line in self._document(self._run(notes)):
            print(line, file=self._file)


class _Bytes(_AtTheEnd):
    """Writes a format that is no text."""

    def __init__(self, content: Callable[[Run], bytes], file: BinaryIO, style: Style) -> None:
        super().__init__(lambda _: (), io.StringIO(), style)
        self._content = content
        self._bytes = file

    def close(self, notes: Sequence[str]) -> None:
        self._bytes.write(self._content(self._run(notes)))


def bytes_writer_of(name: str, file: BinaryIO, style: Style) -> Writer:
    """What writes a format that is no text to a file.

    Raises:
        FormatError: what it needs is not installed.
    """
    module = import_module(f"trtlint.report.{BINARY[name]}")
    module.require()
    return _Bytes(module.content, file, style)
