"""Look up the releases of Torch-TensorRT, and the arguments that each release uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, convert

from trtlint.errors import SettingError
from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest

Route = Literal["compile", "options", "windows", "engine", "convert", "mutable"]
"""Kinds of calls that take arguments of Torch-TensorRT.

``compile`` is ``torch_tensorrt.compile``, and ``options`` are the options of ``torch.compile``.  ``windows``
is the cross compilation for Windows, and ``engine`` the conversion of an exported program to a serialized
engine.  ``convert`` is the conversion of a module to a serialized engine, and ``mutable`` is
``torch_tensorrt.MutableTorchTensorRTModule``.
"""

_TABLES: Mapping[str, tuple[str, ...]] = {
    "compile": ("compile", "trace"),
    "options": ("settings", "options", "backend"),
    "windows": ("windows", "windows_front"),
    "engine": ("engine",),
    "convert": ("engine", "convert", "trace"),
    "mutable": ("mutable", "compile"),
}
"""For each kind of call, the names of its tables of arguments.  The first table has the defaults."""
_FILES: Mapping[str, str] = {
    "compile": "dynamo/_compiler.py",
    "windows": "dynamo/_compiler.py",
    "engine": "dynamo/_compiler.py",
    "front": "_compile.py",
    "windows_front": "_compile.py",
    "convert": "_compile.py",
    "mutable": "dynamo/runtime/_MutableTorchTensorRTModule.py",
    "trace": "dynamo/_tracer.py",
    "settings": "dynamo/_settings.py",
    "options": "dynamo/utils.py",
    "backend": "dynamo/backend/backends.py",
}
_PASSED_ON: Mapping[tuple[str, str], int] = {("mutable", "compile"): 8}
"""For a kind of call and a table, the first release in which the call passes on the table's arguments.

The value is the minor number of the release.

``MutableTorchTensorRTModule`` ignores its ``**kwargs`` before 2.8:
https://github.com/pytorch/TensorRT/blob/v2.7.0/py/torch_tensorrt/dynamo/runtime/_MutableTorchTensorRTModule.py
"""
_FRONT = frozenset({"module", "ir", "inputs", "arg_inputs", "kwarg_inputs"})
"""Arguments that ``torch_tensorrt.compile`` itself reads.

For every kind of call, :func:`argument` also looks up these arguments in the table ``front``.
"""


class TorchReleaseError(SettingError):
    """Error: a release of Torch-TensorRT is unknown."""


class TorchRelease(Struct, frozen=True, rename={"version": "release"}):
    """A release of Torch-TensorRT.

    Attributes:
        version: the release number, such as ``2.13.0``.
        tensorrt: the TensorRT release that the wheel requires, such as ``11.0.0``.
        tagged: True if the line numbers in :attr:`TorchArgument.source` were checked against the Git tag;
            False if they come from the wheel.
    """

    version: str
    tensorrt: str
    tagged: bool = True

    @property
    def line(self) -> str:
        """The release line, such as ``2.13``."""
        return f"2.{self.minor}"

    @property
    def product(self) -> str:
        """The product and the release line, such as ``Torch-TensorRT 2.13``."""
        return f"Torch-TensorRT {self.line}"

    @property
    def minor(self) -> int:
        """The minor number of the version, such as 13."""
        return int(self.version.split(".")[1])


SCRIPTS = (".py", ".ipynb")
"""The suffixes of files that can contain calls of Torch-TensorRT."""


class TorchArgument(Struct, frozen=True):
    """An argument of a Torch-TensorRT function in one release.

    Attributes:
        read: whether the release reads the argument.
        first: the first known release line that reads the argument; empty if no release reads it.
        last: the last known release line that reads the argument; empty if no release reads it.
        default: the default, as Python text.  For a removed argument, it is the last default.  Empty if
            unknown.
        source: the line of Torch-TensorRT's source that reads the argument.  For a removed argument, it is
            the line in the last release that reads the argument.
    """

    read: bool
    first: str
    last: str
    default: str
    source: str


@cache
def torch_releases() -> tuple[TorchRelease, ...]:
    """Return the known releases of Torch-TensorRT, oldest first."""
    return convert(data("torch_tensorrt")["releases"], tuple[TorchRelease, ...])


def torch_release(text: str) -> TorchRelease:
    """Return the release with a version such as ``2.13`` or ``2.13.0``.

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
    """Return the known releases between two releases, including both.

    Args:
        first: the first release, such as ``2.7`` or ``2.7.0``.
        last: the last release; None for the newest known release.

    Raises:
        TorchReleaseError: a release is unknown, or there are fewer than two releases.
    """
    start = torch_release(first)
    end = torch_releases()[-1] if last is None else torch_release(last)
    found = tuple(each for each in torch_releases() if start.minor <= each.minor <= end.minor)
    if len(found) < 2:
        raise TorchReleaseError(f"Torch-TensorRT {end.line} is not newer than {start.line}")
    return found


