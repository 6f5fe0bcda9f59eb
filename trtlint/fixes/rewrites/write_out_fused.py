"""Replace fused operators of ONNX Runtime by ONNX operators.

Definitions: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.fixes.rewrites._forms import LAYER_NORM_SINCE, Forms, Tensor, rank_of
from trtlint.fixes.rewrites._fused_attention import attention, multi_head_attention
from trtlint.fixes.rewrites._fused_norms import (
    embed_layer_norm,
    group_norm,
    simplified_layer_norm,
    skip_layer_norm,
)
from trtlint.fixes.rewrites._products import CONV
from trtlint.fixes.rewrites._products import settings as settings_of
from trtlint.fixes.rewrites.write_out_rotary import contrib_rotary
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.protos import FLOAT_DTYPES, text

_ROOT_HALF = math.sqrt(0.5)
_TANH = math.sqrt(2 / math.pi)
_CUBE = 0.044715
"""Constant of the tanh approximation of Gelu: https://onnx.ai/onnx/operators/onnx__Gelu.html."""

_PARTS_BY_INPUTS = 10
"""First opset in which Slice reads its bounds from inputs."""

Write = Callable[[Forms, Node], None]


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that decomposes one fused operator."""
    node = operator_of(fact, model)
    own = node.domain == ONNX_RUNTIME or (not node.domain and node.op in _IN_DOMAIN_OF_ONNX)
    if own and node.op in _LEFT:
        raise NotApplicable(_LEFT[node.op])
    if not own or node.op not in _WRITERS:
        raise NotApplicable(f"trtlint has no decomposition of {node.op}")
    required, write = _WRITERS[node.op]
    if len(node.inputs) < required:
        raise NotApplicable(f"{node.op} does not have all required inputs")
    forms = Forms(Draft(model, node))
    write(forms, node)
    patch = forms.draft.patch(f"decomposes {node.op} into ONNX operators", [node], opset=forms.opset)
    # ONNX Runtime accepts LayerNormalization in any opset, but ONNX defines it only since opset 17.
    early = any(other.op == "LayerNormalization" and not other.domain for other in model.graph.nodes)
    return replace(patch, opset=LAYER_NORM_SINCE) if early else patch


def _dtype(node: Node) -> str:
    """Return the float type that an operator computes in."""
    for value in (*node.inputs, *node.outputs):
        if value is not None and value.dtype in FLOAT_DTYPES:
            return value.dtype or ""
    raise NotApplicable(f"the types of the inputs of {node.op} are not known")


def _gelu(forms: Forms, node: Node) -> None:
    if node.domain or node.attribute("approximate", "none") == "none":
        _exact(forms, node, node.inputs[0])
    else:
        _approximated(forms, node, node.inputs[0])


def _bias_gelu(forms: Forms, node: Node) -> None:
    _exact(forms, node, forms.draft.op("Add", *node.inputs[:2]))


def _fast_gelu(forms: Forms, node: Node) -> None:
    bias = node.input(1)
    _approximated(
        forms, node, node.inputs[0] if bias is None else forms.draft.op("Add", node.inputs[0], bias)
    )


def _gemm_fast_gelu(forms: Forms, node: Node) -> None:
    """Decompose GemmFastGelu into a matrix product, an optional bias, and an approximate Gelu."""
    product, bias = forms.draft.op("MatMul", *node.inputs[:2]), node.input(2)
    _approximated(forms, node, product if bias is None else forms.draft.op("Add", product, bias))


def _bias_add(forms: Forms, node: Node) -> None:
    """Decompose BiasAdd, the sum of a tensor, a bias, and a residual."""
    added = forms.draft.op("Add", *node.inputs[:2])
    forms.draft.op("Add", added, node.inputs[2], out=node.output.name)


def _bias_split_gelu(forms: Forms, node: Node) -> None:
    """Decompose BiasSplitGelu: add a bias, then multiply the first half by the Gelu of the second half."""
    draft, dtype, bias = forms.draft, _dtype(node), node.input(1)
    width = None if bias is None or not bias.shape else bias.shape[-1]
    if not isinstance(width, int) or width % 2:
        raise NotApplicable("the size of the bias is unknown or an odd number")
    forms.opset = max(forms.opset, _PARTS_BY_INPUTS)
    added = draft.op("Add", node.inputs[0], bias)
    left, right = (forms.part(added, -1, start, start + width // 2) for start in (0, width // 2))
    gelu = _half_product(draft, right, _erf(draft, right, dtype), dtype)
    draft.op("Mul", left, gelu, out=node.output.name)


def _exact(forms: Forms, node: Node, value: Tensor | None) -> None:
    """Insert the exact Gelu x · (1 + erf(x / √2)) / 2 of ``value``."""
    draft, dtype = forms.draft, _dtype(node)
    _half_product(draft, value, _erf(draft, value, dtype), dtype, node.output.name)


def _approximated(forms: Forms, node: Node, value: Tensor | None) -> None:
    """Insert the approximate Gelu x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2 of ``value``."""
    draft, dtype = forms.draft, _dtype(node)
    square = draft.op("Mul", value, value)
    inner = draft.op("Mul", square, draft.like(_CUBE * _TANH, dtype, "cube"))
    slope = draft.op("Add", inner, draft.like(_TANH, dtype, "linear"))
    _half_product(draft, value, draft.op("Tanh", draft.op("Mul", value, slope)), dtype, node.output.name)


def _erf(draft: Draft, value: Tensor | None, dtype: str) -> str:
    """Insert erf(x / √2), where x is ``value``."""
    return draft.op("Erf", draft.op("Mul", value, draft.like(_ROOT_HALF, dtype, "root")))


def _half_product(draft: Draft, value: Tensor | None, sigmoid: str, dtype: str, out: str = "") -> str:
    """Insert ``value`` · (1 + ``sigmoid``) / 2."""
    half = draft.op("Mul", value, draft.like(0.5, dtype, "half"))
    return draft.op("Mul", half, draft.op("Add", sigmoid, draft.like(1.0, dtype, "one")), out=out)


def _quick_gelu(forms: Forms, node: Node) -> None:
    """Decompose QuickGelu, which computes x · sigmoid(αx)."""
    draft, dtype = forms.draft, _dtype(node)
    alpha = float(node.number("alpha", 1.702))
    value = node.inputs[0]
    inner = value if alpha == 1.0 else draft.op("Mul", value, draft.like(alpha, dtype, "alpha"))
    draft.op("Mul", value, draft.op("Sigmoid", inner), out=node.output.name)


def _fused_matmul(forms: Forms, node: Node) -> None:
    draft = forms.draft
    operands: list[Tensor] = []
    for port, name in enumerate("AB"):
        value = node.inputs[port]
        if value is None:
            raise NotApplicable(f"FusedMatMul has no input {name}")
        turned, batch = (bool(node.number(f"{kind}{name}", 0)) for kind in ("trans", "transBatch"))
        if not turned and not batch:
            operands.append(value)
            continue
        rank = rank_of(value)
        if rank is None:
            raise NotApplicable(f"the rank of {value.name} is not known")
        operands.append(_transposed(draft, value, rank, turned, batch))
    alpha = float(node.number("alpha", 1.0))
    if alpha == 1.0:
        draft.op("MatMul", *operands, out=node.output.name)
        return
    dtype = _dtype(node)
    factor = draft.like(alpha, dtype, "alpha")
    if abs(alpha) < 1:  # scale an operand before the product, so that FP16 sums stay small
        draft.op("MatMul", draft.op("Mul", operands[0], factor), operands[1], out=node.output.name)
    else:
        draft.op("Mul", draft.op("MatMul", *operands), factor, out=node.output.name)


def _transposed(draft: Draft, value: Tensor, rank: int, turned: bool, batch: bool) -> Tensor:
    """Transpose an operand of FusedMatMul.

    Args:
        draft: the draft of the patch.
        value: the operand.
        rank: rank of the operand.
        turned: True to swap the last two axes.
        batch: True to move the first axis behind all other batch axes.
    """
    if rank < 2:
        return value
    axes = list(range(rank))
    if batch and rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if turned:
        axes[-2:] = axes[:-3:-1]
    return draft.op("Transpose", value, perm=axes)


_GEMM = frozenset({"alpha", "beta", "transA", "transB"})


def _fused_conv(forms: Forms, node: Node) -> None:
    added, activation = node.input(3), _activation(node)
    out = "" if activation else node.output.name
    given = node.inputs[:3] if node.input(2) is not None else node.inputs[:2]
    product = forms.draft.op("Conv", *given, **settings_of(node, CONV), out="" if added is not None else out)
    if added is not None:
        product = forms.draft.op("Add", product, added, out=out)
    parameters = [float(number) for number in node.attribute("activation_params", ())]
    return _insert_activation(forms, node, product, parameters) if activation else None


def _fused_gemm(forms: Forms, node: Node) -> None:
    activation = _activation(node)
    given = node.inputs[:3] if node.input(2) is not None else node.inputs[:2]
    out = "" if activation else node.output.name
    product = forms.draft.op("Gemm", *given, **settings_of(node, _GEMM), out=out)
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    numbers = [node.number(name, math.nan) for name in names]
    parameters = [float(number) for number in numbers if not math.isnan(float(number))]
    return _insert_activation(forms, node, product, parameters) if activation else None


def _nhwc_conv(forms: Forms, node: Node) -> None:
    """Replace NhwcConv by a Conv between Transposes.

    The Transposes convert the image and the weights to channels-first, and the result to channels-last.
    """
    draft = forms.draft
    image = draft.op("Transpose", node.inputs[0], perm=[0, 3, 1, 2])
    weight = draft.op("Transpose", node.inputs[1], perm=[0, 3, 1, 2])
    bias = node.input(2)
    given: list[Tensor] = [image, weight, *([] if bias is None else [bias])]
    draft.op(
        "Transpose",
        draft.op("Conv", *given, **settings_of(node, CONV)),
        perm=[0, 2, 3, 1],
        out=node.output.name,
    )


_BY_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}
"""For each fused activation, its attributes, in the order of the fused operator's parameters."""


