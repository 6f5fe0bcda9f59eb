"""Represent the target of a build: product, version, GPU and builder settings.

The value of a property that is not set is unknown, not false.  So a property is True, False or None.  For
None, :meth:`Target.needs` returns the command-line options that would decide the property.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace
from packaging.version import Version

from trtlint.errors import ArgumentError
from trtlint.knowledge.gpus import Architecture, architecture
from trtlint.knowledge.nearest import did_you_mean
from trtlint.knowledge.releases import PRODUCTS, Product, Release, Typing
from trtlint.target.flags import Flag
from trtlint.target.parsing import (
    TargetError,
    check_version,
    flags_named,
    parse_gpu,
    releases_matching,
    sm_words,
    specifier_of,
    typing_of,
)
from trtlint.target.truth import Truth, Unknown

_FLAG_WORDS: Mapping[Flag, str] = {
    "fp16": "FP16",
    "bf16": "BF16",
    "int8": "INT8",
    "fp8": "FP8",
    "best": "best precision",
    "strongly-typed": "strongly typed",
    "tf32": "TF32",
}
_TYPES: Mapping[str, tuple[type, str]] = {
    "product": (str, f"one of {', '.join(PRODUCTS)}"),
    "version": (str, "a text such as '10.7'"),
    "sm": (int, "a compute capability times ten, such as 89"),
    "gpu": (str, "a text such as 'L4' or 'sm89'"),
    "previous": (str, "a text such as '10.7'"),
}
"""The fields of a target that hold one value.

For each field: its type, and a text for messages that describes the allowed values.
"""
_SETS: Mapping[str, str] = {
    "plugins": "a set of plugin names, such as {'MyPlugin'}",
    "asked": "a set of builder settings that are on, such as {'fp16'}",
    "refused": "a set of builder settings that are off, such as {'tf32'}",
}
"""The fields of a target that hold several values.

