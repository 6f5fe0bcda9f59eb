"""That a model cannot be built, as plain data."""

from __future__ import annotations

from typing import Literal

from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """That a model cannot be built.

    ``stage`` says whether the ONNX parser refuses it, or the builder what was parsed; ``op`` is the
    operator type, empty for an input of the model; ``code`` is the parser's error code
    (``UNSUPPORTED_NODE``) or the builder's (``API Usage Error``), empty where there is none; ``known`` says
    what the range of releases rests on (``measured``, ``source``, ``documented``), empty where the rule
    says so for all its findings.
    ``lines`` are the release lines that refuse it, empty where they are not known, and ``limit`` the
    limit of that statement (``without the plugin``).  Of the other lines, ``first_taken`` is the first
    after the target and ``last_taken`` the last before it, None where there is none.
    """

    stage: Literal["parse", "build"]
    op: str
    code: str
    known: str = ""
    lines: tuple[str, ...] = ()
    limit: str = ""
    first_taken: str | None = None
    last_taken: str | None = None
