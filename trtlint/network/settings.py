"""List the attributes of TensorRT's layers for each kind of layer.

This module imports nothing of trtlint, so that a Python interpreter without trtlint can use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

CLASSES = {
    "CONDITIONAL_INPUT": "IIfConditionalInputLayer",
    "CONDITIONAL_OUTPUT": "IIfConditionalOutputLayer",
}
"""TensorRT classes by layer kind, where the name of the class cannot be derived from the layer kind."""
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "ACTIVATION": ("type", "alpha", "beta"),
    "CONCATENATION": ("axis",),
    "CONSTANT": ("shape",),
    "CUMULATIVE": ("op", "exclusive", "reverse"),
    "DEQUANTIZE": ("axis",),
    "EINSUM": ("equation",),
    "ELEMENTWISE": ("op",),
    "FILL": ("operation", "shape", "alpha", "beta"),
    "GATHER": ("axis", "mode", "num_elementwise_dims"),
    "GRID_SAMPLE": ("align_corners", "interpolation_mode", "sample_mode"),
    "ITERATOR": ("axis", "reverse"),
    "LOOP_OUTPUT": ("axis", "kind"),
    "LRN": ("alpha", "beta", "k", "window_size"),
    "MATRIX_MULTIPLY": ("op0", "op1"),
    "NMS": ("bounding_box_format", "topk_box_limit"),
    "NORMALIZATION": ("axes", "epsilon", "num_groups", "compute_precision"),
    "ONE_HOT": ("axis",),
    "PADDING": ("pre_padding_nd", "post_padding_nd"),
    "QUANTIZE": ("axis",),
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
"""For each kind of layer, the attributes that define the computation of the layer."""
GROUPS = {
    **dict.fromkeys(("RECURRENCE", "ITERATOR", "TRIP_LIMIT", "LOOP_OUTPUT"), "loop"),
    **dict.fromkeys(("CONDITION", "CONDITIONAL_INPUT", "CONDITIONAL_OUTPUT"), "conditional"),
    **dict.fromkeys(("ATTENTION_INPUT", "ATTENTION_OUTPUT"), "attention"),
}
ATTENTION = ("norm_op", "causal", "causal_kind")
ATTENTION_TENSORS = ("mask", "normalization_quantize_scale", "query_lengths", "key_value_lengths")


def read_settings(source: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes ``names`` of a TensorRT object, each as its name and its value as plain data."""
    for name in names:
        try:
            value = getattr(source, name)
        except (AttributeError, RuntimeError):  # an older release, or an attribute that is not set
            continue
        yield name, plain(value)


def plain(value: Any) -> Any:
    """Convert a value of a TensorRT attribute to plain data: enumerations to names, dimensions to tuples."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    try:
        return tuple(each if isinstance(each, float) else int(each) for each in value)
    except (TypeError, ValueError):  # the Python API cannot iterate over unset dimensions
        return None
