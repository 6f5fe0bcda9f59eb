"""Releases of Torch-TensorRT and their arguments: torch_tensorrt.yaml and torch_arguments.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest

Route = Literal["compile", "options", "windows", "engine"]
"""Function that takes the arguments. ``options`` are the options of ``torch.compile``."""

_TABLES: Mapping[str, tuple[str, ...]] = {
    "compile": ("compile", "trace"),
    "options": ("settings", "options", "backend"),
    "windows": ("windows", "windows_front"),
    "engine": ("engine",),
}
"""Tables of arguments of each route; the first one has the defaults."""
_FILES: Mapping[str, str] = {
    "compile": "dynamo/_compiler.py",
    "windows": "dynamo/_compiler.py",
    "engine": "dynamo/_compiler.py",
    "front": "_compile.py",
    "windows_front": "_compile.py",
    "trace": "dynamo/_tracer.py",
    "settings": "dynamo/_settings.py",
    "options": "dynamo/utils.py",
    "backend": "dynamo/backend/backends.py",
}
_FRONT = frozenset({"module", "ir", "inputs", "arg_inputs", "kwarg_inputs"})
"""Arguments that ``torch_tensorrt.compile`` itself reads on every route."""


class TorchReleaseError(SettingError):
    """An unknown release of Torch-TensorRT."""


class TorchRelease(Struct, frozen=True):
    """One release of Torch-TensorRT.

    Attributes:
        version: the release, ``2.13.0``.
        tensorrt: the TensorRT release that the wheel requires, ``11.0.0``.
        tagged: whether line numbers were checked against the Git tag; False if they come from the wheel.
    """

    version: str
    tensorrt: str
    tagged: bool

    @property
    def line(self) -> str:
        """The release line, ``2.13``."""
        return f"2.{self.minor}"

    @property
    def product(self) -> str:
        """The product with the release line, ``Torch-TensorRT 2.13``."""
        return f"Torch-TensorRT {self.line}"

    @property
    def minor(self) -> int:
        """The minor number, 13."""
        return int(self.version.split(".")[1])


class TorchArgument(Struct, frozen=True):
    """One argument in one release.

    Attributes:
        name: the argument.
        read: whether the release reads the argument.
        first: the first known release line that reads the argument; empty if no release reads it.
        last: the last known release line that reads the argument; empty if no release reads it.
        default: the default, as Python text; for a removed argument, its last default; empty if unknown.
        source: the source line that reads the argument; for a removed argument, the last such line.
    """

    name: str
    read: bool
    first: str
    last: str
    default: str
    source: str


@cache
def torch_releases() -> tuple[TorchRelease, ...]:
    """Return the known releases, oldest first."""
    rows = data("torch_tensorrt")["releases"]
    return tuple(TorchRelease(row["release"], row["tensorrt"], row.get("tagged", True)) for row in rows)


def torch_release(text: str) -> TorchRelease:
    """Return the release for ``2.13`` or ``2.13.0``.

    Raises:
        TorchReleaseError: the release is unknown.
    """
    parts = text.strip().split(".")
    for release in torch_releases():
        if parts[:2] == release.version.split(".")[:2] and all(part.isdecimal() for part in parts):
            return release
    known = torch_releases()
    raise TorchReleaseError(
        f"unknown Torch-TensorRT release {text!r}; use {known[0].line} to {known[-1].line}"
    )


def torch_range(first: str, last: str | None) -> tuple[TorchRelease, ...]:
    """Return the known releases from one to another.

    Args:
        first: the first release, ``2.7`` or ``2.7.0``.
        last: the last release; None for the newest known release.

    Raises:
        TorchReleaseError: a release is not known, or the range has fewer than two releases.
    """
    start = torch_release(first)
    end = torch_releases()[-1] if last is None else torch_release(last)
    found = tuple(each for each in torch_releases() if start.minor <= each.minor <= end.minor)
    if len(found) < 2:
        raise TorchReleaseError(f"{start.line} to {end.line} is no upgrade of Torch-TensorRT")
    return found


def argument(name: str, route: Route, release: TorchRelease) -> TorchArgument:
    """Return the state of an argument in a release."""
    reading: dict[str, tuple[str, Sequence[object]]] = {}
    tables = (*_TABLES[route], "front") if name in _FRONT else _TABLES[route]
    for table in reversed(tables):
        for version, row in data("torch_arguments")[table].get(name, {}).items():
            reading[version] = table, row
    order = [each.version for each in torch_releases() if each.version in reading]
    if not order:
        return TorchArgument(name, False, "", "", "", "")
    at = release.version if release.version in reading else order[-1]
    table, row = reading[at]
    return TorchArgument(
        name,
        release.version in reading,
        _line(order[0]),
        _line(order[-1]),
        str(row[1]) if len(row) > 1 else "",
        _source(at, f"torch_tensorrt/{_FILES[table]}", int(str(row[0]))),
    )


def nearest_argument(name: str, route: Route, release: TorchRelease) -> str:
    """Return the release's argument most similar to a misspelt name; an empty string if none is similar."""
    known = {
        each
        for table in _TABLES[route]
        for each, rows in data("torch_arguments")[table].items()
        if release.version in rows
    }
    return next(iter(nearest(name, known, cutoff=0.75)), "")


