"""Run TensorRT-RTX on small models, each in a separate process, because the library can crash.

``TRTLINT_RTX_PYTHON`` names a Python with the wheels tensorrt-rtx-cu12-libs and tensorrt-rtx-cu12-bindings;
the default is this Python. No GPU is needed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx

from trtlint.examples.models import model_of_text

PYTHON = os.environ.get("TRTLINT_RTX_PYTHON", sys.executable)
CHILD = Path(__file__).with_name("_child.py")
_PATIENCE = 120
"""Time limit for one small model, in seconds."""
ANSWER = "answer: "
"""Prefix of the lines of the child process that are answers. All remaining lines are the log."""
_TACTIC = re.compile(r"TacticName: (\w+)")
_LAYER = re.compile(r"^Name: (?P<name>.*?), LayerType: (?P<type>\w+)", re.MULTILINE)

Size = tuple[int, int, int]


class NotInstalledError(Exception):
    """Error: TensorRT-RTX is not installed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of TensorRT-RTX for a model.

    Attributes:
        parsed: whether the parser accepted the model.
        built: whether the builder built it; None without a build.
        layers: layers of the parsed network: type, name, and ``axes`` and ``groups`` of a normalization.
        log: the verbose log.
        ended: exit code of the process; negative after a signal.
    """

    parsed: bool
    built: bool | None
    layers: tuple[dict[str, object], ...]
    log: str
    ended: int

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the layer names of the engine, from the list at the end of a build."""
        _, _, dump = self.log.rpartition("Layers:\n")
        return tuple(match["name"] for match in _LAYER.finditer(dump))

    @property
    def tactics(self) -> tuple[str, ...]:
        """Return the kernels of the engine, with the hashes of their code if known."""
        return tuple(_TACTIC.findall(self.log.rpartition("Layers:\n")[2]))

    def says(self, text: str) -> bool:
        """Return whether a line of the log contains a text."""
        return text in self.log


@cache
def installed() -> bool:
    """Return whether TensorRT-RTX is installed."""
    done = subprocess.run([PYTHON, "-c", "import tensorrt_rtx_bindings"], capture_output=True, check=False)
    return done.returncode == 0


def ask(model: str | onnx.ModelProto, *, size: Size = (4, 4, 4), build: bool = True, sm: int = 89) -> Answer:
    """Parse a model and build it.

    Args:
        model: the model, or its text as in the examples of rules.
        size: minimum, optimum and maximum of every dynamic dimension.
        build: whether to build the model after parsing.
        sm: the compute capability times ten.

    Raises:
        NotInstalledError: TensorRT-RTX is not installed.
    """
    if not installed():
        raise NotInstalledError
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        if isinstance(model, str):
            model_of_text(model, path, checked=False)
        else:
            onnx.save(model, path)
        request = json.dumps({"model": str(path), "size": size, "build": build, "sm": sm})
        done = subprocess.run(
            [PYTHON, str(CHILD), request], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    said: dict[str, object] = {}
    for line in done.stdout.splitlines():
        if line.startswith(ANSWER):
            said.update(json.loads(line.removeprefix(ANSWER)))
    layers = said.get("layers", [])
    assert isinstance(layers, list)
    built = said.get("built", False if build and said.get("parsed") else None)
    return Answer(
        parsed=bool(said.get("parsed")),
        built=None if built is None else bool(built),
        layers=tuple(layers),
        log=done.stdout,
        ended=done.returncode,
    )
