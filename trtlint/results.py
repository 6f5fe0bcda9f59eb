"""Results of the Python functions that fix and measure models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from trtlint.arguments import read_one
from trtlint.engine.finding import ModelReport, Report
from trtlint.engine.targets import merge
from trtlint.files.problem import UnreadableError
from trtlint.keywords import AnyPath
from trtlint.measurement.formats import FORMATS
from trtlint.report.counts import plural, severities_in
from trtlint.report.measureband import headline
from trtlint.report.notebook import frame

if TYPE_CHECKING:
    from trtlint.fixes.outcome import AppliedFix, RefusedFix
    from trtlint.measurement.measurement import Measurement


class Fix(Struct, frozen=True):
    """Result of fixing a model.

    Attributes:
        model: the fixed model, of the same type as the argument: a path, ModelProto or graph; None if
            unchanged.
        applied: the applied fixes, in order.
        refused: the skipped fixes, with reasons.
        reports: the remaining findings, one report for each target.
    """

    model: Any
    applied: tuple[AppliedFix, ...]
    refused: tuple[RefusedFix, ...]
    reports: tuple[ModelReport, ...]

    def __repr__(self) -> str:
        paths = ", ".join(dict.fromkeys(report.path for report in self.reports))
        counts = f"{plural(len(self.applied), 'rewrite')} applied, {len(self.refused):,} skipped"
        remaining = severities_in(
            each.finding for each in merge([report.findings for report in self.reports])
        )
        return f"<Fix {paths}: {counts}; remaining: {remaining}>"


class Measured(Struct, frozen=True):
    """Result of measuring a model.

    Attributes:
        measurement: the measured ranges and errors, for the keyword ``ranges`` of other functions.
        report: the findings, with the measured ranges and errors as evidence.
    """

    measurement: Measurement
    report: Report

    def save(self, path: AnyPath) -> None:
        """Write the measurement to a file, for ``trtlint lint --ranges``.

        Raises:
            OSError: the file cannot be written, or is the measured model or its external data.
        """
        from trtlint.files.replace import replace_text
        from trtlint.measurement.measurement import to_data
        from trtlint.model.writer import files_of

        text = json.dumps(to_data(self.measurement), indent=1) + "\n"
        replace_text(Path(read_one("out", path)), text, files_of(Path(self.measurement.path)))

    def __repr__(self) -> str:
        found = self.measurement
        label = FORMATS[found.type].label
        return f"<Measured {found.path}: {label}: {headline(found)}; on {found.on}>"

    def _repr_html_(self) -> str | None:
        """Return the HTML page for a notebook, or None if the model cannot be read again."""
        from trtlint.model.load import load
        from trtlint.report.document import html
        from trtlint.report.measurepages import page

        try:
            model = load(Path(self.measurement.path))
        except (UnreadableError, OSError):
            return None
        return frame([html(page(self.measurement, model))])
