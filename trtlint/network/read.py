"""Read a network back through NVIDIA's Python API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trtlint.network.layers import Layer, Network, Tensor
from trtlint.network.weights import LayerWeights

_MOST_LAYERS = 200_000
_MOST_PORTS = 4096
_CLASSES = {
    "CONDITIONAL_INPUT": "IIfConditionalInputLayer",
    "CONDITIONAL_OUTPUT": "IIfConditionalOutputLayer",
}
"""Layer classes whose name differs from the name of their kind."""
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "ACTIVATION": ("type", "alpha", "beta"),
    "CAST": ("to_type",),
    "CONCATENATION": ("axis",),
    "CONSTANT": ("shape",),
    "CUMULATIVE": ("op", "exclusive", "reverse"),
    "DEQUANTIZE": ("axis", "to_type", "block_shape"),
    "EINSUM": ("equation",),
    "ELEMENTWISE": ("op",),
    "FILL": ("operation", "shape", "alpha", "beta", "to_type"),
    "GATHER": ("axis", "mode", "num_elementwise_dims"),
    "GRID_SAMPLE": ("align_corners", "interpolation_mode", "sample_mode"),
    "ITERATOR": ("axis", "reverse"),
    "KV_CACHE_UPDATE": ("cache_mode", "update_form"),
    "LOOP_OUTPUT": ("axis", "kind"),
    "LRN": ("alpha", "beta", "k", "window_size"),
    "MATRIX_MULTIPLY": ("op0", "op1"),
    "NMS": ("bounding_box_format", "topk_box_limit"),
    "NORMALIZATION": ("axes", "epsilon", "num_groups", "is_v2"),
    "ONE_HOT": ("axis",),
    "PADDING": ("pre_padding_nd", "post_padding_nd"),
    "QUANTIZE": ("axis", "to_type", "block_shape"),
    "REDUCE": ("op", "axes", "keep_dims"),
    "RESIZE": (
        *("resize_mode", "shape", "scales", "coordinate_transformation", "selector_for_single_pixel"),
        *("nearest_rounding", "cubic_coeff", "exclude_outside"),
    ),
    "REVERSE_SEQUENCE": ("batch_axis", "sequence_axis"),
    "ROTARY_EMBEDDING": ("interleaved", "rotary_embedding_dim"),
    "SCALE": ("mode", "channel_axis"),
    "SCATTER": ("axis", "mode"),
    "SHUFFLE": ("first_transpose", "reshape_dims", "second_transpose", "zero_is_placeholder"),
    "SLICE": ("start", "shape", "stride", "mode", "axes"),
    "SOFTMAX": ("axes",),
    "TOPK": ("op", "k", "axes"),
    "TRIP_LIMIT": ("kind",),
    "UNARY": ("op",),
    **dict.fromkeys(
        ("CONVOLUTION", "DECONVOLUTION"),
        (
            *("num_output_maps", "kernel_size_nd", "stride_nd", "dilation_nd", "num_groups"),
            *("pre_padding", "post_padding", "padding_mode"),
        ),
    ),
    "POOLING": (
        *("type", "window_size_nd", "stride_nd", "pre_padding", "post_padding", "padding_mode"),
        *("average_count_excludes_padding", "blend_factor"),
    ),
}
"""The attributes that define a layer's computation, by layer kind."""
_WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "CONSTANT": ("weights",),
    "CONVOLUTION": ("kernel", "bias"),
    "DECONVOLUTION": ("kernel", "bias"),
    "SCALE": ("shift", "scale", "power"),
}
_GROUPS = {
    **dict.fromkeys(("RECURRENCE", "ITERATOR", "TRIP_LIMIT", "LOOP_OUTPUT"), "loop"),
    **dict.fromkeys(("CONDITION", "CONDITIONAL_INPUT", "CONDITIONAL_OUTPUT"), "conditional"),
    **dict.fromkeys(("ATTENTION_INPUT", "ATTENTION_OUTPUT"), "attention"),
}
_ATTENTION = ("norm_op", "causal", "causal_kind")
_ATTENTION_TENSORS = ("mask", "normalization_quantize_scale", "query_lengths", "key_value_lengths")


