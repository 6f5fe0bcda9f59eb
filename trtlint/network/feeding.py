"""Provide inputs for a comparison: the user's inputs, generated inputs, or edge cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from trtlint.compare.sets import random_sets
from trtlint.measurement.feeds import given_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.model.contents import graphs
from trtlint.model.graph import Value
from trtlint.model.protos import NUMBERS
from trtlint.network.comparing import NetworkComparer, NotComparableError
from trtlint.network.layers import Array
from trtlint.network.types import is_float

_MOST_TRIED = 40
"""Largest number of input shapes to try for a model."""
_LARGEST_SCALE = 1e4
_STEPS = 300
"""Number of quantization steps that a probe adds to inputs, to exceed the ranges of INT8 and UINT8.

INT8 ends at 127 and UINT8 at 255.
"""
Feeds = Mapping[str, Array]
Change = Callable[[Array], Array]


def compare_all(
    inputs: Sequence[Value],
    given: Inputs,
    comparing: NetworkComparer,
    shapes: Mapping[str, Sequence[int]],
    *,
    probe: bool,
) -> None:
    """Compare a network with its model on all sets of inputs that ONNX Runtime accepts.

    Args:
        inputs: names, types and shapes of the inputs of the model.
        given: the input files of the user. If there are no files, trtlint generates inputs.
        comparing: object that compares the model and its network on one set of inputs.
        shapes: shapes of generated inputs, by name.
        probe: whether to also compare on edge cases. Ignored if the user gives input files.

    Raises:
        InputsError: the inputs of the user cannot be used.
        NotComparableError: the model rejects a set of the user's inputs, or all generated inputs.
        MemoryError: there is too little memory.
    """
    if given.names:
        for number, (file, feeds) in enumerate(given_feeds(inputs, given), 1):
            name = given.named(file)
            reason = comparing.run(f"{name} ({number})", _typed(feeds, comparing.types))
            if reason:
                raise NotComparableError(f"ONNX Runtime cannot run the model on {name}: {reason}")
        return
    base, failure = None, "no inputs could be generated"
    for choice in random_sets([_sized(value, shapes) for value in inputs])[:_MOST_TRIED]:
        sets = choice.first()
        if not sets:
            continue
        typed = _typed(sets[0], comparing.types)
        reason = comparing.run("random", typed)
        if not reason:
            base = typed
            break
        failure = reason
    if base is None:
        raise NotComparableError(f"the model rejects all generated inputs ({failure}); give your own inputs")
    for name, feeds in probes(comparing.proto, inputs, base) if probe else ():
        comparing.run(name, feeds)  # no error if the model rejects an edge case


def _typed(feeds: Mapping[str, Array], types: Mapping[str, np.dtype[Any]]) -> dict[str, Array]:
    return {name: array.astype(types[name]) for name, array in feeds.items()}


def _sized(value: Value, shapes: Mapping[str, Sequence[int]]) -> Value:
    """Return an input with its shape from ``shapes``, or unchanged if ``shapes`` has no suitable shape."""
    shape = shapes.get(value.name)
    if shape is None or value.shape is None or len(shape) != len(value.shape) or value.dtype is None:
        return value
    copy = Value(value.name)
    copy.set_type(onnx.helper.make_tensor_type_proto(NUMBERS[value.dtype], list(shape)))
    return copy


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
