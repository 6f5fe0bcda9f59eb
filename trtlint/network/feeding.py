"""The inputs that a network is compared on: the user's, or made-up ones that the model accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from trtlint.compare.sets import made_up
from trtlint.measurement.feeds import given_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.model.graph import Value
from trtlint.model.protos import DTYPES
from trtlint.network.comparing import Comparing, Feeds, NotComparableError
from trtlint.network.layers import Array
from trtlint.network.probe import probes

_MOST_TRIED = 40
"""Choices of shapes that are tried."""


def sets_of(
    inputs: Sequence[Value],
    given: Inputs,
    comparing: Comparing,
    shapes: Mapping[str, Sequence[int]],
    *,
    probe: bool,
) -> Iterator[tuple[str, Feeds]]:
    """Yield the sets of inputs that ONNX Runtime accepts, each right behind its first run.

    Args:
        inputs: the model's inputs.
        given: the user's inputs.
        comparing: runs the model.
        shapes: shapes of inputs by name.
        probe: whether to make inputs that hurt, beside the first set.

    Raises:
        InputsError: the user's inputs cannot be used.
        NotComparableError: the model accepts none.
    """
    if given.names:
        for number, (file, feeds) in enumerate(given_feeds(inputs, given), 1):
            typed = _typed(feeds, comparing.types)
            reason = comparing.accepts(typed)
            if reason:
                raise NotComparableError(f"ONNX Runtime does not run on {given.named(file)}: {reason}")
            yield f"{given.named(file)} ({number})", typed
        return
    base, failure = None, "no inputs could be made"
    for choice in made_up([_sized(value, shapes) for value in inputs])[:_MOST_TRIED]:
        sets = choice.first()
        if not sets:
            continue
        typed = _typed(sets[0], comparing.types)
        reason = comparing.accepts(typed)
        if not reason:
            base = typed
            break
        failure = reason
    if base is None:
        raise NotComparableError(f"no inputs were found that the model accepts; give some: {failure}")
    yield "random", base
    for name, feeds in probes(comparing.proto, inputs, base) if probe else ():
        if not comparing.accepts(feeds):
            yield name, feeds


def _typed(feeds: Mapping[str, Array], types: Mapping[str, np.dtype[Any]]) -> dict[str, Array]:
    return {name: array.astype(types[name]) for name, array in feeds.items()}


def _sized(value: Value, shapes: Mapping[str, Sequence[int]]) -> Value:
    """Return an input with the shape that the user gives it."""
    shape = shapes.get(value.name)
    if shape is None or value.shape is None or len(shape) != len(value.shape) or value.dtype is None:
        return value
    copy = Value(value.name)
    elements = {name: number for number, name in DTYPES.items()}
    copy.set_type(onnx.helper.make_tensor_type_proto(elements[value.dtype], list(shape)))
    return copy
