"""Decompose norms that ONNX Runtime fused with neighbouring operators.

Definitions: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.  As in ONNX Runtime,
the new operators compute statistics in FP32.
"""

from __future__ import annotations

from trtlint.fixes.patch import NotApplicable, onnx_type
from trtlint.fixes.rewrites._forms import Forms, Tensor, output_name
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES

_EPSILON = 1e-12
_SIMPLIFIED_EPSILON = 1e-5
_SUM = 3
"""Index of the output that returns the sum.  Outputs 1 and 2 return statistics."""


def skip_layer_norm(forms: Forms, node: Node) -> None:
    """Decompose SkipLayerNormalization into a sum and a norm.

    The sum adds two tensors and an optional bias.
    """
    simplified = node.op == "SkipSimplifiedLayerNormalization"
    if any(value.is_needed for value in node.outputs[1:_SUM]):
        raise NotApplicable(f"an operator reads the mean or the deviation that {node.op} returns")
    gain = node.inputs[2]
    bias, shift = (None, node.input(3)) if simplified else (node.input(3), node.input(4))
    dtype = _float((*node.inputs, node.output))
    if gain is None or dtype is None:
        raise NotApplicable(f"the types of the inputs of {node.op} are not known")
    named = output_name(node, _SUM)
    total = forms.draft.op("Add", node.inputs[0], node.inputs[1], out="" if shift is not None else named)
    if shift is not None:
        total = forms.draft.op("Add", total, shift, out=named)
    epsilon = float(node.number("epsilon", _EPSILON))
    if simplified:
        forms.rms_norm(total, gain, epsilon, dtype, node.output.name)
    else:
        forms.layer_norm(total, gain, bias, epsilon, dtype, node.output.name)


def simplified_layer_norm(forms: Forms, node: Node) -> None:
    """Decompose SimplifiedLayerNormalization, an RMS norm over the last axis.

    The operator belongs to ONNX Runtime, but models use it in ONNX's default domain.
    """
    value, gain = node.inputs[0], node.inputs[1]
    dtype = _float((*node.inputs, node.output))
    if value is None or gain is None or dtype is None:
        raise NotApplicable(f"the types of the inputs of {node.op} are not known")
    axis = node.integer("axis", -1)
    if axis != -1 and axis != (value.rank or 0) - 1:
        raise NotApplicable(f"{node.op} normalizes several axes, not only the last one")
    if any(other.is_needed for other in node.outputs[1:]):
        raise NotApplicable(f"an operator reads the mean or the deviation that {node.op} returns")
    if {value.dtype, gain.dtype} - {None, dtype}:
        raise NotApplicable("the scale and the normalized tensor have different types")
    forms.rms_norm(value, gain, float(node.number("epsilon", _SIMPLIFIED_EPSILON)), dtype, node.output.name)


def embed_layer_norm(forms: Forms, node: Node) -> None:
    """Decompose EmbedLayerNormalization: add word, position and segment embeddings, then normalize."""
    draft = forms.draft
    words, segments, word_table, position_table, segment_table, gain, bias, mask, positions = (
        node.input(port) for port in range(9)
    )
    dtype = _float((word_table, position_table))
    if words is None or word_table is None or position_table is None or dtype is None:
        raise NotApplicable(f"the types of the inputs of {node.op} are not known")
    counted = node.outputs[1] if len(node.outputs) > 1 else None
    named = output_name(node, 2)
    if positions is None:
        length = words.shape[1] if words.shape and len(words.shape) == 2 else None
        if not isinstance(length, int):
            raise NotApplicable("the length of the sequence is not known")
        places = forms.part(position_table, 0, 0, length)
    else:
        places = draft.op("Gather", position_table, positions, axis=0)
    embedded = draft.op("Gather", word_table, words, axis=0)
    has_segments = segments is not None and segment_table is not None
    total = draft.op("Add", embedded, places, out="" if has_segments else named)
    if has_segments:
        total = draft.op("Add", total, draft.op("Gather", segment_table, segments, axis=0), out=named)
    if counted is not None and counted.is_needed:
        if mask is None:
            raise NotApplicable(f"{node.op} returns mask counts but has no mask")
        ones = draft.op("Cast", draft.op("Equal", mask, draft.like(1, "i32", "one")), to=onnx_type("f32"))
        mean = forms.mean(ones)
        length = draft.op("Gather", draft.op("Shape", mask), draft.ints(1))
        count = draft.op("Mul", mean, draft.op("Cast", length, to=onnx_type("f32")))
        whole = draft.op("Cast", draft.op("Round", count), to=onnx_type("i32"))
        draft.op("Reshape", whole, draft.ints(-1), out=counted.name)
    forms.layer_norm(total, gain, bias, float(node.number("epsilon", _EPSILON)), dtype, node.output.name)


def group_norm(forms: Forms, node: Node) -> None:
    """Decompose a GroupNorm or SkipGroupNorm of images.

    SkipGroupNorm includes a sum before the norm. Both operators can include a SiLU after the norm.
    """
    draft = forms.draft
    value, gain, bias = node.inputs[:3]
    dtype = None if value is None else value.dtype
    groups = node.integer("groups", 0)
    channels = gain.shape[0] if gain is not None and gain.shape else None
    if value is None or gain is None or bias is None or dtype not in FLOAT_DTYPES or dtype is None:
        raise NotApplicable(f"the types of the inputs of {node.op} are not known")
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise NotApplicable("the number of channels is unknown or not a multiple of the number of groups")
    total: Tensor = value
    if node.op == "SkipGroupNorm":
        total = _with_skip(forms, node, channels)
    last = bool(node.number("channels_last", 1))
    first = draft.op("Transpose", total, perm=[0, 3, 1, 2]) if last else total
    epsilon = float(node.number("epsilon", 1e-5))
    wide = "f32" if dtype != "f64" else "f64"
    image = forms.widened(first, dtype)
    parameters = [forms.widened(each, each.dtype or "f32") for each in (gain, bias)]
    normed = forms.group_norm(image, groups, parameters, channels, 4, epsilon, wide)
    if node.number("activation", 0):
        normed = draft.op("Mul", normed, draft.op("Sigmoid", normed))
    if last:
        normed = draft.op(
            "Transpose", normed, perm=[0, 2, 3, 1], out="" if wide != dtype else node.output.name
        )
    if wide != dtype or not last:
        draft.op("Cast", normed, to=onnx_type(dtype), out=node.output.name)


def _with_skip(forms: Forms, node: Node, channels: int) -> str:
    """Insert the sum before the norm of a SkipGroupNorm.

    If the SkipGroupNorm has a second output, the sum gets the name of this output.
    """
    draft, skip, shift = forms.draft, node.inputs[3], node.input(4)
    named = output_name(node, 1)
    if skip is not None and skip.rank == 2:
        skip_form: Tensor | None = draft.op("Reshape", skip, draft.ints(0, 1, 1, channels))
    else:
        skip_form = skip
    total = draft.op("Add", node.inputs[0], skip_form, out="" if shift is not None else named)
    return total if shift is None else draft.op("Add", total, shift, out=named)


def _float(values: tuple[Value | None, ...]) -> str | None:
    """Return the type of the first value with a float type, or None if there is none."""
    return next((value.dtype for value in values if value is not None and value.dtype in FLOAT_DTYPES), None)
