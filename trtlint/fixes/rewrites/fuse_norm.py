"""Fuse a decomposed norm over the last axis into ``LayerNormalization`` or ``RMSNormalization``.

Both operators compute their statistics in FP32, independently of the tensor's type:
https://onnx.ai/onnx/operators/onnx__LayerNormalization.html,
https://onnx.ai/onnx/operators/onnx__RMSNormalization.html
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.facts.of_model.normalization import Normalization
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch, numpy_type
from trtlint.fixes.rewrites._norms import Norm, norm_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES, Dimension
from trtlint.model.values import Constants

_OPERATORS = {"layer": ("LayerNormalization", 17), "rms": ("RMSNormalization", 23)}
"""The fused operator and its first opset, by kind of norm."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that fuses a norm.  The norm must exactly match the definition of the fused operator."""
    norm = norm_of(fact)
    if not isinstance(fact, Normalization) or fact.last_axis is None:
        raise NotApplicable("the axes of the mean or the number of dimensions of its input are unknown")
    if not fact.last_axis:
        raise NotApplicable("the norm covers axes other than the last axis")
    op, since = _OPERATORS[fact.family]
    epsilon = fact.epsilon
    tensor = norm.tensor
    if epsilon is None:
        raise NotApplicable("the epsilon is not known")
    if tensor.dtype not in FLOAT_DTYPES or norm.divide.output.dtype != tensor.dtype:
        raise NotApplicable("the result and the normalized tensor have different types")
    if not (_plain(norm) if fact.family == "layer" else _plain_rms(norm, model.constants)):
        raise NotApplicable(f"the norm does not exactly match {op}")
    dims = model.constants.dimensions(tensor)
    gain, bias, last = _parameters(norm.divide, dims[-1] if dims else None, model.constants)
    width = gain.shape[0] if gain is not None and gain.shape else dims[-1] if dims else None
    if not isinstance(width, int):
        raise NotApplicable("the last axis has no static size, and the norm has no stored scale")
    if width > MOST_ELEMENTS:
        raise NotApplicable(f"the last axis has more than {MOST_ELEMENTS:,} elements")
    draft = Draft(model, norm.divide)
    scale: str | Value = (
        draft.constant(np.ones(width, numpy_type(tensor.dtype)), "gain") if gain is None else gain
    )
    if bias is not None and op == "RMSNormalization":
        bias, last = None, last[:-1]
    inputs = [tensor, scale, *([bias] if bias is not None else [])]
    draft.op(op, *inputs, axis=-1, epsilon=float(epsilon), out=last[-1].output.name)
    shapes = [(tensor, (*dims[:-1], width))] if dims else []
    known = dims is not None and isinstance(dims[-1], int)
    return draft.patch(
        f"fuses the norm into {op}",
        last,
        opset=since,
        around=norm.nodes,
        shapes=shapes,
        condition="" if known else f"a last axis of {width} elements",
    )


def _plain(norm: Norm) -> bool:
    """Return whether the norm is exactly (x - mean) / sqrt(mean((x - mean)²) + epsilon)."""
    centre, mean = norm.centre, norm.mean
    if centre is None or mean is None or mean.op != norm.variance.op != "GlobalAveragePool":
        return False
    straight = (
        mean.input(0) is norm.tensor
        and mean.integer("keepdims", 1) == 1
        and centre.inputs[1] is mean.output
        and all(_is_centre(value, centre) for value in norm.square.inputs[:1])
        and _is_root_of_mean(norm)
    )
    if not straight:
        return False
    first, second = norm.divide.inputs[:2]
    if norm.divide.op == "Div":
        return _is_centre(first, centre) and second is norm.root.output
    inverse = next((v for v in (first, second) if v is not None and not _is_centre(v, centre)), None)
    before = inverse.producer if inverse is not None else None
    return before is not None and before.op == "Reciprocal" and before.input(0) is norm.root.output