def idle(name: str, route: Route, release: TorchRelease) -> str:
    """Return the replacement of an argument that the release ignores; an empty string if there is none."""
    kin = "compile" if route != "options" else route
    for row in data("torch_tensorrt")["idle"]:
        if row["name"] == name and release.minor >= row["since"] and kin in row["routes"]:
            return str(row["instead"])
    return ""


def instead_of(name: str) -> str:
    """Return the replacement of a removed argument; empty if unknown."""
    return str(data("torch_tensorrt")["instead"].get(name, ""))


def needed_by(name: str) -> tuple[str, ...]:
    """Return the arguments that this argument needs: without any of these, it has no effect."""
    return tuple(data("torch_tensorrt")["needs"].get(name, ()))


def _source(version: str, file: str, line: int) -> str:
    if torch_release(version).tagged:
        return f"https://github.com/pytorch/TensorRT/blob/v{version}/py/{file}#L{line}"
    return f"https://pypi.org/project/torch-tensorrt/{version}/ ({file}:{line})"


def _line(version: str) -> str:
    return ".".join(version.split(".")[:2])


class TorchOperator(Struct, frozen=True):
    """Support of an operator in releases, from torch_operators.yaml.

    Attributes:
        asked: the tested releases.
        falls_back: the tested releases that leave the operator to PyTorch.
        lowered: the operator without a converter that lowering decomposes this operator into.
    """

    asked: tuple[str, ...]
    falls_back: frozenset[str]
    lowered: str

    def in_torch(self, release: str) -> bool:
        """Return whether a release is known to leave the operator to PyTorch."""
        return self.known(release) is True

    def known(self, release: str) -> bool | None:
        """Return whether a release leaves the operator to PyTorch; None if unknown.

        For an untested release, compare the nearest tested releases before and after it. If these two agree,
        the untested release gets the same answer; otherwise the result is None.
        """
        if release in self.asked:
            return release in self.falls_back
        minor = torch_release(release).minor
        before = [each for each in self.asked if torch_release(each).minor < minor]
        after = [each for each in self.asked if torch_release(each).minor > minor]
        if not before or not after:
            return None
        sides = {each in self.falls_back for each in (before[-1], after[0])}
        return sides.pop() if len(sides) == 1 else None


@cache
def torch_operators() -> Mapping[str, TorchOperator]:
    """Return the operators that some release leaves to PyTorch.

    The keys are the operators' names and the names of the operators that they are decomposed into.
    """
    found: dict[str, TorchOperator] = {}
    for name, row in data("torch_operators").items():
        known = TorchOperator(tuple(row["asked"]), frozenset(row["falls_back"]), row["lowered"])
        found[name] = known
        found.setdefault(row["lowered"], known)
    return found
