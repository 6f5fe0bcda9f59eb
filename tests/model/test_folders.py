"""Tests of the base folder for paths, and of the domain for the checker."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.model.check import _name_domain
from trtlint.model.sources import repository


def test_a_repository_is_the_nearest_folder_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    below = tmp_path / "home" / "me" / "project" / "a"
    below.mkdir(parents=True)
    assert repository(below) == below.resolve()
    (below.parent / ".git").mkdir()
    assert repository(below) == below.parent.resolve()
    me = tmp_path / "home" / "me"
    assert repository(me) == me.resolve()
    assert repository(me.parent) is None
    assert repository(tmp_path) is None
    assert repository(Path(tmp_path.anchor)) is None


def test_operators_of_onnx_runtime_get_its_domain() -> None:
    proto = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x, float[4] w) => (float[4] y)'
        " { a = SimplifiedLayerNormalization (x, w)  b = other.SimplifiedLayerNormalization (a, w)"
        " y = Neg (b) }"
    )
    _name_domain(proto)
    assert [node.domain for node in proto.graph.node] == ["com.microsoft", "other", ""]
    assert [(each.domain, each.version) for each in proto.opset_import] == [("", 17), ("com.microsoft", 1)]
    _name_domain(proto)
    assert len(proto.opset_import) == 2
