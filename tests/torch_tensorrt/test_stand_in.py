"""Tests of Torch-TensorRT imports with a fake GPU and a fake TensorRT."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from trtlint.torch_tensorrt._stand_in import StandInError, _copied, _Members, install, remove_checks


class Algorithm:
    """A class of the bindings."""


def bindings() -> ModuleType:
    """Return a fake Python API of TensorRT-RTX."""
    made = ModuleType("tensorrt_rtx_bindings")
    made.__file__ = "/bindings.so"
    flags = SimpleNamespace(STRONGLY_TYPED=7)
    vars(made).update(
        NetworkDefinitionCreationFlag=flags,
        IAlgorithm=Algorithm,
        Builder="builder",
        ComputeCapability=SimpleNamespace(SM89=1, SM120=2),
    )
    return made


def wheel(folder: Path, version: str, **more: str) -> str:
    """Return an unpacked wheel."""
    package = folder / "torch_tensorrt"
    (package / "lib").mkdir(parents=True)
    (package / "dynamo").mkdir()
    files = {
        "__init__.py": "__version__ = 'own'\n",
        "_version.py": version,
        "_Device.py": "class Device:\n    pass\n",
        "dynamo/code.py": "",
        "lib/code.py": "",
        **dict.fromkeys(("a.so", "a.so.1", "a.dll", "a.pyd", "dynamo/b.so"), ""),
        **more,
    }
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    return str(folder)


PASSES: list[Any] = []
PASS_MODULE = "torch_tensorrt.dynamo.lowering.passes._aten_lowering_pass"


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install fake torch and bindings, and remove all imports afterwards."""
    made = ModuleType("torch")
    vars(made).update(
        cuda=SimpleNamespace(), _C=SimpleNamespace(), device=lambda name: f"device {name}", __version__="2.13"
    )
    names = (
        "torch_tensorrt", "torch_tensorrt._Device", "tensorrt", "tensorrt.tensorrt", "tensorrt.plugin",
        "tensorrt.plugin._lib",
    )  # fmt: skip
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"version of {name}")
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"numpy": ["numpy"]})
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", bindings())
    passes = SimpleNamespace(add_pass_with_index=lambda *given: PASSES.append(given))
    monkeypatch.setitem(sys.modules, PASS_MODULE, SimpleNamespace(ATEN_POST_LOWERING_PASSES=passes))
    PASSES.clear()
    return made


def test_torch_reports_the_gpu_of_the_build(torch: Any, tmp_path: Path) -> None:
    folder = wheel(tmp_path / "wheel", "__version__ = '2.13.0'")
    package = install("2.13.0", "10.16.1", [121, 120, 89], folder, tmp_path / "scratch")
    assert package.__version__ == "own"
    assert importlib.import_module("torch_tensorrt._Device").Device.to(1, 2) == "device cpu"
    found = {name: answer("any", more=1) for name, answer in vars(torch.cuda).items()}
    properties = found.pop("get_device_properties")
    memory = 24 << 30
    assert found == {
        "get_device_capability": (12, 0), "get_device_name": "stand-in", "current_device": 0,
        "device_count": 1, "mem_get_info": (memory, memory), "set_device": None, "empty_cache": None,
        "synchronize": None,
    }  # fmt: skip
    kind = torch._C._CudaDeviceProperties
    assert isinstance(properties, kind)
    assert (kind.major, kind.minor, kind.total_memory, kind.multi_processor_count) == (12, 0, memory, 58)
    assert sys.path[0] == str(tmp_path / "scratch")


def test_tensorrt_is_the_api_of_the_bindings(torch: Any, tmp_path: Path) -> None:
    install("2.13.0", "10.16.1", [89], wheel(tmp_path / "w", "__version__ = '2.13.1'"), tmp_path / "scratch")
    trt: Any = importlib.import_module("tensorrt")
    assert (trt.__name__, trt.__version__, trt.__file__, trt.__path__) == (
        "tensorrt", "10.16.1.0", "/bindings.so", [],
    )  # fmt: skip
    assert (trt.__loader__, trt.__package__, trt.__spec__.name, trt._package_name) == (
        None, "tensorrt", "tensorrt", "tensorrt",
    )  # fmt: skip
    assert trt.tensorrt is trt is importlib.import_module("tensorrt.tensorrt")
    assert (trt.Builder, trt.IAlgorithm, trt.init_libnvinfer_plugins(1, "")) == ("builder", Algorithm, True)
    assert trt.IAlgorithmSelector().__class__.__name__ == "IAlgorithmSelector"
    flags = trt.NetworkDefinitionCreationFlag
    assert (flags.EXPLICIT_BATCH, flags.STRONGLY_TYPED) == (0, 7)
    plugin: Any = importlib.import_module("tensorrt.plugin")
    inner: Any = importlib.import_module("tensorrt.plugin._lib")
    assert trt.plugin is plugin
    assert (plugin.Any.__name__, inner.Other.__name__) == ("Any", "Other")
    assert not any(hasattr(each, "__all__") for each in (plugin, inner))
    names = ("tensorrt", "tensorrt-cu12", "tensorrt-cu13", "tensorrt_cu12", "tensorrt_cu13", "numpy")
    assert list(map(importlib.metadata.version, names)) == ["10.16.1.0"] * 5 + ["version of numpy"]
    assert importlib.metadata.packages_distributions() == {
        "numpy": ["numpy"], "torch_tensorrt": ["torch-tensorrt"],
    }  # fmt: skip


