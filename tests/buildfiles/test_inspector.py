"""Whether the CUDA driver has a device."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from trtlint.buildfiles import inspector


class Driver:
    """A CUDA driver that answers with fixed codes and a fixed number of devices."""

    def __init__(self, init: int, count: int, devices: int) -> None:
        self._init, self._count, self._devices = init, count, devices

    def cuInit(self, flags: int) -> int:  # noqa: N802 (the name in the driver)
        assert flags == 0
        return self._init

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802 (the name in the driver)
        count._obj.value = self._devices
        return self._count


@pytest.mark.parametrize(
    ("drivers", "expected"),
    [
        ({}, False),
        ({"libcuda.so.1": Driver(0, 0, 1)}, True),
        ({"nvcuda.dll": Driver(0, 0, 2)}, True),
        ({"libcuda.so.1": Driver(0, 0, 0), "nvcuda.dll": Driver(0, 0, 1)}, False),
        ({"libcuda.so.1": Driver(100, 0, 1)}, False),
        ({"libcuda.so.1": Driver(-1, 0, 1)}, False),
        ({"libcuda.so.1": Driver(0, 3, 1)}, False),
        ({"libcuda.so.1": Driver(0, -3, 1)}, False),
        ({"libcuda.so.1": object(), "nvcuda.dll": Driver(0, 0, 1)}, True),
    ],
)
def test_a_gpu_is_found(monkeypatch: pytest.MonkeyPatch, drivers: dict[str, object], expected: bool) -> None:
    def load(name: str) -> object:
        if name not in drivers:
            raise OSError(name)
        return drivers[name]

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert inspector._has_gpu() is expected
