"""Tests of rules on models that TensorRT's parser imports incorrectly."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from benchmarks.import_rules import misses, reported


@pytest.mark.slow
def test_the_measured_cases(shared: Path) -> None:
    folder = shared / "data" / "import-differences"
    if not folder.exists():
        pytest.skip("the cases are not at hand")
    count, found = misses(folder)
    assert count > 200
    assert found == []


@pytest.mark.parametrize(
    ("release", "rules"),
    [("TRT 10.7", ("ACC164",)), ("RTX 1.7.1", ("ACC164",)), ("TRT 8.6", ("ACC164",))],
)
def test_a_case_of_our_own(tmp_path: Path, release: str, rules: tuple[str, ...]) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[3,3] x) => (float[3,3] y) { y = Trilu (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert reported(tmp_path / "m.onnx", release) == rules


@pytest.mark.parametrize(
    ("release", "rules"),
    [
        *((release, ("ACC179",)) for release in ("TRT 10.7", "TRT 10.9", "RTX 1.4.0")),
        *((release, ()) for release in ("TRT 10.5", "TRT 10.10", "RTX 1.5.0")),
    ],
)
def test_a_release_that_was_right_gets_a_note(tmp_path: Path, release: str, rules: tuple[str, ...]) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,16,1] x) => (float[A,B,C,D] y)
        <int64 s = {4}, int64 f = {8}, float[4] w = {1, 1, 1, 1}> { y = STFT (x, s, w, f) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert tuple(rule for rule in reported(tmp_path / "m.onnx", release) if rule == "ACC179") == rules
