"""Shares of the elements that an operator such as TopK chooses both in FP32 and in a low-precision type."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct


class ChoiceShares(Struct, frozen=True):
    """How many elements an operator such as TopK chooses both in FP32 and in the low-precision type.

    Attributes:
        node: path of the operator.
        elements: share of the elements that it chooses in both types, 0 to 1.
        positions: share of the elements that also have the same position in both results, 0 to 1.
    """

    node: str
    elements: float
    positions: float

    @property
    def words(self) -> str:
        """Return the operator and its shares as the end of a sentence."""
        at = f"{_percent(self.positions)} at the same position"
        return f"{self.node} itself would choose {_percent(self.elements)} of these elements, {at}"


def most_changed(choices: Iterable[ChoiceShares]) -> ChoiceShares | None:
    """Return the operator with the smallest share of equal choices, or None if all choices are equal."""
    changed = [each for each in choices if each.positions != 1]
    return least_equal(changed) if changed else None


def least_equal(choices: Iterable[ChoiceShares]) -> ChoiceShares:
    """Return the operator with the smallest share of equal choices."""
    return min(choices, key=lambda each: (each.positions, each.elements))


def _percent(share: float) -> str:
    """Format a share.  A share below 1 is never shown as 100 %."""
    return f"{math.floor(share * 1000) / 10:g} %"
