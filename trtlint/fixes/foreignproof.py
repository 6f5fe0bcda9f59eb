"""The proof of a patch to operators that only ONNX Runtime computes: what changes, run by it apart.

It runs in a process of its own, one for all places of a rewrite.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trtlint.compare.alike import IR_VERSION
from trtlint.compare.comparison import MISSING, Comparison, Pair, available, compare_all, usual_limits
from trtlint.fixes.boundary import Feeds
from trtlint.fixes.outcome import Proof
from trtlint.fixes.region import Region, RegionError
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.model.protos import domain_of, opsets

_SETS = 4
"""Sets of inputs for one choice of sizes."""
_CHOICES = 2
"""Choices of sizes that are tried."""
_LOOPS = frozenset({"Loop", "Scan"})
"""ONNX's reference takes a condition that is left out for one that does not hold, and stacks otherwise."""
_OPEN = frozenset({"DynamicQuantizeLinear", "OptionalGetElement"})
"""What the range of nothing is ONNX does not say; of the one tensor there is the reference gives a list."""
_UNKNOWN: Mapping[str, tuple[bytes, ...]] = {"Resize": (b"tf_half_pixel_for_nn",)}
"""Values of attributes that older opsets have and ONNX's reference lacks."""
_SPLIT_WANTS_A_COUNT = 18
"""The opset from which Split wants to be told how many parts to make."""


def is_foreign(region: Region) -> bool:
    """Whether operators are among the changed ones that the reference does not compute as defined."""
    nodes = region.before.graph.node
    return any(
        domain_of(node.domain) or node.op_type in _LOOPS | _OPEN or _is_unknown(node) for node in nodes
    )


def _is_unknown(node: onnx.NodeProto) -> bool:
    """Whether an attribute has a value that ONNX's reference refuses."""
    return any(attribute.s in _UNKNOWN.get(node.op_type, ()) for attribute in node.attribute)


def prove_foreign(cases: Sequence[tuple[Region, Iterable[Feeds]]]) -> list[Proof]:
    """Run what changes before and after in ONNX Runtime, in one process.

    Of each case, the first choice of sizes that ONNX Runtime takes counts, and then an empty batch or length.

    Args:
        cases: what changes, cut out, each with its inputs, those of one choice of sizes after the other.
    """
    if not available():
        return [_unproven(MISSING)] * len(cases)
    found = [_unproven("no inputs could be made")] * len(cases)
    choices = [_Choices(feeds) for _, feeds in cases]
    waiting = list(range(len(cases)))
    for _ in range(_CHOICES):
        drawn: dict[int, list[Feeds]] = {}
        for index in waiting:
            drawn[index] = choices[index].next()
            if choices[index].failure:
                found[index] = _unproven(choices[index].failure)
        for index, proof in _compared(cases, drawn).items():
            found[index] = proof
        waiting = [index for index, chosen in drawn.items() if chosen and found[index].equal is None]
    empty = {index: each.empty() for index, each in enumerate(choices) if found[index].equal}
    for index, proof in _compared(cases, empty).items():
        if proof.equal is False:
            found[index] = Proof(False, f"of an empty batch or length: {proof.words}", {})
    return found


class _Choices:
    """The inputs of a region by choices of sizes.

    Attributes:
        failure: why no more inputs can be made; empty where they can.
    """

    def __init__(self, feeds: Iterable[Feeds]) -> None:
        self._groups = groupby(feeds, key=lambda each: each.size)
        self._empty: list[Feeds] = []
        self.failure = ""

    def next(self) -> list[Feeds]:
        """Return inputs of the next choice of sizes above zero; none where there is no other."""
        try:
            for size, group in self._groups:
                if size:
                    return list(islice(group, _SETS))
                self._empty = list(islice(group, 1))
        except RegionError as error:
            self.failure = str(error)
        return []

    def empty(self) -> list[Feeds]:
        """Return inputs of an empty batch or length; none where no size varies."""
        while self.next():
            pass
        return self._empty


def _compared(
    cases: Sequence[tuple[Region, Iterable[Feeds]]], drawn: Mapping[int, list[Feeds]]
) -> dict[int, Proof]:
    """Return the proofs of cases on the inputs that were drawn for each; none where none were drawn."""
    with tempfile.TemporaryDirectory(prefix="trtlint-") as name:
        pairs = {
            index: _saved(cases[index][0], chosen, Path(name, str(index)))
            for index, chosen in drawn.items()
            if chosen
        }
        if not pairs:
            return {}
        results = compare_all(list(pairs.values()), usual_limits(part=True))
        return {index: _proof(result) for index, result in zip(pairs, results, strict=True)}


def _unproven(reason: str) -> Proof:
    return Proof(None, f"not proven on its own: {reason}", {})


def _proof(found: Comparison | InputsError) -> Proof:
    if isinstance(found, InputsError):
        return _unproven(str(found))
    if found.equal is None:
        return _unproven(found.words)
    figures: dict[str, float | int | str] = {"sets": found.sets, "difference": found.difference}
    plain = not (found.equal or found.lost or found.gained) and found.difference
    return Proof(
        found.equal, f"differs by {found.difference:.2g} in ONNX Runtime" if plain else found.words, figures
    )


def _saved(region: Region, chosen: Sequence[Feeds], folder: Path) -> Pair:
    """Write what changes, before and after, and inputs to files."""
    folder.mkdir()
    files = []
    for index, each in enumerate(chosen):
        files.append(str(folder / f"{index}.npz"))
        np.savez(files[-1], **{name: _stored(array) for name, array in each.arrays.items()})  # type: ignore[arg-type]
    models = [folder / "before.onnx", folder / "after.onnx"]
    for proto, path in zip((_unpacked(region.before), region.after), models, strict=True):
        onnx.save(typed(proto, chosen[0].arrays), path)
    return Pair(models[0], models[1], Inputs(files=tuple(files)))


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
