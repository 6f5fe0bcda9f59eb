"""Fill in unset properties of targets from the build command and the files of a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from trtlint.knowledge.gpus import find_gpu
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.target.flags import Flag
from trtlint.target.parsing import TargetError, check_version, parse_gpu, sm_words
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.buildcommand import BuildCommand
    from trtlint.buildfiles.record import BuildRecord

_PRECISIONS: tuple[Flag, ...] = ("fp16", "bf16", "int8", "fp8")


class CompletedTarget(Struct, frozen=True):
    """A target whose unset properties were filled in from a build.

    Attributes:
        target: the completed target.
        notes: sentences about conflicts between the given target and the build.  In a conflict, the given
            target is kept.
    """

    target: Target
    notes: tuple[str, ...]


def complete(target: Target, record: BuildRecord | None) -> CompletedTarget:
    """Fill in unset properties of a target from the files of a build.

    The properties are version, GPU, precision flags, typing and TF32.  Without a build, the target does not
    change.
    """
    if record is None:
        return CompletedTarget(target, ())
    taken = _Completion(target, record)
    return CompletedTarget(taken.target, tuple(taken.notes))


def built_with(targets: Iterable[Target], command: BuildCommand | None) -> list[Target]:
    """Fill in the unset properties of targets from a build command."""
    if command is None:
        return list(targets)
    of_rtx = command.tool == "tensorrt_rtx" or command.provider == "nv-tensorrt-rtx"
    product: Product | None = "tensorrt-rtx" if of_rtx else None
    return [target.completed(command.switches, product) for target in targets]


class _Completion:
    def __init__(self, target: Target, record: BuildRecord) -> None:
        self.given = target
        self.target = target
        self.record = record
        self.settings = record.settings
        self.notes: list[str] = []
        self._version()
        self._gpu()
        self._flags()

    def _conflict(self, name: str, built: str, given: str) -> None:
        place = self.record.places.get(name, "the build")
        self.notes.append(f"{place} reports {built}, but the target is {given}; using {given}")

    def _version(self) -> None:
        product = _product(self.settings.product)
        version = self.settings.version
        if product is None:
            return
        words = f"{PRODUCTS[product]} {version or ''}".strip()
        if self.given.version is not None or self.given.product != "tensorrt":
            given = f"{PRODUCTS[self.given.product]} {self.given.version or ''}".strip()
            if product != self.given.product or (
                version is not None and self.given.version is not None and not self._may_be(version)
            ):
                self._conflict("version" if version else "product", words, given)
            return
        known = None if version is None else _known_version(version, product)
        if version is not None and known is None:
            place = self.record.places.get("version", "the build")
            unknown = "but trtlint does not know this version and ignores it"
            self.notes.append(f"{place} reports {words}, {unknown}")
        self.target = replace(self.target, product=product, version=known)

    def _may_be(self, version: str) -> bool:
        """Return whether the user's version and the version in the build files can be the same release."""
        try:
            built = Version(version).release[:3]
        except ValueError:  # InvalidVersion, or int() for a part with thousands of digits
            return True
        given = tuple(map(int, (self.given.version or "").split(".")))[:3]
        common = min(len(given), len(built))
        return given[:common] == built[:common]

    def _gpu(self) -> None:
        sm, name = self.settings.sm, self.settings.gpu
        found = None if name is None else find_gpu(name.removeprefix("NVIDIA "))
        if sm is None and found is not None:
            sm = found[1].sm
        if sm is None:
            return
        if self.given.sm is not None:
            if self.given.sm != sm:
                built = f"{sm_words(sm)}{f' ({name})' if name else ''}"
                self._conflict("sm" if self.settings.sm else "gpu", built, sm_words(self.given.sm))
            return
        try:
            sm = parse_gpu(str(sm)).sm
        except TargetError:
            return
        gpu = found[0] if found is not None and found[1].sm == sm else None
        self.target = replace(self.target, sm=sm, gpu=gpu)

    def _flags(self) -> None:
        for flag, on, field in self._build_flags():
            if flag in self.given.asked or flag in self.given.refused:
                if (flag in self.given.asked) != on:
                    words = f"--{flag}" if flag in self.given.asked else f"--no-{flag}"
                    self._conflict(field, f"{flag} as {'on' if on else 'off'}", words)
            else:
                self.target = self.target.completed({flag: on})

    def _build_flags(self) -> Iterator[tuple[Flag, bool, str]]:
        """Yield each flag that the build settings show, with True if it was on.

        The third element of each result is the name of the field that shows the flag, such as ``precision``.
        """
        settings = self.settings
        typed = settings.strongly_typed
        if typed is not None and self.target.strongly_typed is not typed:
            yield "strongly-typed", typed, "strongly_typed"
        flags, precision = settings.flags, settings.precision
        if flags is not None and "best" in flags:
            yield "best", True, "flags"
        elif precision is not None or flags is not None:
            on = (precision or frozenset()) | (flags or frozenset())
            field = "flags" if precision is None else "precision"
            for flag in _PRECISIONS:
                if flag in on and typed is not True:
                    yield flag, True, field
                elif getattr(self.target, flag) is None or flag in self.given.asked:
                    yield flag, False, field
        if settings.tf32 is False:
            yield "tf32", False, "tf32"


def _product(name: str | None) -> Product | None:
    return next((product for product in PRODUCTS if product == name), None)


def _known_version(version: str, product: Product) -> str | None:
    """Return a version if it is known. Otherwise, return the longest known beginning of the version.

    The beginning has at least two parts, such as ``10.7``.  The result is None if no beginning is known.
    """
    parts = version.split(".")
    texts = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
    return next((known for text in texts if (known := _checked(text, product)) is not None), None)


def _checked(version: str, product: Product) -> str | None:
    try:
        return check_version(version, product)
    except TargetError:
        return None