For each field: a text for messages that describes the allowed values.
"""
_PRECISIONS: frozenset[Flag] = frozenset({"fp16", "bf16", "int8", "fp8", "best"})


class Target(Struct, frozen=True):
    """The product, version, GPU and builder settings that a model is checked for.

    Attributes:
        product: ``tensorrt`` or ``tensorrt-rtx``.
        version: a release number or its beginning, such as ``10.8`` for every 10.8.x; None if unknown.
        sm: compute capability times ten, such as 89 for SM 8.9.  If ``gpu`` is set, ``sm`` is derived from
            ``gpu``.
        gpu: name of the GPU, or its compute capability as ``sm89`` or ``8.9``; None if unknown.
        asked: builder settings that the user turned on.
        refused: builder settings that the user turned off.
        plugins: plugins that the build loads in addition to the product's own plugins; None if unknown.
        previous: the version before an upgrade; None if there is no upgrade.

    Raises:
        TargetError: the version, GPU or a builder setting is unknown, or ``sm`` contradicts ``gpu``.
        ArgumentError: a field has a value of the wrong type.
    """

    product: Product = "tensorrt"
    version: str | None = None
    sm: int | None = None
    gpu: str | None = None
    asked: frozenset[Flag] = frozenset()
    refused: frozenset[Flag] = frozenset()
    plugins: frozenset[str] | None = None
    previous: str | None = None

    options: ClassVar[Mapping[str, str]] = {
        "version": "--trt",
        "release": "--trt",
        "sm": "--gpu",
        "gpu": "--gpu",
        "tf32": "--gpu",
        "fp16": "--fp16",
        "bf16": "--bf16",
        "int8": "--int8",
        "fp8": "--fp8",
        "strongly_typed": "--strongly-typed",
        "plugins": "--plugins",
    }
    """The command-line option that decides a property, by the name of the property."""

    def __post_init__(self) -> None:
        self._require_types()
        if self.product not in PRODUCTS:
            raise TargetError(f"unknown product {self.product!r}{did_you_mean(self.product, PRODUCTS)}")
        put = force_setattr
        if self.version is not None:
            put(self, "version", check_version(self.version, self.product))
        if self.gpu is not None:
            found = parse_gpu(self.gpu)
            if self.sm not in (None, found.sm):
                raise TargetError(f"{self.gpu} is {sm_words(found.sm)}, not {sm_words(self.sm or 0)}")
            put(self, "sm", found.sm)
            put(self, "gpu", found.name)
        elif self.sm is not None:
            parse_gpu(str(self.sm))
        put(self, "asked", flags_named(self.asked))
        put(self, "refused", flags_named(self.refused))
        if self.plugins is not None:
            put(self, "plugins", frozenset(self.plugins))
        if self.previous is not None:
            put(self, "previous", check_version(self.previous, self.product))
        if contradiction := self.asked & self.refused:
            raise TargetError(f"{min(contradiction)} is both enabled and disabled")

    def _require_types(self) -> None:
        for name, (type_, expected) in _TYPES.items():
            value = getattr(self, name)
            if value is None and name != "product":
                continue
            if not isinstance(value, type_) or isinstance(value, bool):
                raise ArgumentError.of(name, value, expected)
        for name, expected in _SETS.items():
            given = getattr(self, name)
            if given is None and name == "plugins":
                continue
            if isinstance(given, str) or not isinstance(given, Collection):
                raise ArgumentError.of(name, given, expected)
            for each in given:
                if not isinstance(each, str):
                    raise ArgumentError.of(name, each, expected)

    @property
    def release(self) -> tuple[int, int] | None:
        """The release line as numbers, such as (10, 7) for 10.7; None if the target has no version."""
        return _line_of(self.version, self.product)

    def completed(self, settings: Mapping[str, bool], product: Product | None = None) -> Target:
        """Return this target with unset properties filled in, for example from a build command.

        Args:
            settings: builder settings by name, True for on. The settings of this target take precedence.
            product: the new product.  It is ignored if this target already has a version.

        Raises:
            TargetError: a setting is unknown.
        """
        decided = self.asked | self.refused
        open_ = {name: on for name, on in settings.items() if name not in decided}
        return replace(
            self,
            product=self.product if product is None or self.version is not None else product,
            asked=self.asked | flags_named(name for name, on in open_.items() if on),
            refused=self.refused | flags_named(name for name, on in open_.items() if not on),
        )

    @property
    def leaving(self) -> tuple[int, int] | None:
        """The release line before an upgrade, as numbers; None if there is no upgrade."""
        return _line_of(self.previous, self.product)

    @property
    def opset_max(self) -> int | None:
        """The highest ONNX opset that this version's parser supports, according to the documentation."""
        return None if self.version is None else self.releases[-1].opset_max

    @property
    def gpu_supported(self) -> bool | None:
        """True if the version supports the GPU; None if the version or the GPU is unknown."""
        return None if self.version is None or self.sm is None else self.gpu_notice is None

    @property
    def gpu_notice(self) -> str | None:
        """The reason why the version does not support the GPU, as a sentence.

        The value is None if the version may support the GPU.
        """
        entry = self._architecture
        if entry is None or self.version is None:
            return None
        gpu = sm_words(entry.sm) + (f" ({self.gpu})" if self.gpu else "")
        product = PRODUCTS[self.product]
        newest, oldest = self.releases[-1].number, self.releases[0].number
        first, last = entry.first, entry.last
        if self.product == "tensorrt-rtx":
            if entry.rtx is None:
                return f"{gpu} is not in any support matrix of {product}"
            first, last = entry.rtx, None
        if first is not None and newest < Version(first):
            return f"{product} {self.version} does not support {gpu}: support came with {first}"
        if last is not None and oldest.release[:2] > Version(last).release[:2]:
            return f"{product} {self.version} does not support {gpu}: support ended with {last}"
        return None

    @property
    def fp16(self) -> bool | None:
        """True if a builder setting allows FP16 for FP32 layers."""
        return self._builder_flag("fp16")

    @property
    def bf16(self) -> bool | None:
        """True if a builder setting allows BF16 for FP32 layers."""
        return self._builder_flag("bf16")

    @property
    def int8(self) -> bool | None:
        """True if a builder setting allows INT8 for FP32 layers."""
        return self._builder_flag("int8")

    @property
    def fp8(self) -> bool | None:
        """True if a builder setting allows FP8."""
        return self._builder_flag("fp8")

    @property
    def strongly_typed(self) -> bool | None:
        """True if all types come from the ONNX file, so that precision flags have no effect.

        The value is always True for TensorRT-RTX and from TensorRT 11.0.  It is always False before TensorRT
        9.0.  From TensorRT 9.0 to 10.x, the user chooses.  A precision flag counts as the choice of a weakly
        typed network, because trtexec ignores precision flags for a strongly typed network.
        https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x.html
        https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
        """
        typing = self._typing
        if typing in ("weak", "strong"):
            return typing == "strong"
        if "strongly-typed" in self.asked:
            return True
        if typing == "choice" and ("strongly-typed" in self.refused or self.asked & _PRECISIONS):
            return False
        return None

    @property
    def flag_notice(self) -> str | None:
        """A sentence about the user's precision flags that the version ignores; None if there are none."""
        flags = sorted(self.asked & _PRECISIONS)
        if not flags or self._typing != "strong":
            return None
        named = ", ".join(f"--{flag}" for flag in flags)
        since = PRODUCTS[self.product] + (" 11.0 and newer" if self.product == "tensorrt" else "")
        return f"{since} takes the types from the model and ignores the flags {named}"

    @property
    def tf32(self) -> bool | None:
        """True if FP32 convolutions and matrix products may round their inputs to TF32.

        TF32 is on by default in trtexec and the API.  The GPU must have SM 8.0 or newer.  TensorRT 11 still
        has a flag for TF32.
        https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x.html
        """
        if "tf32" in self.refused:
            return False
        return self._architecture.tf32 if self._architecture else None

    def needs(self, name: str) -> frozenset[str]:
        """Return the command-line options that would make an unknown property known.

        ``name`` is the name of the property, such as ``fp16``.
        """
        if name in ("version", "release"):
            return frozenset({"--rtx" if self.product == "tensorrt-rtx" else "--trt"})
        if name == "strongly_typed" and self._typing is None:
            return frozenset({"--strongly-typed", "--trt"})
        if name == "bf16" and "best" in self.asked and self.sm is None:
            return frozenset({"--gpu", "--bf16"})
        if name == "tf32" and self.sm is not None:
            return frozenset()
        return frozenset({self.options[name]}) if name in self.options else frozenset()

    def matches(self, specifier: str, product: Product = "tensorrt") -> Truth:
        """Return whether a version range such as ``>=10.7,<10.8`` (PEP 440) contains the target's version.

        A version can stand for several releases.  A target without a version stands for all releases of
        the product.  The result is True if the range contains all of these releases, and False if the range
        contains none.  Otherwise, the result is unknown.  An empty range and ``*`` contain every version.

        Raises:
            TargetError: the text is not a version range.
        """
        versions = specifier_of(specifier)
        if product != self.product:
            return False
        if not versions:
            return True
        answers = {versions.contains(release.number) for release in self.releases}
        if len(answers) == 1:
            return answers.pop()
        return Unknown(self.needs("version"))

    @property
    def releases(self) -> tuple[Release, ...]:
        """The known releases that ``version`` stands for. Without a version, all releases of the product."""
        return releases_matching(self.version, self.product)

    @property
    def words(self) -> str:
        """The target as a text, such as ``TensorRT 10.7, SM 8.9 (L4), FP16``."""
        parts = [f"{PRODUCTS[self.product]} {self.version or '(any version)'}"]
        if self.sm is not None:
            parts.append(sm_words(self.sm) + (f" ({self.gpu})" if self.gpu else ""))
        parts += [words for flag, words in _FLAG_WORDS.items() if flag in self.asked]
        parts += [f"no {words}" for flag, words in _FLAG_WORDS.items() if flag in self.refused]
        return ", ".join(parts)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command-line options that give this target.  The old version of an upgrade is left out."""
        found: list[str] = []
        if self.version is not None:
            found += ["--rtx" if self.product == "tensorrt-rtx" else "--trt", self.version]
        if self.sm is not None:
            found += ["--gpu", self.gpu or f"sm{self.sm}"]
        found += [f"--{flag}" for flag in _FLAG_WORDS if flag in self.asked]
        found += [f"--no-{flag}" for flag in _FLAG_WORDS if flag in self.refused]
        found += [] if self.plugins is None else ["--plugins", ",".join(sorted(self.plugins))]
        return tuple(found)

    @property
    def _typing(self) -> Typing | None:
        return typing_of(self.version, self.product)

    @property
    def _architecture(self) -> Architecture | None:
        return None if self.sm is None else architecture(self.sm)

    def _builder_flag(self, flag: Flag) -> bool | None:
        if self.strongly_typed:
            return False
        if flag == "bf16" and self._typing == "weak":
            return False  # the flag was added with strong typing, in 9.x
        entry = self._architecture
        if entry is not None and {"bf16": entry.bf16, "fp8": entry.fp8}.get(flag) is False:
            return False
        if flag in self.asked:
            return True
        if flag in self.refused:
            return False
        return self._best(flag) if "best" in self.asked else None

    def _best(self, flag: Flag) -> bool | None:
        """Return whether the setting ``best`` enables a type.

        The result is None if the setting does not decide whether the type is on, or if the GPU is unknown.

        ``best`` enables FP16, INT8 (not on SM 10.3) and BF16 (from SM 8.0), but not FP8.
        https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
        """
        if flag == "fp16":
            return True
        if flag == "int8":
            return self.sm != 103
        if flag == "bf16":
            return None if self.sm is None else self.sm >= 80
        return None


def first_sm(targets: Iterable[Target]) -> int | None:
    """Return the compute capability of the first target with a known GPU, times ten.  None if unknown."""
    return next((target.sm for target in targets if target.sm is not None), None)


def _line_of(version: str | None, product: Product) -> tuple[int, int] | None:
    if version is None:
        return None
    major, minor = releases_matching(version, product)[0].number.release[:2]
    return major, minor
