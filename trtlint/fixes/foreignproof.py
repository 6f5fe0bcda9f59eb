"""The proof of a patch to operators that only ONNX Runtime computes: what changes, run by it apart.

It runs in a process of its own, once for places that are alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trtlint.fixes.boundary import Feeds
from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Patch
from trtlint.fixes.region import Region, RegionError
from trtlint.model.protos import domain_of, opsets
from trtlint.trials.alike import IR_VERSION
from trtlint.trials.comparison import MISSING, available, compare
from trtlint.trials.inputs import Inputs, InputsError

_SETS = 4
"""Sets of inputs for one choice of sizes."""
_CHOICES = 2
"""Choices of sizes that are tried."""
_MOST_KEPT = 1024
_LOOPS = frozenset({"Loop", "Scan"})
"""ONNX's reference takes a condition that is left out for one that does not hold, and stacks otherwise."""
_OPEN = frozenset({"DynamicQuantizeLinear", "OptionalGetElement"})
"""What the range of nothing is ONNX does not say; of the one tensor there is the reference gives a list."""
_UNKNOWN: Mapping[str, tuple[bytes, ...]] = {"Resize": (b"tf_half_pixel_for_nn",)}
"""Values of attributes that older opsets have and ONNX's reference lacks."""
_SPLIT_WANTS_A_COUNT = 18
"""The opset from which Split wants to be told how many parts to make."""

_proven: dict[bytes, Proof] = {}
"""What was found at places that are alike, by what they are like."""


def is_foreign(region: Region) -> bool:
    """Whether operators are among the changed ones that the reference does not compute as defined."""
    nodes = region.before.graph.node
    return any(
        domain_of(node.domain) or node.op_type in _LOOPS | _OPEN or _is_unknown(node) for node in nodes
    )


def _is_unknown(node: onnx.NodeProto) -> bool:
    """Whether an attribute has a value that ONNX's reference refuses."""
    return any(attribute.s in _UNKNOWN.get(node.op_type, ()) for attribute in node.attribute)


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
    """The proof by the first choice of sizes that ONNX Runtime takes, and by an empty batch or length."""
    words = "no inputs could be made"
    empty: list[Feeds] = []
    proof: Proof | None = None
    tried = 0
    for size, chosen in groupby(feeds, key=lambda each: each.size):
        if not size:
            empty = list(islice(chosen, 1))
        elif proof is None and tried < _CHOICES:
            tried += 1
            proof, words = _of_sizes(region, list(islice(chosen, _SETS)))
    if proof is None:
        raise RegionError(words)
    if proof.equal and empty:
        other, words = _of_sizes(region, empty)
        if other is not None and not other.equal:
            return Proof(False, f"of an empty batch or length: {words}", {})
    return proof


def _of_sizes(region: Region, chosen: list[Feeds]) -> tuple[Proof | None, str]:
    """The proof on inputs of one choice of sizes, None where there is none, and what was found in words."""
    with tempfile.TemporaryDirectory(prefix="trtlint-") as name:
        folder = Path(name)
        files = []
        for index, each in enumerate(chosen):
            files.append(str(folder / f"{index}.npz"))
            np.savez(files[-1], **{name: _stored(array) for name, array in each.arrays.items()})  # type: ignore[arg-type]
        models = [folder / "before.onnx", folder / "after.onnx"]
        for proto, path in zip((_unpacked(region.before), region.after), models, strict=True):
            onnx.save(typed(proto, chosen[0].arrays), path)
        try:
            found = compare(models[0], models[1], Inputs(files=tuple(files)))
        except InputsError as error:
            raise RegionError(str(error)) from None
    words = found.words
    if found.equal is None:
        return None, words
    figures: dict[str, float | int | str] = {"sets": found.sets, "difference": found.difference}
    if not found.equal and found.difference:
        words = f"differs by {found.difference:.2g} in ONNX Runtime"
    return Proof(found.equal, words, figures), words


def _stored(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """An array as a file of numpy's can hold it: it knows no BF16."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _unpacked(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model in which attention reads Q, K and V apart: its kernels on CPUs do not take packed ones.

    What is packed lies along the fourth of five axes, as
    https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md says.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    nodes: list[onnx.NodeProto] = []
    for node in copy.graph.node:
        given = [bool(name) for name in node.input[:3]] + [False] * 2
        if node.op_type == "MultiHeadAttention" and not given[2]:
            packed = node.input[1] if given[1] else node.input[0]
            names = [f"{packed}/{index}" for index in range(2 if given[1] else 3)]
            apart = [f"{name}/apart" for name in names]
            shape = helper.make_tensor(f"{packed}/shape", onnx.TensorProto.INT64, [3], [0, 0, -1])
            nodes.append(helper.make_node("Constant", [], [shape.name], value=shape))
            nodes.append(helper.make_node("Split", [packed], apart, axis=3))
            if opsets(copy).get("", 1) >= _SPLIT_WANTS_A_COUNT:
                nodes[-1].attribute.append(helper.make_attribute("num_outputs", len(names)))
            for part, name in zip(apart, names, strict=True):
                nodes.append(helper.make_node("Reshape", [part, shape.name], [name]))
            rest = node.input[3:]
            node.input[:] = [*node.input[: 3 - len(names)], *names, *rest]
        nodes.append(node)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    return copy


def typed(proto: onnx.ModelProto, feeds: Mapping[str, Any]) -> onnx.ModelProto:
    """A cut-out model with the types of its inputs, which ONNX Runtime wants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    copy.ir_version = IR_VERSION
    del copy.graph.input[:]
    for name, array in feeds.items():
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        copy.graph.input.append(helper.make_tensor_value_info(name, number, array.shape))
    return copy


def _likeness(patch: Patch, region: Region) -> bytes:
    """What a patch does, names apart: a name stands for when it is met first."""
    met: dict[str, int] = {"": 0}
    parts = [patch.title.encode()]
    parts += [f"{met.setdefault(v.name, len(met))}{v.dtype}{v.shape}".encode() for v in region.inputs]
    for tensor in patch.initializers:
        parts += [f"{met.setdefault(tensor.name, len(met))}{tensor.dims}".encode(), tensor.raw_data]
    for node in (*region.before.graph.node, *region.after.graph.node):
        settings = sorted(attribute.SerializeToString() for attribute in node.attribute)
        names = [met.setdefault(name, len(met)) for name in (*node.input, *node.output)]
        parts += [node.domain.encode(), node.op_type.encode(), *settings, str(names).encode()]
    return b"\0".join(parts)
