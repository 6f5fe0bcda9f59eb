"""Add operators to a model that compute statistics of its tensors, such as the largest magnitude.

The model returns a few numbers for each tensor, so the tensors themselves are not copied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto

from trtlint.measurement.narrowing import CLOSER, EXTREMES, SOUNDNESS, SecondLook
from trtlint.measurement.secondlook import look


class Figures:
    """Adds operators that compute statistics of tensors. Each statistic is one number.

    Args:
        narrow: true if the model computes in a narrow type.
        second: the tensors for which further statistics are computed; None for the usual statistics of all
            tensors.
        opset: version of the default operator set.
        add: function that adds an operator and returns the name of the result.
        constant: function that adds a constant and returns its name.
    """

    def __init__(
        self,
        narrow: bool,
        second: SecondLook | None,
        opset: int,
        add: Callable[..., str],
        constant: Callable[..., str],
    ) -> None:
        self.names: list[str] = []
        """Names of the statistics; the statistics of one tensor are next to each other."""
        self._operators: Sequence[str] = SOUNDNESS if narrow else EXTREMES
        if second is not None:
            self._operators = CLOSER
        self._second = second
        self._opset = opset
        self._add = add
        self._constant = constant
        self._single = constant([1], np.int64)

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
        if double:
            name = self._add("Cast", [name], to=TensorProto.FLOAT)
        for reduced in self._reduced(name):
            self.names.append(self._add("Reshape", [reduced, self._single]))
        return len(self.names) // self.each - 1

    def _reduced(self, name: str) -> list[str]:
        """Add operators for the statistics of a tensor. Return the name of each result."""
        if self._second is None:
            return [self._add(op, [name], keepdims=0) for op in self._operators]
        return look(name, self._second.format, self._opset, self._add, self._constant)