def argument(name: str, route: Route, release: TorchRelease) -> TorchArgument:
    """Return how a release uses an argument.

    ``name`` is the name of the argument, and ``route`` is the kind of call that passes the argument.
    """
    reading: dict[str, tuple[str, Sequence[object]]] = {}
    tables = (*_TABLES[route], "front") if name in _FRONT else _TABLES[route]
    for table in reversed(tables):
        since = _PASSED_ON.get((route, table), 0)
        for version, row in data("torch_arguments")[table].get(name, {}).items():
            if torch_release(version).minor >= since:
                reading[version] = table, row
    order = [each for each in torch_releases() if each.version in reading]
    if not order:
        return TorchArgument(False, "", "", "", "")
    at = next((each for each in order if each.version == release.version), order[-1])
    table, row = reading[at.version]
    return TorchArgument(
        release.version in reading,
        order[0].line,
        order[-1].line,
        str(row[1]) if len(row) > 1 else "",
        _source(at, f"torch_tensorrt/{_FILES[table]}", int(str(row[0]))),
    )


def nearest_argument(name: str, route: Route, release: TorchRelease) -> str:
    """Return the argument of ``release`` that is most similar to ``name``.

    The result is an empty string if no argument is similar.
    """
    known = {
        each
        for table in _TABLES[route]
        for each, rows in data("torch_arguments")[table].items()
        if release.version in rows
    }
    return next(iter(nearest(name, known, cutoff=0.75)), "")


def idle(name: str, route: Route, release: TorchRelease) -> str:
    """Return the replacement of an argument that a release accepts but ignores.

    For any other argument, the result is an empty string.
    """
    kin = "compile" if route != "options" else route
    for row in data("torch_tensorrt")["idle"]:
        if row["name"] == name and release.minor >= row["since"] and kin in row["routes"]:
            return str(row["instead"])
    return ""


def instead_of(name: str) -> str:
    """Return the replacement of a removed argument, or an empty string if it is unknown."""
    return str(data("torch_tensorrt")["instead"].get(name, ""))


def needed_by(name: str) -> tuple[str, ...]:
    """Return the arguments on which the argument ``name`` depends.

    ``name`` has an effect only if at least one of these arguments is set.  Most arguments depend on no other
    argument, and the result is empty.
    """
    return tuple(data("torch_tensorrt")["needs"].get(name, ()))


def _source(release: TorchRelease, file: str, line: int) -> str:
    if release.tagged:
        return f"https://github.com/pytorch/TensorRT/blob/v{release.version}/py/{file}#L{line}"
    return f"https://pypi.org/project/torch-tensorrt/{release.version}/ ({file}:{line})"


class TorchOperator(Struct, frozen=True):
    """The support of an operator by the releases of Torch-TensorRT, from torch_operators.yaml.

    Attributes:
        asked: the tested releases.
        falls_back: the tested releases in which PyTorch runs the operator, not TensorRT.
        lowered: the operator that has no converter. It is the tested operator itself, or a part of its
            decomposition.
    """

    asked: tuple[str, ...]
    falls_back: frozenset[str]
    lowered: str

    def in_torch(self, release: str) -> bool | None:
        """Return whether PyTorch runs the operator in a release, or None if this is unknown.

        For an untested release, the nearest tested releases before and after this release determine the
        result.  If these two releases differ, the result is None.
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
    """Return, by name, the operators that at least one release runs in PyTorch, not in TensorRT.

    An operator has up to two keys: its own name, and the name in its field ``lowered``.
    """
    found: dict[str, TorchOperator] = {}
    for name, known in convert(data("torch_operators"), dict[str, TorchOperator]).items():
        found[name] = known
        found.setdefault(known.lowered, known)
    return found
