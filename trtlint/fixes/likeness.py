"""Compute a key for each patch, so that equal patches at different nodes are proven only once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy

import numpy as np
import onnx

from trtlint.fixes.patch import Patch
from trtlint.fixes.region import Region
from trtlint.model.graph import Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.sizes import Dimensions


def likeness(model: Model, patch: Patch, region: Region) -> bytes:
    """Return a hash of all data that can change the result of a patch's proof.

    In the hashed data, numbers replace the names. A name gets its number when it first appears.
    If a proof uses random elements instead of stored weights, the hash does not depend on the weights.

    Args:
        model: the model.
        patch: the patch.
        region: the nodes that the patch changes.
    """
    names = _NameNumbers()
    values = (getattr(patch, name) for name in patch.__struct_fields__)
    settings = [value for value in values if isinstance(value, int | str)]
    parts: list[object] = [settings, sorted(model.opsets.items())]
    for value in region.inputs:
        parts += [names.of(value.name), value.dtype, names.dims(model.constants.dimensions(value))]
        if value.dtype not in FLOAT_DTYPES:  # the readers of an integer tensor determine its valid values
            parts.append(sorted({reader.op for reader, _ in value.uses}))
        if model.constants.foldable(value):
            parts.append(_stored(model, patch, value))
    for tensor in patch.initializers:
        parts += [names.of(tensor.name), hashlib.sha256(_unnamed(tensor)).hexdigest()]
    for value, shape in patch.shapes:
        parts += [names.of(value.name), names.dims(value.shape), names.dims(shape)]
    for proto in (region.before, region.after):
        for node in proto.graph.node:
            parts += [node.domain, node.op_type]
            parts += sorted(each.SerializeToString(deterministic=True) for each in node.attribute)
            parts += [[names.of(name) for name in each] for each in (node.input, node.output)]
        parts.append([names.of(info.name) for info in proto.graph.output])
    parts += [[names.of(name) for name in each] for each in (patch.altered, patch.retyped, patch.finite)]
    parts += [(names.of(name), numbers) for name, numbers in patch.holds]
    parts += [(names.of(each.tensor), each.low, each.high) for each in patch.bounds]
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).digest()


def only_renames(patch: Patch) -> bool:
    """Return whether a patch only renames operators."""
    if patch.initializers or patch.rewire or patch.retyped or patch.opset or patch.set_opset:
        return False
    before = Counter(_unnamed(node.proto) for node in patch.remove)
    return bool(before) and before == Counter(map(_unnamed, patch.insert))


def _unnamed(proto: onnx.NodeProto | onnx.TensorProto) -> bytes:
    """Serialize a node or a tensor without its name.

    The result for a node contains the names of its inputs and outputs.
    """
    bare = deepcopy(proto)
    bare.ClearField("name")
    return bare.SerializeToString(deterministic=True)


class _NameNumbers:
    """Assigns a number to each name, in order of appearance."""

    def __init__(self) -> None:
        self._met: dict[str, int] = {"": 0}

    def of(self, name: str) -> int:
        return self._met.setdefault(name, len(self._met))

    def dims(self, shape: Dimensions | Iterable[int | str | None] | None) -> list[object] | None:
        """Return a shape in which numbers replace the names of dynamic dimensions."""
        if shape is None:
            return None
        return [dim if dim is None or isinstance(dim, int) else (self.of(f"dim {dim}"),) for dim in shape]


def _stored(model: Model, patch: Patch, value: Value) -> object:
    """Return the type and the shape of a constant, and a hash of its elements.

    The hash is empty if the proof uses random elements instead of the stored elements.
    """
    array = model.constants.payload(value)
    if array is None:
        array = model.constants.array(value)
    if array is None:
        return None
    drawn = array.dtype.kind == "f" and array.size > 1 and not patch.folds
    digest = "" if drawn else hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return array.dtype.str, array.shape, digest
