"""Report in a Jupyter notebook: the HTML page in a frame."""

from __future__ import annotations

import html
from pathlib import Path

from trtlint.case import Case
from trtlint.engine.finding import Report
from trtlint.engine.ruleset import RuleSet
from trtlint.facts.facts import Facts
from trtlint.files.problem import UnreadableError
from trtlint.report.formats import Run, Style
from trtlint.target.target import Target

_HEIGHT = 640
"""Height of the frame in pixels; longer pages scroll."""


class NotebookReport(Report, frozen=True):
    """A report that a Jupyter notebook shows as an HTML page."""

    def _repr_html_(self) -> str:
        """Return the HTML page in a frame, so that the page and the notebook do not share styles.

        https://ipython.readthedocs.io/en/stable/config/integrating.html#custom-methods
        """
        from trtlint.report.html import document

        files = len({report.path for report in self.models})
        style = Style(files=files, rules=(), root=None, look=facts_of_file)
        page = html.escape("\n".join(document(Run(self, style, {}))))
        attributes = f'sandbox="" style="width: 100%; height: {_HEIGHT}px; border: 0"'
        return f'<iframe title="trtlint report" {attributes} srcdoc="{page}"></iframe>'


def facts_of_file(path: str) -> Facts | None:
    """Read a local model again and return its facts, or None if the model cannot be read."""
    if not Path(path).is_file():
        return None
    try:
        return Case(Path(path), (Target(),), RuleSet()).facts()
    except (UnreadableError, OSError):
        return None
