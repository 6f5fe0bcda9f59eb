"""Tests of remote addresses: valid forms, readable parts and displayed parts."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.errors import SettingError
from trtlint.remote.addresses import is_address, is_loopback, is_public, literal, parse, require_local


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://example.com/a/m.onnx", "https://example.com/a/m.onnx"),
        ("HTTPS://example.com/m.onnx?sig=secret#x", "HTTPS://example.com/m.onnx"),
        ("hf://owner/repository@main/onnx/model.onnx", "hf://owner/repository@main/onnx/model.onnx"),
        ("hf://gpt2@main/onnx/model.onnx", "hf://gpt2@main/onnx/model.onnx"),
        ("s3://bucket/key/m.onnx", "s3://bucket/key/m.onnx"),
        ("http://127.0.0.1:80/m.onnx", "http://127.0.0.1:80/m.onnx"),
        ("https://[::1]:8000/m.onnx", "https://[::1]:8000/m.onnx"),
    ],
)
def test_addresses(text: str, name: str) -> None:
    assert is_address(text)
    address = parse(text)
    assert (address.url, address.name) == (text, name)
    assert repr(address) == f"Address(name={name!r}, scheme={text.partition(':')[0].lower()!r})"


_KNOWN = "unsupported address; use one of https://, hf://, s3://"
_LOCAL = "http:// is allowed only for a server on this machine; use https://"
_SECRET = "https://example.com: remove the password from the address, because logs would show the password"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://example.com/m.onnx", f"ftp://example.com/m.onnx: {_KNOWN}"),
        ("file:///etc/passwd?a=secret#b", f"file:///etc/passwd: {_KNOWN}"),
        ("m.onnx", f"m.onnx: {_KNOWN}"),
        ("simplecache::https://example.com/m", f"simplecache::https://example.com/m: {_KNOWN}"),
        ("https://example.com/zip::m.onnx", "'https://example.com/zip::m.onnx' is not a valid address"),
        ("https://[::1]/zip::m.onnx", "'https://[::1]/zip::m.onnx' is not a valid address"),
        ("https://user:secret@example.com/m.onnx", _SECRET),
        ("https://user@example.com/m.onnx", _SECRET),
        ("https://:secret@example.com/m.onnx", _SECRET),
        ("ftp://user:secret@example.com/m.onnx", f"ftp://example.com/m.onnx: {_KNOWN}"),
        (
            "https://secret@example.com:99999/m.onnx",
            "https://example.com:99999/m.onnx: Port out of range 0-65535",
        ),
        ("https://user:secret@example.com/a b", "'https://example.com/a b' is not a valid address"),
        ("http://user@127.0.0.1/m.onnx", _SECRET.replace("https://example.com", "http://127.0.0.1")),
        ("ftp://user:sec@ret?or#x@example.com/m.onnx", f"ftp://example.com/m.onnx: {_KNOWN}"),
        ("http://example.com/m.onnx?a=secret", f"http://example.com/m.onnx: {_LOCAL}"),
        ("http://10.0.0.1/m.onnx", f"http://10.0.0.1/m.onnx: {_LOCAL}"),
        ("http:///m.onnx", f"http:///m.onnx: {_LOCAL}"),
        ("https://example.com/a b.onnx", "'https://example.com/a b.onnx' is not a valid address"),
        ("https://example.com/\x7f", "'https://example.com/\\x7f' is not a valid address"),
        ("https://example.com/\r\nX: y", "'https://example.com/\\r\\nX: y' is not a valid address"),
        ("https://example.com:99999/m.onnx", "https://example.com:99999/m.onnx: Port out of range 0-65535"),
        ("https://" + "x" * 4089, f"'https://{'x' * 192}' is not a valid address"),
        ("https://x" * 5000, f"{('https://x' * 23)[:200]!r} is not a valid address"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_the_longest_address() -> None:
    assert parse("https://" + "x" * 4088).scheme == "https"
    assert parse("hf://owner@main/m.onnx").scheme == "hf"


@pytest.mark.parametrize("text", ["m.onnx", "c:/m.onnx", r"C:\m.onnx", "a/b://c", "https:/x", "-", ""])
def test_paths(text: str) -> None:
    assert not is_address(text)


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("[::1]", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:127.0.0.1", False),
    ],
)
def test_public_addresses(host: str, public: bool) -> None:
    address = literal(host)
    assert address is not None
    assert is_public(address) is public


def test_loopback_by_name_alone() -> None:
    assert is_loopback("localhost")
    assert is_loopback("127.8.8.8")
    assert not is_loopback("localhost.example.com")
    assert literal("example.com") is None


@given(st.ip_addresses(v=4))
def test_mapped_addresses_are_what_they_map_to(address: ipaddress.IPv4Address) -> None:
    mapped = literal(f"::ffff:{address}")
    assert mapped is not None
    assert is_public(mapped) == is_public(address)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for word in (text, f"https://{text}", f"http://{text}", f"s3://{text}"):
        if is_address(word):
            try:
                parse(word)
            except SettingError as error:
                assert "\n" not in str(error)


def test_remote_models_are_refused() -> None:
    require_local(["m.onnx", "https"])
    with pytest.raises(SettingError) as error:
        require_local(["m.onnx", "https://user:secret@example.org/m.onnx?token=1#secret"])
    assert str(error.value) == "https://example.org/m.onnx: this is a remote model; download the file first"
