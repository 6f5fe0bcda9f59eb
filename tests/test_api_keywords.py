"""Tests that the Python API has the same keywords as the command line."""

from __future__ import annotations

import ast
import importlib
import io
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.conftest import REPOSITORY
from trtlint.cli import run

ATTENTION = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,4,128,64] q, float16[1,4,64,128] k, float16[1,4,128,64] v) => (float16[1,4,128,64] y)
< float16 s = {14336} >
{ [sq] a = Mul (q, s) [sk] b = Mul (k, s) [qk] z = MatMul (a, b) [sm] p = Softmax (z) [pv] y = MatMul (p, v) }
"""
LOG = "[I] TensorRT version: 10.7.0\n[I] === Build Options ===\n[I] Precision: FP32+FP16\n"
NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "markdown", "source": ["# Before the build"]},
        {"cell_type": "code", "source": ["import trtlint\n"]},
        {"cell_type": "code", "source": ["trtlint.lint('model.onnx', trt='10.7', gpu='L4', fp16=True)"]},
    ],
}
"""A notebook in its file format: https://nbformat.readthedocs.io/en/latest/format_description.html"""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the model of the tests, in the current folder."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(ATTENTION), "model.onnx")
    return tmp_path / "model.onnx"


def rules(report: trtlint.Report) -> list[set[str]]:
    """Return the rules with findings, one set per target."""
    return [{finding.rule for finding in model.findings} for model in report.models]


def test_the_target_by_keywords_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = trtlint.lint("model.onnx", trt="10.7..10.8", gpu="L4", fp16=True)
    words = ["--trt", "10.7..10.8", "--gpu", "L4", "--fp16", "--isolated", "--no-cache", "--format", "json"]
    run(["model.onnx", *words])
    told = json.loads(capsys.readouterr().out)["models"]
    assert [each["target"] for each in told] == [each.target for each in found.models]
    assert [{f["rule"] for f in each["findings"]} for each in told] == rules(found)


def test_a_target_object_still_counts() -> None:
    target = trtlint.Target(version="10.7")
    assert rules(trtlint.lint("model.onnx", target)) == rules(trtlint.lint("model.onnx", trt="10.7"))
    with pytest.raises(trtlint.SettingError, match="cannot be used with keywords"):
        trtlint.lint("model.onnx", target, trt="10.7")


def test_a_build_settles_the_target(tmp_path: Path) -> None:
    Path("build.log").write_text(LOG, encoding="utf-8")
    (of_log,) = trtlint.lint("model.onnx", log="build.log").models
    (of_record,) = trtlint.lint("model.onnx", record=trtlint.read_build(["build.log"])).models
    assert of_log == of_record
    assert of_log.target.startswith("TensorRT 10.7")
    (alone,) = trtlint.lint([], log="build.log").models
    assert alone.path == "build.log"


def test_rules_are_selected_as_on_the_command_line() -> None:
    assert rules(trtlint.lint("model.onnx", trt="10.7", select="ACC102")) == [{"ACC102"}]
    assert "ACC102" not in rules(trtlint.lint("model.onnx", trt="10.7", ignore=["ACC102"]))[0]
    with pytest.raises(trtlint.SettingError, match="ACC999"):
        trtlint.lint("model.onnx", select="ACC999")


def test_weights_are_read() -> None:
    proto = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[1,64] x) => (float[1,64] y)'
        " < float[64,64] w = {} > { y = MatMul (x, w) }"
    )
    import numpy as np

    weight = np.full((64, 64), 0.5, np.float32)
    weight[3, 5] = np.nan
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(proto, "weights.onnx")
    assert "ACC120" not in rules(trtlint.lint("weights.onnx", trt="10.7"))[0]
    assert "ACC120" in rules(trtlint.lint("weights.onnx", trt="10.7", weights=True))[0]


def test_check_and_fix_take_the_same_keywords() -> None:
    with pytest.raises(trtlint.CheckError):
        trtlint.check("model.onnx", trt="10.7", file=io.StringIO())
    found = trtlint.fix("model.onnx", trt="10.7", select="ACC102")
    assert [applied.fix for applied in found.applied] == ["scale-on-query"]
    assert trtlint.fix("model.onnx", trt="10.7", ignore="ACC102").applied == ()


def test_out_is_a_file_or_a_folder() -> None:
    Path("folder").mkdir()
    assert trtlint.fix("model.onnx", trt="10.7", out="folder").model == Path("folder/model.fixed.onnx")
    given = onnx.load("model.onnx")
    fixed = trtlint.fix(given, trt="10.7", out="fixed.onnx").model
    assert onnx.load("fixed.onnx") == fixed != given
    pytest.importorskip("onnxruntime")
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8] x) => (float[1,8] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), "relu.onnx")
    assert trtlint.convert("relu.onnx", to="fp16", out="folder").output == str(Path("folder/relu.fp16.onnx"))
    with pytest.raises(trtlint.FileError, match=r"^model\.onnx: model\.onnx is read in this run"):
        trtlint.fix("model.onnx", trt="10.7", out="model.onnx")


