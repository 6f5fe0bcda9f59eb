"""Options of ``trtlint fix`` as one object."""

from __future__ import annotations

from msgspec import Struct, field

from trtlint.measurement.inputs import Inputs
from trtlint.policy.options import LintOptions
from trtlint.report.outputs import ReportOutput


class FixOptions(Struct, frozen=True):
    """The options of ``trtlint fix``."""

    lint: LintOptions
    output: str | None = None
    diff: bool = False
    dry_run: bool = False
    unsafe: bool = False
    verify: bool = False
    verify_build: bool = False
    script: str | None = None
    inputs: Inputs = field(default_factory=Inputs)
    outputs: tuple[ReportOutput, ...] = (ReportOutput("text"),)
