"""Parse versions, GPUs and builder settings.  Unknown values raise an error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, get_args

from packaging.version import Version

from trtlint.errors import SettingError
from trtlint.knowledge.gpus import architecture, architectures, find_gpu, near_gpus
from trtlint.knowledge.nearest import did_you_mean
from trtlint.knowledge.releases import PRODUCTS, Product, Release, Typing, minors, releases
from trtlint.target.flags import Flag

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


class TargetError(SettingError):
    """Error: a version, GPU or builder setting is unknown.  The message names similar known values."""


_LONGEST_SHOWN = 60
"""Largest number of characters of a wrong version number that an error message shows."""


class Gpu(NamedTuple):
    """A compute capability times ten (89 is SM 8.9), and the name of the GPU in reports.

    The name is None if the user gave only a compute capability.
    """

    sm: int
    name: str | None


def check_version(text: str, product: Product = "tensorrt") -> str:
    """Check and normalize a version number: ``v10.13.3.9.post1`` becomes ``10.13.3.9``.

    Raises:
        TargetError: the release is unknown.  The message names similar releases.
    """
    name = PRODUCTS[product]
    try:
        number = Version(text.strip())
    except ValueError:  # InvalidVersion, or int() for a part with thousands of digits
        raise TargetError(
            f"{_short(text)!r} is not a version of {name}; write it as {minors(product)[-1]}"
        ) from None
    parts = number.release
    version = ".".join(map(str, parts))
    odd = number.is_prerelease or number.epoch
    if odd or len(parts) > 4 or not releases_matching(version, product):
        version = str(number) if odd else version
        known = [release.number.release for release in releases(product)]
        if near := [".".join(map(str, other)) for other in known if parts[:2] == other[:2]]:
            raise TargetError(f"{name} {version} is not a known release; nearest: {', '.join(near)}")
        lines = [tuple(map(int, minor.split("."))) for minor in minors(product)]
        place = sum(line < parts for line in lines)
        near = [".".join(map(str, line)) for line in lines[max(place - 1, 0) : place + 1]]
        if parts < lines[0]:
            raise TargetError(f"{name} {version} is not supported; use {minors(product)[0]} or newer")
        raise TargetError(f"{name} {version} does not exist; nearest: {', '.join(near)}")
    return version


def _short(text: str) -> str:
    """Shorten a long text for an error message."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def parse_versions(text: str, product: Product = "tensorrt") -> list[str]:
    """Return the versions that ``10.7`` or a range such as ``10.7..11.4`` stands for.

    A range stands for all release lines from the first to the last version.

    Raises:
        TargetError: the first or last version is unknown, or the range is reversed.
    """
    first, dots, last = text.partition("..")
    if not dots:
        return [check_version(text, product)]
    if not first.strip() or not last.strip():
        known = minors(product)
        raise TargetError(f"the range {text} has only one end; write it as {known[0]}..{known[-1]}")
    start = releases_matching(check_version(first, product), product)[0]
    end = releases_matching(check_version(last, product), product)[-1]
    if start.number > end.number:
        raise TargetError(f"the range {text} is reversed; write {last}..{first}")
    found = [r.minor for r in releases(product) if start.number <= r.number <= end.number]
    return list(dict.fromkeys(found))


_SM = re.compile(r"(?:sm|cc|compute)?[\s_-]*(\d{1,2})\.?(\d)[af]?", re.IGNORECASE)


def parse_gpu(text: str) -> Gpu:
    """Find a GPU by its name (``L4``, ``RTX 4070``) or its compute capability (``sm89``, ``8.9``).

    Raises:
        TargetError: the GPU is unknown.  The message names similar GPUs.
    """
    if match := _SM.fullmatch(text.strip()):
        sm = int(match[1]) * 10 + int(match[2])
        if architecture(sm):
            return Gpu(sm, None)
        near = sorted((entry.sm for entry in architectures()), key=lambda other: abs(other - sm))[:2]
        raise TargetError(f"{sm_words(sm)} does not exist; nearest: {', '.join(map(sm_words, sorted(near)))}")
    found = find_gpu(text)
    if found is None:
        names = near_gpus(text)
        accepted = "; a compute capability is accepted too, such as sm89"
        near_names = f"; nearest: {', '.join(names)}" if names else accepted
        raise TargetError(f"unknown GPU {text!r}{near_names}")
    return Gpu(found[1].sm, found[0])


def sm_words(sm: int) -> str:
    """Format a compute capability in NVIDIA's notation: 89 becomes ``SM 8.9``."""
    return f"SM {sm // 10}.{sm % 10}"


def flags_named(given: Iterable[str]) -> frozenset[Flag]:
    """Normalize names of builder settings: ``stronglyTyped`` becomes ``strongly-typed``."""
    known = {flag.replace("-", ""): flag for flag in get_args(Flag)}
    found = set()
    for name in given:
        squeezed = name.casefold().replace("-", "").replace("_", "")
        if squeezed not in known:
            raise TargetError(f"unknown builder setting {name!r}{did_you_mean(name, get_args(Flag))}")
        found.add(known[squeezed])
    return frozenset(found)


@cache
def releases_matching(version: str | None, product: Product) -> tuple[Release, ...]:
    """Return the releases of a product whose version number begins with ``version``.

    The build number (the fourth part of the number) is ignored.
    """
    parts = () if version is None else tuple(map(int, version.split(".")))[:3]
    return tuple(r for r in releases(product) if r.number.release[: len(parts)] == parts)


@cache
def typing_of(version: str | None, product: Product) -> Typing | None:
    """Return which source determines the types in a network (see :attr:`Release.typing`).

    A version can stand for several releases.  The result is None if the source differs between them.
    """
    found = {release.typing for release in releases_matching(version, product)}
    return found.pop() if len(found) == 1 else None


@cache
def specifier_of(text: str) -> SpecifierSet:
    """Parse a version range (PEP 440).  ``*`` and an empty text mean all versions.

    Raises:
        TargetError: the text is not a version range.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet("" if text.strip() == "*" else text)
    except InvalidSpecifier:
        raise TargetError(f"{text!r} is not a version range; write it as '>=10.7,<10.8'") from None
