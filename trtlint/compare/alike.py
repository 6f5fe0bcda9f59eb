"""Copies of two models that are to be compared, so that what is no fault of either makes no difference.

Types that ONNX Runtime has no kernels for are FP32 in both, what draws random numbers without a seed
gets one, the same in both, and neither says that it is of a format newer than the one ONNX Runtime reads.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import NodeProto, helper

from trtlint.errors import ExperimentError
from trtlint.lean import dataclass
from trtlint.model.contents import nodes
from trtlint.model.operators import RANDOM
from trtlint.model.protos import domain_of, text
from trtlint.model.widening import Types, widen_model

IR_VERSION = 10
"""The newest version of the format that all of ONNX Runtime since 1.18 reads; newer ones only add to it.
https://onnxruntime.ai/docs/reference/compatibility.html
"""
_TRAINED = 2
"""The input of Dropout that says whether the model is trained: it draws random numbers only then."""
_APART = 1024
"""Bytes from which a tensor is kept in a file beside the copy: no message holds more than 2 GB."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Two models as they can be compared.

    Attributes:
        before: the model, or a copy of it.
        after: its rewritten form, or a copy of it.
        random: whether they draw random numbers, so that a session gives other outputs when it runs again.
    """

    before: Path
    after: Path
    random: bool


class RandomError(ExperimentError, ValueError):
    """What draws random numbers in one model does not do so in the other."""


def alike(before: Path, after: Path, folder: Path, types: Types | None = None) -> Alike:
    """Two models as they can be compared: copies where something is to be changed, else themselves.

    Args:
        before: a model.
        after: its rewritten form.
        folder: where copies may be written.
        types: the wider types in which both are to compute; None for their own.

    Raises:
        RandomError: random numbers are drawn without a seed at other places in the two.
    """
    paths = before, after
    shells = [onnx.load(path, load_external_data=False) for path in paths]
    # Each as often as there is one: bodies may use one name.
    draws = [sorted(_key(node) for node in _drawing(shell)) for shell in shells]
    if draws[0] != draws[1]:
        raise RandomError("the model draws random numbers without a seed, and the rewrite has changed where")
    random = any(_is_random(node) for shell in shells for node in nodes(shell))
    newer = any(shell.ir_version > IR_VERSION for shell in shells)
    if types is None and not draws[0] and not newer:
        return Alike(before, after, random)
    copies = folder / "before.onnx", folder / "after.onnx"
    for path, copy in zip(paths, copies, strict=True):
        proto = onnx.load(path)
        for node in _drawing(proto):
            seed = float(zlib.crc32(_key(node).encode()) % 10_000)
            node.attribute.append(helper.make_attribute("seed", seed))
        if types is not None:
            widen_model(proto, types)
        proto.ir_version = min(proto.ir_version, IR_VERSION)
        apart = f"{copy.stem}.{'own' if types is None else len(types)}.bin"
        (folder / apart).unlink(missing_ok=True)  # what is there would be appended to
        onnx.save(
            proto,
            copy,
            save_as_external_data=True,
            location=apart,
            size_threshold=_APART,
        )
    return Alike(*copies, random)


def _key(node: NodeProto) -> str:
    """What a node that draws random numbers is known by in both models: the value that it gives."""
    return text(node.output[0])


def _drawing(proto: onnx.ModelProto) -> Iterator[NodeProto]:
    """The operators that draw random numbers without a seed, those in bodies and functions too."""
    for node in nodes(proto):
        if _is_random(node) and not any(attribute.name == "seed" for attribute in node.attribute):
            yield node


def _is_random(node: NodeProto) -> bool:
    if domain_of(node.domain):
        return False
    trained = node.op_type == "Dropout" and len(node.input) > _TRAINED and bool(node.input[_TRAINED])
    return node.op_type in RANDOM or trained
