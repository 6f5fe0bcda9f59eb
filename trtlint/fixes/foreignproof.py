"""Use ONNX Runtime to check patches that ONNX's reference evaluator cannot run.

A separate process runs the changed nodes before and after each rewrite.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trtlint.compare.alike import IR_VERSION
from trtlint.compare.comparison import Comparison, Pair, available, compare_all, missing, usual_limits
from trtlint.fixes.boundary import Feeds
from trtlint.fixes.outcome import Proof, unproven
from trtlint.fixes.region import Region, RegionError
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.model.protos import domain_of, opsets

_SETS = 4
"""Maximum number of input sets for each size of the dynamic dimensions."""
_CHOICES = 2
"""Maximum number of sizes that trtlint tries for the dynamic dimensions."""
_LOOPS = frozenset({"Loop", "Scan"})
"""Loop operators, for which ONNX's reference evaluator gives wrong results.

The evaluator treats a missing condition as false, and stacks scan outputs incorrectly.
"""
_OPEN = frozenset({"DynamicQuantizeLinear", "OptionalGetElement"})
"""Operators whose result is sometimes undefined, or differs in ONNX's reference evaluator.

DynamicQuantizeLinear cannot compute a range for an empty tensor. For OptionalGetElement with a tensor, ONNX's
reference evaluator returns a list.
"""
_UNKNOWN: Mapping[str, tuple[bytes, ...]] = {"Resize": (b"tf_half_pixel_for_nn",)}
"""Attribute values that older opsets allow, but ONNX's reference evaluator does not support."""
_SPLIT_WANTS_A_COUNT = 18
"""First opset in which Split requires the number of outputs."""


def is_foreign(region: Region) -> bool:
    """Return whether ONNX's reference evaluator fails for a changed node, or gives a wrong result."""
    nodes = region.before.graph.node
    return any(
        domain_of(node.domain) or node.op_type in _LOOPS | _OPEN or _is_unknown(node) for node in nodes
    )


def _is_unknown(node: onnx.NodeProto) -> bool:
    """Return whether a node has an attribute value that ONNX's reference evaluator rejects."""
    return any(attribute.s in _UNKNOWN.get(node.op_type, ()) for attribute in node.attribute)


def prove_foreign(cases: Sequence[tuple[Region, Iterable[Feeds]]]) -> list[Proof]:
    """Run the changed nodes of patches in ONNX Runtime, and compare the results before and after each patch.

    One process runs the nodes of all patches. The process sets the dynamic dimensions to the first size that
    ONNX Runtime accepts, and then to zero (an empty batch or length).

    Args:
        cases: for each patch, the changed nodes and their input sets. Input sets with the same size of
            dynamic dimensions are adjacent.

    Returns:
        One proof for each patch, in the order of ``cases``.
    """
    if not available():
        return [unproven(missing())] * len(cases)
    found = [unproven("cannot generate inputs")] * len(cases)
    choices = [_Choices(feeds) for _, feeds in cases]
    waiting = list(range(len(cases)))
    for _ in range(_CHOICES):
        drawn: dict[int, list[Feeds]] = {}
        for index in waiting:
            drawn[index] = choices[index].next()
            if choices[index].failure:
                found[index] = unproven(choices[index].failure)
        for index, proof in _compared(cases, drawn).items():
            found[index] = proof
        waiting = [index for index, chosen in drawn.items() if chosen and found[index].equal is None]
    empty = {index: each.empty() for index, each in enumerate(choices) if found[index].equal}
    for index, proof in _compared(cases, empty).items():
        if proof.equal is False:
            found[index] = Proof(False, f"for an empty batch or length: {proof.words}", {})
    return found


class _Choices:
    """The input sets of the changed nodes of one patch, grouped by the size of dynamic dimensions.

    Attributes:
        failure: reason why trtlint cannot generate more inputs; empty if there was no error.
    """

    def __init__(self, feeds: Iterable[Feeds]) -> None:
        self._groups = groupby(feeds, key=lambda each: each.size)
        self._empty: list[Feeds] = []
        self.failure = ""

    def next(self) -> list[Feeds]:
        """Return the input sets in which the dynamic dimensions have the next size above zero.

        The result is an empty list after the last size.
        """
        try:
            for size, group in self._groups:
                if size:
                    return list(islice(group, _SETS))
                self._empty = list(islice(group, 1))
        except RegionError as error:
            self.failure = str(error)
        return []

    def empty(self) -> list[Feeds]:
        """Return a list with the input set in which dynamic dimensions have size zero.

        The list is empty if no dimension is dynamic.
        """
        while self.next():
            pass
        return self._empty


def _compared(
    cases: Sequence[tuple[Region, Iterable[Feeds]]], drawn: Mapping[int, list[Feeds]]
) -> dict[int, Proof]:
    """Run the changed nodes of patches in ONNX Runtime, and return the proofs by index in ``cases``.

    The function skips patches without input sets in ``drawn``.

    Args:
        cases: for each patch, the changed nodes with all their input sets.
        drawn: the input sets to use, by index in ``cases``.
    """
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


def _proof(found: Comparison | InputsError) -> Proof:
    if isinstance(found, InputsError):
        return unproven(str(found))
    if found.equal is None:
        return unproven(found.words)
    figures: dict[str, float | int | str] = {"sets": found.sets, "difference": found.difference}
    plain = not (found.equal or found.lost or found.gained) and found.difference
    return Proof(
        found.equal,
        f"a result differs by {found.difference:.2g} in ONNX Runtime" if plain else found.words,
        figures,
    )


def _saved(region: Region, chosen: Sequence[Feeds], folder: Path) -> Pair:
    """Save the input arrays, and the nodes before and after the patch as two models."""
    folder.mkdir()
    files = []
    for index, each in enumerate(chosen):
        files.append(str(folder / f"{index}.npz"))
        np.savez(files[-1], **{name: _stored(array) for name, array in each.arrays.items()})  # type: ignore[arg-type]
    models = [folder / "before.onnx", folder / "after.onnx"]
    for proto, path in zip((_unpacked(region.before), region.after), models, strict=True):
        onnx.save(typed(proto, chosen[0].arrays), path)
    return Pair(models[0], models[1], Inputs(files=tuple(files)), drawn=True)


def _stored(array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Convert BF16 arrays to FP32, because NumPy files do not support BF16."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _unpacked(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Insert Split and Reshape before each MultiHeadAttention with packed Q, K and V.

    ONNX Runtime's CPU kernels need separate tensors. Packed tensors are stacked along the fourth of five
    axes: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
    """
    copy = deepcopy(proto)
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
    """Return a copy of a model that declares the input types. ONNX Runtime requires declared types.

    ``feeds`` contains the input arrays by name.  The function declares their types and shapes.
    """
    copy = deepcopy(proto)
    copy.ir_version = IR_VERSION
    del copy.graph.input[:]
    for name, array in feeds.items():
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        copy.graph.input.append(helper.make_tensor_value_info(name, number, array.shape))
    return copy
