"""Replace the ellipsis in an Einsum equation by letters.

The ellipses of two operands can stand for different numbers of dimensions. Then the shorter ellipsis gets
the last letters of the longer ellipsis, as in broadcasting: https://onnx.ai/onnx/operators/onnx__Einsum.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.equation import ELLIPSIS, ellipsis_ranks, terms_of
from trtlint.model.graph import Value
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that rewrites the equation of one Einsum."""
    node = fact.node
    equation = None if node is None else node.attribute("equation")
    if node is None or node.op != "Einsum" or node.domain or not isinstance(equation, str):
        raise NotApplicable("there is no Einsum at this place")
    if ELLIPSIS not in equation:
        raise NotApplicable("the equation has no ellipsis")
    operands = [value for value in node.inputs if value is not None]
    ranks = ellipsis_ranks(equation, [value.rank for value in operands])
    if ranks is None:
        raise NotApplicable("the rank of an operand is unknown or does not match the equation")
    written = _written(equation, ranks)
    if _broadcasts(equation, ranks, operands):
        raise NotApplicable("a dimension of the ellipsis is broadcast")
    draft = Draft(model, node)
    draft.again(node, equation=written)
    return draft.patch("replaces the ellipsis of Einsum by letters", [node])


def _written(equation: str, ranks: Sequence[int]) -> str:
    """Return the equation without ellipses: ``...ij,jk->...ik`` becomes, for example, ``aij,jk->aik``.

    Args:
        equation: the equation.
        ranks: number of dimensions that the ellipsis of each operand stands for.
    """
    terms, result = terms_of(equation)
    most = max(ranks)
    free = [letter for letter in ascii_lowercase if letter not in equation]
    if len(free) < most:
        raise NotApplicable("the equation leaves too few unused letters for the ellipsis")
    letters = "".join(free[:most])
    if result is None:
        counts = Counter(letter for term in terms for letter in term.replace(ELLIPSIS, ""))
        result = ELLIPSIS + "".join(sorted(letter for letter, count in counts.items() if count == 1))
    elif most and ELLIPSIS not in result:
        raise NotApplicable("the result omits the dimensions of the ellipsis")
    parts = [term.replace(ELLIPSIS, letters[most - rank :]) for term, rank in zip(terms, ranks, strict=True)]
    return f"{','.join(parts)}->{result.replace(ELLIPSIS, letters)}"


def _broadcasts(equation: str, ranks: Sequence[int], operands: Sequence[Value]) -> bool:
    """Return whether a dimension of the ellipsis differs in two operands.

    TensorRT does not broadcast in Einsum.
    """
    terms, _ = terms_of(equation)
    sizes: dict[int, set[object]] = {}
    for term, rank, value in zip(terms, ranks, operands, strict=True):
        start = term.find(ELLIPSIS)
        for place, size in enumerate((value.shape or ())[start : start + rank] if start >= 0 else ()):
            sizes.setdefault(place - rank, set()).add(size)
    return any(len(found) > 1 for found in sizes.values())
