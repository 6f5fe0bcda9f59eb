"""Tests of the number of listed sites per finding."""

from __future__ import annotations

import pytest

from trtlint.report import json
from trtlint.report.json import _share


@pytest.mark.parametrize(
    ("counts", "share"),
    [([], 10), ([4, 6], 10), ([4, 7], 6), ([20], 10), ([7, 7, 7], 3), ([1, 9, 9], 4), ([9] * 20, 1)],
)
def test_sites_are_shared_in_whole_numbers(
    counts: list[int], share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json, "_MOST_SITES", 10)
    found = _share(counts)
    assert found == share
    assert isinstance(found, int)
