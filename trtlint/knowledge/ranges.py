"""Describe version ranges in words.  Only known releases are considered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trtlint.knowledge.releases import PRODUCTS, Product, releases

_BEFORE, _AFTER = Version("0"), Version("99999")


@cache
def known(product: Product) -> tuple[Version, ...]:
    """Return the known releases of a product, oldest first."""
    return tuple(release.number for release in releases(product))


@cache
def matching(product: Product, specifier: str) -> tuple[Version, ...]:
    """Return the known releases in a version range, oldest first."""
    allowed = SpecifierSet(specifier, prereleases=True)
    return tuple(version for version in known(product) if version in allowed)


def covers_all(product: Product, specifier: str) -> bool:
    """Return whether a version range contains every known release."""
    return len(matching(product, specifier)) == len(known(product))


@cache
def in_words(product: Product, specifier: str) -> str:
    """Describe a version range, such as ``TensorRT 10.12 to 10.13`` or ``TensorRT 8.6 and newer``.

    A minor version such as 10.7 stands for all its releases.  For a range without known releases, the
    result contains ``specifier`` unchanged.
    """
    name = PRODUCTS[product]
    if not specifier:
        return f"every {name}"
    covered = matching(product, specifier)
    if not covered:
        return f"{name} {specifier}"
    allowed = SpecifierSet(specifier, prereleases=True)
    everything = known(product)
    runs = [list(run) for inside, run in groupby(everything, covered.__contains__) if inside]
    words = [_run(run, everything) for run in runs]
    if runs[-1][-1] == everything[-1] and _AFTER in allowed:
        words[-1] = f"{_edge(runs[-1], 0, everything)} and newer"
    if runs[0][0] == everything[0] and _BEFORE in allowed:
        words[0] = f"up to {_edge(runs[0], -1, everything)}"
    return f"{name} {', '.join(words)}"


def _run(run: Sequence[Version], everything: Sequence[Version]) -> str:
    first, last = _edge(run, 0, everything), _edge(run, -1, everything)
    if first != last and run[0].release[:2] == run[-1].release[:2]:
        first, last = str(run[0]), str(run[-1])
    return first if first == last else f"{first} to {last}"


def _edge(run: Sequence[Version], end: int, everything: Sequence[Version]) -> str:
    """Name the first (``end`` is 0) or the last (``end`` is -1) of consecutive releases.

    The name is the full version, such as ``10.7.1``. For the first (or last) release of a minor version, the
    name is only the minor version, such as ``10.7``.
    """
    version = run[end]
    minor = [other for other in everything if other.release[:2] == version.release[:2]]
    return f"{version.major}.{version.minor}" if minor[end] == version else str(version)
