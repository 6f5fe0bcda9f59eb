"""Choose the tensors and internal numbers that a rewritten model measures."""

from __future__ import annotations

from trtlint.measurement.figures import Figures
from trtlint.measurement.narrowing import Probe, SecondLook
from trtlint.measurement.ports import SAME
from trtlint.measurement.trialmodel import TrialModel
from trtlint.measurement.writing import GraphWriter
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES


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
