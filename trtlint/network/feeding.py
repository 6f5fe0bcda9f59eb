"""Provide inputs for a comparison: the user's inputs, or generated inputs that the model accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from trtlint.compare.sets import random_sets
from trtlint.measurement.feeds import given_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.model.graph import Value
from trtlint.model.protos import NUMBERS
from trtlint.network.comparing import NetworkComparer, NotComparableError
from trtlint.network.layers import Array
from trtlint.network.probe import probes

_MOST_TRIED = 40
"""Largest number of input shapes to try for a model."""


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
