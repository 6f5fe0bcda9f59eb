"""Prepare two models for a comparison, so that both run under the same conditions.

- If ONNX Runtime has no kernel for a type, both models use FP32 instead.
- Random operators without a seed get the same seed in both models.
- The IR version is lowered to a version that ONNX Runtime reads.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from msgspec import Struct
from onnx import NodeProto, helper

from trtlint.errors import ExperimentError
from trtlint.model.contents import nodes
from trtlint.model.operators import RANDOM
from trtlint.model.protos import domain_of, text
from trtlint.model.widening import Types, widen_model

IR_VERSION = 10
"""Newest IR version that ONNX Runtime 1.18 and all later releases can read:
https://onnxruntime.ai/docs/reference/compatibility.html
"""
_TRAINED = 2
"""Index of the Dropout input ``training_mode``. Dropout draws random numbers only in training."""
_APART = 1024
"""Size in bytes of the smallest tensor that is stored as external data.

External data are necessary because a protobuf message has at most 2 GB.
"""


class Alike(Struct, frozen=True):
    """Two models that run under the same conditions.

    Attributes:
        before: file of the original model, or a changed copy.
        after: file of the rewritten model, or a changed copy.
        random: true if the models draw random numbers, so that a second run gives other outputs.
    """

    before: Path
    after: Path
    random: bool


class RandomError(ExperimentError, ValueError):
    """Error: the two models draw different random numbers."""


def alike(before: Path, after: Path, folder: Path, types: Types | None = None) -> Alike:
    """Return two models that are prepared for a comparison. A model that needs changes is copied first.

    Args:
        before: the original model.
        after: the rewritten model.
        folder: folder for copies.
        types: wider types that replace types of the models; None to keep their types.

    Raises:
        RandomError: different nodes of the two models draw random numbers without a seed.
    """
    paths = before, after
    shells = [onnx.load(path, load_external_data=False) for path in paths]
    # Compare with multiplicity: several subgraphs may use one name.
    draws, rewritten_draws = (sorted(_key(node) for node in _random_nodes(shell)) for shell in shells)
    if draws != rewritten_draws:
        raise RandomError("the two models have different nodes that draw random numbers without a seed")
    random = any(_is_random(node) for shell in shells for node in nodes(shell))
    newer = any(shell.ir_version > IR_VERSION for shell in shells)
    if types is None and not draws and not newer:
        return Alike(before, after, random)
    copies = folder / "before.onnx", folder / "after.onnx"
    for path, copy in zip(paths, copies, strict=True):
        proto = onnx.load(path)
        for node in _random_nodes(proto):
            seed = float(zlib.crc32(_key(node).encode()) % 10_000)
            node.attribute.append(helper.make_attribute("seed", seed))
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
    return Alike(*copies, random)


def _key(node: NodeProto) -> str:
    """Return the name of a random node's output, which identifies the node in both models."""
    return text(node.output[0])


def _random_nodes(proto: onnx.ModelProto) -> Iterator[NodeProto]:
    """Yield the random operators that have no seed, including those in subgraphs and functions."""
    for node in nodes(proto):
        if _is_random(node) and not any(attribute.name == "seed" for attribute in node.attribute):
            yield node


def _is_random(node: NodeProto) -> bool:
    if domain_of(node.domain):
        return False
    trained = node.op_type == "Dropout" and len(node.input) > _TRAINED and bool(node.input[_TRAINED])
    return node.op_type in RANDOM or trained
