"""The JSON Schema of a measurement, which ships with the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from trtlint.trials.measurement import SCHEMA


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of :func:`trtlint.trials.measurement.to_data`'s result."""
    name = SCHEMA.replace("/", "-") + ".json"
    text = files("trtlint.report").joinpath("schema").joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
