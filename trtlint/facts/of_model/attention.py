"""Find attention blocks, softmax(scale · Q·Kᵀ + mask)·V, in all the forms that exporters write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from msgspec import Struct, field

from trtlint.facts.base import Fact, Step, in_graph_order
from trtlint.facts.blocks.mask import Mask, fill_of
from trtlint.facts.blocks.operand import Operand, trace
from trtlint.facts.blocks.quantizers import quantized_type, result_quantizer
from trtlint.facts.blocks.scores import ScorePath, Weighting, score_path, weighting
from trtlint.facts.blocks.sizes import static_size, whole
from trtlint.facts.blocks.walk import Scaling, product_of
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, QUANTIZE, TRANSPARENT
from trtlint.model.protos import DTYPES, Dimension, ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import upstream

_MOVES = frozenset({"Transpose", "Identity"})
Form = Literal["matmul", "einsum", "operator", "contrib"]
Placement = Literal["none", "query", "key", "both", "scores", "attribute"]
Sourcing = Literal["separate", "split", "slices", "chunk", "gather", "same"]


class Scale(Struct, frozen=True):
    """The scale of an attention block: the tensors that it multiplies, and its factors.

    Attributes:
        placement: the scaled tensors. ``query``: Q. ``key``: K. ``both``: Q and K. ``scores``: the result of
            the product of Q and K, and perhaps also Q or K. ``attribute``: the scale is an attribute of a
            fused operator. ``none``: there is no scale, or all its factors are exactly 1.
        query: the factor that multiplies Q; 1 if there is none, None if it is known only at run time.
        key: the factor that multiplies K; 1 if there is none, None if it is known only at run time.
        scores: the factor that multiplies the scores; 1 if there is none, None if known only at run time.
        product: the product of all three factors; None if one is unknown.
        run_time: True if the graph computes a factor, as in ``Sqrt(Shape(q)[-1])``; False if the file stores
            all factors.
        sequence_last: True if Q and K are scaled in a layout whose last axis is the sequence, as in
            channels-first code. None if Q or K is not scaled, or if the axes are unknown.
    """

    placement: Placement
    query: float | None = 1.0
    key: float | None = 1.0
    scores: float | None = 1.0
    product: float | None = 1.0
    run_time: bool = False
    sequence_last: bool | None = None


class QKV(Struct, frozen=True):
    """The source tensors of Q, K and V in an attention block.

    Attributes:
        kind: ``separate`` if Q, K and V have separate source tensors; ``same`` if they have the same source
            tensor.  For parts of one packed tensor, the operators that take the parts: ``split`` (Split),
            ``slices`` (Slice with constant bounds), ``chunk`` (Slice with computed bounds, as TorchScript
            writes ``chunk``) or ``gather`` (Gather).
        axis: the axis along which the packed tensor is split, counted from the end (-1 is the last axis);
            None if there is no packed tensor, or if the axis is unknown.
        rank: rank of the packed tensor; None if there is no packed tensor, or if the rank is unknown.
        all_three: True if Q, K and V are all parts of one tensor; False if only two of them are.
    """

    kind: Sourcing
    axis: int | None = None
    rank: int | None = None
    all_three: bool = False


class Attention(Fact, frozen=True):
    """An attention block.

    Attributes:
        form: ``matmul``, ``einsum``, ``operator`` (ONNX ``Attention``) or ``contrib`` (com.microsoft).
        scale: the placement and the factors of the scale.
        mask: the mask of the scores.
        dtype: element type of Q in the product of Q and K; None if unknown.
        softmax_dtype: element type of the softmax; None if unknown.
        cast_before_softmax: whether there is a Cast between the scores and the softmax.
        heads: number of heads; None if the graph does not show it.
        head_size: size of one head; None if dynamic or unknown.
        fusable_head_size: whether NVIDIA documents fused kernels for this head size: multiples of 8 from 16
            to 256 (https://github.com/NVIDIA/TensorRT/blob/v11.1/include/NvInfer.h).
        rank: rank of the operands of the score product; None if unknown.
        layout: the layout of the source tensors of Q, K and V, ``tokens-first`` ([..., L, d]) or
            ``channels-first`` ([..., d, L]); None if the axes are unknown or differ.
        qkv: the source tensors of Q, K and V.
        scores_shared: whether another node reads the scores, or the scores are an output.
        probabilities_shared: whether another node reads the probabilities, or the probabilities are an
            output.
        scores_bytes: size of the scores in memory, in bytes, at the largest shapes of the build; None for
            fused operators, or if a size is unknown.
        keys: number of keys at the largest shapes of the build; None if unknown.
        scores_quantized: the quantized type of Q and K; None if one of them is not quantized.
        values_quantized: the quantized type of the probabilities and V; None if one of them is not quantized.
        result_quantized: whether the result of the product with V is quantized.
        requantized: whether a quantizer is between the product of Q and K and the softmax.
        steps_between: number of operators between the product of Q and K and the softmax. Casts, views and
            quantizers are not counted.
        fed: the names of the operands (``query``, ``key``, ``value``) that are transposed model inputs. Only
            ``Transpose`` and ``Identity`` operators are between the input and the operand, and at least one
            Transpose moves an axis other than the last two.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "scale": "a multiplication or division that scales Q, K or the scores",
        "cut": "the operator that splits one packed tensor into Q, K and V",
        "scores": "the product of Q and K",
        "mask": "the operator that adds or selects the mask",
        "cast": "a Cast between the scores and the softmax",
        "softmax": "the softmax",
        "guard": "the operator that replaces NaN probabilities",
        "product": "the product of the probabilities and V",
        "operator": "the fused operator",
    }

    form: Form = "matmul"
    scale: Scale = field(default_factory=lambda: Scale("none"))
    mask: Mask = field(default_factory=Mask)
    dtype: ElementType | None = None
    softmax_dtype: ElementType | None = None
    cast_before_softmax: bool = False
    heads: int | None = None
    head_size: int | None = None
    fusable_head_size: bool | None = None
    rank: int | None = None
    layout: Literal["tokens-first", "channels-first"] | None = None
    qkv: QKV = field(default_factory=lambda: QKV("separate"))
    scores_shared: bool = False
    probabilities_shared: bool = False
    scores_bytes: int | None = None
    keys: int | None = None
    scores_quantized: ElementType | None = None
    values_quantized: ElementType | None = None
    result_quantized: bool = False
    requantized: bool = False
    steps_between: int = 0
    fed: tuple[str, ...] = ()


