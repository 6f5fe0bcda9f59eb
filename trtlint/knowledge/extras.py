"""Find the command that installs the packages of an extra, such as ``trtlint[parquet]``.

trtlint is not on PyPI, so users cannot install ``trtlint[parquet]`` by name.  Messages therefore name the
packages of the extra.  These names work for every installation: from a checkout, a Git URL, or a wheel.
trtlint reads the names from the metadata of the installation:
https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use
"""

from __future__ import annotations

import re

_MARKERS = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_PLATFORMS = {"rtx": "Linux and Windows on x86-64"}
"""Extras whose packages exist for some platforms only. Each extra comes with the names of its platforms."""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, and the platforms that its packages require.

    >>> how_to_install("parquet")
    'pip install "pyarrow>=15"'
    """
    packages = packages_of(extra)
    if packages:
        command = "pip install " + " ".join(map(_quoted, packages))
    else:  # run from a checkout that is not installed
        command = f'pip install ".[{extra}]" in the checkout of trtlint'
    return command + (f" ({_PLATFORMS[extra]})" if extra in _PLATFORMS else "")


def packages_of(extra: str) -> list[str]:
    """Return the packages of an extra as requirements, without environment markers."""
    from importlib import metadata

    try:
        requirements = metadata.requires("trtlint") or ()
    except metadata.PackageNotFoundError:
        requirements = ()
    split = (text.partition(";") for text in requirements)
    return [text.strip() for text, _, condition in split if extra in _MARKERS.findall(condition)]


def _quoted(requirement: str) -> str:
    """Quote a requirement for shells.  Double quotes are used, because Windows has no other quotes."""
    return f'"{requirement}"' if re.search(r"[^\w.-]", requirement) else requirement
