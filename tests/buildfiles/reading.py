"""Read one file in the way of the option ``--layers``."""

from __future__ import annotations

from pathlib import Path

from trtlint.buildfiles.layers import LayerInfo
from trtlint.buildfiles.record import read_file


def read_layers(path: Path) -> LayerInfo:
    """Return the layers of a layer file."""
    content = read_file(str(path), "layers").content
    assert isinstance(content, LayerInfo)
    return content
