"""Tests of damaged cache entries with any checksum."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.runs import cache


@pytest.mark.parametrize("checksum", [b"", b"0", b"~", b"f" * 64, b"0" * 64])
def test_an_entry_of_another_checksum_is_not_read(checksum: bytes, tmp_path: Path) -> None:
    entry = tmp_path / "cache" / "ab" / "entry"
    cache.write(entry, b"data")
    assert cache.read(entry) == b"data"
    entry.write_bytes(checksum + b"\ndata")
    assert cache.read(entry) is None
    assert cache.read(entry.with_name("missing")) is None
