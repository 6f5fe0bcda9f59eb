"""Outputs of ``trtlint fix``: text is written after each model, other formats at the end of the run."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trtlint.files.problem import Problem
from trtlint.files.replace import replace_text
from trtlint.report.escape import clean
from trtlint.report.fixes import FixJson, FixResult, difference, lines
from trtlint.report.guard import harmless
from trtlint.report.outputs import ReportOutput

if TYPE_CHECKING:
    from trtlint.report.fixmarkdown import FixMarkdown
    from trtlint.report.fixpage import FixPage


class FixOutputs:
    """Writer of the report about the fixes of all models, for all outputs of a run.

    Args:
        outputs: the outputs.
        diff: true to show a diff of each model in the ONNX text format.
        protected: files of the run that no output may overwrite.
        selected: the rules that ``--select`` names.  Other rules did not run.
    """

    def __init__(
        self,
        outputs: Sequence[ReportOutput],
        *,
        diff: bool,
        protected: Sequence[Path],
        selected: Sequence[str] = (),
    ) -> None:
        self._protected = protected
        self._diff = diff
        self._selected = selected
        self._texts: list[TextIO] = []
        self._documents: list[tuple[FixJson | FixMarkdown | FixPage, TextIO]] = []
        self._files: list[tuple[Path, io.StringIO]] = []
        self._problems: list[Problem] = []
        for output in outputs:
            file: TextIO = sys.stdout
            if output.file is not None:
                file = io.StringIO()
                self._files.append((output.file, file))
            if output.format == "html":
                from trtlint.report.fixpage import FixPage

                self._documents.append((FixPage(), file))
            elif output.format == "markdown":
                from trtlint.report.fixmarkdown import FixMarkdown

                self._documents.append((FixMarkdown(diff=diff), file))
            elif output.format == "json":
                self._documents.append((FixJson(diff=diff), file))
            else:
                self._texts.append(file)

    def problem(self, problem: Problem) -> None:
        """Report a file that could not be read or written."""
        self._problems.append(problem)
        self._print([f"error: {problem}"])

    def add(self, result: FixResult) -> None:
        """Report the result for one model."""
        for document, _ in self._documents:
            document.add(result)
        if self._texts:
            self._print([*lines(result, self._selected), *(difference(result.fixed) if self._diff else ())])

    def _print(self, lines: Sequence[str]) -> None:
        for file in self._texts:
            file.writelines(f"{clean(line)}\n" for line in lines)

    def close(self) -> None:
        """Write the outputs whose format is written at the end of the run.

        Raises:
            OSError: a file cannot be written, or is protected.
        """
        for document, file in self._documents:
            file.write(document.content(self._problems))
        for path, buffer in self._files:
            replace_text(path, harmless(buffer.getvalue()), self._protected)
