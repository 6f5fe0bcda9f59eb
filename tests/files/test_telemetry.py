"""Tests that other packages send nothing and do not write to the user's cache folder."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from trtlint.compare.comparison import available
from trtlint.files import telemetry
from trtlint.process.spawn import Limits, run

RUNTIMES = {"onnxruntime", "polygraphy"}
HOME = Path("trtlint/files/telemetry.py")
NAFNET = REPOSITORY / "examples" / "nafnet.onnx"


def called(call: ast.Call) -> str:
    """Return the name of the called function without its module."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ast.unparse(function)


def imported(source: str) -> Iterator[str]:
    """Yield the imported packages of a module, including names passed to import functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and called(node).endswith(("import_module", "__import__")):
            for argument in node.args:
                text = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                yield str(text).lstrip("f'\"").partition(".")[0]


def test_runtimes_are_imported_in_one_place_alone() -> None:
    found = {
        file.relative_to(REPOSITORY)
        for file in (REPOSITORY / "trtlint").rglob("*.py")
        if any(name in (source := file.read_text(encoding="utf-8")) for name in RUNTIMES)
        and RUNTIMES & set(imported(source))
    }
    assert found == {HOME}


def test_each_way_to_import_is_seen() -> None:
    for source in (
        "import onnxruntime as ort",
        "from polygraphy.backend import onnxrt",
        "importlib.import_module('onnxruntime.capi')",
        "import_module(f'polygraphy.{name}')",
    ):
        assert RUNTIMES & set(imported(source)), source


def test_telemetry_is_off_before_the_runtime_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    class Runtime:
        @staticmethod
        def disable_telemetry_events() -> None:
            calls.append("events")

    def import_module(name: str) -> object:
        calls.append((name, os.environ.get("ORT_DISABLE_TELEMETRY")))
        return Runtime

    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")
    monkeypatch.setattr(telemetry, "import_module", import_module)
    telemetry.onnx_runtime()
    assert calls == [("onnxruntime", "1"), "events"]
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"


def test_every_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in telemetry.SILENT:
        monkeypatch.setenv(name, "0")
    ended = run(
        "tests.process.childwork",
        {"do": "environment", "names": list(telemetry.SILENT)},
        Limits(60),
        paths=(str(REPOSITORY),),
    )
    assert ended.answers[-1] == dict(telemetry.SILENT)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
@pytest.mark.parametrize(
    "arguments",
    [
        ["measure", str(NAFNET), "--inputs", str(NAFNET.with_suffix(".npz"))],
        ["fix", str(NAFNET), "--verify", "-o", "fixed.onnx", "--trt", "10.7", "--fp16"],
    ],
    ids=["measure", "verify"],
)
def test_no_file_appears_in_the_cache_folder_of_the_user(arguments: list[str], tmp_path: Path) -> None:
    if arguments[0] == "fix" and not available():
        pytest.skip("the packages of --verify are not installed")
    folders = {name: tmp_path / name.lower() for name in ("XDG_CACHE_HOME", "HOME", "XDG_CONFIG_HOME")}
    for folder in folders.values():
        folder.mkdir()
    hidden = {*telemetry.SILENT, "CI", "GITHUB_ACTIONS"}  # in which the runtime sends nothing anyway
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-m", "trtlint", *arguments]
    environment = (
        kept | {name: str(folder) for name, folder in folders.items()} | {"PYTHONPATH": str(REPOSITORY)}
    )
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode in (0, 1), done.stderr
    assert [file for folder in folders.values() for file in folder.rglob("*")] == []