def find(facts: Facts) -> Iterator[Attention]:
    """Yield the attention blocks of a model, in graph order."""
    graph = facts.model.graph
    found = [block for node in graph.by_op("Softmax") if (block := _explicit(node, facts))]
    found += [_operator(node) for node in graph.by_op(*_OPERATORS) if node.domain in _OPERATORS[node.op]]
    yield from in_graph_order(found)


def _explicit(softmax: Node, facts: Facts) -> Attention | None:
    """Return the attention block around a softmax, or None if there is no such block.

    A block must contain both the product of Q and K and the product with V.
    """
    constants, sizes = facts.model.constants, facts.sizes
    path = score_path(softmax, constants)
    weights = weighting(softmax) if path is not None else None
    if path is None or weights is None:
        return None
    product = path.product
    query = trace(product.query, product.query_last, constants)
    key = trace(product.key, product.key_last, constants)
    value = trace(weights.value, weights.value_last, constants)
    layouts = {operand.sequence_last for operand in (query, key, value)}
    shape = product.query.shape
    chain = tuple(_chain(query, key, value, path, softmax, weights))
    return Attention(
        node=product.node,
        chain=chain,
        form=product.form,
        scale=_scale(query, key, path),
        mask=_mask(path, constants),
        dtype=product.query.dtype,
        softmax_dtype=softmax.output.dtype,
        cast_before_softmax=any(_changes_type(node) for node in path.casts),
        heads=static_size(product.heads),
        head_size=static_size(product.head_size),
        fusable_head_size=_fusable(product.head_size),
        rank=None if shape is None else len(shape),
        layout="channels-first" if layouts == {True} else "tokens-first" if layouts == {False} else None,
        qkv=_qkv(query, key, value, constants),
        scores_shared=path.shared,
        probabilities_shared=weights.shared,
        scores_bytes=sizes.bytes(product.node.output),
        keys=(sizes.shape(product.node.output) or (None,))[-1],
        scores_quantized=_both_quantized(product.node),
        values_quantized=_both_quantized(weights.node),
        result_quantized=result_quantizer(weights.node.output, constants) is not None,
        requantized=any(node.op in QUANTIZE for node in path.nodes),
        steps_between=sum(node.op not in TRANSPARENT for node in path.nodes),
        fed=_fed(query=product.query, key=product.key, value=weights.value),
    )


