"""Describe the model as a whole.  Every rule can refer to this fact as ``model``."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Literal

from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.model.graph import Graph, Value
from trtlint.model.operators import PRODUCTS, TORCH_TENSORRT
from trtlint.model.protos import FLOAT_DTYPES, text
from trtlint.model.tensors import LEFT, LEFT_OUT

Exporter = Literal["torchscript", "dynamo", "torch-tensorrt", "tf2onnx", "paddle2onnx", "skl2onnx", "other"]
FloatType = Literal["f32", "f16", "bf16", "f64", "mixed"]

_QUANTIZING = (
    "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv",
    "QLinearMatMul", "QuantizeLinear",
)  # fmt: skip
_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSumSquare",
)  # fmt: skip
"""Reductions whose axes are an attribute before opset 18, and an input from opset 18 on."""
_PRODUCERS: Mapping[str, Exporter] = {
    "tf2onnx": "tf2onnx",
    "paddlepaddle": "paddle2onnx",
    "paddle2onnx": "paddle2onnx",
    "skl2onnx": "skl2onnx",
}
_DOMINATING = 0.75
"""Share of the operators in ``PRODUCTS`` that must have the same float type to give the model this type.

The share is less than 1, because FP16 exports keep a few products in FP32, such as the angles of a rotary
embedding.
"""
_SAMPLE = 200
"""Number of nodes that trtlint examines to find the exporter.

Usually, all nodes of a file come from one exporter.
"""


class ModelFact(Fact, frozen=True):
    """The model as a whole.

    Attributes:
        opset: opset version of ONNX's domain; None if the model does not import this domain.
        ir: IR version of the file.
        producer: producer name and version, as written in the file.
        exporter: the program that wrote the graph. ``torchscript``: ``torch.onnx.export(dynamo=False)``.
            ``dynamo``: ``torch.onnx.export(dynamo=True)``, the default since PyTorch 2.9.
            ``torch-tensorrt``: the graph is a network of Torch-TensorRT. Otherwise, the name of another known
            converter, or ``other``. Node metadata and names take precedence over the producer, because tools
            that rewrite a graph replace the producer's name.
        float_type: the float type of the input data of convolutions, matrix products, attention and recurrent
            layers. At least three quarters of these layers must have this type; otherwise, the value is
            ``mixed``. If the model has none of these layers, trtlint uses the types of all results instead.
            If no result has a float type, trtlint uses the types of the weights. None if the model has no
            float type.
        float_types: all float types that occur, sorted.
        quantized: whether the model has quantized operators: Q/DQ, integer or QLinear operators.
        nodes: number of nodes, including nodes in the subgraphs of ``If``, ``Loop`` and ``Scan``.
        inputs: number of inputs without a stored default value.
        outputs: number of outputs.
        dynamic: whether an input has a dimension whose size is not in the file.
        external: whether weights are in external data files.
        axes_inputs: whether a reduction other than ReduceSum reads its axes from an input, as in opset 18 and
            newer.
        command: whether the user gave a build command. Facts of the kind ``flag`` describe its options.
        file: the path as the user wrote it, quoted for a shell.
    """

    opset: int | None
    ir: int
    producer: str
    exporter: Exporter
    float_type: FloatType | None
    float_types: tuple[str, ...]
    quantized: bool
    nodes: int
    inputs: int
    outputs: int
    dynamic: bool
    external: bool
    axes_inputs: bool
    command: bool = False
    file: str = ""


def find(facts: Facts) -> Iterator[ModelFact]:
    """Yield the fact about the model."""
    model, graph = facts.model, facts.model.graph
    every = _float_types(graph)
    yield ModelFact(
        opset=model.opset,
        ir=model.ir_version,
        producer=model.producer,
        exporter=_exporter(graph, model.producer),
        float_type=_float_type(graph, every),
        float_types=tuple(sorted(every)),
        quantized=any(graph.count(op) for op in _QUANTIZING),
        nodes=len(graph.nodes),
        inputs=len(graph.inputs),
        outputs=len(graph.outputs),
        dynamic=not all(value.is_static for value in graph.inputs),
        external=any(map(_is_external, graph.values.values())),
        axes_inputs=any(node.input(1) is not None for node in graph.of_onnx(*_REDUCTIONS)),
        command=facts.command is not None,
        file=shlex.quote(str(model.path)),
    )


def _is_external(values: Sequence[Value]) -> bool:
    """Return whether an external data file of the user stores one of ``values``.

    Tensors that trtlint itself marks as external do not count:

    - large tensors in the model file, which trtlint reads on demand,
    - tensors without data in a skeleton (a model without weights).
    """
    return any(
        entry.key == "location" and entry.value not in (LEFT, LEFT_OUT)
        for value in values
        if value.initializer is not None
        for entry in value.initializer.external_data
    )


def _float_types(graph: Graph) -> Counter[str]:
    """Count the values of each float type in a graph.

    Each computed value counts as 1.  A stored tensor counts as its number of elements.
    """
    counts: Counter[str] = Counter()
    for values in graph.values.values():
        for value in values:
            if value.dtype in FLOAT_DTYPES:
                counts[value.dtype] += prod(value.initializer.dims) if value.initializer is not None else 1
    return counts


def _float_type(graph: Graph, every: Counter[str]) -> FloatType | None:
    computing = graph.of_onnx(*PRODUCTS)
    types = _dominating(value.dtype for node in computing if (value := node.input(0)) is not None)
    if types is None:
        types = _dominating(value.dtype for node in graph.nodes for value in node.outputs)
    if types is None and every:
        types = _known(every.most_common(1)[0][0])
    return types


def _dominating(types: Iterable[str | None]) -> FloatType | None:
    """Return the predominant float type in ``types``, or ``mixed`` if there is none.

    A float type predominates if its share of all floats is at least ``_DOMINATING``. The result is None if
    ``types`` contains no float type.
    """
    floats = Counter(dtype for dtype in types if dtype in FLOAT_DTYPES)
    if not floats:
        return None
    dtype, count = floats.most_common(1)[0]
    return _known(dtype) if count >= _DOMINATING * floats.total() else "mixed"


def _known(dtype: str | None) -> FloatType | None:
    return dtype if dtype in ("f32", "f16", "bf16", "f64") else None  # type: ignore[return-value]


def _exporter(graph: Graph, producer: str) -> Exporter:
    if producer == TORCH_TENSORRT:
        return "torch-tensorrt"
    nodes = graph.nodes[:_SAMPLE]
    # dynamo writes keys with this prefix:
    # https://github.com/pytorch/pytorch/blob/main/torch/onnx/_internal/exporter/_core.py
    keys = (text(entry.key) for node in nodes for entry in node.proto.metadata_props)
    if any(key.startswith("pkg.torch.onnx.") for key in keys):
        return "dynamo"
    name = producer.split(" ")[0].lower()
    if name in _PRODUCERS:
        return _PRODUCERS[name]
    named = [text(node.proto.name) for node in nodes if node.proto.name]
    # In TorchScript, the name of a node is its module path. In dynamo, it is the FX name.
    slashes = sum(name.startswith("/") for name in named)
    fx_names = sum(name.startswith("node_") for name in named)
    if name != "pytorch" and max(slashes, fx_names) * 2 <= len(named):
        return "other"
    return "dynamo" if fx_names > slashes else "torchscript"
