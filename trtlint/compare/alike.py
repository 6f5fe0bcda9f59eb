"""Prepare two models for a comparison, so that both run under the same conditions.

- If ONNX Runtime has no kernel for a type, both models use FP32 instead.
- Random operators without a seed get the same seed in both models.
- The IR version is lowered to a version that ONNX Runtime reads.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import onnx
from msgspec import Struct
from onnx import NodeProto

from trtlint.errors import ExperimentError
from trtlint.measurement.seeds import draws, fix_seed, has_seed
from trtlint.model.contents import nodes
from trtlint.model.protos import text
from trtlint.model.widening import Types, widen_model

IR_VERSION = 10
"""Newest IR version that ONNX Runtime 1.18 and all later releases can read:
https://onnxruntime.ai/docs/reference/compatibility.html
"""
_APART = 1024
"""Size in bytes of the smallest tensor that is stored as external data.

External data are necessary because a protobuf message has at most 2 GB.
"""


class ModelPair(Struct, frozen=True):
    """Two models that run under the same conditions.

    Attributes:
        before: file of the original model, or a changed copy.
        after: file of the rewritten model, or a changed copy.
        random: true if the models draw random numbers, so that a second run gives different outputs.
    """

    before: Path
    after: Path
    random: bool


class RandomError(ExperimentError):
    """Error: the two models draw different random numbers."""


def alike(before: Path, after: Path, folder: Path, types: Types | None = None) -> ModelPair:
    """Return two models that are prepared for a comparison. A model that needs changes is copied first.

    Args:
        before: the original model.
        after: the rewritten model.
        folder: folder for copies.
        types: wider types that replace types of the models; None to keep the types of the models.

    Raises:
        RandomError: different nodes of the two models draw random numbers without a seed.
    """
    paths = before, after
    shells = [onnx.load(path, load_external_data=False) for path in paths]
    # Count the names, because several subgraphs may use the same name.
    keys, rewritten_keys = (sorted(map(_key, _unseeded(shell))) for shell in shells)
    if keys != rewritten_keys:
        raise RandomError("nodes that draw random numbers without a seed differ between the two models")
    random = any(draws(node) for shell in shells for node in nodes(shell))
    newer = any(shell.ir_version > IR_VERSION for shell in shells)
    if types is None and not keys and not newer:
        return ModelPair(before, after, random)
    copies = folder / "before.onnx", folder / "after.onnx"
    for path, copy in zip(paths, copies, strict=True):
        proto = onnx.load(path)
        for node in _unseeded(proto):
            fix_seed(node, zlib.crc32(_key(node).encode()) % 10_000)
        if types is not None:
            widen_model(proto, types)
        proto.ir_version = min(proto.ir_version, IR_VERSION)
        apart = f"{copy.stem}.{'own' if types is None else len(types)}.bin"
        (folder / apart).unlink(missing_ok=True)  # onnx.save appends to an existing file
        onnx.save(
            proto,
            copy,
            save_as_external_data=True,
            location=apart,
            size_threshold=_APART,
        )
    return ModelPair(*copies, random)


def _key(node: NodeProto) -> str:
    """Return the name of a random node's output, which identifies the node in both models."""
    return text(node.output[0])


def _unseeded(proto: onnx.ModelProto) -> list[NodeProto]:
    """Return the random operators that have no seed, including those in subgraphs and functions."""
    return [node for node in nodes(proto) if draws(node) and not has_seed(node)]