def _fed(**operands: Value) -> tuple[str, ...]:
    """Return the names of the operands that are transposed model inputs."""
    return tuple(name for name, value in operands.items() if _is_moved_input(value))


def _is_moved_input(value: Value) -> bool:
    moved, before = False, value
    for before in upstream(value, _MOVES):
        node = before.producer
        if node is not None and node.op == "Transpose":
            perm = node.attribute("perm", ())
            moved |= perm[:-2] != tuple(range(len(perm)))[:-2]
    return moved and before.is_input


def _both_quantized(product: Node) -> ElementType | None:
    types = {None if value is None else quantized_type(value) for value in product.inputs[:2]}
    return types.pop() if len(types) == 1 else None


# Operators that are a whole attention block, with their domains:
# https://onnx.ai/onnx/operators/onnx__Attention.html and
# https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
_OPERATORS: Mapping[str, frozenset[str]] = {
    "Attention": frozenset({"", "com.microsoft"}),
    "MultiHeadAttention": frozenset({"com.microsoft"}),
    "GroupQueryAttention": frozenset({"com.microsoft"}),
    "PackedAttention": frozenset({"com.microsoft"}),
    "PackedMultiHeadAttention": frozenset({"com.microsoft"}),
}


def _operator(node: Node) -> Attention:
    query, mask = node.input(0), node.input(3)
    heads: Dimension = whole(node.number("q_num_heads", node.number("num_heads", None)))
    shape = query.shape if query is not None else None
    head_size: Dimension = None
    if shape is not None and node.domain == "":
        if len(shape) == 4:
            heads, head_size = shape[1], shape[3]
        elif len(shape) == 3 and isinstance(heads, int) and heads > 0 and isinstance(shape[2], int):
            head_size = shape[2] // heads
    product = node.number("scale", None)
    if product is None and isinstance(head_size, int) and head_size > 0:
        product = head_size**-0.5  # the default of the operator
    masked = (mask is not None and node.domain == "") or bool(node.number("is_causal", 0))
    dtype = query.dtype if query is not None else None
    return Attention(
        node=node,
        chain=(Step(node, "operator", "", "fused attention operator"),),
        form="contrib" if node.domain else "operator",
        scale=Scale("attribute", product=product),
        mask=Mask("attribute") if masked else Mask(),
        dtype=dtype,
        softmax_dtype=DTYPES.get(node.integer("softmax_precision", 0), dtype),
        heads=static_size(heads),
        head_size=static_size(head_size),
        fusable_head_size=_fusable(head_size),
        rank=None if shape is None else len(shape),
        scores_shared=any(value.name for value in node.outputs[3:]),
    )


def _fusable(head_size: Dimension) -> bool | None:
    return head_size % 8 == 0 and 16 <= head_size <= 256 if isinstance(head_size, int) else None


def _scale(query: Operand, key: Operand, path: ScorePath) -> Scale:
    if path.scales:
        placement: Placement = "scores"
    elif query.scales and key.scales:
        placement = "both"
    else:
        placement = "query" if query.scales else "key" if key.scales else "none"
    every = (*query.scales, *key.scales, *path.scales)
    ends = {query.scaled_sequence_last, key.scaled_sequence_last}
    return Scale(
        placement,
        product_of(query.scales),
        product_of(key.scales),
        product_of(path.scales),
        product_of(every),
        run_time=any(scale.run_time for scale in every),
        sequence_last=None if None in ends else False not in ends,
    )


