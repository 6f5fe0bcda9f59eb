"""Addresses of models that lie elsewhere: ``https://``, ``hf://``, ``s3://``.

Only what the user names is an address: nothing that stands in a model, a configuration or a baseline is ever
taken for one.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import field
from urllib.parse import urlsplit

from trtlint.errors import SettingError
from trtlint.lean import dataclass

PACKAGES = {"https": "aiohttp", "http": "aiohttp", "hf": "huggingface_hub", "s3": "s3fs"}
"""Schemes, and the package that fsspec reads each with."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_LONGEST = 4096
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


class AddressError(SettingError):
    """An address that cannot be read from; the text says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address as the user named it.

    Attributes:
        url: the whole of it.
        name: what it is called in reports: without what may be secret in it, its query and its fragment.
        scheme: in lower case.
    """

    url: str = field(repr=False)
    name: str
    scheme: str


def is_address(text: str) -> bool:
    """Whether a word of the command line is an address and no path."""
    return _ADDRESS.match(text) is not None


def parse(text: str) -> Address:
    """The address that a word is.

    Raises:
        AddressError: it is none that can be read from.
    """
    match = _ADDRESS.match(text)
    scheme = match[1].lower() if match is not None else ""
    shown = text.partition("?")[0].partition("#")[0]
    if scheme not in PACKAGES:
        known = ", ".join(f"{name}://" for name in PACKAGES if name != "http")
        raise AddressError(f"{shown}: there is no {scheme}://, only {known}")
    if len(text) > _LONGEST or _CONTROL.search(text) or "::" in text.partition("://")[2].rpartition("]")[2]:
        raise AddressError(f"{shown[:200]!r} is no address")
    try:
        parts = urlsplit(text)
        host, secret = parts.hostname, parts.username is not None or parts.password is not None
        _ = parts.port
    except ValueError as error:
        raise AddressError(f"{shown}: {error}") from None
    if scheme in ("http", "https") and secret:
        raise AddressError(f"{scheme}://{host}: an address with a password ends up in logs")
    if scheme == "http" and not is_loopback(host or ""):
        raise AddressError(f"{shown}: http:// is for this machine alone; use https://")
    return Address(text, shown, scheme)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone."""
    if host == "localhost":
        return True
    address = literal(host)
    return address is not None and address.is_loopback


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a host is written as, None for a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an IP address is one of the public network; not so this machine's and its neighbours'."""
    return address.is_global and not address.is_multicast
