"""The model that is to be fixed, as it was read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import onnx

from trtlint.files.beside import real_file
from trtlint.files.limits import Allowance, limit_work, scale_allowance
from trtlint.lean import dataclass
from trtlint.model.contents import all_tensors
from trtlint.model.protos import text
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.tensors import LEFT
from trtlint.process.spawn import machine_memory

_MOST_FILES = 1000
"""Files with external data that are looked at."""
_OPSET = 17
"""The opset of ONNX for a model that names none: the newest that every TensorRT since 8.6 reads."""


SECONDS = 55.0
"""Processor time for fixing an ordinary model, its proofs included; reading it is apart."""
MEMORY = 1800 << 20
"""Bytes of memory for that, of each process: what Python and its libraries take comes to it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the structure that rewrites begin with.

    Attributes:
        path: the file.
        raw: what was read.
        proto: the structure, functions replaced by their bodies.
    """

    path: Path
    raw: RawModel
    proto: onnx.ModelProto

    @property
    def external(self) -> int:
        """Bytes of the files with external data."""
        names = {
            text(entry.value)
            for tensor in all_tensors(self.proto)
            for entry in tensor.external_data
            if entry.key == "location" and text(entry.value) != LEFT
        }
        size = 0
        for name in sorted(names)[:_MOST_FILES]:
            with suppress(OSError, ValueError):
                file = real_file(self.path.parent, name, self.path)
                size += 0 if file is None else file.stat().st_size
        return size

    def allowance(self) -> Allowance:
        """What fixing it may take from now on; that grows with the file and its external data."""
        allowance = scale_allowance(SECONDS, MEMORY, self.raw.tensors.size + self.external)
        allowance.memory = max(MEMORY, min(allowance.memory, machine_memory() * 3 // 4))
        return allowance


def beside(model: Path) -> Path:
    """Where the fixed form of a model goes if nothing else is said."""
    return model.with_name(f"{model.stem}.fixed{model.suffix}")


def read_source(path: Path) -> Source:
    """Read a model that is to be fixed, without its weights.

    Raises:
        UnreadableError: the file is not a model that can be linted, or takes more than may be.
        OSError: it cannot be read.
    """
    with limit_work(path):
        raw = read(path, whole=True)
        proto = decode(raw.data)
        if raw.has_functions:
            from trtlint.model.inline import inline

            raw.notes.extend(inline(proto).notes)
    # Rewrites bring operators of ONNX into models that have those of other domains only.
    if not any(opset.domain in ("", "ai.onnx") for opset in proto.opset_import):
        proto.opset_import.add(version=_OPSET)
    return Source(path, raw, proto)