def _mask(path: ScorePath, constants: Constants) -> Mask:
    for node in path.nodes:
        if node.op == "Where":
            fills = [fill_of(value, constants) for value in node.inputs[1:]]
            return Mask("where", min((fill for fill in fills if fill is not None), default=None))
    for node in path.nodes:
        if node.op in ("Add", "Sub"):
            others = [value for value in node.inputs if value is not None and not _computed_by(value, path)]
            # diffusers adds a zero to use torch.baddbmm. A zero is not a mask.
            if others and constants.scalar(others[0]) != 0.0:
                return Mask("additive", fill_of(others[0], constants))
    return Mask()


def _computed_by(value: Value, path: ScorePath) -> bool:
    return value.producer is path.product.node or value.producer in path.nodes


def _qkv(query: Operand, key: Operand, value: Operand, constants: Constants) -> QKV:
    if query.root is key.root and key.root is value.root:
        return QKV("same")
    cuts = [_cut(operand.root, constants) for operand in (query, key, value)]
    first, second, third = cuts
    if first is None or second is None or first.data is not second.data:
        return QKV("separate")
    rank = first.data.rank
    axis = first.axis if first.axis is None or first.axis < 0 or rank is None else first.axis - rank
    together = third is not None and third.data is first.data
    return QKV(first.kind, None if axis is not None and axis >= 0 else axis, rank, together)


class _Cut(Struct, frozen=True):
    kind: Sourcing
    data: Value
    axis: int | None


def _cut(root: Value, constants: Constants) -> _Cut | None:
    """Return the operator that takes Q, K or V from a packed tensor.

    ``root`` is the source tensor of Q, K or V.  The result is None if no such operator computes ``root``.
    """
    node = root.producer
    data = node.input(0) if node is not None and not node.domain else None
    if node is None or data is None:
        return None
    if node.op == "Split":
        return _Cut("split", data, node.attribute("axis", 0))
    if node.op == "Gather":
        return _Cut("gather", data, node.attribute("axis", 0))
    if node.op == "Slice":
        bounds = node.inputs[1:3]  # before opset 10, the bounds and axes were attributes
        axes = constants.integers(node.input(3)) if bounds else node.attribute("axes")
        stored = all(constants.stored(bound) is not None for bound in bounds)
        axis = axes[0] if axes is not None and len(axes) == 1 else None
        return _Cut("slices" if stored else "chunk", data, axis)
    return None


def _changes_type(cast: Node) -> bool:
    value = cast.inputs[0]
    return value is not None and value.dtype != cast.output.dtype


def _chain(
    query: Operand, key: Operand, value: Operand, path: ScorePath, softmax: Node, weights: Weighting
) -> Iterator[Step]:
    cutters = dict.fromkeys(
        operand.root.producer
        for operand in (query, key, value)
        if operand.root.producer is not None and operand.root.producer.op in ("Split", "Slice", "Gather")
    )
    for node in cutters:
        yield Step(
            node,
            "cut",
            "splits one packed tensor into Q, K and V",
            "one packed tensor that is split into Q, K and V",
        )
    both = bool(query.scales and key.scales)
    for operand, name in ((query, "Q"), (key, "K")):
        for scale in operand.scales:
            label = f"part of the scale on {name}" if both else f"scale on {name}"
            yield Step(scale.node, "scale", f"{name} × {_number(scale)}", label)
    yield Step(path.product.node, "scores", "scores: Q·Kᵀ", "scores")
    scores = {scale.node: scale for scale in path.scales}
    for node in path.nodes:
        if node in scores:
            yield Step(node, "scale", f"scores × {_number(scores[node])}", "scale after Q·Kᵀ")
        elif node.op in CAST and _changes_type(node):
            yield Step(node, "cast", "", "casts the scores before the softmax")
        elif node.op in ("Add", "Sub", "Where"):
            yield Step(node, "mask", "mask or bias", "mask")
    yield Step(softmax, "softmax", "", "softmax")
    if weights.guard is not None:
        yield Step(weights.guard, "guard", "replaces NaN", "NaN guard")
    yield Step(weights.node, "product", "probabilities · V", "product with V")


def _number(scale: Scaling) -> str:
    if scale.factor is not None:
        return f"{scale.factor:.4g}"
    return "a value computed at run time" if scale.run_time else "stored values"
