"""Parts of files over HTTP, for fsspec: parts only, of one version only, from where the user pointed.

Imported where an ``https://`` address is read, since ``aiohttp`` is in an extra.
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
_ANY, _PARTIAL = 200, 206
_CHANGED = "the file changed while it was read"


class RedirectError(TrtlintError):
    """The server sends us where the user did not point."""


class HttpRanges(HTTPFileSystem):  # type: ignore[misc]
    """HTTP as a file system, as far as it takes to read parts of one file.

    Args:
        named: the address that the user named.
    """

    cachable = False

    def __init__(self, named: str) -> None:
        super().__init__(get_client=_client_for(URL(named)))
        self._first: dict[str, str] = {}

    def _require_same(self, response: aiohttp.ClientResponse) -> None:
        """Refuse an answer about another version of the file than the first answer.

        A server need not honour ``If-Match``.  ETag, time of change and size are compared as far as the
        answers have them; one that has none of them is taken for the same version.

        Raises:
            OSError: it is another version.
        """
        for name, value in _version(response).items():
            if self._first.setdefault(name, value) != value:
                response.close()
                raise OSError(_CHANGED)

    async def _info(self, url: str, **_: Any) -> dict[str, Any]:
        """Size and version of the file, and whether the server gives parts of it."""
        session = await self.set_session()
        async with session.get(self.encode_url(url), headers={**_PLAIN, "Range": "bytes=0-0"}) as response:
            _require_found(response)
            self._require_same(response)
            partial = response.status == _PARTIAL
            size = _total(response) if partial else response.content_length
            if response.headers.get("Content-Encoding", "identity") != "identity":
                size = None
            response.close()  # a body that is not asked for is not waited for
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
        """Some bytes of the file, or all; never more than were asked for.

        Args:
            url: the file.
            start: where they begin, None for the whole file.
            end: where they end.
            kwargs: ``etag``, the version that they must be of, and ``most``, the bytes of a whole file.
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
                raise OSError("the server does not give the part that was asked for")
            data = b""
            while len(data) <= most and (chunk := await response.content.read(most + 1 - len(data))):
                data += chunk
        if len(data) > most:
            raise OSError("the server gives more than was asked for")
        return data


def _require_found(response: aiohttp.ClientResponse) -> None:
    if response.status not in (_ANY, _PARTIAL):
        status, reason = response.status, response.reason
        response.close()
        if status == 412:
            raise OSError(_CHANGED)
        raise OSError(f"the server says {status} {reason or ''}".strip())


def _version(response: aiohttp.ClientResponse) -> dict[str, str]:
    """What an answer says of the version of the file, by the names of the headers.

    The comparison of ETags is the weak one, https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.2
    """
    size = _total(response) if response.status == _PARTIAL else response.content_length
    found = {
        "ETag": response.headers.get("ETag", "").removeprefix("W/"),
        "Last-Modified": response.headers.get("Last-Modified", ""),
        "size": "" if size is None else str(size),
    }
    return {name: value for name, value in found.items() if value}


def _content_range(response: aiohttp.ClientResponse) -> tuple[str, str]:
    """The range and the total of ``bytes 0-0/1234``."""
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
    """What makes the session; it goes to the host that was named, and from there to public addresses only."""

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
    """Refuse a redirect that leaves what the user named for another scheme or for a local address.

    Names are looked up, and refused where they are local, when the connection is made.

    Raises:
        RedirectError: it does.
    """
    if target.scheme != named.scheme:
        raise RedirectError(f"the server redirects from {named.scheme} to {target.scheme}: refused")
    if (target.host, target.port) == (named.host, named.port):
        return
    address = literal(target.host or "")
    if target.host == named.host or (address is not None and not is_public(address)):
        raise RedirectError("the server redirects to a local address: refused")


class _Resolver(AbstractResolver):
    """Looks names up; local addresses are given for the host that the user named, and for no other."""

    def __init__(self, named: str) -> None:
        self._named = named
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> Any:
        """The addresses of a host."""
        found = await self._inner.resolve(host, port, family)
        if host != self._named:
            for entry in found:
                address = literal(entry["host"])
                if address is None or not is_public(address):
                    raise RedirectError("the server redirects to a local address: refused")
        return found

    async def close(self) -> None:
        """Nothing is held."""
        await self._inner.close()
