"""Read parts of a file over HTTP, and check that the file does not change.

The module defines a file system for fsspec.  Redirects to other schemes or to local addresses are rejected.
trtlint imports this module only for ``https://`` and ``http://`` addresses, because ``aiohttp`` is an
optional dependency.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from fsspec.implementations.http import HTTPFileSystem
from yarl import URL

from trtlint.errors import TrtlintError
from trtlint.remote.addresses import is_public, literal

_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=10, sock_read=20)
_PLAIN = {"Accept-Encoding": "identity"}
_ANY, _PARTIAL, _NOT_SATISFIABLE = 200, 206, 416
_CHANGED = "the file changed while it was read"


class RedirectError(TrtlintError):
    """Error: the server redirects to an address that is not allowed."""


class HttpRanges(HTTPFileSystem):  # type: ignore[misc]
    """An HTTP file system that reads parts of one file.

    Args:
        named: the address that the user gave.
    """

    cachable = False

    def __init__(self, named: str) -> None:
        super().__init__(get_client=_client_for(URL(named)))
        self._first: dict[str, str] = {}

    def _require_same(self, response: aiohttp.ClientResponse) -> None:
        """Check that a response has the same version of the file as the first response.

        A server may ignore the header ``If-Match``, so the client must check the version. A version consists
        of ETag, modification time and size.  A value is compared only if both responses contain it, so a
        response without these values passes.

        Raises:
            OSError: the version differs.
        """
        for name, value in _version(response).items():
            if self._first.setdefault(name, value) != value:
                response.close()
                raise OSError(_CHANGED)

    async def _info(self, url: str, **_: Any) -> dict[str, Any]:
        """Return the size and version of the file, and whether the server supports range requests."""
        session = await self.set_session()
        async with session.get(self.encode_url(url), headers={**_PLAIN, "Range": "bytes=0-0"}) as response:
            # An empty file has no first byte: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.17
            empty = response.status == _NOT_SATISFIABLE and _total(response) == 0
            if not empty:
                _require_found(response)
            self._require_same(response)
            partial = response.status == _PARTIAL
            size = _total(response) if partial or empty else response.content_length
            if response.headers.get("Content-Encoding", "identity") != "identity":
                size = None
            response.close()  # do not wait for a body that is not needed
            return {
                "name": url,
                "type": "file",
                "size": size,
                "partial": partial,
                "ETag": response.headers.get("ETag", ""),
                "Last-Modified": response.headers.get("Last-Modified", ""),
            }

    async def _cat_file(
        self, url: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        """Return a part of the file, or the whole file.

        Args:
            url: the file.
            start: first byte; None for the whole file.
            end: end of the part (exclusive).
            kwargs: ``etag`` is the required version.  ``most`` is the size of the whole file in bytes; it is
                needed only if ``start`` is None.
        """
        headers = dict(_PLAIN)
        if start is not None and end is not None:
            headers["Range"] = f"bytes={start}-{end - 1}"
            most = end - start
        else:
            most = int(kwargs["most"])
        if kwargs.get("etag"):
            headers["If-Match"] = kwargs["etag"]
        session = await self.set_session()
        async with session.get(self.encode_url(url), headers=headers) as response:
            _require_found(response)
            self._require_same(response)
            if start is not None and (response.status != _PARTIAL or _first(response) != start):
                response.close()
                raise OSError("the server did not return the requested part of the file")
            data = b""
            while len(data) <= most and (chunk := await response.content.read(most + 1 - len(data))):
                data += chunk
        if len(data) > most:
            raise OSError("the server returned more bytes than requested")
        return data


def _require_found(response: aiohttp.ClientResponse) -> None:
    if response.status not in (_ANY, _PARTIAL):
        status, reason = response.status, response.reason
        response.close()
        if status == 412:
            raise OSError(_CHANGED)
        raise OSError(f"the server returned {status} {reason or ''}".strip())


def _version(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the response headers that identify the version of the file.

    ETags are compared weakly: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.2
    """
    size = _total(response) if response.status == _PARTIAL else response.content_length
    found = {
        "ETag": response.headers.get("ETag", "").removeprefix("W/"),
        "Last-Modified": response.headers.get("Last-Modified", ""),
        "size": "" if size is None else str(size),
    }
    return {name: value for name, value in found.items() if value}


def _content_range(response: aiohttp.ClientResponse) -> tuple[str, str]:
    """Return the range and the total size in a ``Content-Range`` header.

    ``bytes 0-0/1234`` gives ``0-0`` and ``1234``.
    """
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    return (span, total) if unit == "bytes" else ("", "")


def _total(response: aiohttp.ClientResponse) -> int | None:
    total = _content_range(response)[1]
    return int(total) if total.isdecimal() else None


def _first(response: aiohttp.ClientResponse) -> int | None:
    first = _content_range(response)[0].partition("-")[0]
    return int(first) if first.isdecimal() else None


def _client_for(named: URL) -> Any:
    """Return a function that creates HTTP sessions.

    The sessions connect only to public addresses and to the host of ``named``, the user's address.
    """

    async def client(**_: Any) -> aiohttp.ClientSession:
        trace = aiohttp.TraceConfig()
        trace.on_request_redirect.append(_watch(named))
        connector = aiohttp.TCPConnector(resolver=_Resolver(named.host or ""))
        return aiohttp.ClientSession(connector=connector, trace_configs=[trace], timeout=_TIMEOUT)

    return client


def _watch(named: URL) -> Any:
    async def on_redirect(_session: Any, _context: Any, params: aiohttp.TraceRequestRedirectParams) -> None:
        await asyncio.sleep(0)
        location = params.response.headers.get("Location") or params.response.headers.get("URI") or ""
        require_allowed(named, params.url.join(URL(location)))

    return on_redirect


def require_allowed(named: URL, target: URL) -> None:
    """Raise an error for a redirect to another scheme or to a local address.

    ``named`` is the user's address, and ``target`` the target of the redirect.  This function does not
    resolve host names.  The resolver rejects a host name with a local address, when the client connects.

    Raises:
        RedirectError: the redirect is not allowed.
    """
    if target.scheme != named.scheme:
        raise RedirectError(
            f"the server redirects from {named.scheme} to {target.scheme}, which is not allowed"
        )
    if (target.host, target.port) == (named.host, named.port):
        return
    address = literal(target.host or "")
    if target.host == named.host or (address is not None and not is_public(address)):
        raise RedirectError("the server redirects to a local address, which is not allowed")


class _Resolver(AbstractResolver):
    """Resolves host names, and rejects local addresses.

    Only the host that the user named may have a local address.
    """

    def __init__(self, named: str) -> None:
        self._named = named
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> Any:
        found = await self._inner.resolve(host, port, family)
        if host != self._named:
            for entry in found:
                address = literal(entry["host"])
                if address is None or not is_public(address):
                    raise RedirectError("the server redirects to a local address, which is not allowed")
        return found

    async def close(self) -> None:
        await self._inner.close()
