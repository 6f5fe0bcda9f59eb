"""Table of report formats, and the interface of the modules that implement the formats.

A new format needs a module in this package and a line in one of the tables below. A module in
:data:`STREAMED` has a function ``writer(file, style)``, which returns a :class:`ReportWriter`. A module in
:data:`DOCUMENTS` has ``document(run)``, which converts a :class:`Run` to lines. A module in :data:`BINARY`
has ``content(run)``, which converts a :class:`Run` to bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from trtlint.engine.finding import Finding, ModelReport, Report
    from trtlint.engine.rulebook import RuleEntry
    from trtlint.facts.facts import Facts
    from trtlint.report.locations import Overview

    Fails = Callable[[Finding], bool]
    """Function that returns whether a finding gives exit code 1."""

STREAMED: Mapping[str, str] = {
    "full": "text",
    "concise": "concise",
    "summary": "summary",
}
"""Formats for people, with their modules. trtlint may write further text to the stream of the report."""
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
"""Formats written at the end of the run, mostly for machines, with their modules."""
OVERLAYS = frozenset({"netron", "model-explorer"})
"""Formats that a viewer overlays on one model; the name of the report file must end in ``.json``."""
BINARY: Mapping[str, str] = {"parquet": "parquet"}
"""Binary formats with their modules. Each module has the functions ``content(run)`` and ``require()``."""
COMMANDS = frozenset({"github"})
"""Formats whose lines are commands to a CI system. Their modules escape names that look like commands."""
ROWS = frozenset({"jsonl", "parquet"})
"""Formats whose rows contain the revision of each model."""
TEXTS = (*STREAMED, *DOCUMENTS)
FORMATS = (*TEXTS, *BINARY)
"""Formats of ``lint``."""
REPORTS = ("text", "json", "markdown", "html")
"""Report formats of all commands except ``lint``."""
SYNONYMS: Mapping[str, str] = {"text": "full", "full": "text"}
"""The two names of the default text format: ``full`` in ``trtlint lint``, ``text`` in other commands."""


class Style(Struct, frozen=True):
    """Settings of all outputs of a run.

    Attributes:
        files: the number of files.
        rules: the selected rules, for formats that list them.
        root: the repository, for relative paths in formats for machines.
        show_conditional: true to show findings that depend on unset options.
        statistics: true to write counts for each rule after the findings.
        quiet: true to write only findings and errors.
        protected: files of the run that no output may overwrite.
        look: function that reads a model again and returns its facts, for formats with drawings. The function
            returns None if it cannot read the model.
    """

    files: int
    rules: Sequence[RuleEntry]
    root: Path | None
    show_conditional: bool = False
    statistics: bool = False
    quiet: bool = False
    protected: Sequence[Path] = ()
    look: Callable[[str], Facts | None] | None = None


class ReportWriter(Protocol):
    """Writer of the reports of a run in a format of :data:`STREAMED`.

    Depending on the format, the writer writes after each file or at the end of the run.
    """

    def add(self, models: Sequence[ModelReport]) -> None:
        """Add the reports of one file. There is one report for each target."""

    def close(self, notes: Sequence[str]) -> None:
        """Write the rest of the report at the end of the run.

        Args:
            notes: notes about the whole run.
        """


class Run(Struct, frozen=True):
    """A complete run, for formats that are written at the end.

    Attributes:
        report: the reports of all models.
        style: settings of all outputs.
        fails: for each model path, a function that returns whether a finding gives exit code 1.
    """

    report: Report
    style: Style
    fails: Mapping[str, Fails]

    def overview(self) -> Overview:
        """Return the findings of the run, grouped by source line or model file.

        Paths are relative to the repository.
        """
        from trtlint.report.locations import overview

        return overview(self.report, self.style.root, show_conditional=self.style.show_conditional)


def known(name: str, formats: Sequence[str] = FORMATS) -> str:
    """Return the name of the format that a user requests.

    Args:
        name: the name, or a synonym.
        formats: the formats that the command supports.

    Raises:
        SettingError: the format is unknown.
    """
    name = name if name in formats else SYNONYMS.get(name, name)
    if name not in formats:
        hint = did_you_mean(name, formats, otherwise=f"; the formats are {', '.join(formats)}")
        raise SettingError(f"unknown format {name!r}{hint}")
    return name


def writer_of(name: str, file: TextIO, style: Style) -> ReportWriter:
    """Return a writer for a format in :data:`STREAMED`."""
    writer: Callable[[TextIO, Style], ReportWriter] = import_module(f"trtlint.report.{STREAMED[name]}").writer
    return writer(file, style)


def lines_of(name: str, run: Run) -> Iterator[str]:
    """Yield the lines of a format in :data:`DOCUMENTS`, with line ends."""
    document: Callable[[Run], Iterable[str]] = import_module(f"trtlint.report.{DOCUMENTS[name]}").document
    return (f"{line}\n" for line in document(run))


def binary_format(name: str) -> Any:
    """Return the module of a format in :data:`BINARY`."""
    return import_module(f"trtlint.report.{BINARY[name]}")
