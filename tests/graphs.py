"""Small graphs written as ONNX text, for tests where one thing differs from another."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

from trtlint.facts.facts import Facts
from trtlint.model.load import Model, load


def model_of(text: str) -> Model:
    """The model of an ONNX text, read through a file as any other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(onnx.parser.parse_model(text), path)
        return load(path)


def facts_of(text: str) -> Facts:
    """The facts of an ONNX text."""
    return Facts(model_of(text))
