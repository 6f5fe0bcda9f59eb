"""What is known of TensorRT itself: its releases and the GPUs, as data with sources, and readers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def data(name: str) -> Any:
    """The content of one of this package's YAML files, read at the first question."""
    return parsed(text(name))


def text(name: str) -> str:
    """One of this package's YAML files as it is written."""
    return path_of(name).read_text(encoding="utf-8")


def path_of(name: str) -> Path:
    """Where one of this package's YAML files is."""
    return Path(__file__).parent / f"{name}.yaml"


def parsed(yaml_text: str) -> Any:
    """The content of a YAML text."""
    import yaml

    # The parser in C is ten times as fast, but not every build of PyYAML has it.
    return yaml.load(yaml_text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
