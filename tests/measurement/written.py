"""Handmade graphs, built operator by operator and run in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from trtlint.measurement.narrowing import Rewritten
from trtlint.measurement.session import RehearsalSession


class Graph:
    """A graph built operator by operator."""

    def __init__(self, opset: int, **inputs: int) -> None:
        infos = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None] * rank)
            for name, rank in inputs.items()
        ]
        self.proto = helper.make_graph([], "g", infos, [])
        self._opset = opset
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"value {self._count}"

    def add(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        result = self.fresh()
        self.proto.node.append(helper.make_node(op, inputs, [result], **attributes))
        return result

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = self.fresh()
        self.proto.initializer.append(onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def run(self, outputs: Sequence[str], **feeds: np.ndarray) -> list[np.ndarray]:
        """Return the results of these names."""
        pytest.importorskip("onnxruntime")
        del self.proto.output[:]
        self.proto.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
        opsets = [helper.make_opsetid("", self._opset)]
        model = helper.make_model(self.proto, opset_imports=opsets, ir_version=8)
        session = RehearsalSession(Rewritten(model.SerializeToString(), (), tuple(outputs), 1, 0))
        found = session.run(feeds)[0]
        return [found[name] for name in outputs]
