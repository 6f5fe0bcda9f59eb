"""Combine two descriptions of the releases that refuse a node: release lines and version ranges."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.knowledge.parsers import lines_of, range_of
from trtlint.knowledge.releases import PRODUCTS, Product


def joined(
    lines: Mapping[Product, frozenset[str]], versions: Mapping[Product, str]
) -> Mapping[Product, frozenset[str]]:
    """Return the release lines that are in ``lines`` or in the version ranges ``versions``, by product.

    A release line is a text such as ``10.7``.
    """
    more = {product: lines_of(product, text) for product, text in versions.items()}
    return {product: lines.get(product, frozenset()) | more.get(product, frozenset()) for product in PRODUCTS}


def without(
    versions: Mapping[Product, str], lines: Mapping[Product, frozenset[str]]
) -> Mapping[Product, str]:
    """Return the version ranges ``versions`` without the release lines ``lines``, by product.

    A product without remaining releases is left out.
    """
    if not lines:
        return versions
    return ranges_of(
        {
            product: lines_of(product, text) - lines.get(product, frozenset())
            for product, text in versions.items()
        }
    )


def ranges_of(lines: Mapping[Product, frozenset[str]]) -> Mapping[Product, str]:
    """Return the version range of the release lines of each product.

    A product without release lines is left out.
    """
    ranges = {product: range_of(product, found) for product, found in lines.items()}
    return {product: text for product, text in ranges.items() if text is not None}
