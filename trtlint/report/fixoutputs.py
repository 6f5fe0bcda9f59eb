"""Outputs of ``trtlint fix``: text is written after each model, other formats at the end of the run."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trtlint.files.problem import Problem
from trtlint.files.replace import replace_text
from trtlint.fixes.costs import Costs
from trtlint.fixes.fixing import Fixed
from trtlint.report.fixes import FixReport
from trtlint.report.guard import harmless
from trtlint.report.outputs import ReportOutput

if TYPE_CHECKING:
    from trtlint.fixes.verification import CheckResult
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
        self._files: list[tuple[ReportOutput, TextIO]] = []
        self._reports: list[FixReport] = []
        self._pages: list[tuple[FixPage | FixMarkdown, TextIO]] = []
        for output in outputs:
            file = sys.stdout if output.file is None else io.StringIO()
            self._files.append((output, file))
            if output.format == "html":
                from trtlint.report.fixpage import FixPage

                self._pages.append((FixPage(), file))
            elif output.format == "markdown":
                from trtlint.report.fixmarkdown import FixMarkdown

                self._pages.append((FixMarkdown(diff=diff), file))
            else:
                self._reports.append(
                    FixReport(file, as_json=output.format == "json", diff=diff, selected=selected)
                )

    def problem(self, problem: Problem) -> None:
        """Report a file that could not be read or written."""
        for report in self._reports:
            report.problem(problem)
        for page, _ in self._pages:
            page.problem(problem)

    def add(self, fixed: Fixed, written: Path | None, verdicts: Sequence[CheckResult], costs: Costs) -> None:
        """Report the fixes of a model, their costs (file size, run time), and the file that was written."""
        for report in self._reports:
            report.add(fixed, written, verdicts, costs)
        for page, _ in self._pages:
            page.add(fixed, written, verdicts, costs)

    def close(self) -> None:
        """Write the outputs whose format is written at the end of the run.

        Raises:
            OSError: a file cannot be written, or is protected.
        """
        for report in self._reports:
            report.close()
        for page, file in self._pages:
            file.write(page.text())
        for output, file in self._files:
            if output.file is not None and isinstance(file, io.StringIO):
                replace_text(output.file, harmless(file.getvalue()), self._protected)