def _activation(node: Node) -> str:
    name = node.attribute("activation", "")
    return text(name) if isinstance(name, str | bytes) else ""


def _insert_activation(forms: Forms, node: Node, value: str, parameters: list[float]) -> None:
    """Insert the activation of a fused Conv or Gemm.

    Args:
        forms: object that inserts operators.
        node: the fused operator.
        value: name of the tensor before the activation.
        parameters: parameters of the activation, such as alpha.
    """
    draft, out, activation = forms.draft, node.output.name, _activation(node)
    if activation == "Clip" and len(parameters) == 2:
        dtype = _dtype(node)
        forms.clip(value, parameters[0], parameters[1], dtype, out)
        return
    names = _BY_NUMBERS.get(activation)
    if names is None or len(parameters) > len(names):
        raise NotApplicable(f"the activation {activation!r} is not supported")
    settings: dict[str, Any] = dict(zip(names, parameters, strict=False))
    draft.op(activation, value, out=out, **settings)


_IN_DOMAIN_OF_ONNX = frozenset({"SimplifiedLayerNormalization", "Gelu"})
"""Operators of ONNX Runtime that models use in ONNX's domain.

ONNX does not define these operators, or defines them only in opsets that are newer than the model's opset.
"""

_CACHED = "the operator writes into a cache whose length is known only at run time"
_DECODER = "the operator runs a decoder in a loop, and the output of the decoder decides when the loop ends"
_LEFT: Mapping[str, str] = {
    **dict.fromkeys(
        ("GroupQueryAttention", "SparseAttention", "PagedAttention", "DecoderMaskedMultiHeadAttention"),
        _CACHED,
    ),
    **dict.fromkeys(("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"), _DECODER),
}
"""Operators without an equivalent decomposition, each with the reason to report."""

