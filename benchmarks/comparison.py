"""Time and memory of ``--compare``, against one run of the model in ONNX Runtime.

    python -m benchmarks.comparison [MODEL ...]

Without arguments, the benchmark builds models: networks of convolutions, of depthwise convolutions and of
resizes, and a transformer of 300 MB. The two commands run in turn; the best of three runs counts.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from msgspec import Struct
from onnx import helper, numpy_helper

from benchmarks.measure import report
from benchmarks.transformer import Transformer
from trtlint.compare.sets import random_sets
from trtlint.dry_build.wheels import find
from trtlint.model.load import load
from trtlint.network.compare import CompareRequest, compare_network
from trtlint.process.spawn import Limits

RUNS = 3
SHORTEST = 0.1
"""Minimum seconds of one run of the model. For shorter runs, the goal for the time does not count."""
RATIO, MEMORY = 4.0, 2.5
HEAVY = 200 << 20
"""Minimum size of a model in bytes. For smaller models, the goal for the memory does not count."""
_LIMITS = Limits(300, 12 << 30)


class _Builder:
    """Nodes and weights of an image network."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._generator = np.random.default_rng(3)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def weight(self, *dims: int) -> str:
        name = f"weight_{len(self.weights)}"
        scale = math.sqrt(2 / max(1, math.prod(dims[1:])))
        values = self._generator.standard_normal(dims, np.float32) * np.float32(scale)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values: Any) -> str:
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def conv(self, x: str, before: int, after: int, size: int = 3, stride: int = 1, group: int = 1) -> str:
        pad = size // 2
        return self.node(
            "Conv",
            *(x, self.weight(after, before // group, size, size), self.weight(after)),
            pads=[pad] * 4,
            strides=[stride] * 2,
            group=group,
        )

    def save(self, path: Path, shape: Sequence[int]) -> None:
        last = self.nodes[-1].output[0]
        graph = helper.make_graph(
            self.nodes,
            path.stem,
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None)],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def _residual(path: Path) -> None:
    """Write residual blocks of convolutions, like ResNet-34."""
    made = _Builder()
    x = made.node("Relu", made.conv("x", 3, 64, 7, 2))
    x, before = made.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            short = x if stride == 1 else made.conv(x, before, width, 1, stride)
            y = made.node("Relu", made.conv(x, before, width, 3, stride))
            x, before = made.node("Relu", made.node("Add", made.conv(y, width, width), short)), width
    made.save(path, [2, 3, 224, 224])


def _mobile(path: Path) -> None:
    """Write depthwise convolutions with squeeze and excitation, like MobileNetV3."""
    made = _Builder()
    x, before = made.node("HardSwish", made.conv("x", 3, 24, 3, 2)), 24
    for width, stride in ((24, 1), (40, 2), (40, 1), (80, 2), (80, 1), (80, 1), (112, 1), (160, 2), (160, 1)):
        inner = before * 4
        y = made.node("HardSwish", made.conv(x, before, inner, 1))
        y = made.node("HardSwish", made.conv(y, inner, inner, 5, stride, inner))
        gate = made.node("Relu", made.conv(made.node("GlobalAveragePool", y), inner, inner // 4, 1))
        gate = made.node("HardSigmoid", made.conv(gate, inner // 4, inner, 1))
        y = made.conv(made.node("Mul", y, gate), inner, width, 1)
        x, before = made.node("Add", x, y) if before == width and stride == 1 else y, width
    made.save(path, [2, 3, 416, 416])


def _hourglass(path: Path) -> None:
    """Write an encoder and a decoder with skips, resizes and SiLU, like a U-Net."""
    made = _Builder()

    def block(x: str, before: int, after: int) -> str:
        y = made.conv(x, before, after)
        return made.node("Mul", y, made.node("Sigmoid", y))

    scales = made.constant(np.array([1, 1, 2, 2], np.float32))
    x, before, skips = "x", 3, []
    for width in (16, 32, 64, 128):
        x, before = block(block(x, before, width), width, width), width
        skips.append((x, width))
        x = made.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for skip, width in reversed(skips):
        x = made.node("Resize", x, "", scales, mode="linear")
        x = made.node("Concat", x, skip, axis=1)
        x, before = block(x, before + width, width), width
    made.save(path, [1, 3, 256, 256])


def _built(folder: Path) -> Iterator[Path]:
    for name, write in (("residual", _residual), ("mobile", _mobile), ("hourglass", _hourglass)):
        path = folder / f"{name}.onnx"
        write(path)
        yield path
    path = folder / "transformer.onnx"
    Transformer().save(path)
    yield path


class _Cost(Struct, frozen=True):
    """Cost of a comparison.

    Attributes:
        plain: seconds of one run in ONNX Runtime with optimizations.
        every: seconds of one run that outputs every tensor, so that ONNX Runtime cannot fuse operators.
        seconds: seconds of the comparison, without the start of its process.
        whole: seconds of the comparison, with the start of its process.
        memory: peak memory in bytes.
        words: the result of the comparison.
    """

    plain: float
    every: float
    seconds: float
    whole: float
    memory: int
    words: str


def _measured(path: Path) -> _Cost:
    wheels = find()
    (feeds, *_) = random_sets(load(path).graph.inputs)[0].first()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    plain, every, best, whole, memory, words = math.inf, math.inf, math.inf, math.inf, 0, ""
    for _ in range(RUNS):
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        session.run(None, feeds)
        began = time.monotonic()
        session.run(None, feeds)
        plain = min(plain, time.monotonic() - began)
        del session
        began = time.monotonic()
        found = compare_network(path, CompareRequest(), wheels, _LIMITS)
        whole = min(whole, time.monotonic() - began)
        every = min(every, found.onnxruntime_seconds)
        best, memory = min(best, found.seconds), max(memory, found.peak or 0)
        words = found.reason or f"{found.outcome}, {found.compared} of {found.tensors} tensors"
    return _Cost(plain, every, best, whole, memory, words)


def main() -> bool:
    """Print the figures of each model; return whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    chosen = parser.parse_args().models
    met = True
    with tempfile.TemporaryDirectory() as folder:
        for path in chosen or _built(Path(folder)):
            size = path.stat().st_size
            cost = _measured(path)
            print(
                f"{path.stem}, {size >> 20} MB: one run {cost.plain:.3f} s, with every tensor "
                f"{cost.every:.3f} s; comparison {cost.seconds:.2f} s, "
                f"with its process {cost.whole:.2f} s, {cost.memory >> 20} MB; {cost.words}"
            )
            goal = RATIO if cost.plain > SHORTEST else math.inf
            met &= report("comparison / one run, time", cost.seconds / cost.plain, goal)
            print(f"  comparison / one run with every tensor: {cost.seconds / max(cost.every, 1e-9):.2f}")
            if size > HEAVY:
                met &= report("comparison / model, memory", cost.memory / size, MEMORY)
    return met


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
