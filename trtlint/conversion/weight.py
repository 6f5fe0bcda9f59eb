"""Estimate the cost of operators and tensors, for the choice of types."""

from __future__ import annotations

from math import prod

from trtlint.model.equation import terms_of
from trtlint.model.graph import Node, Value
from trtlint.model.operators import PRODUCTS

_UNKNOWN_SIZE = 64
"""Assumed size of a dynamic dimension. This size affects only the ratios of costs."""
_LARGEST = 10**15
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})


def is_product(node: Node) -> bool:
    """Return whether an operator is a matrix product or convolution, or contains matrix products."""
    return node.op in PRODUCTS and not node.domain


def elements(value: Value | None) -> int:
    """Return the number of elements of a tensor. Dynamic dimensions get a default size."""
    if value is None:
        return 0
    return _UNKNOWN_SIZE if value.shape is None else min(_LARGEST, prod(_sizes(value)))


def flops(node: Node) -> int:
    """Return the number of floating-point operations of a matrix product or convolution, at least 1.

    Dynamic dimensions get a default size.
    """
    if not is_product(node):
        return 0
    return max(1, min(_LARGEST, _flops(node)))


def _flops(node: Node) -> int:
    first, second = node.input(0), node.input(1)
    result = elements(node.output)
    shape = _sizes(first)
    if node.op in ("Conv", "ConvTranspose", "DeformConv"):
        kernel = _sizes(second)
        if len(kernel) < 2:
            return result
        outer = elements(first) if node.op == "ConvTranspose" else result
        return 2 * outer * prod(kernel[1:])
    if node.op == "Einsum":
        equation = node.attribute("equation", "")
        return 2 * _einsum(str(equation), [_sizes(value) for value in node.inputs], result)
    if node.op in _RECURRENT:
        weights = elements(second) + elements(node.input(2))
        return 2 * weights * (prod(shape[:2]) if len(shape) > 1 else 1)
    if node.op == "Attention":
        keys = _sizes(second)
        tokens = keys[-2] if len(keys) > 1 else _UNKNOWN_SIZE
        return 4 * elements(first) * tokens
    if node.op == "Gemm" and len(shape) > 1 and bool(node.number("transA", 0)):
        return 2 * result * shape[0]
    return 2 * result * (shape[-1] if shape else 1)


def _einsum(equation: str, shapes: list[tuple[int, ...]], result: int) -> int:
    """Return the number of multiplications of an Einsum: the product of the sizes of all index letters.

    ``result`` is the size of the Einsum's result, in elements.
    """
    sizes: dict[str, int] = {}
    for term, shape in zip(terms_of(equation)[0], shapes, strict=False):
        if "." in term:
            return result * (shape[-1] if shape else 1)
        sizes.update(zip(term, shape, strict=False))
    return prod(sizes.values())


def _sizes(value: Value | None) -> tuple[int, ...]:
    shape = None if value is None else value.shape
    return tuple(dim if isinstance(dim, int) else _UNKNOWN_SIZE for dim in shape or ())
