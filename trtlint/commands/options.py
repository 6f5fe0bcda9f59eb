"""What the command line can ask for, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Flag = Literal["fp16", "bf16", "int8", "fp8", "best", "strongly-typed", "tf32"]
Format = Literal["full", "concise", "json"]
FailOn = Literal["error", "warning", "note", "never"]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What the user said of the build; None where nothing was said."""

    trt: tuple[str, ...] = ()
    rtx: tuple[str, ...] = ()
    gpu: str | None = None
    flags: tuple[tuple[Flag, bool], ...] = ()
    """Precision and typing options that were given, by name: ``("fp16", True)``."""


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What ``trtlint lint`` was asked for."""

    paths: tuple[str, ...]
    target: TargetOptions
    rules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: Format = "full"
    fail_on: FailOn = "error"
    show_conditional: bool = False
    exit_zero: bool = False
    explain_miss: tuple[str, str] | None = None
