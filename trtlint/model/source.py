"""Plain data about the line of Python code that created a node during the export."""

from __future__ import annotations

import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import ClassVar

from msgspec import Struct

from trtlint.structs import PartlyCompared

_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Names of the folders of installed packages: https://docs.python.org/3/library/site.html"""
_MOST_PARTS = 12
"""Largest number of path components that are kept from the path of an installed file."""
_HOMES = {"home": 2, "users": 2, "root": 1}
"""For each first component of a path, the number of components of a home directory: ``/home/name`` has 2."""


class Frame(Struct, frozen=True):
    """One line of Python code that was on the call stack when the exporter created a node.

    Attributes:
        path: path on the exporting machine.  The path may contain a user name, so trtlint never prints it.
        line: line number from 1.
        function: name of the function; empty if unknown.
        code: text of the line; empty if the exporter did not record it.
    """

    path: str
    line: int
    function: str = ""
    code: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of ``path`` (POSIX or Windows), without root, drive and dots."""
        pure = self._pure()
        return tuple(part for part in pure.parts if part != pure.anchor and part not in (".", ".."))

    @property
    def shown(self) -> str:
        """The last two components of ``path``, without components of a home directory."""
        parts = self.parts
        if parts and self._pure().anchor:
            parts = parts[_HOMES.get(parts[0].lower(), 0) :]
        return "/".join(parts[-2:])

    @property
    def installed(self) -> str:
        """``path`` relative to the folder of installed packages, such as ``timm/layers/norm.py``.

        Empty if the file is not part of an installed package.

        PyTorch records the paths of its own files relative to the package ``torch``.  For other packages,
        PyTorch records full paths of the exporting machine.
        """
        parts = self.parts
        folders = [index for index, part in enumerate(parts) if part in _PACKAGES]
        return "/".join(parts[folders[-1] + 1 :][:_MOST_PARTS]) if folders else ""

    def _pure(self) -> PurePath:
        windows = "\\" in self.path or _DRIVE.match(self.path)
        return PureWindowsPath(self.path) if windows else PurePosixPath(self.path)


class Source(PartlyCompared, frozen=True):
    """The line of Python code that created a node, according to the exporter.

    Attributes:
        path: path relative to the repository, if the file was found there.  Otherwise, the last two
            components of the path on the exporting machine.
        line: line number from 1.
        function: name of the function; empty if unknown.
        found: True if ``path`` is a file of the repository and contains the line.
        frames: stack frames of the user's code, innermost first.  trtlint searches the repository for
            the lines of these frames.
        package: the installed package that contains the line; empty for code of the user.
        via: the line of an installed package that the user's line calls, such as ``timm/layers/norm.py:89 in
            forward (timm)``.  Empty if there is none.
    """

    _ignored: ClassVar[frozenset[str]] = frozenset({"frames"})

    path: str
    line: int
    function: str = ""
    found: bool = False
    frames: tuple[Frame, ...] = ()
    package: str = ""
    via: str = ""

    def __str__(self) -> str:
        return self.at(self.path)

    def at(self, path: str) -> str:
        """Format the line for reports.  ``path`` replaces the path of the file.

        >>> Source("export.py", 18, "forward", via="timm/layers/norm.py:89 in forward (timm)").at("export.py")
        'timm/layers/norm.py:89 in forward (timm), called from export.py:18'
        """
        where = f"{path}:{self.line}"
        if self.via:
            return f"{self.via}, called from {where}"
        where = f"{where} in {self.function}" if self.function else where
        return f"{where} ({self.package})" if self.package else where
