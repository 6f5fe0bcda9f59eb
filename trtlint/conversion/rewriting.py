"""Rewrite matrix products with large numbers so that they can be computed in 16 bits.

The rewrites do not change the results in FP32:
- scale a product by a power of two, which causes no rounding
- apply the scale of attention to Q instead of the scores
- split a joint product for Q, K and V

trtlint then converts the rewritten model to find out whether the rewrites help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from trtlint.case import facts_of
from trtlint.conversion.splitting import SINCE, split_product
from trtlint.conversion.weight import is_product
from trtlint.conversion.writing import ConvertedModel, is_external, write
from trtlint.facts.of_model.constant import Constant
from trtlint.fixes.edit import apply
from trtlint.fixes.patch import Draft, NotApplicable, Patch, name_of, opset_of
from trtlint.fixes.rewrites import clamp_mask, scale_on_query
from trtlint.fixes.source import SourceModel
from trtlint.measurement.formats import FP16
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model

if TYPE_CHECKING:
    import onnx

_SCALABLE = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"})
"""Products whose result is scaled by a factor if one operand is scaled by this factor."""
_ROOM = 2.0**13
"""Largest magnitude allowed after scaling. The rest of the FP16 range is for inputs with larger numbers."""
_MOST_POWER = 30
_MOST = 1000
"""Largest number of rewrites of one model."""
_OPERANDS = 2
_BIAS = 2


class ProductRewrite(Struct, frozen=True):
    """A rewrite after which a matrix product may be computed in 16 bits.

    Attributes:
        node: path of the product.
        patch: the change of the model.
    """

    node: str
    patch: Patch


def proposals(model: Model, kept: Iterable[str], greatest: Mapping[str, float]) -> list[ProductRewrite]:
    """Return rewrites for products that stay in FP32.  No two rewrites change the same operator."""
    wanted = set(kept)
    found: list[ProductRewrite] = []
    taken: set[Node] = set()
    rewrites = (*_attention(model, wanted, greatest), *_splits(model, wanted))
    for rewrite in (*rewrites, *_powers(model, wanted, greatest)):
        touched = set(rewrite.patch.touched)
        if not touched & taken and len(found) < _MOST:
            taken |= touched
            found.append(rewrite)
    return found


def apply_to(
    source: SourceModel, model: Model, rewrites: Sequence[ProductRewrite], file: Path
) -> SourceModel:
    """Apply rewrites, and write the rewritten model to ``file``, so that it can be run.

    Args:
        source: the model as it was read.
        model: the same model with inferred types.
        rewrites: the rewrites.
        file: the file to write.

    Returns:
        The rewritten model. Its large tensors stay in the file of ``source``.

    Raises:
        EditError, ModelError: a rewrite cannot be applied.
        OSError: the file cannot be written.
    """
    proto: onnx.ModelProto = apply(source.proto, model.graph, [each.patch for each in rewrites])
    write(ConvertedModel(proto, (), source.raw.tensors, FP16), file, (), external=is_external(proto))
    return SourceModel(source.path, source.raw, proto, source.data_files)


def _attention(model: Model, wanted: set[str], greatest: Mapping[str, float]) -> Iterator[ProductRewrite]:
    """Yield rewrites of attention: apply the scale to Q, and clamp mask values to the FP16 range."""
    facts = facts_of(model)
    for fact in facts.of("attention"):
        scores = next((step.node for step in fact.chain if step.role == "scores"), None)
        if scores is None or scores.path not in wanted:
            continue
        scales = [step.node for step in fact.chain if step.role == "scale"]
        behind = [scale.output.name for scale in scales if scale.index > scores.index]
        if behind and all(greatest.get(name, 0.0) <= FP16.largest / 2 for name in behind):
            yield from _tried(scores.path, partial(scale_on_query.propose, fact, model))
    if not wanted:
        return
    for fact in facts.of("constant"):
        if not isinstance(fact, Constant) or fact.softmax is None or not fact.added:
            continue
        near = next((step.node.path for step in fact.chain if step.node.path in wanted), "")
        if near and max(abs(fact.values.low or 0.0), abs(fact.values.high or 0.0)) > FP16.largest:
            yield from _tried(near, partial(clamp_mask.propose, fact, model))


def _tried(node: str, propose: Callable[[], Patch]) -> Iterator[ProductRewrite]:
    try:
        patch = propose()
    except NotApplicable:
        return
    yield ProductRewrite(node, patch)


def _splits(model: Model, wanted: set[str]) -> Iterator[ProductRewrite]:
    """Yield rewrites that split one product for Q, K and V into three. Then V can be in 16 bits."""
    if opset_of(model) < SINCE:
        return
    for node in model.graph.nodes:
        if node.path in wanted and is_product(node):
            yield from _tried(node.path, partial(split_product, node, model))


def _powers(model: Model, wanted: set[str], greatest: Mapping[str, float]) -> Iterator[ProductRewrite]:
    """Yield rewrites that scale an operand of a product by a power of two, and scale the result back."""
    for node in model.graph.nodes:
        if node.path in wanted and is_product(node) and node.op in _SCALABLE and not node.scope:
            yield from _tried(node.path, partial(_scaled, node, model, greatest))


def _scaled(node: Node, model: Model, greatest: Mapping[str, float]) -> Patch:
    """Return a patch that scales the operands of a product down, and its result up, by powers of two."""
    operands = node.inputs[:_OPERANDS]
    if len(operands) < _OPERANDS or node.output.dtype != "f32":
        raise NotApplicable("the product does not have two operands in FP32")
    powers = [_power(value, greatest) for value in operands]
    lacking = _power(node.output, greatest) - sum(powers)
    if lacking > 0:
        powers[_larger(operands, greatest)] += lacking
    total = sum(powers)
    if not 0 < total <= _MOST_POWER:
        raise NotApplicable("no scale (a power of two) brings the result into the range of FP16")
    draft = Draft(model, node)
    inputs = [name_of(value) for value in node.inputs]
    for port, power in enumerate(powers):
        if power:
            inputs[port] = draft.op("Mul", operands[port], _constant(draft, -power))
    bias = node.input(_BIAS) if node.op != "Einsum" else None
    if bias is not None:
        inputs[_BIAS] = draft.op("Mul", bias, _constant(draft, -total))
    small = draft.name("scaled")
    draft.again(node, inputs, [small])
    draft.op("Mul", small, _constant(draft, total), out=node.output.name)
    return draft.patch(
        f"scales the operands of {node.path} by 2^-{total} in all, and the result by 2^{total}", [node]
    )


def _power(value: Value | None, greatest: Mapping[str, float]) -> int:
    """Return an n so that a tensor times 2^-n fits into FP16.

    The result is 0 if the tensor needs no scaling.
    """
    number = greatest.get(name_of(value), 0.0)
    if not math.isfinite(number):
        raise NotApplicable("a tensor of the product contains infinity or NaN in FP32")
    return math.ceil(math.log2(number / _ROOM)) if number > FP16.largest / 2 else 0


def _larger(operands: Sequence[Value | None], greatest: Mapping[str, float]) -> int:
    """Return the index of the operand to scale down further.

    A computed operand is preferred to a stored operand. Of two computed operands, the operand with larger
    numbers is scaled.
    """
    computed = [
        index for index, value in enumerate(operands) if value is not None and value.initializer is None
    ]
    chosen = computed or list(range(len(operands)))
    return max(chosen, key=lambda index: greatest.get(name_of(operands[index]), 0.0))


def _constant(draft: Draft, power: int) -> str:
    return draft.constant(np.array(2.0**power, np.float32), "power")
