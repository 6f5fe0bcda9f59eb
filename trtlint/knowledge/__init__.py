"""What is known of TensorRT itself: its releases and the GPUs, as data with sources, and readers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def data(name: str) -> Any:
    """The content of one of this package's YAML files, read at the first question."""
    import yaml

    # The parser in C is ten times as fast, but not every build of PyYAML has it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=loader)
