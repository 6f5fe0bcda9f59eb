"""Data about TensorRT releases and GPUs, with sources, and the readers of these tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def data(name: str) -> Any:
    """Return the content of one of this package's YAML files, cached."""
    return parsed(text(name))


def text(name: str) -> str:
    """Return the text of one of this package's YAML files."""
    return path_of(name).read_text(encoding="utf-8")


def path_of(name: str) -> Path:
    """Return the path of one of this package's YAML files."""
    return Path(__file__).parent / f"{name}.yaml"


def parsed(yaml_text: str) -> Any:
    """Parse a YAML text."""
    import yaml

    # The C parser is ten times as fast, but not every build of PyYAML has it.
    return yaml.load(yaml_text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
