"""Parse addresses of remote models: ``https://``, ``hf://``, ``s3://``.

Addresses are accepted only from the command line and the Python API.  trtlint never opens a URL in a model, a
configuration or a baseline.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct

from trtlint.errors import SettingError

PACKAGES = {"https": "aiohttp", "http": "aiohttp", "hf": "huggingface_hub", "s3": "s3fs"}
"""For each scheme, the name of the package that fsspec needs."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/]*@")
"""Pattern of a user name and a password.  Both may contain ``@``, ``?`` or ``#``, although URLs forbid it."""
_LONGEST = 4096
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


class Address(Struct, frozen=True):
    """A remote address.

    Attributes:
        url: the full address.
        name: the address for reports, without the parts that may contain secrets.
        scheme: the scheme in lower case, such as ``https``.
    """

    url: str
    name: str
    scheme: str

    def __repr__(self) -> str:
        return f"Address(name={self.name!r}, scheme={self.scheme!r})"


def is_address(text: str) -> bool:
    """Return whether a command-line argument is an address and not a path."""
    return _ADDRESS.match(text) is not None


def parse(text: str) -> Address:
    """Parse an address.

    Raises:
        SettingError: the address is invalid, or its scheme is not supported.
    """
    match = _ADDRESS.match(text)
    scheme = match[1].lower() if match is not None else ""
    shown = _shown(text)
    if scheme not in PACKAGES:
        known = ", ".join(f"{name}://" for name in PACKAGES if name != "http")
        raise SettingError(f"{shown}: unsupported address; use one of {known}")
    if len(text) > _LONGEST or _CONTROL.search(text) or "::" in text.partition("://")[2].rpartition("]")[2]:
        raise SettingError(f"{shown[:200]!r} is not a valid address")
    try:
        parts = urlsplit(text)
        host, secret = parts.hostname, parts.username is not None or parts.password is not None
        _ = parts.port
    except ValueError as error:
        raise SettingError(f"{shown}: {error}") from None
    if scheme in ("http", "https") and secret:
        raise SettingError(
            f"{scheme}://{host}: remove the password from the address, because logs would show the password"
        )
    if scheme == "http" and not is_loopback(host or ""):
        raise SettingError(f"{shown}: http:// is allowed only for a server on this machine; use https://")
    return Address(text, shown, scheme)


def require_local(names: Iterable[str]) -> None:
    """Check that no model is remote.

    Raises:
        SettingError: a model is remote.
    """
    for name in filter(is_address, names):
        raise SettingError(f"{_shown(name)}: this is a remote model; download the file first")


def _shown(text: str) -> str:
    """Return an address without the parts that may contain secrets: query, fragment, user and password."""
    # The text before an @ in hf://gpt2@main is the name of a repository.
    shown = text if text.lower().startswith("hf://") else _USER.sub("", text)
    return shown.partition("?")[0].partition("#")[0]


def is_loopback(host: str) -> bool:
    """Return whether a host, such as ``localhost`` or ``127.0.0.1``, is this machine.

    The function does not resolve host names other than ``localhost``.
    """
    if host == "localhost":
        return True
    address = literal(host)
    return address is not None and address.is_loopback


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address in ``host``, such as ``127.0.0.1``, or None if ``host`` is a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an IP address is public.  Loopback, private and multicast addresses are not public."""
    return address.is_global and not address.is_multicast