def _plain_rms(norm: Norm, constants: Constants) -> bool:
    """Return whether the norm is exactly x / sqrt(mean(x²) + epsilon)."""
    square = norm.square
    squares = square.op == "Mul" and square.inputs[0] is square.inputs[1] is norm.tensor
    if square.op == "Pow":
        squares = square.inputs[0] is norm.tensor and constants.scalar(square.input(1)) == 2
    straight = squares and norm.variance.op == "ReduceMean" and _is_root_of_mean(norm)
    first, second = norm.divide.inputs[:2]
    if norm.divide.op == "Div":
        return straight and first is norm.tensor and second is norm.root.output
    inverse = second if first is norm.tensor else first if second is norm.tensor else None
    before = None if inverse is None else inverse.producer
    if before is None or norm.divide.op != "Mul" or not straight:
        return False
    if before.op == "Reciprocal":
        return before.input(0) is norm.root.output
    return (
        before.op == "Div" and constants.scalar(before.input(0)) == 1 and before.input(1) is norm.root.output
    )


def _is_root_of_mean(norm: Norm) -> bool:
    """Return whether the root of a norm is exactly sqrt(mean(square) + epsilon)."""
    variance, epsilon = norm.variance, norm.epsilon
    return (
        variance.input(0) is norm.square.output
        and variance.integer("keepdims", 1) == 1
        and (epsilon is None or (epsilon.op == "Add" and variance.output in epsilon.inputs))
        and norm.root.op == "Sqrt"
        and norm.root.input(0) is (epsilon or variance).output
    )


def _is_centre(value: Value | None, centre: Node) -> bool:
    """Return whether ``value`` is x - mean.

    This is true for the output of ``centre``, and for the output of another Sub with the same inputs.
    """
    node = None if value is None else value.producer
    return node is not None and (node is centre or (node.op == "Sub" and node.inputs == centre.inputs))


def _parameters(
    divide: Node, width: Dimension, constants: Constants
) -> tuple[Value | None, Value | None, list[Node]]:
    """Find the Mul with the gain and the Add with the bias after a division.

    Args:
        divide: the division.
        width: size of the last axis.  If this size is unknown, the size of the gain is used.
        constants: the constants of the model.

    Returns:
        The gain and the bias, and the nodes that the fused norm replaces. The gain or the bias is None if it
        is missing or not stored.
    """
    gain, scaled = _vector_after(divide, "Mul", width, constants)
    if gain is None or scaled is None:
        return None, None, [divide]
    bias, shifted = _vector_after(scaled, "Add", gain.shape[0] if gain.shape else width, constants)
    if bias is None or shifted is None:
        return gain, None, [divide, scaled]
    return gain, bias, [divide, scaled, shifted]


def _vector_after(
    node: Node, op: str, width: Dimension, constants: Constants
) -> tuple[Value | None, Node | None]:
    """Find the only reader of ``node``, and the stored vector that this reader also takes as input.

    The reader must be an operator of the type ``op``. If the size of the last axis is unknown, the function
    accepts a vector of several elements. At run time, the last axis could also have size one. But the result
    of a norm over one element is only 0, 1 or -1, so no real model has such an axis.

    Returns:
        The vector and the reader, or None for both.
    """
    if node.output.is_output or node.output.leaves_body or len(node.output.uses) != 1:
        return None, None
    reader, port = node.output.uses[0]
    other = reader.input(1 - port) if reader.op == op and port < 2 and reader.scope == node.scope else None
    fits = other is not None and _is_vector_of(other.shape, width) and constants.stored(other) is not None
    return (
        (other, reader) if fits and other is not None and other.dtype == node.output.dtype else (None, None)
    )


def _is_vector_of(shape: tuple[Dimension, ...] | None, width: Dimension) -> bool:
    """Return whether a shape is ``(width,)``. If ``width`` is unknown, any size above 1 is accepted."""
    if shape is None or len(shape) != 1 or not isinstance(shape[0], int):
        return False
    return shape[0] == width if isinstance(width, int) else shape[0] > 1
