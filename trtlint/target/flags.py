"""The builder settings that a target can ask for or refuse."""

from __future__ import annotations

from typing import Literal

Flag = Literal["fp16", "bf16", "int8", "fp8", "best", "strongly-typed", "tf32"]
"""As command-line options without dashes."""
