"""Tests of operators imported as TensorRT library plugins, and of builds without the library."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.graphs import model_of
from trtlint.cli import run
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.library_plugin import LibraryPlugin
from trtlint.knowledge.parsers import bundled, library_plugin

ROI = """< ir_version: 8, opset_import: ["" : 16] >
g (float[1,1,8,8] x, float[2,4] r, int64[2] b) => (float[2,1,2,2] y)
{ y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, b) }"""
SCATTER = """< ir_version: 8, opset_import: ["" : 18] >
g (float[2,3] x, float[1,1] u) => (float[2,3] y, float[2,3] z) < int64[1,1] i = {1} >
{ y = ScatterElements <reduction = "add"> (x, i, u)  z = ScatterElements (x, i, u) }"""


def found(text: str) -> list[LibraryPlugin]:
    return [fact for fact in Facts(model_of(text)).of("library_plugin") if isinstance(fact, LibraryPlugin)]


def test_an_operator_of_onnx() -> None:
    (fact,) = found(ROI)
    assert (fact.op, fact.plugin, fact.versions) == ("RoiAlign", "ROIAlign_TRT", {"tensorrt": ""})
    assert (fact.refusal.stage, fact.refusal.code) == ("parse", "UNSUPPORTED_NODE")


def test_scatter_is_a_plugin_where_it_reduces() -> None:
    (fact,) = found(SCATTER)
    assert fact.versions == {"tensorrt": ">=10.0"}


def test_releases_of_plugins() -> None:
    assert "11.0" not in bundled("BatchedNMS_TRT", "tensorrt")
    assert "10.16" in bundled("BatchedNMS_TRT", "tensorrt")
    assert min(bundled("TopkLastDim", "tensorrt")) == "11.0"
    assert "8.6" in bundled("ModulatedDeformConv2d", "tensorrt")
    assert library_plugin("InstanceNormalization")[1] == {"8.6", "9.0", "9.1", "9.2", "9.3"}


def test_operators_that_the_parser_imports_itself_need_no_plugin() -> None:
    """Split and ScatterND are also plugin names."""
    assert library_plugin("Split") == ("", frozenset())
    assert library_plugin("ScatterND") == ("", frozenset())


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 0, ""),
        (("--plugins", "Mine"), 0, ""),
        (("--plugins", ""), 1, "trt.init_libnvinfer_plugins"),
    ],
)
def test_only_a_build_without_plugins_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, says: str
) -> None:
    onnx.save(onnx.parser.parse_model(ROI), tmp_path / "m.onnx")
    assert run(["lint", str(tmp_path / "m.onnx"), "--trt", "10.8", "--isolated", *words]) == code
    out = capsys.readouterr().out
    assert ("BLD222" in out) == bool(code)
    assert says in out
