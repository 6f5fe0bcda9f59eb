"""Tests of remote files from a loopback server: parts, versions, redirects and wrong replies."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rangeserver import Served, serving
from trtlint.errors import SettingError
from trtlint.remote import file as far
from trtlint.remote.addresses import Address, parse
from trtlint.remote.file import RemoteError, RemoteFile, remote_file, require_packages, version_of

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

# These modules need the packages above.
from yarl import URL  # noqa: E402

from trtlint.remote.http import RedirectError, require_allowed  # noqa: E402
from trtlint.remote.model import RemoteView  # noqa: E402

SIZE = 1_000_003
CONTENT = random.Random(1).randbytes(SIZE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.onnx").write_bytes(CONTENT)
    return tmp_path


def opened(served: Served, path: str = "/m.onnx") -> RemoteFile:
    return remote_file(parse(f"{served.url}{path}"))


def refused(served: Served, path: str = "/m.onnx") -> str:
    with pytest.raises(RemoteError) as caught:
        opened(served, path).parts([(5, 10)])
    assert "\n" not in caught.value.message
    return caught.value.message


def test_parts_are_asked_for_at_once(folder: Path) -> None:
    spans = [(index * 50_000, index * 50_000 + 100) for index in range(12)]
    with serving(folder, together=5) as served:
        file = opened(served)
        assert (file.size, file.version, file.partial) == (SIZE, '"1"', True)
        assert file.parts(spans) == [CONTENT[start:stop] for start, stop in spans]
        assert served.most_at_once >= 5
        assert served.given < 12 * 100 + 10


def test_a_view_gives_what_the_file_holds(folder: Path) -> None:
    places = random.Random(2)
    with serving(folder) as served:
        view = RemoteView(opened(served))
        assert len(view) == SIZE
        for _ in range(60):
            start = places.randrange(SIZE)
            stop = min(SIZE, start + places.choice([0, 1, 3, 4096, 10_000]))
            assert view[start] == CONTENT[start]
            assert view[start:stop] == CONTENT[start:stop]
        assert view[SIZE - 1] == CONTENT[-1]
        assert view[5:3] == b""
        with pytest.raises(IndexError):
            view[SIZE]


def test_what_was_read_is_not_fetched_again(folder: Path) -> None:
    with serving(folder) as served:
        view = RemoteView(opened(served))
        assert view[100_000:140_000] == CONTENT[100_000:140_000]
        before = served.given
        assert view[100_010:139_990] == CONTENT[100_010:139_990]
        assert served.given == before


def test_a_few_blocks_are_read_ahead(folder: Path) -> None:
    with serving(folder) as served:
        view = RemoteView(opened(served))
        before = served.requests
        assert [view[place] for place in range(20_000)] == list(CONTENT[:20_000])
        assert served.requests - before == 1
        assert view[500_000] == CONTENT[500_000]
        assert served.requests - before == 2
        assert served.given < 60_000


def test_a_server_without_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(folder, ranges=False) as served:
        file = opened(served)
        assert not file.partial
        assert file.whole() == CONTENT
        monkeypatch.setattr(far, "WHOLE", 1000)
        given = served.given
        with pytest.raises(
            RemoteError, match="does not support range requests for this file of 0 MiB; download the file"
        ):
            file.whole()
        assert served.given - given < 100_000


@pytest.mark.parametrize("lie", ["whole", "long", "short", "earlier"])
def test_servers_that_lie_about_parts(folder: Path, lie: str) -> None:
    with serving(folder, lies=lie) as served:
        message = refused(served)
        assert "than requested" in message or "the requested part" in message


def test_a_file_that_changes_meanwhile(folder: Path) -> None:
    with serving(folder, lies="changing") as served:
        assert refused(served) == "cannot be read: the file changed while it was read"
    with serving(folder, etag="") as served:
        file = opened(served)
        assert file.version == ""
        file.require_unchanged()
        (folder / "m.onnx").write_bytes(CONTENT[:-1])
        with pytest.raises(RemoteError, match="changed"):
            file.require_unchanged()


@pytest.mark.parametrize(
    ("lie", "etag"),
    [
        ("drifting", '"1"'),
        ("drifting", 'W/"1"'),
        ("moving", '"1"'),
        ("moving", ""),
        ("growing", '"1"'),
        ("growing", ""),
    ],
)
def test_an_answer_about_another_version_is_refused_whatever_the_server_honours(
    folder: Path, lie: str, etag: str
) -> None:
    with serving(folder, lies=lie, etag=etag) as served:
        assert refused(served) == "cannot be read: the file changed while it was read"


def test_another_version_of_the_whole_file_is_refused(folder: Path) -> None:
    with (
        serving(folder, ranges=False, lies="drifting") as served,
        pytest.raises(RemoteError, match="changed"),
    ):
        opened(served).whole()


def test_a_server_without_versions_is_believed(folder: Path) -> None:
    with serving(folder, etag="") as served:
        assert opened(served).parts([(5, 10)]) == [CONTENT[5:10]]


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_what_the_server_says(folder: Path, status: int) -> None:
    with serving(folder, status=status) as served:
        assert f"the server returned {status}" in refused(served)


def test_nobody_is_there(folder: Path) -> None:
    with serving(folder) as served:
        pass
    assert refused(served).startswith("cannot be read: ")


def test_secrets_of_the_address_are_not_shown(folder: Path) -> None:
    with serving(folder) as served:
        pass
    assert "secret" not in refused(served, "/m.onnx?sig=secret")


def test_versions(folder: Path) -> None:
    with serving(folder) as served:
        address = parse(f"{served.url}/m.onnx")
        assert version_of(address) == f'"1" {SIZE}'
        served.etag = 'W/"1"'
        assert version_of(address) == ""
        served.status = 500
        assert version_of(address) == ""


def test_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(folder) as served:
        file = opened(served)
        monkeypatch.setattr(far, "_MOST_BYTES", 1000)
        with pytest.raises(RemoteError, match="needs more than the limit of"):
            file.parts([(0, 1001)])
        monkeypatch.setattr(far, "_SECONDS", 0.0)
        with pytest.raises(RemoteError, match="exceeded the limit of 0 s; download the file first"):
            opened(served).parts([(0, 1)])


class TestRedirects:
    def test_within_the_place_that_was_named(self, folder: Path) -> None:
        with serving(folder, redirects={"/a": "/m.onnx"}) as served:
            assert opened(served, "/a").parts([(3, 9)]) == [CONTENT[3:9]]

    @pytest.mark.parametrize(
        "target",
        [
            "https://127.0.0.1/m.onnx",
            "ftp://example.com/m.onnx",
            "file:///etc/passwd",
            "http://127.0.0.2:1/m.onnx",
            "http://localhost:1/m.onnx",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/m.onnx",
            "//10.0.0.1/m.onnx",
        ],
    )
    def test_elsewhere(self, folder: Path, target: str) -> None:
        with serving(folder, redirects={"/a": target}) as served:
            assert "redirects" in refused(served, "/a")

    def test_another_local_server_is_not_asked(self, folder: Path) -> None:
        with serving(folder) as other:
            with serving(folder, redirects={"/a": f"{other.url}/m.onnx"}) as served:
                assert "redirects to a local address" in refused(served, "/a")
            assert other.requests == 0

    def test_in_circles(self, folder: Path) -> None:
        with serving(folder, redirects={"/a": "/b", "/b": "/a"}) as served:
            assert refused(served, "/a").startswith("cannot be read: ")
            assert served.requests < 30

    @pytest.mark.parametrize(
        ("named", "target", "fine"),
        [
            ("https://a.example/m", "https://cdn.example/m", True),
            ("https://a.example/m", "https://93.184.216.34/m", True),
            ("https://a.example/m", "http://cdn.example/m", False),
            ("https://a.example/m", "https://a.example:8443/m", False),
            ("https://a.example/m", "https://10.0.0.1/m", False),
            ("https://10.0.0.1/m", "https://10.0.0.1/n", True),
            ("https://10.0.0.1/m", "https://10.0.0.2/n", False),
        ],
    )
    def test_what_is_allowed(self, named: str, target: str, fine: bool) -> None:
        if fine:
            require_allowed(URL(named), URL(target))
        else:
            with pytest.raises(RedirectError, match="not allowed"):
                require_allowed(URL(named), URL(target))


def test_other_file_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/m.onnx", CONTENT)
    monkeypatch.setattr(fsspec, "filesystem", lambda *_, **__: memory)
    address = Address("memory://bucket/m.onnx", "memory://bucket/m.onnx", "s3")
    file = remote_file(address)
    assert (file.size, file.partial) == (SIZE, True)
    assert file.parts([(1, 5), (10, 20)]) == [CONTENT[1:5], CONTENT[10:20]]
    assert RemoteView(file)[77] == CONTENT[77]
    with pytest.raises(RemoteError, match="no such file"):
        remote_file(Address("memory://bucket/n", "memory://bucket/n", "s3"))
    memory.rm("/bucket", recursive=True)


def test_systems_that_read_ahead_read_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec
    from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

    fetched: list[tuple[int, int]] = []

    class File(AbstractBufferedFile):  # type: ignore[misc]
        def _fetch_range(self, start: int, end: int) -> bytes:
            fetched.append((start, end))
            return CONTENT[start:end]

    class System(AbstractFileSystem):  # type: ignore[misc]
        infos = 0

        def info(self, path: str, **_: object) -> dict[str, object]:
            System.infos += 1
            return {"name": path, "size": SIZE, "type": "file", "blob_id": "1" if System.infos < 3 else "2"}

        def _open(self, path: str, mode: str = "rb", **more: Any) -> File:
            return File(self, path, mode, size=SIZE, **more)

    monkeypatch.setattr(fsspec, "filesystem", lambda *_, **__: System(skip_instance_cache=True))
    file = remote_file(Address("hf://o/r/m.onnx", "hf://o/r/m.onnx", "hf"))
    assert file.parts([(0, 10), (5000, 5010)]) == [CONTENT[:10], CONTENT[5000:5010]]
    assert sorted(fetched) == [(0, 10), (5000, 5010)]
    file.require_unchanged()
    with pytest.raises(RemoteError, match="changed"):
        file.require_unchanged()


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "find_spec", lambda name: None if name == "s3fs" else object())
    require_packages(parse("https://example.com/m.onnx"))
    with pytest.raises(SettingError, match=r'needs s3fs; run pip install .*"s3fs>='):
        require_packages(parse("s3://bucket/m.onnx"))


class System:
    """A file system in memory that records its requests."""

    def __init__(self, **known: Any) -> None:
        self.known = {"size": 100, **known}
        self.calls: list[Any] = []
        self.content = bytes(range(100))

    def _strip_protocol(self, url: str) -> str:
        return url.partition("://")[2]

    def info(self, path: str) -> dict[str, Any]:
        self.calls.append(("info", path))
        return self.known

    def invalidate_cache(self) -> None:
        self.calls.append("invalidate")

    def cat_file(self, path: str, start: int = 0, stop: int | None = None, **more: Any) -> bytes:
        self.calls.append((path, start, stop, more))
        return self.content[start:stop]


class Concurrent(System):
    """A file system that reads several parts at once."""

    async_impl = True

    def cat_ranges(self, paths: list[str], starts: list[int], stops: list[int], **more: Any) -> list[bytes]:
        self.calls.append((paths, starts, stops, more))
        return [self.content[start:stop] for start, stop in zip(starts, stops, strict=True)]


def on(system: System, monkeypatch: pytest.MonkeyPatch, scheme: str = "s3") -> RemoteFile:
    """Return a file of 100 bytes on a file system."""
    import fsspec

    def made(name: str, **more: Any) -> System:
        assert (name, more) == (scheme, {"skip_instance_cache": True})
        return system

    monkeypatch.setattr(fsspec, "filesystem", made)
    monkeypatch.setattr("trtlint.remote.http.HttpRanges", lambda _: system)
    return remote_file(parse(f"{scheme}://bucket/m.onnx"))


@pytest.mark.parametrize(
    ("known", "version", "partial"),
    [
        ({}, "", True),
        ({"ETag": '"1"', "etag": "2", "VersionId": "3", "blob_id": "4"}, '"1"', True),
        ({"ETag": "", "etag": "2", "VersionId": "3", "blob_id": "4"}, "2", True),
        ({"VersionId": 3, "blob_id": "4", "partial": False}, "3", False),
        ({"blob_id": "4", "partial": True}, "4", True),
        ({"ETag": 'W/"1"', "blob_id": "4"}, "", True),
    ],
)
def test_what_a_file_system_knows(
    known: dict[str, Any], version: str, partial: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System(**known)
    file = on(system, monkeypatch)
    assert (file.size, file.version, file.partial, file.fetched) == (100, version, partial, 0)
    assert system.calls == [("info", "bucket/m.onnx")]
    assert version_of(parse("s3://bucket/m.onnx")) == (f"{version} 100" if version else "")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"type": "directory"}, "this is a folder; give the addresses of the model files in it"),
        ({"size": None}, "the server does not report the size of the file"),
        ({"size": "100"}, "the server does not report the size of the file"),
    ],
)
def test_files_without_a_size(known: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RemoteError) as caught:
        on(System(**known), monkeypatch)
    assert caught.value.message == message


def test_parts_and_their_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System()
    file = on(system, monkeypatch)
    assert file.parts([(0, 10), (90, 100)]) == [system.content[:10], system.content[90:]]
    assert file.fetched == 20
    path, plain = "bucket/m.onnx", {"cache_type": "none"}
    assert sorted(system.calls[1:], key=lambda call: int(call[1])) == [
        (path, 0, 10, plain),
        (path, 90, 100, plain),
    ]
    assert file.whole() == system.content
    assert file.fetched == 120
    assert system.calls[-1] == (path, 0, None, {})
    with pytest.raises(RemoteError, match=r"^the server returned fewer bytes than requested$"):
        file.parts([(0, 10), (90, 101)])


@pytest.mark.parametrize(
    ("scheme", "etag", "more", "whole"),
    [
        ("s3", '"1"', {}, {}),
        ("https", '"1"', {"etag": '"1"'}, {"most": 100, "etag": '"1"'}),
        ("https", "1", {"etag": ""}, {"most": 100, "etag": ""}),
    ],
)
def test_parts_at_once(
    scheme: str, etag: str, more: dict[str, Any], whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Concurrent(ETag=etag)
    file = on(system, monkeypatch, scheme)
    path = "bucket/m.onnx" if scheme == "s3" else "https://bucket/m.onnx"
    assert file.parts([(0, 10), (90, 100)]) == [system.content[:10], system.content[90:]]
    many = {"batch_size": 16, "on_error": "raise"}
    assert system.calls[1:] == [([path] * 2, [0, 90], [10, 100], {**many, **more})]
    file.whole()
    assert system.calls[-1] == (path, 0, None, whole)


@pytest.mark.parametrize(
    ("etag", "asks"),
    [("", True), ("1", True), ('"1"', False)],
)
def test_a_change_is_noticed_after_the_last_part(
    etag: str, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for change in ({}, {"size": 101}, {"ETag": "2"}):
        system = System(ETag=etag)
        file = on(system, monkeypatch, "https")
        system.known.update(change)
        if asks and change:
            with pytest.raises(RemoteError, match=r"^the file changed while it was read$"):
                file.require_unchanged()
        else:
            file.require_unchanged()
        expected = ["invalidate", ("info", "https://bucket/m.onnx")] if asks else []
        assert system.calls[1:] == expected


def test_a_whole_file_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System()
    file = on(system, monkeypatch)
    system.content += b"0"
    with pytest.raises(RemoteError, match=r"^the file changed while it was read$"):
        file.whole()


def test_the_largest_file_without_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    file = on(System(size=16 << 20), monkeypatch)
    with pytest.raises(RemoteError, match=r"^the file changed while it was read$"):
        file.whole()
    file = on(System(size=(16 << 20) + 1), monkeypatch)
    with pytest.raises(RemoteError) as caught:
        file.whole()
    assert caught.value.message == (
        "the server does not support range requests for this file of 16 MiB; "
        "download the file and lint the copy"
    )


def test_the_most_bytes_of_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = on(System(size=1 << 30), monkeypatch)
    file.parts([(0, 10)])
    with pytest.raises(RemoteError, match="fewer bytes"):
        file.parts([(10, 100), (100, 256 << 20)])
    assert file.fetched == 256 << 20
    with pytest.raises(RemoteError) as caught:
        file.parts([(0, 1)])
    assert caught.value.message == (
        "reading the remote file needs more than the limit of 256 MiB; download the file first"
    )


def test_the_most_seconds_of_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(far, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    file = on(System(), monkeypatch)
    clock[0] = 1600.0
    assert file.parts([(0, 1)]) == [b"\0"]
    clock[0] = 1600.5
    with pytest.raises(RemoteError) as caught:
        file.whole()
    assert caught.value.message == (
        "reading the remote file exceeded the limit of 600 s; download the file first"
    )


@pytest.mark.parametrize(
    ("missing", "address", "words"),
    [
        ((), "s3://b/m.onnx", ""),
        (("aiohttp",), "s3://b/m.onnx", ""),
        (("fsspec",), "s3://b/m.onnx", "fsspec"),
        (("huggingface_hub",), "hf://o/r/m.onnx", "huggingface_hub"),
        (("fsspec", "aiohttp"), "https://b/m.onnx?a=secret", "fsspec and aiohttp"),
    ],
)
def test_packages_of_each_scheme(
    missing: tuple[str, ...], address: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far, "find_spec", lambda name: None if name in missing else object())
    given = parse(address)
    if not words:
        require_packages(given)
        return
    with pytest.raises(SettingError) as caught:
        require_packages(given)
    assert str(caught.value).startswith(f"{given.name}: needs {words}; run pip install ")
