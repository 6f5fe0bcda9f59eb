"""The files that tell of a build: the table that options, configuration and readers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Witness = Literal["log", "layers", "profile"]

WITNESSES: Mapping[Witness, str] = {
    "log": "Log of a build, plain or .gz; - for standard input.",
    "layers": "Layers of the engine (--exportLayerInfo), or the engine.",
    "profile": "Layer times (--exportProfile).",
}
"""What each of them is, in the words of the help of its option."""

BuildFiles = Mapping[Witness, str]
"""Paths of what a build left behind, in the order of the table; what is not there was not given."""

Role = Literal["any"] | Witness
"""What a file was given as; ``any`` is told by its content."""
