"""Choose the tensors and internal numbers that a rewritten model measures."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from trtlint.measurement.formats import Format
from trtlint.measurement.narrowing import CLOSER, EXTREMES, SOUNDNESS, Probe, SecondLook
from trtlint.measurement.ports import SAME
from trtlint.measurement.trialmodel import TrialModel
from trtlint.measurement.writing import GraphWriter
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES

_WHERE = 9
"""The first opset with Where."""


class ProbeWriter:
    """Adds operators that measure tensors of the main graph.

    Args:
        model: the model.
        figures: writer of the operators for the statistics.
        second: None to measure all tensors; otherwise, the tensors whose further statistics are measured.
        write: writer of the graph.
        enabled: false to measure nothing.

    Attributes:
        probes: the measured tensors and internal numbers.
    """

    def __init__(
        self,
        model: TrialModel,
        figures: Figures,
        second: SecondLook | None,
        write: GraphWriter,
        enabled: bool,
    ) -> None:
        self.probes: list[Probe] = []
        self._model = model
        self._figures = figures
        self._second = second
        self._write = write
        self._enabled = enabled
        self._columns: dict[Value, int] = {}

    def tensor(self, value: Value, node: Node | None, op: str = "") -> None:
        """Measure a tensor.

        Args:
            value: the tensor.
            node: the operator that computes the tensor; None for an input or an initializer.
            op: ``Input`` or ``Constant`` if there is no operator.
        """
        folding = self._model.folding
        if not self._enabled or not self._write.scope.main or value.dtype not in FLOAT_DTYPES:
            return
        if self._second is not None and value.name not in self._second.tensors:
            return
        if value in folding.hidden or (node is None and not value.uses and not value.is_output):
            return
        path, op = ("", op) if node is None else (node.path, node.op)
        if path in folding.constants:
            op = "Constant"
        source = None if node is None or node.domain or node.op not in SAME else node.input(0)
        column = None if source is None else self._columns.get(source)
        if column is None:
            column = self._figures.measure(value.name, double=value.dtype == "f64")
        self._columns[value] = column
        self.probes.append(Probe(path, op, value.name, column, value.dtype in self._model.narrow))

    def inside(self, node: Node, name: str, what: str) -> None:
        """Measure an internal number of an operator.

        Args:
            node: the operator.
            name: the tensor that contains the number.
            what: the name of the number in reports.
        """
        if self._enabled and self._write.scope.main and self._second is None:
            column = self._figures.measure(name)
            self.probes.append(Probe(node.path, node.op, node.output.name, column, narrow=True, inside=what))


class Figures:
    """Adds operators that compute statistics of tensors. Each statistic is one number.

    The model returns a few numbers for each tensor, so it need not return the tensors themselves.

    Args:
        narrow: true if the model computes in a low-precision type.
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
        format_: the low-precision type.
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
