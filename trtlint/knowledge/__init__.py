"""Tables about TensorRT releases, operators and GPUs, and functions that read these tables.

Each entry of a table names a public source.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def data(name: str) -> Any:
    """Return the parsed content of the table ``name.yaml`` in this package.  The result is cached."""
    return parsed(text(name))


def text(name: str) -> str:
    """Return the text of the table ``name.yaml`` in this package."""
    return path_of(name).read_text(encoding="utf-8")


def path_of(name: str) -> Path:
    """Return the path of the table ``name.yaml`` in this package."""
    return Path(__file__).parent / f"{name}.yaml"


def parsed(yaml_text: str) -> Any:
    """Return the data in a YAML text."""
    import yaml

    # The C parser is ten times as fast, but not every build of PyYAML has it.
    return yaml.load(yaml_text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
