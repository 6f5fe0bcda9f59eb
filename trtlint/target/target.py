"""What an engine is built for: product, version, GPU and builder flags, as far as they are known.

What was not given is unknown, not false: each property that a rule may ask for is True, False or
None, and :meth:`Target.needs` names the command-line options that would settle a None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

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
    sm_words,
    specifier_of,
    standing_for,
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
"""Fields that have one value: its type, and the allowed values in words."""
_SETS: Mapping[str, str] = {
    "asked": "names of builder settings such as {'fp16'}",
    "refused": "names of builder settings such as {'tf32'}",
    "plugins": "names of plugins such as {'MyPlugin'}",
}
"""Fields that have several values, and the allowed values in words."""
_PRECISIONS: frozenset[Flag] = frozenset({"fp16", "bf16", "int8", "fp8", "best"})


@dataclass(frozen=True, slots=True)
class Target:
    """What an engine is built for.

    Attributes:
        product: ``tensorrt`` or ``tensorrt-rtx``.
        version: a release number or the beginning of one; ``10.8`` stands for every 10.8.x.
        sm: compute capability times ten, 89 for SM 8.9; taken from ``gpu`` where that is given.
        gpu: name of the GPU; ``sm89`` and ``8.9`` are accepted too.
        asked: builder settings that the user turned on.
        refused: builder settings that the user turned off.
        plugins: names of the plugins that the build loads besides those that come with the product,
            None where nothing was said of them.
        previous: the version that is left for this one, where the question is what an upgrade changes.

    Raises:
        TargetError: a version, GPU or flag that does not exist, or an ``sm`` that is not the GPU's.
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
    """The command-line option that settles an unknown property."""

    def __post_init__(self) -> None:
        self._require_types()
        if self.product not in PRODUCTS:
            raise TargetError(f"unknown product {self.product!r}{did_you_mean(self.product, PRODUCTS)}")
        put = object.__setattr__
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
            raise TargetError(f"{min(contradiction)} is both asked for and refused")

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
        """The release line as numbers that compare, (10, 7) for 10.7; None where none was given."""
        if self.version is None:
            return None
        major, minor = self.releases[0].number.release[:2]
        return major, minor

    def completed(self, settings: Mapping[str, bool], product: Product | None = None) -> Target:
        """This target with what it leaves open taken from elsewhere, such as a build command.

        Args:
            settings: builder settings by name, on or off; what was asked for or refused stays.
            product: taken where no version was given.

        Raises:
            TargetError: there is no such setting.
        """
        said = self.asked | self.refused
        open_ = {name: on for name, on in settings.items() if name not in said}
        return replace(
            self,
            product=self.product if product is None or self.version is not None else product,
            asked=self.asked | flags_named(name for name, on in open_.items() if on),
            refused=self.refused | flags_named(name for name, on in open_.items() if not on),
        )

    @property
    def leaving(self) -> tuple[int, int] | None:
        """The release line that is left for this one, as numbers; None where this is no upgrade."""
        if self.previous is None:
            return None
        major, minor = standing_for(self.previous, self.product)[0].number.release[:2]
        return major, minor

    @property
    def opset_max(self) -> int | None:
        """The highest ONNX opset that the newest of these releases states, None where it states none."""
        return None if self.version is None else self.releases[-1].opset_max

    @property
    def gpu_supported(self) -> bool | None:
        """Whether this version runs on this GPU; None where either was not given."""
        return None if self.version is None or self.sm is None else self.unsupported() is None

    @property
    def gpu_notice(self) -> str | None:
        """Why this version does not run on this GPU, as a sentence; None where it may."""
        return self.unsupported()

    @property
    def fp16(self) -> bool | None:
        """Whether the builder may run FP32 layers in FP16 because of a flag."""
        return self._builder_flag("fp16")

    @property
    def bf16(self) -> bool | None:
        """Whether the builder may run FP32 layers in BF16 because of a flag."""
        return self._builder_flag("bf16")

    @property
    def int8(self) -> bool | None:
        """Whether the builder may run FP32 layers in INT8 because of a flag."""
        return self._builder_flag("int8")

    @property
    def fp8(self) -> bool | None:
        """Whether the builder may use FP8 because of a flag."""
        return self._builder_flag("fp8")

    @property
    def strongly_typed(self) -> bool | None:
        """Whether the types come from the ONNX file alone, and precision flags do nothing.

        Always so from TensorRT 11.0 and in TensorRT-RTX, never before 9.0. In between it is a
        choice; asking for a precision flag makes it the other choice, because trtexec drops such
        flags from a strongly typed build.
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
    def tf32(self) -> bool | None:
        """Whether FP32 convolutions and matrix products may round their inputs to TF32.

        On by default in trtexec and the API, needs SM 8.0, and kept as a flag in 11.x.
        https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x.html
        """
        if "tf32" in self.refused:
            return False
        return self._architecture.tf32 if self._architecture else None

    def needs(self, name: str) -> frozenset[str]:
        """The command-line options that would settle a property that is None; none if nothing can."""
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
        """Whether a PEP 440 range such as ``>=10.7,<10.8`` holds for this version of a product.

        A version that stands for several releases matches if all of them do and fails if none does;
        otherwise, and where no version was given, a more exact version would settle it.  An empty
        range and ``*`` hold for every version.

        Raises:
            TargetError: the range cannot be read.
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
        """The known releases that the version stands for; all of the product where none was given."""
        return standing_for(self.version, self.product)

    def unsupported(self) -> str | None:
        """A sentence that says why this version does not run on this GPU, None where it may."""
        entry = self._architecture
        if entry is None or self.version is None:
            return None
        gpu = sm_words(entry.sm) + (f" ({self.gpu})" if self.gpu else "")
        product = PRODUCTS[self.product]
        newest, oldest = self.releases[-1].number, self.releases[0].number
        first, last = entry.first, entry.last
        if self.product == "tensorrt-rtx":
            if entry.rtx is None:
                return f"{gpu} is in no support matrix of {product}"
            first, last = entry.rtx, None
        if first is not None and newest < Version(first):
            return f"{product} {self.version} does not support {gpu}: support came with {first}"
        if last is not None and oldest.release[:2] > Version(last).release[:2]:
            return f"{product} {self.version} does not support {gpu}: support ended with {last}"
        return None

    @property
    def words(self) -> str:
        """The target in words, such as ``TensorRT 10.7, SM 8.9 (L4), FP16``."""
        parts = [f"{PRODUCTS[self.product]} {self.version or '(any version)'}"]
        if self.sm is not None:
            parts.append(sm_words(self.sm) + (f" ({self.gpu})" if self.gpu else ""))
        parts += [words for flag, words in _FLAG_WORDS.items() if flag in self.asked]
        parts += [f"no {words}" for flag, words in _FLAG_WORDS.items() if flag in self.refused]
        return ", ".join(parts)

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
            return False  # the flag came with 9.x, as strong typing did
        entry = self._architecture
        if entry is not None and {"bf16": entry.bf16, "fp8": entry.fp8}.get(flag) is False:
            return False
        if flag in self.asked:
            return True
        if flag in self.refused:
            return False
        return self._best(flag) if "best" in self.asked else None

    def _best(self, flag: Flag) -> bool | None:
        """What ``--best`` turns on: FP16, INT8 except on SM 10.3, and BF16 from SM 8.0; never FP8.

        https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
        """
        if flag == "fp16":
            return True
        if flag == "int8":
            return self.sm != 103
        if flag == "bf16":
            return None if self.sm is None else self.sm >= 80
        return None
