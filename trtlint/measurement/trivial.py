"""Find outputs whose comparison proves nothing: they are empty, or all inputs lead to zeros or equal values.

Examples are an output behind weights that are zero, and the outputs of a batch of size 0. Two different
models can give the same values for such an output. So equal outputs do not show that the models are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trtlint.measurement.reach import inputs_read
from trtlint.model.graph import Graph

_MOST_BATCHES = 16
"""Maximum number of batches to compare with the first batch."""
ZERO = "0 on these inputs (weights are zero?)"
EMPTY = "empty on these inputs (no elements to compare)"

Array = np.ndarray[Any, np.dtype[Any]]
Batches = Sequence[Mapping[str, Array]]


def blank(outputs: Batches) -> dict[str, str]:
    """Return the outputs that are empty in all batches, and the float outputs that are 0 in all batches.

    Each output has the reason as its value.
    """
    found = {}
    for name in outputs[0] if outputs else ():
        arrays = [np.asarray(batch[name]) for batch in outputs]
        if not any(array.size for array in arrays):
            found[name] = EMPTY
        elif arrays[0].dtype.kind == "f" and not any(np.any(array) for array in arrays):
            found[name] = ZERO
    return found


def trivial(graph: Graph, outputs: Batches, feeds: Batches) -> dict[str, str]:
    """Return the outputs that are empty, 0 or constant although inputs affect them, each with the reason.

    Args:
        graph: the model.
        outputs: the outputs, or other tensors of the main graph, of each batch.
        feeds: the inputs of each batch.
    """
    found = {}
    empty_or_zero = blank(outputs)
    for name in outputs[0] if outputs else ():
        value = graph.resolve(name)
        if value is None or not (read := inputs_read(graph, value.producer)):
            continue
        if name in empty_or_zero:
            found[name] = empty_or_zero[name]
        elif _is_constant(name, outputs[:_MOST_BATCHES], feeds[:_MOST_BATCHES], read):
            found[name] = "the same for all of these inputs"
    return found


def sentence(found: Mapping[str, str], noun: str = "output") -> str:
    """Return a sentence that names the first output in ``found`` and counts the other outputs.

    ``noun`` is ``output``, or ``tensor`` for tensors that are compared instead of the outputs.
    """
    name, reason = next(iter(found.items()))
    count = len(found) - 1
    more = "" if not count else f", as is 1 more {noun}" if count == 1 else f", as are {count} more {noun}s"
    return f"{noun} {name} is {reason}{more}"


def _is_constant(name: str, outputs: Batches, feeds: Batches, read: frozenset[str]) -> bool:
    """Return whether an output is equal in all batches, although its inputs differ.

    ``read`` contains the names of the inputs that affect the output. Only these inputs are compared.
    """
    first, *others = (tuple(batch[each] for each in sorted(read) if each in batch) for batch in feeds)
    differ = any(
        not np.array_equal(one, another)
        for other in others
        for one, another in zip(first, other, strict=False)
    )
    result = outputs[0][name]
    return differ and all(np.array_equal(result, batch[name]) for batch in outputs)
