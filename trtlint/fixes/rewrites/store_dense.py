"""Store a sparse tensor as a dense tensor.

https://onnx.ai/onnx/repo-docs/IR.html
"""

from __future__ import annotations

import math

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch, numpy_type
from trtlint.model.graph import Value
from trtlint.model.load import Model
from trtlint.model.protos import DTYPES


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that stores the sparse inputs of one operator as dense tensors."""
    node = fact.node
    read = () if node is None else tuple(value for value in node.inputs if value in model.graph.sparse)
    if node is None or not read:
        raise NotApplicable("there is no sparse tensor at this place")
    draft = Draft(model, node)
    for value in read:
        assert value is not None
        _store(draft, model, value)
    return draft.patch("stores a sparse tensor as a dense one", ())


def _store(draft: Draft, model: Model, value: Value) -> None:
    if model.graph.resolve(value.name) is not value:
        raise NotApplicable("the sparse tensor is stored in the body of an If or a loop")
    proto = model.graph.sparse[value]
    shape = tuple(proto.dims)
    dtype = DTYPES.get(proto.values.data_type)
    values, indices = (model.tensors.array(tensor) for tensor in (proto.values, proto.indices))
    if values is None or indices is None or dtype is None:
        raise NotApplicable("the values of the sparse tensor cannot be read")
    if math.prod(shape) > MOST_ELEMENTS:
        raise NotApplicable(f"the dense tensor would have more than {MOST_ELEMENTS:,} elements")
    flat = np.asarray(indices)
    if flat.ndim == 2 and flat.shape[1] == len(shape) and flat.size:
        places = flat.T
        if bool((places < 0).any()) or any(bool((p >= n).any()) for p, n in zip(places, shape, strict=True)):
            raise NotApplicable("an index of the sparse tensor is out of range")
        flat = np.ravel_multi_index(tuple(places), shape)
    flat = flat.ravel()
    if flat.size != np.asarray(values).size or bool(((flat < 0) | (flat >= math.prod(shape))).any()):
        raise NotApplicable("an index of the sparse tensor is out of range")
    dense = np.zeros(math.prod(shape), numpy_type(dtype))
    dense[flat] = np.asarray(values).ravel()
    draft.constant(dense.reshape(shape), out=value.name)
