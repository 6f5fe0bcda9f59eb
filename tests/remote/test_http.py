"""Tests of HTTP requests and responses without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

from yarl import URL

from trtlint.remote import http
from trtlint.remote.http import HttpRanges, RedirectError, require_allowed

ADDRESS = "https://a.example/m.onnx"


class Response:
    """A response of a server."""

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        self.status = status
        self.reason: str | None = "Reason"
        self.headers = headers or {}
        self.content_length = length
        self.content = self
        self.closed = False
        self._body = body

    async def read(self, count: int) -> bytes:
        found, self._body = self._body[: min(count, 3)], self._body[min(count, 3) :]
        return found

    def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Response:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class Server:
    """Fake server that returns responses in order and records the requests."""

    def __init__(self, *responses: Response) -> None:
        self.responses = list(responses)
        self.requests: list[dict[str, str]] = []
        self.system: Any = HttpRanges(ADDRESS)
        self.system.set_session = self._session

    async def _session(self) -> Server:
        return self

    def get(self, url: Any, headers: dict[str, str]) -> Response:
        assert str(url) == ADDRESS
        self.requests.append(headers)
        return self.responses[len(self.requests) - 1]

    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = asyncio.run(self.system._info(ADDRESS))
        return found

    def read(self, *span: int, **more: Any) -> bytes:
        found: bytes = asyncio.run(self.system._cat_file(ADDRESS, *span, **more))
        return found


PART = {"Content-Range": "bytes 0-0/1234", "ETag": '"1"', "Last-Modified": "then"}
KNOWN = {"name": ADDRESS, "type": "file", "ETag": '"1"', "Last-Modified": "then"}


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (Response(206, b"", PART, 1), {"size": 1234, "partial": True}),
        (Response(200, b"", PART, 77), {"size": 77, "partial": False}),
        (Response(200, b"", PART), {"size": None, "partial": False}),
        (Response(206, b"", {**PART, "Content-Range": "bytes 0-0/*"}), {"size": None, "partial": True}),
        (Response(206, b"", {**PART, "Content-Range": "items 0-0/12"}), {"size": None, "partial": True}),
        (Response(200, b"", {**PART, "Content-Encoding": "gzip"}, 7), {"size": None, "partial": False}),
        (Response(200, b"", {**PART, "Content-Encoding": "identity"}, 7), {"size": 7, "partial": False}),
        (Response(200, length=7), {"size": 7, "partial": False, "ETag": "", "Last-Modified": ""}),
    ],
)
def test_the_size_and_version_of_a_file(response: Response, found: dict[str, Any]) -> None:
    server = Server(response)
    assert server.info() == {**KNOWN, **found}
    assert server.requests == [{"Accept-Encoding": "identity", "Range": "bytes=0-0"}]
    assert response.closed


def test_a_part_is_requested() -> None:
    server = Server(Response(206, b"abcdefgh", {"Content-Range": "bytes 10-17/100"}))
    assert server.read(10, 18) == b"abcdefgh"
    assert server.requests == [{"Accept-Encoding": "identity", "Range": "bytes=10-17"}]


def test_the_whole_file_is_requested_in_one_version() -> None:
    server = Server(Response(200, b"abcdefgh"))
    assert server.read(most=8, etag='"1"') == b"abcdefgh"
    assert server.requests == [{"Accept-Encoding": "identity", "If-Match": '"1"'}]


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (
            Response(206, b"abcd", {"Content-Range": "bytes 2-4/100"}),
            "the server returned more bytes than requested",
        ),
        (
            Response(206, b"abc", {"Content-Range": "bytes 1-3/100"}),
            "the server did not return the requested part of the file",
        ),
        (
            Response(206, b"abc", {"Content-Range": "bytes x-3/100"}),
            "the server did not return the requested part of the file",
        ),
        (Response(206, b"abc"), "the server did not return the requested part of the file"),
        (
            Response(200, b"abc", {"Content-Range": "bytes 2-4/100"}),
            "the server did not return the requested part of the file",
        ),
        (Response(412), "the file changed while it was read"),
        (Response(404), "the server returned 404 Reason"),
        (Response(205), "the server returned 205 Reason"),
        (Response(207), "the server returned 207 Reason"),
    ],
)
def test_responses_that_are_refused(response: Response, message: str) -> None:
    with pytest.raises(OSError, match=f"^{message}$"):
        Server(response).read(2, 5)
    assert response.closed or "more bytes" in message


def test_a_status_without_a_reason() -> None:
    response = Response(500)
    response.reason = None
    with pytest.raises(OSError, match=r"^the server returned 500$"):
        Server(response).info()


def test_more_bytes_than_the_file_has_are_refused() -> None:
    with pytest.raises(OSError, match="more bytes than requested"):
        Server(Response(200, b"abcdefgh")).read(most=7)
    assert Server(Response(200, b"abc")).read(most=7) == b"abc"


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (Response(206, b"a", PART), True),
        (Response(206, b"a", {"Content-Range": "bytes 0-0/1234"}), True),
        (Response(206, b"a", {**PART, "ETag": 'W/"1"'}), True),
        (Response(206, b"a", {**PART, "ETag": '"2"'}), False),
        (Response(206, b"a", {**PART, "Last-Modified": "now"}), False),
        (Response(206, b"a", {**PART, "Content-Range": "bytes 0-0/1235"}), False),
        (Response(206, b"a", {**PART, "Content-Range": "bytes 0-0/*"}), True),
    ],
)
def test_every_response_has_the_version_of_the_first(second: Response, same: bool) -> None:
    server = Server(Response(206, b"", PART, 1), second)
    server.info()
    if same:
        assert server.read(0, 1) == b"a"
        return
    with pytest.raises(OSError, match=r"^the file changed while it was read$"):
        server.read(0, 1)
    assert second.closed


def test_the_size_of_a_whole_file_is_part_of_its_version() -> None:
    server = Server(Response(200, length=3), Response(200, b"abcd", length=4))
    server.info()
    with pytest.raises(OSError, match=r"^the file changed while it was read$"):
        server.read(most=3)


@pytest.mark.parametrize(
    ("named", "target", "words"),
    [
        ("https://a.example/m", "https://a.example/n", ""),
        ("https://a.example/m", "https://cdn.example/m", ""),
        ("https://a.example/m", "https://93.184.216.34/m", ""),
        ("https://10.0.0.1:8443/m", "https://10.0.0.1:8443/n", ""),
        ("https://a.example/m", "http://a.example/m", "from https to http, which"),
        ("http://127.0.0.1/m", "https://127.0.0.1/m", "from http to https, which"),
        ("https://a.example/m", "https://a.example:8443/m", "to a local address, which"),
        ("https://a.example/m", "https://10.0.0.1/m", "to a local address, which"),
        ("https://10.0.0.1/m", "https://10.0.0.1:8443/m", "to a local address, which"),
    ],
)
def test_redirects(named: str, target: str, words: str) -> None:
    if not words:
        require_allowed(URL(named), URL(target))
        return
    with pytest.raises(RedirectError) as caught:
        require_allowed(URL(named), URL(target))
    assert str(caught.value) == f"the server redirects {words} is not allowed"


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Location": "/n"}, True),
        ({"Location": "https://10.0.0.1/n"}, False),
        ({"URI": "https://10.0.0.1/n"}, False),
        ({"Location": "/n", "URI": "https://10.0.0.1/n"}, True),
        ({}, True),
    ],
)
def test_the_target_of_a_redirect(headers: dict[str, str], allowed: bool) -> None:
    params = SimpleNamespace(response=SimpleNamespace(headers=headers), url=URL("https://a.example/x/m"))
    follow = http._watch(URL(ADDRESS))(None, None, params)
    if allowed:
        asyncio.run(follow)
        return
    with pytest.raises(RedirectError):
        asyncio.run(follow)


@pytest.mark.parametrize(
    ("host", "found", "allowed"),
    [
        ("a.example", ["10.0.0.1"], True),
        ("b.example", ["93.184.216.34"], True),
        ("b.example", [], True),
        ("b.example", ["10.0.0.1"], False),
        ("b.example", ["93.184.216.34", "10.0.0.1"], False),
        ("b.example", ["93.184.216.34", "name"], False),
    ],
)
def test_names_of_local_addresses(host: str, found: list[str], allowed: bool) -> None:
    entries = [{"host": each} for each in found]

    class Inner:
        async def resolve(self, *asked: Any) -> list[dict[str, str]]:
            assert asked == (host, 443, 2)
            return entries

    async def resolved() -> Any:
        resolver: Any = http._Resolver("a.example")
        await resolver.close()
        resolver._inner = Inner()
        return await resolver.resolve(host, 443, 2)

    if allowed:
        assert asyncio.run(resolved()) == entries
        return
    with pytest.raises(
        RedirectError, match=r"^the server redirects to a local address, which is not allowed$"
    ):
        asyncio.run(resolved())
