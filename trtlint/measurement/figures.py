"""Write the operators that compute figures of tensors, so that no tensor leaves the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto

from trtlint.measurement.narrowing import CLOSER, EXTREMES, SOUNDNESS, SecondLook
from trtlint.measurement.secondlook import look


class Figures:
    """Writes the operators that compute figures of tensors.

    Args:
        narrow: whether the model computes in a narrow type.
        second: the tensors that get closer statistics; None for the usual figures of all tensors.
        opset: version of the default operator set.
        add: adds an operator; returns the name of its result.
        constant: adds a constant; returns its name.
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
        """Names of the figures, those of one tensor side by side."""
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
        """The number of figures of a tensor."""
        return len(self._operators)

    def measure(self, name: str, *, double: bool = False) -> int:
        """Write the figures of a tensor; return the index of their group."""
        if double:
            name = self._add("Cast", [name], to=TensorProto.FLOAT)
        for reduced in self._reduced(name):
            self.names.append(self._add("Reshape", [reduced, self._single]))
        return len(self.names) // self.each - 1

    def _reduced(self, name: str) -> list[str]:
        """Write the figures of a tensor, each a number."""
        if self._second is None:
            return [self._add(op, [name], keepdims=0) for op in self._operators]
        return look(name, self._second.format, self._opset, self._add, self._constant)
