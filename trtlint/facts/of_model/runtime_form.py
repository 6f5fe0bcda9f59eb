"""Find operators that TensorRT refuses because ONNX Runtime's tools changed the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.conditions import joined, ranges_of
from trtlint.facts.blocks.quantizers import DEQUANTIZERS, QUANTIZERS
from trtlint.facts.blocks.runtimeops import DYNAMIC_QUANTISATION, LOSSES, counted, is_training
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.rejection import Rejection
from trtlint.facts.refusal import Refusal
from trtlint.files.problem import first_few
from trtlint.knowledge.releases import Product

Form = Literal["asymmetric", "operators", "dynamic", "optimised", "training"]
_FORMS: tuple[Form, ...] = ("training", "dynamic", "operators", "optimised", "asymmetric")
"""The forms by precedence: if a model has operators of several forms, the first of these forms counts."""

_QUANTIZED = frozenset({"QGemm", "QAttention"})
_PREFIX = "QLinear"
"""Prefix of operators that compute with quantized tensors.

ONNX Runtime writes them in its quantization format ``QOperator``.

https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
"""
_LISTED = 6
"""Largest number of operator types in the text ``RuntimeForm.listed``."""


class RuntimeForm(Fact, frozen=True):
    """A model that was optimized or quantized for ONNX Runtime.

    The optimization or quantization is the common cause of several refusals by TensorRT. There is no fact if
    all refusals have the same operator and text, because one fact ``rejection`` already explains such
    refusals.

    Attributes:
        op: the first refused operator.
        form: the kind of the refused operators. ``asymmetric``: QuantizeLinear and DequantizeLinear with zero
            points or scales that TensorRT refuses. ``operators``: quantized operators such as QLinearConv.
            ``dynamic``: operators of dynamic quantization. ``optimised``: fused operators. ``training``:
            gradients, optimizers and loss functions.
        listed: the refused operator types with their counts as a text, the most frequent type first.
        count: the number of refused nodes.
        operators: the refused operator types.
        versions: the ranges of releases that refuse at least one of these operators, by product.
        stated: the refusal of the first refused node.
    """

    roles: ClassVar[Mapping[str, str]] = {"refused": "the first refused operator of each type"}

    op: str
    form: Form
    listed: str
    count: int
    operators: frozenset[str]
    versions: Mapping[Product, str]
    stated: Refusal

    @property
    def is_whole(self) -> bool:
        """True: the fact is about the whole model."""
        return True

    @property
    def applies(self) -> Mapping[Product, str]:
        """The versions that refuse at least one operator in :attr:`operators`, by product."""
        return self.versions

    @property
    def refusal(self) -> Refusal:
        """The refusal of the first refused node."""
        return self.stated

    @property
    def consequences(self) -> frozenset[str]:
        """The operator types that TensorRT refuses because ONNX Runtime's tools changed the model."""
        return self.operators


def find(facts: Facts) -> Iterator[RuntimeForm]:
    """Yield one fact if ONNX Runtime's tools caused at least two different refusals by TensorRT."""
    refused = [
        fact
        for fact in facts.of("rejection")
        if isinstance(fact, Rejection) and fact.node is not None and _family(fact) is not None
    ]
    if len({(fact.op, fact.says, fact.reason) for fact in refused}) < 2:
        return
    families = {_family(fact) for fact in refused}
    form = next(form for form in _FORMS if form in families)
    lines: Mapping[Product, frozenset[str]] = {}
    for versions in {tuple(fact.versions.items()) for fact in refused}:
        lines = joined(lines, dict(versions))
    firsts = {fact.op: fact.node for fact in reversed(refused) if fact.node is not None}
    ops = Counter({fact.node: fact.op for fact in refused}.values())
    nodes = sorted(firsts.values(), key=lambda node: node.index)
    first = next(fact for fact in refused if fact.node is nodes[0])
    yield RuntimeForm(
        node=nodes[0],
        chain=tuple(Step(node, "refused") for node in nodes[:_LISTED]),
        op=first.op,
        form=form,
        listed=first_few(counted(ops), _LISTED),
        count=ops.total(),
        operators=frozenset(firsts),
        versions=ranges_of(lines),
        stated=first.refusal,
    )


def _family(rejection: Rejection) -> Form | None:
    """Return the form of a refused operator, as in ``RuntimeForm.form``.

    The result is None if ONNX Runtime's tools did not cause the refusal.
    """
    op = rejection.op
    if op in QUANTIZERS or op in DEQUANTIZERS:
        return "asymmetric" if rejection.reason == "quantization" else None
    if rejection.reason not in ("contrib", "operator"):
        return None
    if op in LOSSES or (rejection.reason == "contrib" and is_training(op)):
        return "training"
    if op in DYNAMIC_QUANTISATION:
        return "dynamic"
    if op.startswith(_PREFIX) or op in _QUANTIZED:
        return "operators"
    return "optimised" if rejection.reason == "contrib" else None
