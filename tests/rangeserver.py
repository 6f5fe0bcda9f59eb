"""A local HTTP server for range requests that counts its bytes and can misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Served:
    """Settings and counters of a server.

    Attributes:
        folder: the files.
        ranges: whether the server supports range requests.
        etag: version of all files, empty if none.
        together: number of concurrent range requests to wait for before any answer.
        redirects: redirect target by path.
        lies: misbehaviour: ``whole`` (the whole file for a part), ``long`` (more than requested),
            ``short``, ``earlier`` (another part), ``changing`` (a new version each time), ``drifting`` (a new
            version despite the client's condition), ``moving`` (a new modification time each time),
            ``growing`` (a new size each time).
        status: status code of every answer, 0 for the correct one.
        given: body bytes sent so far.
        requests: number of requests.
        most_at_once: largest number of concurrent requests.
    """

    folder: Path
    ranges: bool = True
    etag: str = '"1"'
    together: int = 0
    redirects: dict[str, str] = field(default_factory=dict)
    lies: str = ""
    status: int = 0
    given: int = 0
    requests: int = 0
    most_at_once: int = 0
    url: str = ""
    _under_way: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def enter(self) -> None:
        """Count the start of a request."""
        with self._changed:
            self.requests += 1
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait for the expected concurrent requests, until a timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self.most_at_once >= self.together, timeout=60)

    def leave(self, count: int) -> None:
        """Count the end of a request."""
        with self._changed:
            self._under_way -= 1
            self.given += count


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def __init__(self, served: Served, *args: Any) -> None:
        self._served = served
        super().__init__(*args)

    def log_message(self, *_: Any) -> None:
        """Suppress log output."""

    def do_GET(self) -> None:
        """Answer a request."""
        served, count = self._served, 0
        served.enter()
        if self.headers.get("Range") != "bytes=0-0":
            served.wait()
        try:
            with suppress(ConnectionError):
                count = self._answer(served)
        finally:
            served.leave(count)

    def _answer(self, served: Served) -> int:
        path = self.path.partition("?")[0]
        if path in served.redirects:
            return self._say(302, {"Location": served.redirects[path]})
        file = served.folder / path.lstrip("/")
        if served.status or not file.is_file():
            return self._say(served.status or 404, {})
        if served.lies == "changing":
            served.etag = f'"{served.requests}"'
        if served.lies == "drifting":
            served.etag = f'"{served.requests}"'
        elif self.headers.get("If-Match", served.etag) != served.etag:
            return self._say(412, {})
        size = file.stat().st_size
        known = {"ETag": served.etag} if served.etag else {}
        if served.lies == "moving":
            known["Last-Modified"] = f"Mon, 02 Nov 2026 10:00:{served.requests % 60:02} GMT"
        total = size + served.requests if served.lies == "growing" else size
        asked = self.headers.get("Range", "")
        if not served.ranges or not asked or (served.lies == "whole" and asked != "bytes=0-0"):
            return self._send(200, known, file, 0, size)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start, stop = int(first), min(int(last) + 1, size)
        if start >= size:
            return self._say(416, {**known, "Content-Range": f"bytes */{total}"})
        known["Content-Range"] = f"bytes {start}-{stop - 1}/{total}"
        if served.lies == "earlier" and asked != "bytes=0-0":
            start, stop = start - 1, stop - 1
            known["Content-Range"] = f"bytes {start}-{stop - 1}/{total}"
        if served.lies == "long" and asked != "bytes=0-0":
            stop = min(stop + 1000, size)
        if served.lies == "short" and asked != "bytes=0-0":
            stop -= 1
        return self._send(206, known, file, start, stop)

    def _say(self, status: int, headers: dict[str, str]) -> int:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()
        return 0

    def _send(self, status: int, headers: dict[str, str], file: Path, start: int, stop: int) -> int:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(stop - start)}.items():
            self.send_header(name, value)
        self.end_headers()
        sent = 0
        with file.open("rb") as opened:
            opened.seek(start)
            while start + sent < stop:
                data = opened.read(min(1 << 16, stop - start - sent))
                self.wfile.write(data)
                sent += len(data)
        return sent


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


@contextmanager
def serving(folder: Path, **how: Any) -> Iterator[Served]:
    """Run a loopback server for the duration of the block."""
    served = Served(folder, **how)
    server = _Server(("127.0.0.1", 0), partial(_Handler, served))
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
