"""Make an empty model, for a build log or engine that comes without its ONNX file."""

from __future__ import annotations

from pathlib import Path

import onnx

from trtlint.model.graph import Graph
from trtlint.model.load import Model
from trtlint.model.tensors import TensorStore
from trtlint.model.values import Constants


def empty_model(path: Path) -> Model:
    """Return a model without nodes, named after the build log or engine at ``path``."""
    graph = Graph(onnx.GraphProto())
    tensors = TensorStore(path)
    return Model(
        path=path,
        graph=graph,
        constants=Constants(graph, tensors),
        opsets={},
        ir_version=0,
        producer="",
        metadata={},
        tensors=tensors,
        declared={},
    )
