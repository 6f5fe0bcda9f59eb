"""Releases that refuse a node, as sets of release lines by product."""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.knowledge.parsers import lines_of, range_of
from trtlint.knowledge.releases import PRODUCTS, Product


def joined(
    lines: Mapping[Product, frozenset[str]], versions: Mapping[Product, str]
) -> Mapping[Product, frozenset[str]]:
    """Return the union of release lines and version ranges."""
    more = {product: lines_of(product, text) for product, text in versions.items()}
    return {product: lines.get(product, frozenset()) | more.get(product, frozenset()) for product in PRODUCTS}


def without(
    versions: Mapping[Product, str], lines: Mapping[Product, frozenset[str]]
) -> Mapping[Product, str]:
    """Return the version ranges without these release lines, for products with remaining releases."""
    if not lines:
        return versions
    left = {
        product: range_of(product, lines_of(product, text) - lines.get(product, frozenset()))
        for product, text in versions.items()
    }
    return {product: text for product, text in left.items() if text is not None}
