"""Tests that the script and the Python interface make the same edits as the command."""

from __future__ import annotations

import ast
import os
import runpy
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.conftest import REPOSITORY
from tests.fixes.test_rewrites import TRT, head, tensor
from trtlint.cli import run
from trtlint.fixes import surgeon

gs = pytest.importorskip("onnx_graphsurgeon")

FOLDED = f"""{head(17)} g (float[1,3,8,8] x) => (float[1,4,6,6] y)
{{ m = ReduceMean <axes = [1, 2, 3]> (w)  c = Sub (w, m)  y = Conv (x, c) }}"""


def nodes(model: onnx.ModelProto) -> list[Any]:
    """Return the nodes without their names, sorted."""
    return sorted(
        (
            node.op_type,
            tuple(node.input),
            tuple(node.output),
            sorted((a.name, str(onnx.helper.get_attribute_value(a))) for a in node.attribute),
        )
        for node in model.graph.node
    )


def folded() -> onnx.ModelProto:
    model = onnx.parser.parse_model(FOLDED)
    model.graph.initializer.append(onnx.numpy_helper.from_array(tensor(4, 3, 3, 3), "w"))
    return model


@pytest.mark.parametrize("name", ["vit", "folded"])
def test_the_script_gives_the_same_graph(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, script = tmp_path / "model.onnx", tmp_path / "surgeon.py"
    onnx.save(onnx.load(REPOSITORY / "examples" / "vit.onnx") if name == "vit" else folded(), path)
    run(["fix", str(path), *TRT, "--isolated", "--script", str(script)])
    monkeypatch.setattr("sys.argv", ["surgeon.py", str(path), str(tmp_path / "other.onnx")])
    runpy.run_path(str(script))
    words = script.read_text("utf-8")
    assert "model.onnx" in words
    assert len([line for line in words.splitlines() if line.startswith("# ") and len(line) > 10]) >= 1
    one, other = (onnx.load(tmp_path / file) for file in ("model.fixed.onnx", "other.onnx"))
    assert nodes(one) == nodes(other)
    for model in (one, other):
        onnx.checker.check_model(model, full_check=True)


HOSTILE = (
    '"""\nowned.append(1)\n"""',
    "'+owned.append(1)+'",
    "\nowned.append(1)\n#",
    "\\",
    "\r\x0cowned.append(1)",
)


@pytest.mark.skipif(os.name == "nt", reason="names of files of POSIX")
@pytest.mark.parametrize("words", HOSTILE)
def test_names_are_no_code(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests names of files, nodes, values and copied attributes."""
    model = folded()
    for node in model.graph.node:
        node.name = words
        for names in (node.input, node.output):
            names[:] = [name if name in ("x", "y") else name + words for name in names]
    model.graph.initializer[0].name += words
    path, script = tmp_path / f"m{words}.onnx", tmp_path / "surgeon.py"
    onnx.save(model, path)
    run(["fix", str(path), "-o", str(tmp_path / "fixed.onnx"), *TRT, "--isolated", "--script", str(script)])
    monkeypatch.setattr("sys.argv", ["surgeon.py", str(path), str(tmp_path / "other.onnx")])
    owned: list[int] = []
    runpy.run_path(str(script), {"owned": owned})
    assert owned == []
    assert nodes(onnx.load(tmp_path / "fixed.onnx")) == nodes(onnx.load(tmp_path / "other.onnx"))
    copied = onnx.helper.make_node("Relu", ["x"], ["y"])
    copied.attribute.append(onnx.helper.make_attribute(f"a=owned.append(1),b{words}", 1))
    assert "owned" in ast.literal_eval(surgeon._node(copied))[3].popitem()[0]


def test_from_python() -> None:
    target = trtlint.Target(version="10.7")
    model = onnx.load(REPOSITORY / "examples" / "vit.onnx")
    whole = model.SerializeToString()
    found = trtlint.fix(model, target, verify=True)
    assert {applied.fix for applied in found.applied} >= {"scale-on-query"}
    assert isinstance(found.model, onnx.ModelProto)
    assert model.SerializeToString() == whole
    again = trtlint.fix(gs.import_onnx(model), target)
    assert isinstance(again.model, gs.Graph)
    assert [applied.fix for applied in again.applied] == [applied.fix for applied in found.applied]
    assert trtlint.fix(found.model, target).model is None
    with pytest.raises(TypeError, match=r"expected a path, an onnx\.ModelProto or an onnx_graphsurgeon"):
        trtlint.fix(3, target)


def test_a_path_from_python(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.load(REPOSITORY / "examples" / "vit.onnx"), path)
    found = trtlint.fix(path, trtlint.Target(version="10.7"))
    assert found.model == tmp_path / "model.fixed.onnx"
    assert found.model.exists()
