"""List the builder settings that a target can turn on or off."""

from __future__ import annotations

from typing import Literal

Flag = Literal["fp16", "bf16", "int8", "fp8", "best", "strongly-typed", "tf32"]
"""The builder settings, named as command-line options without dashes."""
