"""Read the model to fix."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import onnx
from msgspec import Struct

from trtlint.files.beside import real_file
from trtlint.files.limits import Allowance, limit_work, scale_allowance
from trtlint.model.inline import NOTHING_INLINED, InliningResult, inline
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.writer import data_files
from trtlint.process.spawn import machine_memory

_MOST_FILES = 1000
"""Maximum number of external data files to inspect."""
_OPSET = 17
"""ONNX opset for a model that declares none.

Opset 17 is the newest opset that every release of TensorRT since 8.6 supports.
"""


SECONDS = 55.0
"""Limit of CPU time, in seconds, for fixing an ordinary model.

The limit includes the proofs, but not the time to read the file.
"""
MEMORY = 1800 << 20
"""Memory limit of each process, in bytes, in addition to the memory of Python and its libraries."""


class SourceModel(Struct, frozen=True):
    """A model file before any rewrite.

    Attributes:
        path: the file.
        raw: the file as it was read.
        proto: the ONNX protobuf without the weights, with model-local functions inlined.
        data_files: the names of the external data files, relative to the folder of the model.
        inlined: the model-local functions that trtlint has inlined.
    """

    path: Path
    raw: RawModel
    proto: onnx.ModelProto
    data_files: Sequence[str]
    inlined: InliningResult = NOTHING_INLINED

    @property
    def files(self) -> list[Path]:
        """The model file and its external data files. No output may replace them."""
        return [self.path, *(self.path.parent / name for name in self.data_files)]

    @property
    def external(self) -> int:
        """The size of the external data files in bytes."""
        size = 0
        for name in self.data_files[:_MOST_FILES]:
            with suppress(OSError, ValueError):
                file = real_file(self.path.parent, name, self.path)
                size += 0 if file is None else file.stat().st_size
        return size

    def has_data_beside(self, model: Path) -> bool:
        """Return whether a copy of the model at ``model`` can read the external data of this model."""
        return not self.data_files or model.parent.resolve() == self.path.parent.resolve()

    def allowance(self) -> Allowance:
        """Return the limits of CPU time and memory for fixing the model.

        Both limits grow with the size of the model and its external data.
        """
        allowance = scale_allowance(SECONDS, MEMORY, self.raw.tensors.size + self.external)
        allowance.memory = max(MEMORY, min(allowance.memory, machine_memory() * 3 // 4))
        return allowance


def beside(model: Path) -> Path:
    """Return the default path for the fixed model: ``model.fixed.onnx`` for ``model.onnx``."""
    return model.with_name(f"{model.stem}.fixed{model.suffix}")


def read_source(path: Path) -> SourceModel:
    """Read a model file for fixing. Weights stay in the file.

    Raises:
        UnreadableError: the file is not a readable model, or exceeds a limit.
        OSError: the file cannot be read.
    """
    with limit_work(path):
        raw = read(path, whole=True)
        proto = decode(raw.data)
        inlined = inline(proto) if raw.has_functions else NOTHING_INLINED
        raw.tensors.notes.extend(inlined.notes)
    # Rewrites add ONNX operators, so every model needs an opset of the default domain.
    if not any(opset.domain in ("", "ai.onnx") for opset in proto.opset_import):
        proto.opset_import.add(version=_OPSET)
    return SourceModel(path, raw, proto, data_files(proto), inlined)
