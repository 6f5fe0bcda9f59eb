"""Run small models on the CPU, as ONNX defines their operators."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from trtlint.examples.models import model_of_text


def run(text: str, **fed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first output of a model, computed in the types of the model text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        model_of_text(text, path, checked=False)
        outputs = ReferenceEvaluator(onnx.load(path)).run(None, fed)
    assert isinstance(outputs, list)
    return np.asarray(outputs[0])
