"""Parse the equation of an Einsum: https://onnx.ai/onnx/operators/onnx__Einsum.html."""

from __future__ import annotations

from collections.abc import Sequence

ELLIPSIS = "..."


def terms_of(equation: str) -> tuple[list[str], str | None]:
    """Split an Einsum equation into the subscripts of each operand and of the result.

    The subscripts of the result are None if the equation has no ``->``.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    return left.split(","), right if arrow else None


def ellipsis_ranks(equation: str, ranks: Sequence[int | None]) -> list[int] | None:
    """Return the number of dimensions that the ellipsis ``...`` of each Einsum operand covers.

    The number is 0 for an operand without an ellipsis.  The result is None if a rank is unknown, or if a rank
    does not match the equation.

    Args:
        equation: the equation.
        ranks: rank of each operand; None if unknown.
    """
    terms, _ = terms_of(equation)
    if len(terms) != len(ranks):
        return None
    found = []
    for term, rank in zip(terms, ranks, strict=True):
        rest = term.replace(ELLIPSIS, "", 1)
        if rank is None or "." in rest or rank < len(rest) or (ELLIPSIS not in term and rank != len(rest)):
            return None
        found.append(rank - len(rest))
    return found