def test_external_data_are_copied_to_another_folder() -> None:
    Path("folder").mkdir()
    given = onnx.load(REPOSITORY / "examples" / "vit.onnx")
    onnx.save(given, "large.onnx", save_as_external_data=True, size_threshold=0, location="w")
    out = trtlint.fix("large.onnx", trt="10.7", out="folder").model
    assert sorted(Path("folder").iterdir()) == [out, Path(f"{out}.data")]
    assert onnx.load(out).graph.initializer
    given = onnx.load("large.onnx", load_external_data=False)
    for fix in (trtlint.fix, partial(trtlint.fix, out="folder/memory.onnx")):
        fixed = fix(given, trt="10.7").model
        places = {entry.value for tensor in fixed.graph.initializer for entry in tensor.external_data[:1]}
        assert places == {"w"}


def test_a_model_in_memory_has_no_temporary_name() -> None:
    found = trtlint.fix(onnx.load("model.onnx"), trt="10.7")
    assert repr(found) == "<Fix <model>: 1 rewrite applied, 0 skipped; remaining: no findings>"
    for call in (trtlint.fix, partial(trtlint.convert, to="fp16", dry_run=True)):
        with pytest.raises(trtlint.FileError, match=r"^<model>: "):
            call(onnx.ModelProto())


def test_an_upgrade_compares_versions() -> None:
    found = trtlint.upgrade("model.onnx", "10.6", "10.8", gpu="L4")
    assert [line.line for line in found.lines] == ["10.6", "10.7", "10.8"]
    assert "ACC102" in {listed.finding.rule for listed in found.findings}
    with pytest.raises(trtlint.SettingError):
        trtlint.upgrade("model.onnx", "10.6", trt="10.7")


def with_data(name: str) -> bytes:
    """Write ``large.onnx`` with the external data file ``name``, and return the data."""
    given = onnx.load(REPOSITORY / "examples" / "unet_attention.onnx")
    onnx.save(given, "large.onnx", save_as_external_data=True, size_threshold=0, location=name)
    return Path(name).read_bytes()


def test_external_data_are_not_replaced() -> None:
    before, files = with_data("w"), {*Path().iterdir()}
    for write in (
        partial(trtlint.fix, "large.onnx", trt="10.7", fp16=True, out="w"),
        partial(trtlint.convert, "large.onnx", to="fp16", measure=False, out="w"),
    ):
        with pytest.raises(trtlint.FileError, match="w is read in this run; write to another file"):
            write()
    assert Path("w").read_bytes() == before
    assert {*Path().iterdir()} == files


def test_converted_data_do_not_replace_external_data() -> None:
    before = with_data("new.onnx.data")
    with pytest.raises(trtlint.FileError, match="is read in this run; write to another file"):
        trtlint.convert("large.onnx", to="fp16", measure=False, out="new.onnx")
    assert Path("new.onnx.data").read_bytes() == before
    assert not Path("new.onnx").exists()


def test_a_measurement_does_not_replace_its_model() -> None:
    pytest.importorskip("onnxruntime")
    model = Path("model.onnx")
    before = model.read_bytes()
    found = trtlint.measure(model, rehearse=False)
    with pytest.raises(trtlint.FileError, match="is read in this run; write to another file"):
        found.save(model)
    assert model.read_bytes() == before


def test_a_measurement_does_not_replace_external_data() -> None:
    pytest.importorskip("onnxruntime")
    before = with_data("w")
    found = trtlint.measure("large.onnx", rehearse=False)
    with pytest.raises(trtlint.FileError, match="w is read in this run; write to another file"):
        found.save("w")
    assert Path("w").read_bytes() == before


def test_a_measurement_is_evidence() -> None:
    pytest.importorskip("onnxruntime")
    model, inputs = (REPOSITORY / "examples" / name for name in ("nafnet.onnx", "nafnet.npz"))
    found = trtlint.measure(model, inputs=[inputs], rehearse=False, trt="10.7")
    found.save("ranges.json")
    given = (found, found.measurement, "ranges.json")
    first, *others = (rules(trtlint.lint(model, trt="10.7", ranges=each)) for each in given)
    assert others == [first, first]
    with pytest.raises(trtlint.FileError, match=r"ranges\.json: this is a measurement of another model"):
        trtlint.lint("model.onnx", ranges="ranges.json")
    with pytest.raises(trtlint.FileError, match=r"nafnet\.onnx: this is a measurement of another model"):
        trtlint.lint("model.onnx", ranges=found)


def test_measure_stays_a_function_whatever_was_imported() -> None:
    importlib.import_module("trtlint.measurement.measure")
    assert callable(trtlint.measure)


