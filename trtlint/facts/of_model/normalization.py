"""Find normalizations: single operators, and groups of primitive operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step, in_graph_order
from trtlint.facts.blocks.decomposed import Decomposed, decomposed_norms
from trtlint.facts.blocks.sizes import whole
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.protos import DTYPES, ElementType

Family = Literal["layer", "rms", "group", "instance", "batch"]

_MOST_AXES = 8
"""Largest number of axes of a tensor in TensorRT:
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_dims64.html
"""
NEAR_ATTENTION = 12
"""Largest number of operators between an attention block and a normalization that follows it.

The output projection, its bias and layout, and the residual sum are about six operators.
"""


class Normalization(Fact, frozen=True):
    """A normalization, such as LayerNormalization, as one operator or several.

    Attributes:
        family: ``layer``, ``rms``, ``group``, ``instance`` or ``batch``.
        form: ``operator`` if the normalization is one operator, ``decomposed`` if it consists of several
            primitive operators.
        axes: the normalized axes, counted from the end; None if unknown.
        last_axis: True if only the last axis is normalized, as for ``LayerNormalization`` and
            ``RMSNormalization`` with ``axis=-1``; None if unknown.
        epsilon: the epsilon constant that prevents a division by zero; 0 if there is none, None if unknown.
        dtype: element type of the normalized tensor; None if unknown.
        statistics_dtype: the narrowest element type among the mean, the squares and the mean of the squares;
            None if unknown.
        squares_dtype: the element type of the squares, if a separate operator computes them.
        standard: whether the formula equals LayerNormalization or RMSNormalization. The epsilon must be added
            before the square root, and the variance must have no correction such as Bessel's.
        upcast: whether a Cast converts the tensor to FP32 or FP64 before the statistics are computed.
        follows_attention: whether the normalization is a few operators downstream of an attention block.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "operator": "the normalization operator",
        "mean": "the mean of the tensor",
        "centre": "the tensor minus its mean",
        "square": "the squares",
        "variance": "the mean of the squares",
        "epsilon": "the epsilon constant that prevents a zero root",
        "root": "the square root",
        "divide": "the division by the root",
    }

    family: Family = "layer"
    form: Literal["operator", "decomposed"] = "operator"
    axes: tuple[int, ...] | None = None
    last_axis: bool | None = None
    epsilon: float | None = None
    dtype: ElementType | None = None
    statistics_dtype: ElementType | None = None
    squares_dtype: ElementType | None = None
    standard: bool = True
    upcast: bool = False
    follows_attention: bool = False


# Normalization operators, each with its family. The operators in _STASHING compute the statistics in the
# type `stash_type`, which is float by default (https://onnx.ai/onnx/operators/onnx__LayerNormalization.html).
_OPERATORS: Mapping[str, Family] = {
    "LayerNormalization": "layer",
    "SkipLayerNormalization": "layer",
    "RMSNormalization": "rms",
    "SimplifiedLayerNormalization": "rms",
    "SkipSimplifiedLayerNormalization": "rms",
    "GroupNormalization": "group",
    "GroupNorm": "group",
    "InstanceNormalization": "instance",
    "BatchNormalization": "batch",
}
_STASHING = frozenset({"LayerNormalization", "RMSNormalization", "GroupNormalization"})


def find(facts: Facts) -> Iterator[Normalization]:
    """Yield the normalizations of a model, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    after = _after_attention(facts)
    found = [_operator(node, after) for node in graph.by_op(*_OPERATORS)]
    found += [_decomposed(norm, after) for norm in decomposed_norms(graph, constants)]
    yield from in_graph_order(found)


def _after_attention(facts: Facts) -> set[Node]:
    """Return the nodes that follow an attention block closely."""
    graph = facts.model.graph
    layer = {fact.chain[-1].node for fact in facts.of("attention")}
    found = set(layer)
    for _ in range(NEAR_ATTENTION):
        layer = {after for node in layer for after in graph.successors(node)} - found
        found |= layer
    return found


def _operator(node: Node, after_attention: Set[Node]) -> Normalization:
    tensor = node.input(0)
    family = _OPERATORS[node.op]
    dtype = tensor.dtype if tensor is not None else None
    rank = tensor.rank if tensor is not None else None
    axes: tuple[int, ...] | None = None
    if family in ("layer", "rms"):
        axis = whole(node.number("axis", -1))
        if axis is not None and axis >= 0:
            axis = None if rank is None else axis - rank
        axes = None if axis is None or axis < -_MOST_AXES else tuple(range(axis, 0))
    elif family == "instance" and rank is not None:
        axes = tuple(range(2 - rank, 0))
        if _reshaped_into_groups(node):
            family = "group"
    statistics = DTYPES.get(whole(node.number("stash_type", 1)) or 0) if node.op in _STASHING else dtype
    return Normalization(
        node=node,
        chain=(Step(node, "operator", "", f"{family} normalization"),),
        family=family,
        axes=axes,
        last_axis=None if axes is None else axes == (-1,),
        epsilon=node.number("epsilon", 1e-5),
        dtype=dtype,
        statistics_dtype=statistics,
        upcast=_upcast(tensor),
        follows_attention=node in after_attention,
    )


def _reshaped_into_groups(node: Node) -> bool:
    """Return whether a node is the InstanceNormalization in a GroupNorm, as PyTorch exports it.

    PyTorch exports a Reshape to [N, groups, -1], an InstanceNormalization and another Reshape.
    """
    tensor = node.input(0)
    before = tensor.producer if tensor is not None else None
    return (
        before is not None and before.op == "Reshape" and [n.op for n, _ in node.output.uses] == ["Reshape"]
    )


def _upcast(tensor: Value | None) -> bool:
    cast = tensor.producer if tensor is not None else None
    before = cast.input(0) if cast is not None and cast.op == "Cast" else None
    if cast is None or before is None:
        return False
    return before.dtype in ("f16", "bf16") and cast.output.dtype in ("f32", "f64")


def _decomposed(norm: Decomposed, after_attention: Set[Node]) -> Normalization:
    squares = norm.square.output.dtype
    mean = norm.mean.output.dtype if norm.mean is not None and norm.centred else None
    statistics = "f16" if "f16" in (mean, squares, norm.variance.output.dtype) else norm.variance.output.dtype
    steps = norm.steps()
    return Normalization(
        node=norm.variance,
        chain=steps,
        family=norm.family,
        form="decomposed",
        axes=norm.axes,
        last_axis=None if norm.axes is None else norm.axes == (-1,),
        epsilon=norm.epsilon,
        dtype=norm.tensor.dtype,
        statistics_dtype=statistics,
        squares_dtype=squares,
        standard=norm.standard,
        upcast=_upcast(norm.tensor) and mean != "f16",
        follows_attention=any(step.node in after_attention for step in steps),
    )
