"""Search through operators that only move, cast or scale a tensor."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from trtlint.model.graph import Node, Value
from trtlint.model.values import Constants


class Scaling(Struct, frozen=True):
    """A multiplication or division of a tensor by one number, or by one number for each attention head.

    ``data`` is the tensor.  ``factor`` is the number that multiplies the tensor, or None if it is unknown or
    differs between the heads.  ``run_time`` is True if the graph computes the factor, and False if the file
    stores it.
    """

    node: Node
    data: Value
    factor: float | None
    run_time: bool


def scaling(node: Node, constants: Constants) -> Scaling | None:
    """Return the scaling that a ``Mul`` or ``Div`` with a scalar computes, or None for any other node.

    The scalar depends only on constants and shapes.  It has one element, several equal elements, or one
    number for each attention head (``[H,1,1]``).
    """
    if node.op not in ("Mul", "Div") or node.domain or len(node.inputs) != 2:
        return None
    for port in (1, 0) if node.op == "Mul" else (1,):
        scalar, data = node.inputs[port], node.inputs[1 - port]
        if scalar is None or data is None or not constants.data_free(scalar):
            continue
        if constants.data_free(data) and not is_parameter(data):
            continue  # arithmetic on numbers, not on a tensor
        factor = constants.scalar(scalar)
        if factor is None and not _is_scalar_shape(scalar):
            continue
        if node.op == "Div" and factor is not None:
            factor = 1.0 / factor if factor else None
        return Scaling(node, data, factor, constants.stored(scalar) is None)
    return None


def is_parameter(value: Value) -> bool:
    """Return whether a constant factor is a parameter tensor rather than a number.

    The function knows only the rank of ``value``: with 3 or more dimensions, the factor counts as a
    parameter.  With fewer or unknown dimensions, it counts as a number.
    """
    return value.rank is not None and value.rank >= 3


def _is_scalar_shape(value: Value) -> bool:
    shape = value.shape
    return shape is not None and all(dim == 1 for dim in shape[-2:])


def product_of(scales: Iterable[Scaling]) -> float | None:
    """Return the product of the factors of ``scales``, or None if a factor is unknown.

    Without scalings, the product is 1.
    """
    product = 1.0
    for scale in scales:
        if scale.factor is None:
            return None
        product *= scale.factor
    return product
