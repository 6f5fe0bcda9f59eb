"""Which operators each release's ONNX parser imports, and ranges of releases as sets."""

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
"""Domains whose operators ONNX itself defines; in any other one an operator may be a plugin."""


@cache
def lines_of(product: Product, specifier: str) -> frozenset[str]:
    """The release lines that a range covers; ``*`` and nothing are all, ``none`` is none."""
    if specifier == "none":
        return frozenset()
    allowed = SpecifierSet("" if specifier == "*" else specifier, prereleases=True)
    return frozenset(line for line in minors(product) if Version(line) in allowed)


def range_of(product: Product, lines: Collection[str]) -> str | None:
    """Release lines as a PEP 440 range, None where there is none of them.

    The range is open towards releases that are not known yet where it holds for the newest one.
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
    """The TensorRT release line whose parser a TensorRT-RTX release line has; the newest if unknown."""
    known: str = data("operators")["rtx"].get(rtx_line, minors("tensorrt")[-1])
    return known


@cache
def lines_with_parser(specifier: str) -> frozenset[str]:
    """The TensorRT-RTX release lines whose parser is of a range of TensorRT releases."""
    held = lines_of("tensorrt", specifier)
    return frozenset(line for line in minors("tensorrt-rtx") if parser_line(line) in held)


@cache
def importing(op: str, product: Product) -> frozenset[str]:
    """The release lines that import an operator type, whatever its domain, without any plugin."""
    table = data("operators")
    specifier = table["operators"].get(op) or table["importers"].get(op) or "none"
    if product == "tensorrt":
        return lines_of(product, specifier)
    return lines_with_parser(specifier) | lines_of(product, table["rtx_importers"].get(op, "none"))


@cache
def refusing(op: str) -> Mapping[Product, str]:
    """The releases, as ranges, that neither import an operator type nor come with a plugin of that name."""
    ranges = {
        product: range_of(product, set(minors(product)) - importing(op, product) - bundled(op, product))
        for product in PRODUCTS
    }
    return {product: text for product, text in ranges.items() if text is not None}


@cache
def bundled(plugin: str, product: Product) -> frozenset[str]:
    """The release lines whose plugin library has a plugin; TensorRT-RTX comes without one."""
    if product == "tensorrt-rtx":
        return frozenset()
    return lines_of(product, data("operators")["plugins"].get(plugin, "none"))


@cache
def library_plugin(op: str) -> tuple[str, frozenset[str]]:
    """The plugin of TensorRT's own library that an operator type needs, and the release lines where it does.

    The name is empty where no release needs one.
    """
    entry = data("operators")["by_plugin"].get(op)
    if entry is not None:
        return entry["plugin"], lines_of("tensorrt", entry["tensorrt"]) & importing(op, "tensorrt")
    lines = bundled(op, "tensorrt") - importing(op, "tensorrt")
    return (op if lines else ""), lines


def is_contrib(domain: str) -> bool:
    """Whether ONNX Runtime defines the operators of a domain."""
    return domain in data("operators")["contrib"]


def is_removed(op: str) -> bool:
    """Whether ONNX once had an operator that it has no more."""
    return op in data("operators")["removed"]


def is_listed(op: str) -> bool:
    """Whether the parser's documents name an operator, be it as not supported."""
    return op in data("operators")["operators"]
