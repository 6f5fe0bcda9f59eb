"""Convert options to targets: one target for each version and GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from packaging.version import Version

from trtlint.errors import SettingError
from trtlint.knowledge.providers import PROVIDER_PRODUCTS, Provider
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.policy.options import TargetOptions
from trtlint.target.flags import Flag
from trtlint.target.parsing import parse_versions
from trtlint.target.target import Target


def options_among(keywords: Mapping[str, Any]) -> TargetOptions:
    """Return the target options among the keywords of a Python API call.

    The caller must have checked the keywords.
    """
    switches = ((flag, keywords.get(flag.replace("-", "_"))) for flag in get_args(Flag))
    return TargetOptions(
        keywords.get("trt", ()),
        keywords.get("rtx", ()),
        keywords.get("gpu"),
        tuple((flag, on) for flag, on in switches if on is not None),
        keywords.get("plugins"),
    )


def targets_of(options: TargetOptions) -> list[Target]:
    """Return a target for each version and GPU, oldest version first.

    If no version is given, the version of the target is unknown.

    Raises:
        TargetError: a version, GPU or setting does not exist, or two options contradict each other.
    """
    asked = frozenset(flag for flag, on in options.flags if on)
    refused = frozenset(flag for flag, on in options.flags if not on)
    wanted: list[tuple[Product, str | None]] = []
    named: tuple[tuple[Product, tuple[str, ...]], ...]
    named = ("tensorrt", options.trt), ("tensorrt-rtx", options.rtx)
    for product, texts in named:
        versions = {version for text in texts for version in parse_versions(text, product)}
        wanted += [(product, version) for version in sorted(versions, key=Version)]
    if not wanted:
        wanted.append(("tensorrt", None))
    return [
        Target(
            product=product,
            version=version,
            gpu=gpu,
            asked=asked,
            refused=refused,
            plugins=None if options.plugins is None else frozenset(options.plugins),
        )
        for product, version in wanted
        for gpu in _gpus(options.gpu)
    ]


def by_version(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return targets in the order of :func:`targets_of`: TensorRT before TensorRT-RTX, older before newer."""
    products = list(PRODUCTS)
    return tuple(
        sorted(targets, key=lambda each: (products.index(each.product), Version(each.version or "0")))
    )


def require_product(provider: Provider, targets: Iterable[Target]) -> None:
    """Check that an execution provider of ONNX Runtime uses the product of all targets.

    The product is TensorRT or TensorRT-RTX. A target without a version does not count,
    because its product may be a default.

    Raises:
        SettingError: a target is a version of the other product.
    """
    product = PROVIDER_PRODUCTS[provider]
    for target in targets:
        if target.version is not None and target.product != product:
            other = next(name for name, each in PROVIDER_PRODUCTS.items() if each == target.product)
            wrong = f"{PRODUCTS[target.product]} {target.version}"
            raise SettingError(
                f"the provider {provider} uses {PRODUCTS[product]}, but the target is {wrong}; "
                f"give a version of {PRODUCTS[product]}, or use the provider {other}"
            )


def _gpus(text: str | None) -> list[str | None]:
    """Parse a list of GPUs, such as ``L4,sm120``.  If no list is given, return one unknown GPU (None)."""
    if text is None:
        return [None]
    return list(dict.fromkeys(name.strip() for name in text.split(",")))
