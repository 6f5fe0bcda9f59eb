"""The model that is to be fixed, as it was read."""

from __future__ import annotations

from pathlib import Path

import onnx

from trtlint.files.limits import limited
from trtlint.lean import dataclass
from trtlint.model.reader import RawModel, decode, read

_OPSET = 17
"""The opset of ONNX for a model that names none: the newest that every TensorRT since 8.6 reads."""


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


def beside(model: Path) -> Path:
    """Where the fixed form of a model goes if nothing else is said."""
    return model.with_name(f"{model.stem}.fixed{model.suffix}")


def read_source(path: Path) -> Source:
    """Read a model that is to be fixed, without its weights.

    Raises:
        UnreadableError: the file is not a model that can be linted, or takes more than may be.
        OSError: it cannot be read.
    """
    with limited(path):
        raw = read(path, whole=True)
        proto = decode(raw.data)
        if raw.has_functions:
            from trtlint.model.inline import inline

            raw.notes.extend(inline(proto))
    # Rewrites bring operators of ONNX into models that have those of other domains only.
    if not any(opset.domain in ("", "ai.onnx") for opset in proto.opset_import):
        proto.opset_import.add(version=_OPSET)
    return Source(path, raw, proto)
