"""Tests of the Python API."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.engine.rules import make_rule
from trtlint.engine import evaluate
from trtlint.knowledge.releases import Product, minors
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measurement import Measurement
from trtlint.target.target import Target

RELU6 = """\
< ir_version: 8, opset_import: ["" : 17] >
g (float[2,3] x) => (float[2,4] o)
< float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] b = {0,0,0,0}, float lo = {0}, float hi = {6} >
{ y = MatMul(x, w) z = Add(y, b) o = Clip(z, lo, hi) }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "relu6.onnx"
    onnx.save(onnx.parser.parse_model(RELU6), path)
    return path


def test_a_file(model: Path) -> None:
    (report,) = trtlint.lint(model, target=trtlint.Target(version="10.13")).models
    assert (report.path, report.target) == (str(model), "TensorRT 10.13")
    assert [finding.rule for finding in report.findings] == ["ACC106"]


def test_a_path_as_text_and_no_target(model: Path) -> None:
    (report,) = trtlint.lint(str(model)).models
    (finding,) = [finding for finding in report.findings if finding.rule == "ACC106"]
    assert (finding.applies, finding.confidence) == ("TensorRT 10.12 to 10.13", "low")


def test_several_targets(model: Path) -> None:
    targets = [Target(version=version) for version in ("10.11", "10.12")]
    found = trtlint.lint(model, targets).models
    assert [[finding.rule for finding in report.findings] for report in found] == [[], ["ACC106"]]


def test_folders_and_files_that_cannot_be_read(model: Path) -> None:
    (model.parent / "broken.onnx").write_bytes(b"\x00not a model")
    found = trtlint.lint([model.parent, model.parent / "missing.onnx"], Target(version="10.12")).models
    assert [(Path(report.path).name, len(report.errors), len(report.findings)) for report in found] == [
        ("broken.onnx", 1, 0),
        ("relu6.onnx", 0, 1),
        ("missing.onnx", 1, 0),
    ]


def test_rules_of_ones_own(model: Path, tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op == "Clip"')
    (report,) = trtlint.lint(model, rules=[rule]).models
    assert [finding.message for finding in report.findings] == ["a Clip"]


def test_a_bug_is_raised_and_not_hidden(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(evaluate, "Evaluation", fail)
    with pytest.raises(ZeroDivisionError):
        trtlint.lint(model)


TARGET = Target(version="10.13")


def test_a_model_in_memory() -> None:
    (report,) = trtlint.lint(onnx.parser.parse_model(RELU6), TARGET).models
    assert (report.path, [finding.rule for finding in report.findings]) == ("<model>", ["ACC106"])


def test_what_is_neither_a_path_nor_a_model() -> None:
    with pytest.raises(TypeError, match=r"path=1\.5: expected"):
        trtlint.lint(1.5)


def test_a_check_that_raises(model: Path) -> None:
    out = io.StringIO()
    with pytest.raises(trtlint.CheckError, match="ACC106") as caught:
        trtlint.check(onnx.load(model), TARGET, fail_on="note", file=out)
    assert "ACC106" in out.getvalue()
    assert [finding.rule for finding in caught.value.report.models[0].findings] == ["ACC106"]


def test_a_check_that_only_prints(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = trtlint.check(model, TARGET, fail_on="never")
    assert "ACC106" in capsys.readouterr().err
    assert len(report.models[0].findings) == 1


def test_what_depends_on_the_target_does_not_raise(model: Path) -> None:
    assert trtlint.check(model, fail_on="note", file=io.StringIO())


def test_a_check_of_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(trtlint.CheckError, match=r"missing\.onnx"):
        trtlint.check(tmp_path / "missing.onnx", fail_on="never", file=io.StringIO())


@pytest.mark.parametrize("product", ["tensorrt", "tensorrt-rtx"])
def test_an_upgrade_goes_to_the_newest_release(model: Path, product: Product) -> None:
    *_, before, newest = minors(product)
    found = trtlint.upgrade(model, before, product=product)
    assert [line.line for line in found.lines] == [before, newest]
    assert found.product == product
    with pytest.raises(trtlint.SettingError) as error:
        trtlint.upgrade(model, newest, product=product)
    words = f"{newest} and {newest} are the same release line; pass two different release lines"
    assert str(error.value) == words


@pytest.mark.parametrize("name", ["trt", "rtx"])
def test_an_upgrade_takes_its_versions_as_arguments(model: Path, name: str) -> None:
    keywords: Any = {name: "10.7"}
    with pytest.raises(trtlint.SettingError) as error:
        trtlint.upgrade(model, "10.6", "10.7", **keywords)
    words = "trtlint.upgrade has no arguments trt and rtx; pass first= and last="
    assert str(error.value) == words


@pytest.mark.parametrize(("typed", "target"), [(False, "TensorRT 10.7, FP16"), (True, "TensorRT 10.7")])
def test_a_measurement_is_for_builds_in_its_type(
    typed: bool, target: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A narrow tensor type in the model applies to every build."""
    found = Measurement("m", "", (), "", 1, "fp16", typed, False, 0.1, (), (), (), None, ())
    requests: list[MeasurementRequest] = []
    monkeypatch.setattr(
        "trtlint.measurement.measure.measure", lambda request, limits: requests.append(request) or found
    )
    measured = trtlint.measure(model, Target(version="10.7"))
    assert measured.measurement == found
    assert [report.target for report in measured.report.models] == [target]
    assert requests == [
        MeasurementRequest(model=str(model), name=str(model), inputs=Inputs(), type="fp16",
                           rehearse=True, batches=None, bound=1e-2, thorough=False)
    ]  # fmt: skip
