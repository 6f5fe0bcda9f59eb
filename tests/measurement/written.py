"""Handmade graphs, built operator by operator and run in a test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper

from trtlint.measurement.narrowing import RewrittenModel
from trtlint.measurement.session import RehearsalSession
from trtlint.measurement.writing import GraphWriter


class Graph(GraphWriter):
    """A graph built operator by operator."""

    def __init__(self, opset: int, **inputs: int) -> None:
        super().__init__(opset)
        self._inputs = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None] * rank)
            for name, rank in inputs.items()
        ]

    def run(self, outputs: Sequence[str], **feeds: np.ndarray) -> list[np.ndarray]:
        """Return the results of these names."""
        pytest.importorskip("onnxruntime")
        infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.scope.nodes, "g", self._inputs, infos, self.scope.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        session = RehearsalSession(RewrittenModel(model.SerializeToString(), (), tuple(outputs), 1, 0))
        found = session.run(feeds)[0]
        return [found[name] for name in outputs]
