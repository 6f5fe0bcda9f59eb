"""The proof of a patch to operators that only ONNX Runtime computes: what changes, run by it apart.

It runs in a process of its own, once for places that are alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trtlint.fixes.patch import Patch
from trtlint.fixes.region import Region, RegionError
from trtlint.fixes.session import Proof
from trtlint.trials.comparison import MISSING, Inputs, available, compare

_SETS = 4
"""Sets of inputs for one choice of sizes."""
_CHOICES = 2
"""Choices of sizes that are tried."""
_MOST_KEPT = 1024
_IR_VERSION = 10
"""Which every ONNX Runtime takes that computes the newest operators here."""

Feeds = dict[str, np.ndarray[Any, np.dtype[Any]]]

_proven: dict[bytes, Proof] = {}
"""What was found at places that are alike, by what they are like."""


def is_foreign(region: Region) -> bool:
    """Whether operators are among the changed ones that ONNX does not define."""
    return any(node.domain not in ("", "ai.onnx") for node in region.before.graph.node)


def prove_foreign(patch: Patch, region: Region, feeds: Iterable[Feeds]) -> Proof:
    """Run what changes before and after in ONNX Runtime.

    Args:
        patch: the edit.
        region: what it changes, cut out.
        feeds: inputs, those of one choice of sizes after the other.

    Raises:
        RegionError: it cannot be run.
    """
    if not available():
        raise RegionError(MISSING)
    key = _likeness(patch, region)
    if key not in _proven:
        if len(_proven) > _MOST_KEPT:
            _proven.clear()
        _proven[key] = _run(region, iter(feeds))
    return _proven[key]


def _run(region: Region, feeds: Iterator[Feeds]) -> Proof:
    words = "no inputs could be made"
    for _ in range(_CHOICES):
        chosen = list(islice(feeds, _SETS))
        if not chosen:
            break
        with tempfile.TemporaryDirectory(prefix="trtlint-") as name:
            folder = Path(name)
            files = []
            for index, each in enumerate(chosen):
                files.append(str(folder / f"{index}.npz"))
                np.savez(files[-1], **each)  # type: ignore[arg-type]
            models = [folder / "before.onnx", folder / "after.onnx"]
            for proto, path in zip((region.before, region.after), models, strict=True):
                onnx.save(_typed(proto, chosen[0]), path)
            found = compare(models[0], models[1], Inputs(files=tuple(files)))
        words = found.words
        if found.equal is not None:
            figures: dict[str, float | int | str] = {"sets": found.sets, "difference": found.difference}
            if not found.equal:
                words = f"differs by {found.difference:.2g} in ONNX Runtime"
            return Proof(found.equal, words, figures)
    raise RegionError(words)


def _typed(proto: onnx.ModelProto, feeds: Mapping[str, Any]) -> onnx.ModelProto:
    """A cut-out model with the types of its inputs, which ONNX Runtime wants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    copy.ir_version = _IR_VERSION
    del copy.graph.input[:]
    for name, array in feeds.items():
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        copy.graph.input.append(helper.make_tensor_value_info(name, number, array.shape))
    return copy


def _likeness(patch: Patch, region: Region) -> bytes:
    """What a patch does, names apart."""
    parts = [patch.title.encode()]
    for node in (*region.before.graph.node, *region.after.graph.node):
        settings = sorted(attribute.SerializeToString() for attribute in node.attribute)
        parts += [node.domain.encode(), node.op_type.encode(), *settings, bytes([len(node.input) % 256])]
        parts += [b"1" if name else b"0" for name in node.input]
    for tensor in patch.initializers:
        parts += [str(tensor.dims).encode(), tensor.raw_data]
    parts += [f"{value.dtype}{value.shape}".encode() for value in region.inputs]
    return b"\0".join(parts)
