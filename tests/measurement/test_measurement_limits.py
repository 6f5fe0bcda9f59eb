"""Tests of limits for measurement files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trtlint.measurement import measurement
from trtlint.measurement.measurement import UnusableMeasurementError, read_measurement


def test_a_file_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "_MOST_BYTES", 1 << 10)
    file = tmp_path / "ranges.json"
    file.write_text("[" + "[]," * 1000 + "[]]", encoding="utf-8")
    with pytest.raises(UnusableMeasurementError, match="longer than 1 KiB, the limit for this kind of file"):
        read_measurement(file)


@pytest.mark.isolated
def test_the_work_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> bytes:
        deadline = time.process_time() + 30
        while time.process_time() < deadline:
            pass
        return b""

    monkeypatch.setattr(measurement, "read_bytes", endless)
    monkeypatch.setattr("trtlint.files.limits.SECONDS", 0.3)
    with pytest.raises(UnusableMeasurementError, match=r"exceeded the limit of 0\.3 s of processor time"):
        read_measurement(tmp_path / "ranges.json")
