"""Generate edge-case inputs for operators that parsers are known to import incorrectly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from onnx import ModelProto, numpy_helper

from trtlint.model.contents import graphs
from trtlint.model.graph import Value
from trtlint.network.layers import Array
from trtlint.network.types import is_float

_LARGEST_SCALE = 1e4
_STEPS = 300
"""Number of quantization steps that a probe adds to inputs, to exceed the ranges of INT8 and UINT8.

INT8 ends at 127 and UINT8 at 255.
"""

Feeds = Mapping[str, Array]
Change = Callable[[Array], Array]


def probes(proto: ModelProto, inputs: Sequence[Value], base: Feeds) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield sets of edge-case inputs, each with a name for reports. The model may reject a set.

    Args:
        proto: the model.
        inputs: the inputs of the model. Their shapes show which dimensions are dynamic.
        base: a set of inputs that the model accepts. Each yielded set is a variation of this set.
    """
    seen: list[Feeds] = [base]
    for name, feeds in _all(proto, inputs, base):
        if not any(_same(feeds, other) for other in seen):
            seen.append(feeds)
            yield name, feeds


def _all(proto: ModelProto, inputs: Sequence[Value], base: Feeds) -> Iterator[tuple[str, dict[str, Array]]]:
    largest = _largest_scale(proto)
    yield "negative numbers", _floats(base, lambda x: -np.abs(x))
    yield "positive numbers", _floats(base, np.abs)
    yield "negative whole numbers", _of_kinds("iu", base, _below_zero)
    if largest:
        yield (
            "numbers beyond the quantizers",
            _floats(base, lambda x: np.sign(x) * (np.abs(x) + _STEPS * largest)),
        )
        yield "numbers at the quantizers' limits", _floats(base, lambda x: np.rint(x) * (128 * largest))
    yield "ties", _floats(base, np.rint)
    yield "zeros", {name: np.zeros_like(array) for name, array in base.items()}
    yield "masks that are false everywhere", _of_kinds("b", base, np.zeros_like)
    yield "masks that are true everywhere", _of_kinds("b", base, np.ones_like)
    yield "masks with one true element", _of_kinds("b", base, _first_alone)
    for turns in (0, 1, 3, 7):
        yield f"all integers equal to {turns}", _of_kinds("iu", base, partial(np.full_like, fill_value=turns))
    yield (
        "growing whole numbers",
        _of_kinds("iu", base, lambda x: np.arange(x.size).reshape(x.shape).astype(x.dtype)),
    )
    yield "large numbers", _floats(base, lambda x: x * 30)
    yield "small numbers", _floats(base, lambda x: x * 0.01)
    for size in (1, 2, 3, 0):
        yield f"dimensions of size {size}", _resized(inputs, base, size)


def _below_zero(array: Array) -> Array:
    """Return an array filled with -1, or with 200 for an unsigned type.  As INT8, 200 is negative."""
    return np.full_like(array, 200 if array.dtype.kind == "u" else -1)


def _same(one: Feeds, other: Feeds) -> bool:
    return all(np.array_equal(array, other[name]) for name, array in one.items())


def _floats(base: Feeds, change: Change) -> dict[str, Array]:
    return {
        name: np.asarray(change(array.astype(np.float32))).astype(array.dtype)
        if is_float(array.dtype)
        else array
        for name, array in base.items()
    }


def _of_kinds(kinds: str, base: Feeds, change: Change) -> dict[str, Array]:
    """Return the inputs of ``base``.  Apply ``change`` to the arrays whose NumPy kind is in ``kinds``."""
    return {
        name: np.asarray(change(array)) if array.dtype.kind in kinds else array
        for name, array in base.items()
    }


def _first_alone(array: Array) -> Array:
    found = np.zeros_like(array)
    if array.ndim:
        found[..., :1] = 1
    return found


def _resized(inputs: Sequence[Value], base: Feeds, size: int) -> dict[str, Array]:
    """Return a set of inputs in which all dynamic dimensions have the size ``size``."""
    found: dict[str, Array] = {}
    for value in inputs:
        array = base[value.name]
        if value.shape is not None and len(value.shape) == array.ndim:
            for axis, dim in enumerate(value.shape):
                if not isinstance(dim, int):
                    array = np.resize(np.moveaxis(array, axis, 0), (size, *np.delete(array.shape, axis)))
                    array = np.moveaxis(array, 0, axis)
        found[value.name] = array
    return found


def _largest_scale(proto: ModelProto) -> float:
    """Return the largest scale of a model's QuantizeLinear operators, or 0 if no scale is usable."""
    largest = 0.0
    for graph in graphs(proto):
        known = {tensor.name: tensor for tensor in graph.initializer if not tensor.external_data}
        for node in graph.node:
            if node.op_type == "QuantizeLinear" and len(node.input) > 1 and node.input[1] in known:
                scale = numpy_helper.to_array(known[node.input[1]]).astype(np.float64)
                largest = max(largest, float(np.max(np.abs(scale), initial=0.0)))
            if node.op_type == "Constant":
                known.update((node.output[0], each.t) for each in node.attribute if each.name == "value")
    return largest if np.isfinite(largest) and largest < _LARGEST_SCALE else 0.0