_WRITERS: Mapping[str, tuple[int, Write]] = {
    "Gelu": (1, _gelu),
    "BiasGelu": (2, _bias_gelu),
    "FastGelu": (1, _fast_gelu),
    "QuickGelu": (1, _quick_gelu),
    "GemmFastGelu": (2, _gemm_fast_gelu),
    "BiasAdd": (3, _bias_add),
    "BiasSplitGelu": (2, _bias_split_gelu),
    "FusedMatMul": (2, _fused_matmul),
    "TransposeMatMul": (2, _fused_matmul),
    "FusedConv": (2, _fused_conv),
    "FusedGemm": (2, _fused_gemm),
    "NhwcConv": (2, _nhwc_conv),
    "SkipLayerNormalization": (3, skip_layer_norm),
    "SkipSimplifiedLayerNormalization": (3, skip_layer_norm),
    "SimplifiedLayerNormalization": (2, simplified_layer_norm),
    "EmbedLayerNormalization": (4, embed_layer_norm),
    "GroupNorm": (3, group_norm),
    "SkipGroupNorm": (4, group_norm),
    "RotaryEmbedding": (4, contrib_rotary),
    "MultiHeadAttention": (1, multi_head_attention),
    "Attention": (2, attention),
}
"""For each operator, the smallest number of inputs that its decomposition needs, and the decomposition."""
