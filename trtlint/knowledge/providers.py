"""Read the options of ONNX Runtime's TensorRT providers, and check their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from msgspec import Struct, convert

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest
from trtlint.knowledge.releases import Product

Provider = Literal["tensorrt", "nv-tensorrt-rtx"]
"""Names of the providers, as in ``--ep`` and in reports."""
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
CLASSES: Mapping[str, Provider] = {
    "TensorrtExecutionProvider": "tensorrt",
    "TensorRTExecutionProvider": "tensorrt",
    "NvTensorRTRTXExecutionProvider": "nv-tensorrt-rtx",
    "NvTensorRtRtx": "nv-tensorrt-rtx",
}
"""The provider for each name that ONNX Runtime or its tools use for a provider."""
PROVIDER_PRODUCTS: Mapping[Provider, Product] = {
    "tensorrt": "tensorrt",
    "nv-tensorrt-rtx": "tensorrt-rtx",
}
"""The product that each provider uses."""
BOOLEANS: Mapping[str, bool] = {
    "1": True,
    "true": True,
    "True": True,
    "0": False,
    "false": False,
    "False": False,
}
"""Texts that ONNX Runtime reads as a boolean, each with its value.

https://github.com/microsoft/onnxruntime/blob/01a80f60b000/include/onnxruntime/core/common/parse_string.h
"""

_SHAPE = r"[^,;:]+(?::[^,;:]+)*:\d{1,19}(?:x\d{1,19})*"
_SHAPES = rf"{_SHAPE}(?:[,;]{_SHAPE})*[,;]?"
_FORMS: Mapping[str, str] = {"int": r"-?\d{1,19}", "size": r"\d{1,20}", "level": r"[0-5]"}
WORDS: Mapping[str, str] = {
    "bool": "0, 1, true or false",
    "int": "a whole number",
    "size": "a whole number of at least 0",
    "level": "a number from 0 to 5",
    "shapes": "shapes such as x:1x3x224x224",
    "text": "a text",
    "path": "a path",
}
"""For each kind of option, the words that describe its allowed values in messages."""


class ProviderOption(Struct, frozen=True, rename={"only": "rtx"}):
    """An option of a TensorRT provider of ONNX Runtime.

    Attributes:
        name: the name of the option in ONNX Runtime, such as ``trt_fp16_enable``.
        kind: the kind of values that the option allows, a key of :data:`WORDS`.
        since: the release that added the option; empty if unknown, because the oldest known release already
            has it.
        group: ``precision`` for an option that sets the precision; otherwise empty.
        only: the build of the RTX provider that has the option: ``in-tree`` (part of ONNX Runtime) or
            ``plug-in`` (a separate library); empty if both builds have the option.
    """

    name: str
    kind: str
    since: str = ""
    group: str = ""
    only: str = ""

    def takes(self, value: str) -> bool:
        """Return whether the option allows a value."""
        if self.kind == "bool":
            return value in BOOLEANS
        if self.kind == "shapes":
            return not value or all(
                re.fullmatch(_SHAPES, part.strip()) for part in value.split(",") if part.strip()
            )
        form = _FORMS.get(self.kind)
        return form is None or re.fullmatch(form, value) is not None


@cache
def provider_options(provider: Provider) -> Mapping[str, ProviderOption]:
    """Return the options of a provider by name."""
    return {row.name: row for row in convert(data("providers")[provider], list[ProviderOption])}


def nearest_option(name: str, provider: Provider) -> str:
    """Return the provider's option that is most similar to ``name``, or an empty string for none."""
    return next(iter(nearest(name, sorted(provider_options(provider)), cutoff=0.8)), "")
