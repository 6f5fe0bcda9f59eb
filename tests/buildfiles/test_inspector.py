"""Tests of engine layers: CUDA device detection, and errors of TensorRT."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.buildfiles import inspector
from trtlint.buildfiles.errors import BuildFileError


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


PLAN = b"ftrt" + bytes(20) + bytes([10, 8, 0, 43]) + bytes(100)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (BuildFileError("no\n layers"), "no layers"), (ImportError("a  b"), "a b"), (OSError("gone"), "gone"),
        (RuntimeError("x" * 201), "x" * 200), (TypeError("wrong"), "wrong"), (AttributeError("old"), "old"),
    ],
)  # fmt: skip
def test_an_engine_that_tensorrt_cannot_load(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, why: str
) -> None:
    def fail(name: str) -> object:
        raise error

    (tmp_path / "a.plan").write_bytes(PLAN)
    monkeypatch.setattr(inspector, "_has_gpu", lambda: True)
    monkeypatch.setattr(
        inspector,
        "importlib",
        SimpleNamespace(import_module=fail, util=SimpleNamespace(find_spec=lambda name: name == "tensorrt")),
    )
    assert inspector.inspect_plan(tmp_path / "a.plan") == f"tensorrt cannot load the engine ({why})"
