"""Read parts of remote files through fsspec, with several requests at the same time.

https://filesystem-spec.readthedocs.io
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.files.problem import UnreadableError
from trtlint.files.telemetry import switch_off
from trtlint.knowledge.extras import how_to_install
from trtlint.remote.addresses import PACKAGES, Address

WHOLE = 16 << 20
"""Size in bytes of the largest file that is read whole, if the server does not support range requests."""
_MOST_BYTES = 256 << 20
"""Largest number of bytes that are read from one file."""
_SECONDS = 600.0
"""Time limit in seconds to read one file."""
_AT_ONCE = 16
"""Largest number of concurrent requests."""
_VERSIONS = ("ETag", "etag", "VersionId", "blob_id")
"""Keys under which file systems of fsspec return the version of a file's content."""

Span = tuple[int, int]
"""Start and end (exclusive) of a part of a file, in bytes."""


class RemoteError(UnreadableError):
    """Error: a remote file cannot be read."""


def require_packages(address: Address) -> None:
    """Check that the packages for an address are installed.

    Raises:
        SettingError: a package is missing.
    """
    missing = [name for name in ("fsspec", PACKAGES[address.scheme]) if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        raise SettingError(f"{address.name}: needs {names}; run {how_to_install('remote')}")


class RemoteFile(Struct):
    """A remote file.

    Attributes:
        address: the address.
        size: length in bytes.
        version: version of the content, such as the ETag with quotes; empty if unknown.
        partial: whether the server supports range requests.
        fetched: bytes read so far.
    """

    address: Address
    size: int
    version: str
    partial: bool
    fetched: int = 0
    _system: Any = None
    _path: str = ""
    _until: float = 0.0

    def parts(self, spans: Sequence[Span]) -> list[bytes]:
        """Read several parts at once.

        Args:
            spans: start and end of each part, in bytes.

        Raises:
            RemoteError: a part cannot be read.
        """
        self._spend(sum(stop - start for start, stop in spans))
        try:
            found = self._parts(spans)
        except Exception as error:  # every file system raises its own exceptions
            raise _error(self.address, error) from error
        if any(len(data) != stop - start for data, (start, stop) in zip(found, spans, strict=True)):
            raise RemoteError("the server returned fewer bytes than requested")
        return found

    def whole(self) -> bytes:
        """Read the whole file into memory.

        Raises:
            RemoteError: the file cannot be read or is too large.
        """
        if self.size > WHOLE:
            size = f"{self.size >> 20} MiB"
            raise RemoteError(
                f"the server does not support range requests for this file of {size}; download the "
                "file and lint the copy"
            )
        self._spend(self.size)
        try:
            more = {"most": self.size, "etag": self._etag} if self._is_http else {}
            data: bytes = self._system.cat_file(self._path, **more)
        except Exception as error:
            raise _error(self.address, error) from error
        if len(data) != self.size:
            raise RemoteError("the file changed while it was read")
        return data

    def require_unchanged(self) -> None:
        """Check that the file did not change while its parts were read.

        Raises:
            RemoteError: the file changed.
        """
        if self._etag:
            return  # every request sent this ETag in If-Match, so the server has checked it
        self._system.invalidate_cache()
        if _info(self._system, self._path, self.address)[:2] != (self.size, self.version):
            raise RemoteError("the file changed while it was read")

    @property
    def _is_http(self) -> bool:
        return self.address.scheme in ("http", "https")

    @property
    def _etag(self) -> str:
        return self.version if self._is_http and self.version.startswith('"') else ""

    def _spend(self, count: int) -> None:
        self.fetched += count
        if self.fetched > _MOST_BYTES:
            raise RemoteError(
                f"reading the remote file needs more than the limit of {_MOST_BYTES >> 20} MiB; "
                "download the file first"
            )
        if time.monotonic() > self._until:
            raise RemoteError(
                f"reading the remote file exceeded the limit of {_SECONDS:.0f} s; download the file first"
            )

    def _parts(self, spans: Sequence[Span]) -> list[bytes]:
        starts, stops = [start for start, _ in spans], [stop for _, stop in spans]
        if getattr(self._system, "async_impl", False):
            more: dict[str, Any] = {"etag": self._etag} if self._is_http else {}
            return list(
                self._system.cat_ranges(
                    [self._path] * len(spans), starts, stops, batch_size=_AT_ONCE, on_error="raise", **more
                )
            )
        with ThreadPoolExecutor(min(_AT_ONCE, len(spans))) as pool:
            return list(pool.map(self._part, spans))

    def _part(self, span: Span) -> bytes:
        # Do not use the cache: it would read megabytes ahead for each of many small parts.
        data: bytes = self._system.cat_file(self._path, *span, cache_type="none")
        return data


def remote_file(address: Address) -> RemoteFile:
    """Open the file at an address.

    Raises:
        RemoteError: the file does not exist or cannot be read.
    """
    until = time.monotonic() + _SECONDS
    try:
        if address.scheme in ("http", "https"):
            system: Any = import_module("trtlint.remote.http").HttpRanges(address.url)
            path = address.url
        else:
            switch_off()
            system = import_module("fsspec").filesystem(address.scheme, skip_instance_cache=True)
            path = system._strip_protocol(address.url)
    except Exception as error:
        raise _error(address, error) from error
    size, version, partial = _info(system, path, address)
    return RemoteFile(address, size, version, partial, _system=system, _path=path, _until=until)


def version_of(address: Address) -> str:
    """Return a text that identifies the version and size of a remote file.

    The text is empty if the version is unknown, or if the file cannot be read.
    """
    try:
        file = remote_file(address)
    except RemoteError:
        return ""
    return f"{file.version} {file.size}" if file.version else ""


def _info(system: Any, path: str, address: Address) -> tuple[int, str, bool]:
    try:
        info = system.info(path)
    except Exception as error:
        raise _error(address, error) from error
    size = info.get("size")
    if info.get("type") == "directory":
        raise RemoteError("this is a folder; give the addresses of the model files in it")
    if not isinstance(size, int):
        raise RemoteError("the server does not report the size of the file")
    version = next((str(info[name]) for name in _VERSIONS if info.get(name)), "")
    return size, "" if version.startswith("W/") else version, bool(info.get("partial", True))


def _error(address: Address, error: Exception) -> RemoteError:
    """Convert an exception of fsspec to an error with one line of text.

    Secrets in the address are removed from the text.
    """
    if isinstance(error, RemoteError):
        return error
    text = " ".join(str(error).split()).replace(address.url, address.name) or type(error).__name__
    if isinstance(error, FileNotFoundError):
        text = "no such file"
    return RemoteError(f"cannot be read: {text[:300]}")