class NetworkReader:
    """Reads one network; keeps the library's objects alive, since their ids are unique only that long.

    Args:
        trt: the module of the bindings.
        network: its network.
    """

    def __init__(self, trt: Any, network: Any) -> None:
        self._network = network
        self._classes = {name.lower(): getattr(trt, name) for name in dir(trt) if name.endswith("Layer")}
        self._held: list[Any] = []
        self._positions: dict[int, int] = {}
        self._groups: dict[int, int] = {}
        self._tensors: list[Tensor] = []

    def read(self) -> Network:
        """Return the network as plain data."""
        network = self._network
        inputs = tuple(self._tensor(network.get_input(index)) for index in range(network.num_inputs))
        count = min(network.num_layers, _MOST_LAYERS)
        layers = tuple(self._layer(index, network.get_layer(index)) for index in range(count))
        outputs = tuple(self._tensor(network.get_output(index)) for index in range(network.num_outputs))
        return Network(layers, tuple(self._tensors), inputs, outputs)

    def _tensor(self, tensor: Any) -> int:
        key = id(tensor)
        if key not in self._positions:
            self._held.append(tensor)
            self._positions[key] = len(self._tensors)
            self._tensors.append(Tensor(str(tensor.name), str(tensor.dtype.name), len(tensor.shape)))
        return self._positions[key]

    def _port(self, tensor: Any) -> int | None:
        return None if tensor is None else self._tensor(tensor)

    def _layer(self, index: int, layer: Any) -> Layer:
        kind = str(layer.type.name)
        inputs = [self._port(layer.get_input(port)) for port in range(min(layer.num_inputs, _MOST_PORTS))]
        outputs = tuple(
            self._tensor(layer.get_output(port)) for port in range(min(layer.num_outputs, _MOST_PORTS))
        )
        name = str(layer.name)
        wanted = _CLASSES.get(kind, f"I{kind.replace('_', '')}Layer").lower()
        settings: dict[str, Any] = {}
        group = -1
        if wanted in self._classes and kind not in ("PLUGIN", "PLUGIN_V2", "PLUGIN_V3"):
            layer.__class__ = self._classes[wanted]
            settings.update(_read(layer, _SETTINGS.get(kind, ())))
            settings.update((each, LayerWeights.of(layer, each)) for each in _WEIGHTS.get(kind, ()))
            if kind in _GROUPS:
                group = self._group(getattr(layer, _GROUPS[kind]))
            if kind == "ATTENTION_INPUT":
                settings.update(self._attention(layer.attention))
        types = tuple(self._tensors[output].dtype for output in outputs)
        self._held.append(layer)
        return Layer(index, name, kind, tuple(inputs), outputs, types, settings, group)

    def _group(self, found: Any) -> int:
        if id(found) not in self._groups:
            self._held.append(found)
            self._groups[id(found)] = len(self._groups)
        return self._groups[id(found)]

    def _attention(self, attention: Any) -> dict[str, Any]:
        """Return the settings of an attention, its tensors as positions."""
        settings = dict(_read(attention, _ATTENTION))
        for name in _ATTENTION_TENSORS:
            tensor = getattr(attention, name, None)
            if tensor is not None:
                settings[name] = self._tensor(tensor)
        if "normalization_quantize_scale" in settings:  # the bindings log an error where it is not set
            settings.update(_read(attention, ("normalization_quantize_to_type",)))
        return settings


def _read(source: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in names:
        try:
            value = getattr(source, name)
        except (AttributeError, RuntimeError):  # an older release, or an attribute that is not set
            continue
        yield name, _plain(value)


def _plain(value: Any) -> Any:
    """Convert an attribute to plain data: enumerations to names, dimensions to tuples."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    try:
        return tuple(each if isinstance(each, float) else int(each) for each in value)
    except (TypeError, ValueError):  # dimensions that are not set, which the bindings cannot iterate
        return None