def test_a_library_with_plugins_keeps_its_function(
    torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = bindings()
    vars(own).update(init_libnvinfer_plugins=lambda *_: "own")
    monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", own)
    install("2.13.0", "10.16.1", [89], wheel(tmp_path / "w", "__version__ = '2.13.1'"), tmp_path / "scratch")
    assert importlib.import_module("tensorrt").init_libnvinfer_plugins() == "own"


@pytest.mark.parametrize(("release", "added"), [("2.6.1", [(remove_checks, 0)]), ("2.7.0", [])])
def test_checks_are_removed_for_2_6_only(torch: Any, tmp_path: Path, release: str, added: list[Any]) -> None:
    install(release, "10.7", [89], wheel(tmp_path / "w", f"__version__ = '{release}'"), tmp_path / "scratch")
    assert added == PASSES


@pytest.mark.parametrize(
    ("missing", "version", "words"),
    [
        ("torch", "2.13.0", "torch cannot be imported: import of torch halted; None in sys.modules"),
        (
            "tensorrt_rtx_bindings",
            "2.13.0+cu130",
            "the wheels of TensorRT-RTX cannot be imported: "
            "import of tensorrt_rtx_bindings halted; None in sys.modules",
        ),
        ("", "2.12.0", "torch-tensorrt 2.12.0 is installed, not 2.13.0"),
        ("", "3.13.0", "torch-tensorrt 3.13.0 is installed, not 2.13.0"),
    ],
)
def test_missing_packages(
    torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, version: str, words: str
) -> None:
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    folder = wheel(tmp_path / "w", f"__version__ = '{version}'")
    with pytest.raises(StandInError) as error:
        install("2.13.0", "10.16.1", [89], folder, tmp_path / "scratch")
    assert str(error.value) == words


def test_a_package_that_cannot_be_imported(torch: Any, tmp_path: Path) -> None:
    folder = wheel(tmp_path / "w", "__version__ = '2.13.0+cpu'", **{"__init__.py": "raise KeyError(3)"})
    with pytest.raises(StandInError) as error:
        install("2.13.5", "10.16.1", [89], folder, tmp_path / "scratch")
    assert str(error.value) == "torch-tensorrt 2.13.0+cpu cannot be imported here: KeyError(3)"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('x = 1\n__version__="2.13.0+cu130"\n', "2.13.0+cu130"),
        ("__version__  =  '2.7.0'", "2.7.0"),
        (f"__version__ = '{'1' * 41}'", "1" * 40),
        ("version = '2.7.0'", "unknown"),
    ],
)
def test_python_files_of_a_wheel_are_copied(tmp_path: Path, text: str, version: str) -> None:
    assert _copied(wheel(tmp_path / "wheel", text), tmp_path) == version
    copy = tmp_path / "torch_tensorrt"
    files = sorted(str(each.relative_to(copy)) for each in copy.rglob("*") if each.is_file())
    assert files == ["_Device.py", "__init__.py", "_version.py", "dynamo/code.py"]


def test_the_package_of_this_python_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StandInError) as error:
        _copied(None, tmp_path)
    assert str(error.value) == "the package torch-tensorrt is not installed in this Python"
    monkeypatch.syspath_prepend(wheel(tmp_path / "installed", "__version__ = '2.9.0'"))
    assert _copied(None, tmp_path) == "2.9.0"
    assert (tmp_path / "torch_tensorrt" / "_Device.py").is_file()


def test_members_of_an_enumeration() -> None:
    class Base:
        OWN = 3
        NOTHING = None

        def __init__(self, value: int = 0) -> None:
            self.value = value

    members = _Members(Base, {"OWN": 5, "MORE": 6})
    assert (members.OWN, members.MORE, members.NOTHING) == (3, 6, None)
    assert members(4).value == 4
    with pytest.raises(AttributeError, match="MISSING"):
        members.MISSING  # noqa: B018
