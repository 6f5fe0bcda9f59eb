"""What is an address, and what of it may be read and shown."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.remote.addresses import AddressError, is_address, is_loopback, is_public, literal, parse


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://example.com/a/m.onnx", "https://example.com/a/m.onnx"),
        ("HTTPS://example.com/m.onnx?sig=secret#x", "HTTPS://example.com/m.onnx"),
        ("hf://owner/repository@main/onnx/model.onnx", "hf://owner/repository@main/onnx/model.onnx"),
        ("s3://bucket/key/m.onnx", "s3://bucket/key/m.onnx"),
        ("http://127.0.0.1:80/m.onnx", "http://127.0.0.1:80/m.onnx"),
        ("https://[::1]:8000/m.onnx", "https://[::1]:8000/m.onnx"),
    ],
)
def test_addresses(text: str, name: str) -> None:
    assert is_address(text)
    address = parse(text)
    assert (address.url, address.name) == (text, name)
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ftp://example.com/m.onnx", "unsupported address"),
        ("file:///etc/passwd", "unsupported address"),
        ("simplecache::https://example.com/m", "unsupported address"),
        ("https://example.com/zip::m.onnx", "is not a valid address"),
        ("https://user:secret@example.com/m.onnx", "would appear in logs"),
        ("http://example.com/m.onnx", "use https"),
        ("http://10.0.0.1/m.onnx", "use https"),
        ("https://example.com/a b.onnx", "is not a valid address"),
        ("https://example.com/\r\nX: y", "is not a valid address"),
        ("https://example.com:99999/m.onnx", "out of range"),
        ("https://" + "x" * 5000, "is not a valid address"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


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
            except AddressError as error:
                assert "\n" not in str(error)