def test_keywords_that_do_not_exist_are_refused() -> None:
    wrong: dict[str, Any] = {"fp61": True}
    with pytest.raises(TypeError, match="did you mean 'fp16'"):
        trtlint.lint("model.onnx", **wrong)


def test_errors_name_the_file() -> None:
    Path("broken.onnx").write_bytes(b"\x08\x08")
    with pytest.raises(trtlint.ModelError, match=r"^broken\.onnx: "):
        trtlint.fix("broken.onnx")
    with pytest.raises(trtlint.TrtlintError, match=r"none\.log"):
        trtlint.read_build(["none.log"])


def test_a_notebook_shows_cards() -> None:
    shown = cells(NOTEBOOK)
    assert len(shown) == 1
    assert shown[0].startswith("<iframe")
    assert "class=&quot;finding error" in shown[0]
    assert "ACC102" in shown[0]
    assert "<script" not in shown[0]


def cells(notebook: dict[str, Any]) -> list[str]:
    """Run the code cells of a notebook like a kernel and return their HTML output."""
    names: dict[str, Any] = {}
    shown: list[str] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                shown.append(value._repr_html_())
    return shown


def test_results_have_a_short_representation() -> None:
    pytest.importorskip("onnxruntime")
    measured = trtlint.measure("model.onnx", rehearse=False)
    assert repr(measured) == (
        "<Measured model.onnx: FP16: outputs were not simulated; on 1 batch, generated>"
    )
    fixed = trtlint.fix("model.onnx", trt="10.7")
    assert repr(fixed) == "<Fix model.onnx: 1 rewrite applied, 0 skipped; remaining: no findings>"
    compared = trtlint.upgrade("model.onnx", "10.6", "10.8")
    assert repr(compared) == ("<Upgrade model.onnx: TensorRT 10.6 to 10.8: 2 findings; safest: 10.8>")
    assert all("<iframe" in found._repr_html_() for found in (measured, compared))  # type: ignore[operator, union-attr]
    Path("model.onnx").unlink()
    assert measured._repr_html_() is None


def test_what_is_exported_is_loaded_when_it_is_used() -> None:
    code = (
        "import sys, trtlint; trtlint.TrtlintError; before = {'numpy', 'onnx', 'click'} & set(sys.modules);"
        "assert not before, before; [getattr(trtlint, name) for name in trtlint.__all__]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY, timeout=60)


COMMAND = "trtexec --onnx=model.onnx --fp16"


@pytest.mark.parametrize("keywords", [{"trt": "10.7"}, {"target": trtlint.Target(version="10.7")}])
def test_a_check_prints_the_command_of_a_fix_as_the_command_line_does(
    keywords: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.StringIO()
    trtlint.check("model.onnx", command=COMMAND, fail_on="never", file=out, **keywords)
    run(["model.onnx", "--trt", "10.7", "--build", COMMAND, "--isolated", "--no-cache"])
    (asked,) = {
        line for line in capsys.readouterr().out.splitlines() if "fix MODEL" in line and "ACC102" in line
    }
    assert f"--trt 10.7 --build '{COMMAND}'" in asked
    assert asked in out.getvalue().splitlines()


def test_keywords_are_read_once() -> None:
    (report,) = trtlint.lint("model.onnx", trt=(version for version in ["10.7"])).models
    assert all(finding.options == ("--trt", "10.7") for finding in report.findings)


def test_an_upgrade_names_the_command_of_a_fix() -> None:
    found = trtlint.upgrade("model.onnx", "10.6", "10.8", gpu="L4", fp16=True)
    (item,) = [item for item in found.findings if item.finding.rule == "ACC102"]
    assert item.finding.options == ("--trt", "10.7", "--gpu", "L4", "--fp16")
    assert not item.already


def test_findings_of_a_baseline_are_suppressed() -> None:
    run(["model.onnx", "--trt", "10.7", "--isolated", "--no-cache", "--write-baseline", "known.json"])
    (report,) = trtlint.lint("model.onnx", trt="10.7", baseline="known.json").models
    assert [finding.rule for finding in report.findings] == []
    assert "ACC102" in {finding.rule for finding in report.suppressed}
    (Path("models") / "gone.onnx").parent.mkdir()
    copied = Path(shutil.copy("model.onnx", "models/gone.onnx"))
    run(["model.onnx", "models", "--trt", "10.7", "--no-cache", "--write-baseline", "known.json"])
    assert trtlint.lint("model.onnx", trt="10.7", baseline="known.json").notes == ()
    copied.unlink()
    (note,) = trtlint.lint("model.onnx", trt="10.7", baseline="known.json").notes
    assert note.startswith("known.json: models/gone.onnx no longer exists")
    with pytest.raises(trtlint.FileError, match="not a baseline"):
        trtlint.lint("model.onnx", trt="10.7", baseline="model.onnx")
