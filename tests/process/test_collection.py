"""The garbage collector runs while a command works on models."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.inprocess import printed
from trtlint.process import collection

MODEL = """
<ir_version: 8, opset_import: ["": 17]>
one (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }
"""


@pytest.mark.parametrize(
    "command",
    [
        ("lint", "m.onnx", "--isolated", "--no-cache"),
        ("fix", "m.onnx", "--isolated", "--dry-run"),
        ("convert", "m.onnx", "--to", "fp16", "--dry-run"),
        ("measure", "m.onnx"),
        ("upgrade", "m.onnx", "--from", "10.0", "--to", "11.4"),
    ],
    ids=lambda command: str(command[0]),
)
def test_commands_enable_the_collector(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx

    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    called: list[str] = []
    recorded = {
        name: lambda *given, name=name: called.append(name) for name in ("freeze", "set_threshold", "enable")
    }
    monkeypatch.setattr(collection, "gc", SimpleNamespace(isenabled=lambda: False, **recorded))
    printed(tmp_path, *command)
    assert called == ["freeze", "set_threshold", "enable"]


def test_an_enabled_collector_stays_as_it_is() -> None:
    before = gc.get_threshold()
    assert gc.isenabled()
    collection.collect_seldom()
    assert gc.get_threshold() == before
