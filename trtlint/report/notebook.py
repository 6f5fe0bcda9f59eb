"""Reports in a Jupyter notebook: HTML pages in frames."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import asdict

from trtlint.case import Case
from trtlint.engine.finding import Report
from trtlint.engine.ruleset import RuleSet
from trtlint.engine.upgrade import Upgrade, product_name
from trtlint.facts.facts import Facts
from trtlint.files.problem import UnreadableError
from trtlint.report.counts import plural
from trtlint.report.formats import Run, Style
from trtlint.report.upgradewording import safest_line
from trtlint.target.target import Target

_HEIGHT = 640
"""Height of the frame in pixels; longer pages scroll."""


class NotebookReport(Report, frozen=True):
    """A report that a Jupyter notebook shows as an HTML page."""

    def _repr_html_(self) -> str:
        """Return the HTML page in a frame."""
        from trtlint.report.html import document

        files = len({report.path for report in self.models})
        style = Style(files=files, rules=(), root=None, look=facts_of_file)
        return frame(document(Run(self, style, {})))


class NotebookUpgrade(Upgrade, frozen=True):
    """An upgrade report that a Jupyter notebook shows as an HTML page."""

    @classmethod
    def of(cls, found: Upgrade) -> NotebookUpgrade:
        """Convert an upgrade report."""
        return cls(**asdict(found))

    def __repr__(self) -> str:
        first, last = self.lines[0].line, self.lines[-1].line
        product = product_name(self.product)
        findings = plural(len(self.findings), "finding")
        return f"<Upgrade {self.path}: {product} {first} to {last}: {findings}; safest: {safest_line(self)}>"

    def _repr_html_(self) -> str:
        """Return the HTML page in a frame."""
        from trtlint.report.document import html as rendered
        from trtlint.report.upgradepages import page

        return frame([rendered(page([self]))])


def frame(page: Iterable[str]) -> str:
    """Return the lines of an HTML page in a frame, which separates the styles of page and notebook.

    https://ipython.readthedocs.io/en/stable/config/integrating.html#custom-methods
    """
    content = html.escape("\n".join(page))
    attributes = f'sandbox="" style="width: 100%; height: {_HEIGHT}px; border: 0"'
    return f'<iframe title="trtlint report" {attributes} srcdoc="{content}"></iframe>'


def facts_of_file(path: str) -> Facts | None:
    """Read a local model again and return its facts, or None if the model cannot be read."""
    if not Path(path).is_file():
        return None
    try:
        return Case(Path(path), (Target(),), RuleSet()).facts()
    except (UnreadableError, OSError):
        return None
