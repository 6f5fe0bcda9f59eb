"""Add operators that compute statistics of a model's tensors, such as the largest magnitude.

The model returns a few numbers for each tensor, so it need not return the tensors themselves.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from trtlint.measurement.formats import Format
from trtlint.measurement.narrowing import CLOSER, EXTREMES, SOUNDNESS, SecondLook
from trtlint.measurement.writing import GraphWriter

_WHERE = 9
"""The first opset with Where."""


class Figures:
    """Adds operators that compute statistics of tensors. Each statistic is one number.

    Args:
        narrow: true if the model computes in a narrow type.
        second: None to compute the usual statistics of all tensors. Otherwise, the tensors whose further
            statistics are computed instead.
        write: writer of the graph.
    """

    def __init__(self, narrow: bool, second: SecondLook | None, write: GraphWriter) -> None:
        self.names: list[str] = []
        """Names of the statistics; the statistics of one tensor are next to each other."""
        self._operators = CLOSER if second is not None else SOUNDNESS if narrow else EXTREMES
        self._second = second
        self._write = write
        self._single = write.constant([1], np.int64)

    @property
    def each(self) -> int:
        """Return the number of statistics for each tensor."""
        return len(self._operators)

    def measure(self, name: str, *, double: bool = False) -> int:
        """Add operators for the statistics of a tensor, and return the tensor's row in the result.

        Args:
            name: name of the tensor.
            double: true if the element type of the tensor is DOUBLE.
        """
        write = self._write
        if double:
            name = write.add("Cast", [name], to=TensorProto.FLOAT)
        if self._second is None:
            found = [write.add(op, [name], keepdims=0) for op in self._operators]
        else:
            found = look(name, self._second.format, write)
        self.names += [write.add("Reshape", [each, self._single]) for each in found]
        return len(self.names) // self.each - 1


def look(name: str, format_: Format, write: GraphWriter) -> list[str]:
    """Add operators that compute the statistics :data:`~trtlint.measurement.narrowing.CLOSER` of a tensor.

    Args:
        name: the tensor.
        format_: the narrow type.
        write: writer of the graph.

    Returns:
        The names of the results.
    """
    add, constant = write.add, write.constant
    size = add("Abs", [name])
    some = add("Greater", [size, constant(0.0)])
    within = add("Less", [size, constant(format_.infinite_from)])
    seen = add("Greater", [size, constant(format_.zero_below)])
    beyond, lost = add("Not", [within]), add("And", [some, add("Not", [seen])])
    shares = [add("Cast", [each], to=TensorProto.FLOAT) for each in (beyond, lost)]
    if write.opset >= _WHERE:
        smallest = add("Where", [some, size, constant(np.inf)])
    else:  # add 0 / 1 = 0 to nonzero numbers, and 1 / 0 = infinity to zeros
        none, any_ = (add("Cast", [each], to=TensorProto.FLOAT) for each in (add("Not", [some]), some))
        smallest = add("Add", [size, add("Div", [none, any_])])
    means = [add("ReduceMean", [share], keepdims=0) for share in shares]
    return [*means, add("ReduceMin", [smallest], keepdims=0)]
