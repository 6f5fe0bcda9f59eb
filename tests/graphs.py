"""Small graphs from ONNX text."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx

from trtlint.facts.facts import Facts
from trtlint.model.load import Model, load


def model_of(text: str) -> Model:
    """Return the model of an ONNX text, saved to a file and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(onnx.parser.parse_model(text), path)
        return load(path)


def facts_of(text: str) -> Facts:
    """Return the facts of an ONNX text."""
    return Facts(model_of(text))


_COMPUTED = re.compile(r"(?:^|\)\s+)(\w+(?:, \w+)*) = ")


def model_of_bodies(
    bodies: Iterable[str],
    inputs: str,
    stored: str = "",
    opsets: str = '"" : 17',
    outputs: Iterable[str] = "y",
) -> Model:
    """Return one model with several bodies, which loads faster than many models.

    Names that body number n computes end in ``_n``.  Each name in ``outputs`` becomes a model output if a
    body computes it.
    """
    text, results = [], []
    for number, body in enumerate(bodies):
        computed = {name for names in _COMPUTED.findall(body) for name in names.split(", ")}
        own = rf"(?<![\w.\"])({'|'.join(sorted(computed))})(?![\w.\"])(?! = [\[\d\"-])"
        text.append(re.sub(own, rf"\1_{number}", body))
        results += [f"float[] {name}_{number}" for name in outputs if name in computed]
    head = f"< ir_version: 8, opset_import: [{opsets}] >"
    return model_of(f"{head} g ({inputs}) => ({', '.join(results)}) < {stored} > {{ {'  '.join(text)} }}")


def by_body(found: Iterable[tuple[str, str]], bodies: Sequence[str]) -> dict[str, list[str]]:
    """Group texts about a model of several bodies by body and by unnumbered name."""
    texts: dict[str, list[str]] = {body: [] for body in bodies}
    for name, text in found:
        number = int(name.rpartition("_")[2])
        texts[bodies[number]].append(re.sub(rf"_{number}\b", "", text))
    return texts
