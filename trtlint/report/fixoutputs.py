"""Outputs of ``trtlint fix``: text is written after each model, all documents at the end of the run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trtlint.files.problem import Problem
from trtlint.report.escape import clean
from trtlint.report.fixes import FixJson, FixResult, difference, lines
from trtlint.report.outputs import ReportOutput, write_all

if TYPE_CHECKING:
    from trtlint.report.fixmarkdown import FixMarkdown
    from trtlint.report.fixpage import FixPage

_STREAMED = ReportOutput("text")
"""Text on standard output: the only output that is written after each model, not at the end."""


class FixOutputs:
    """Writer of the report about the fixes of all models, for all outputs of a run.

    Args:
        outputs: the outputs.
        diff: true to show a diff of each model in the ONNX text format.
        selected: the rules that ``--select`` names.  Only these rules ran.
    """

    def __init__(
        self,
        outputs: Sequence[ReportOutput],
        *,
        diff: bool,
        selected: Sequence[str] = (),
    ) -> None:
        self._diff = diff
        self._selected = selected
        self._streamed = _STREAMED in outputs
        self._others = [output for output in outputs if output != _STREAMED]
        formats = {output.format for output in outputs}
        self._has_text = "text" in formats
        self._documents = {format: _document(format, diff) for format in formats - {"text"}}
        self._lines: list[str] = []
        self._problems: list[Problem] = []

    def problem(self, problem: Problem) -> None:
        """Report a file that could not be read or written."""
        self._problems.append(problem)
        self._text([f"error: {problem}"])

    def add(self, result: FixResult) -> None:
        """Report the result for one model."""
        for document in self._documents.values():
            document.add(result)
        if self._has_text:
            self._text(lines(result, self._selected))
            if self._diff:
                self._text(difference(result.fixed))

    def _text(self, lines: Iterable[str]) -> None:
        cleaned = [f"{clean(line)}\n" for line in lines]
        self._lines += cleaned
        if self._streamed:
            sys.stdout.writelines(cleaned)

    def close(self, protected: Iterable[Path]) -> None:
        """Write the outputs that were held back until the end of the run.

        Args:
            protected: files of the run that no output may overwrite.

        Raises:
            OSError: a file cannot be written, or is protected.
        """
        write_all(self._others, self._write, protected)

    def _write(self, format: str, file: TextIO) -> None:
        if format == "text":
            file.writelines(self._lines)
        else:
            file.write(self._documents[format].content(self._problems))


def _document(format: str, diff: bool) -> FixJson | FixMarkdown | FixPage:
    if format == "html":
        from trtlint.report.fixpage import FixPage

        return FixPage()
    if format == "markdown":
        from trtlint.report.fixmarkdown import FixMarkdown

        return FixMarkdown(diff=diff)
    return FixJson(diff=diff)
