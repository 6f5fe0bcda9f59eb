"""Facts about the single layers of an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from trtlint.buildcommand.command import matches
from trtlint.buildfiles.layers import DataType
from trtlint.facts.base import Fact, Step
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.buildfiles.layers import EngineLayer, LayerInfo
    from trtlint.buildfiles.profile import LayerTime
    from trtlint.facts.facts import Facts

Family = Literal[
    "convolution", "gemm", "attention", "pointwise", "pooling", "softmax", "reformat", "shape", "constant",
    "plugin", "island", "generated", "none", "other",
]  # fmt: skip
# Parts of the names of layer types, with the family of each. The full names differ between releases.
_FAMILIES: tuple[tuple[str, Family], ...] = (
    ("reformat", "reformat"),
    ("conv", "convolution"),
    ("correlation", "convolution"),
    ("gemm", "gemm"),
    ("matrixmultiply", "gemm"),
    ("matmul", "gemm"),
    ("fullyconnected", "gemm"),
    ("pointwise", "pointwise"),
    ("elementwise", "pointwise"),
    ("activation", "pointwise"),
    ("scale", "pointwise"),
    ("pool", "pooling"),
    ("softmax", "softmax"),
    ("plugin", "plugin"),
    ("foreign", "island"),
    ("myelin", "island"),
    ("shape_call", "shape"),
    ("signal", "shape"),
    ("wait", "shape"),
    ("constant", "constant"),
    ("kgen", "generated"),
    ("noop", "none"),
)
EngineType = Literal[
    "f32", "tf32", "f16", "bf16", "f8", "f4", "i8", "u8", "i32", "i64", "i4", "bool", "float8e8m0",
]  # fmt: skip
"""Element types of layers and tensors, with the names that trtlint uses for ONNX types."""

_SHORT: Mapping[DataType, EngineType] = {
    "float32": "f32", "tf32": "tf32", "float16": "f16", "bfloat16": "bf16", "float8": "f8", "float4": "f4",
    "int8": "i8", "uint8": "u8", "int32": "i32", "int64": "i64", "int4": "i4", "bool": "bool",
    "float8e8m0": "float8e8m0",
}  # fmt: skip

AskedType = Literal["f32", "f16", "bf16", "i8", "i32"]
_OPTION = re.compile(r"""--layerPrecisions[= ](?P<quote>["']?)(?P<specs>.+?)(?P=quote)(?= --|$|["'])""")
_SPEC = re.compile(r"(?P<name>.+):(?P<type>fp32|fp16|bf16|int8|int32)$")
_ASKED: Mapping[str, AskedType] = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8", "int32": "i32"}

# The name of a kernel that Myelin generates lists its steps: __myl_MoveMeanSubMulMeanAddSqrtDiv_myl0_0.
_GENERATED = re.compile(r"^__myl_(?P<steps>[A-Za-z0-9]+?)_myl\d+_\d+")
_KERNEL = re.compile(r"_\w*mha", re.IGNORECASE)
_STEP = re.compile(r"[A-Z][a-z0-9]*")


class LayerFact(Fact, frozen=True):
    """A layer of the engine.  A field is None if the layer file does not contain the value.

    Attributes:
        name: the name of the layer, without the number of the optimization profile.
        type: the layer type in the engine, such as ``CaskConvolution``, ``Reformat`` or ``kgen``.
        nodes: in graph order, the model nodes that the layer computes; empty if unknown.
        ops: the operator types of ``nodes``, without repeats.
        family: trtlint's name for the layer type. This name is the same for all releases.  ``generated`` is a
            kernel that Myelin generated, and ``none`` is a layer that computes nothing.  The field is None if
            the file contains only layer names.
        reformat: whether the layer only copies a tensor into another layout or type.
        origin: the reason for a reformat layer, as printed, such as ``REFORMAT`` or ``QDQ``.
        shape: whether the layer only computes shapes or synchronizes streams.
        attention: whether the layer is a fused attention kernel; None for a Myelin island (a fused subgraph),
            whose kernels are unknown.
        precision: the type in which the layer computes, such as ``f16``.
        asked: the type that the option ``--layerPrecisions`` of the build command sets for the layer; None if
            the option does not name the layer.
        weights: the type in which the engine stores the weights of the layer.
        input_types: element types of the layer's inputs. An unknown type is None.
        output_types: element types of the layer's outputs. An unknown type is None.
        tactic: name of the kernel.
        dynamic_filter: whether the weights of the layer are computed at run time.
        dynamic_bias: whether the bias of the layer is computed at run time.
        activation: the activation that is fused into the layer; None if there is none.
        steps: the steps of a generated kernel, such as ``Mean``, ``Sub`` and ``Sqrt``.
        cast_before_mean: whether a generated kernel converts its input before it computes a mean.
        reads_network_input: whether the layer reads an input of the engine.
        writes_network_output: whether the layer writes an output of the engine.
        stream: the number of the auxiliary CUDA stream that runs the layer.
        profile: the number of the layer's optimization profile.
        ms: average time of the layer for one inference, in milliseconds.
        share: the time of the layer as a share of the time of all layers, 0 to 1.
    """

    roles: ClassVar[Mapping[str, str]] = {"inside": "a node that the layer computes"}

    name: str
    type: str | None
    nodes: tuple[Node, ...]
    ops: tuple[str, ...]
    family: Family | None
    reformat: bool
    origin: str | None
    shape: bool
    attention: bool | None
    precision: EngineType | None
    asked: AskedType | None
    weights: EngineType | None
    input_types: tuple[EngineType | None, ...]
    output_types: tuple[EngineType | None, ...]
    tactic: str | None
    dynamic_filter: bool | None
    dynamic_bias: bool | None
    activation: str | None
    steps: tuple[str, ...]
    cast_before_mean: bool | None
    reads_network_input: bool | None
    writes_network_output: bool | None
    stream: int | None
    profile: int
    ms: float | None
    share: float | None

    @property
    def place(self) -> str:
        """The location in reports: the name of the layer."""
        return f"layer {self.name}"


def find(facts: Facts) -> Iterator[LayerFact]:
    """Yield the layers in the order of the engine."""
    record, joined = facts.record, facts.joined
    if record is None or record.layers is None or joined is None:
        return
    from trtlint.buildfiles.names import layer_names

    times = layer_times(facts)
    inputs, outputs = _ends(record.layers)
    detailed = record.layers.detailed
    asked = layer_types(record.settings.command)
    for layer in record.layers.layers:
        nodes = joined.nodes.get(layer.index, ())
        time = times.get(layer.index)
        steps = _steps(layer)
        yield LayerFact(
            node=nodes[0] if nodes else None,
            chain=tuple(Step(node, "inside") for node in nodes),
            name=layer.name,
            type=layer.type,
            nodes=nodes,
            ops=tuple(dict.fromkeys(node.op for node in nodes)),
            family=_family(layer),
            reformat=layer.is_reformat,
            origin=layer.origin,
            shape=layer.type in ("shape_call", "signal", "wait"),
            attention=is_attention(layer) or (None if "{ForeignNode[" in layer.name else False),
            precision=short_type(layer.precision),
            asked=asked_type(asked, layer_names(layer.name, layer.metadata).nodes),
            weights=short_type(layer.weights),
            input_types=tuple(short_type(tensor.dtype) for tensor in layer.inputs),
            output_types=tuple(short_type(tensor.dtype) for tensor in layer.outputs),
            tactic=layer.tactic,
            dynamic_filter=layer.dynamic_filter,
            dynamic_bias=layer.dynamic_bias,
            activation=None if layer.activation == "NONE" else layer.activation,
            steps=steps,
            cast_before_mean="Cast" in steps[: steps.index("Mean")] if "Mean" in steps else None,
            reads_network_input=any(t.name in inputs for t in layer.inputs) if detailed else None,
            writes_network_output=any(t.name in outputs for t in layer.outputs) if detailed else None,
            stream=layer.stream,
            profile=layer.profile,
            ms=None if time is None else time.average,
            share=None if time is None else time.share,
        )


def layer_types(command: str | None) -> list[tuple[str, AskedType]]:
    """Return the layer names and types in the option ``--layerPrecisions`` of a trtexec command.

    The last setting comes first, because it counts if several settings match a layer.  A layer name in the
    option can contain one ``*``.  The name ``*`` is left out, because it sets a default for all layers.
    https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
    """
    options = [*_OPTION.finditer(command or "")][-1:]
    specs = (_SPEC.match(spec.strip(" \"'")) for found in options for spec in found["specs"].split(","))
    named = [(spec["name"].strip("\"'"), _ASKED[spec["type"]]) for spec in specs if spec]
    return [(name, kind) for name, kind in reversed(named) if name != "*"]


def asked_type(types: Sequence[tuple[str, AskedType]], names: Iterable[str]) -> AskedType | None:
    """Return the type in ``types`` of the first name that has one, or None if no name has a type."""
    return next((kind for name in names for pattern, kind in types if matches(name, pattern)), None)


def _ends(info: LayerInfo) -> tuple[set[str], set[str]]:
    """Return the names of the engine's inputs and outputs.

    If the layer file does not list the inputs and outputs, the inputs are the tensors that no layer writes.
    The outputs are then the tensors that no layer reads.
    """
    if info.tensors:
        inputs = {tensor.name for tensor in info.tensors if tensor.is_input is not False}
        return inputs, {tensor.name for tensor in info.tensors if not tensor.is_input}
    read = {tensor.name for layer in info.layers for tensor in layer.inputs}
    written = {tensor.name for layer in info.layers for tensor in layer.outputs}
    return read - written, written - read


def is_attention(layer: EngineLayer) -> bool:
    """Return whether a layer is a fused attention kernel.

    The name of the tactic contains ``mha``, or the builder gave the layer a name such as
    ``_gemm_mha_v2_myl0_1``. Any other layer name with ``mha`` can be the path of a user's module, such as
    ``/encoder/mha/out_proj/Gemm``.
    """
    return "mha" in (layer.tactic or "").lower() or _KERNEL.match(layer.name) is not None


def layer_times(facts: Facts) -> dict[int, LayerTime]:
    """Return the time of each engine layer, by the index of the layer.

    A profile lists times with layer names, in the order of the layers in the engine.  If several layers have
    the same name, the first layer gets the first time with this name, and so on.
    """
    record = facts.record
    if record is None or record.profile is None or record.layers is None:
        return {}
    waiting: dict[str, list[LayerTime]] = {}
    for time in reversed(record.profile.layers):
        waiting.setdefault(time.name, []).append(time)
    return {layer.index: found.pop() for layer in record.layers.layers if (found := waiting.get(layer.name))}


def short_type(dtype: DataType | None) -> EngineType | None:
    """Return the short name of an engine's element type, such as ``f16``, or None if it is unknown."""
    return None if dtype is None else _SHORT[dtype]


def _family(layer: EngineLayer) -> Family | None:
    if is_attention(layer):
        return "attention"
    if layer.is_reformat:
        return "reformat"
    if layer.type is None:
        return None
    word = layer.type.lower()
    return next((kind for part, kind in _FAMILIES if part in word), "other")


def _steps(layer: EngineLayer) -> tuple[str, ...]:
    found = _GENERATED.match(layer.name)
    return tuple(_STEP.findall(found["steps"])) if found else ()
