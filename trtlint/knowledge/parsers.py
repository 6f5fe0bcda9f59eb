"""Read which operators the ONNX parser of each release imports.

Other functions convert version ranges to release lines, and release lines to version ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trtlint.knowledge import data
from trtlint.knowledge.releases import PRODUCTS, Product, minors

ONNX_DOMAINS = frozenset(
    {"", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training"}
)
"""Domains whose operators ONNX defines.  Operators of other domains may be plugins."""


@cache
def lines_of(product: Product, specifier: str) -> frozenset[str]:
    """Return the release lines of a product in a version range.

    ``specifier`` is the version range (PEP 440).  ``*`` and an empty text mean all release lines, and
    ``none`` means no release line.
    """
    if specifier == "none":
        return frozenset()
    allowed = SpecifierSet("" if specifier == "*" else specifier, prereleases=True)
    return frozenset(line for line in minors(product) if Version(line) in allowed)


def range_of(product: Product, lines: Collection[str]) -> str | None:
    """Return the version range (PEP 440) of release lines, or None if there are no release lines.

    If the newest known line is included, the range has no upper bound.
    """
    known = minors(product)
    held = [line in lines for line in known]
    if not any(held):
        return None
    first, last = held.index(True), len(held) - 1 - held[::-1].index(True)
    parts = [] if first == 0 else [f">={known[first]}"]
    parts += [f"!={known[i]}.*" for i in range(first, last) if not held[i]]
    parts += [] if last == len(held) - 1 else [f"<{known[last + 1]}"]
    return ",".join(parts)


@cache
def parser_line(rtx_line: str) -> str:
    """Return the TensorRT release line that has the same parser as a TensorRT-RTX release line.

    For an unknown TensorRT-RTX line, the result is the newest TensorRT line.
    """
    known: str = data("operators")["rtx"].get(rtx_line, minors("tensorrt")[-1])
    return known


@cache
def lines_with_parser(specifier: str) -> frozenset[str]:
    """Return the TensorRT-RTX release lines that have the same parser as a TensorRT release.

    ``specifier`` is the version range of the TensorRT releases.
    """
    held = lines_of("tensorrt", specifier)
    return frozenset(line for line in minors("tensorrt-rtx") if parser_line(line) in held)


@cache
def importing(op: str, product: Product) -> frozenset[str]:
    """Return the release lines whose parser imports an operator type without a plugin.

    The parser ignores the domain of the operator.
    """
    table = data("operators")
    specifier = table["operators"].get(op) or table["importers"].get(op) or "none"
    if product == "tensorrt":
        return lines_of(product, specifier)
    return lines_with_parser(specifier) | lines_of(product, table["rtx_importers"].get(op, "none"))


@cache
def refusing(op: str) -> Mapping[Product, str]:
    """Return the releases that have neither an importer nor a plugin for an operator type.

    The result has one version range for each product.  Products without such releases are left out.
    """
    ranges = {
        product: range_of(product, set(minors(product)) - importing(op, product) - bundled(op, product))
        for product in PRODUCTS
    }
    return {product: text for product, text in ranges.items() if text is not None}


@cache
def bundled(plugin: str, product: Product) -> frozenset[str]:
    """Return the release lines whose plugin library contains a plugin.

    For TensorRT-RTX, the result is empty.
    """
    if product == "tensorrt-rtx":
        return frozenset()
    return lines_of(product, data("operators")["plugins"].get(plugin, "none"))


@cache
def library_plugin(op: str) -> tuple[str, frozenset[str]]:
    """Return the plugin for an operator type, and the release lines that use the plugin.

    The plugin is in TensorRT's own plugin library.  The name of the plugin is empty if no release needs one.
    """
    entry = data("operators")["by_plugin"].get(op)
    if entry is not None:
        return entry["plugin"], lines_of("tensorrt", entry["tensorrt"]) & importing(op, "tensorrt")
    lines = bundled(op, "tensorrt") - importing(op, "tensorrt")
    return (op if lines else ""), lines


def is_contrib(domain: str) -> bool:
    """Return whether ONNX Runtime defines the operators of a domain."""
    return domain in data("operators")["contrib"]


def is_removed(op: str) -> bool:
    """Return whether ONNX removed an operator that exists in older opsets."""
    return op in data("operators")["removed"]


def is_listed(op: str) -> bool:
    """Return whether the parser's documentation lists an operator, either as supported or as unsupported."""
    return op in data("operators")["operators"]
