"""Tests of closing lines: counts, hidden findings and the next command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest
from msgspec.structs import replace

from tests.inprocess import printed
from tests.report import handmade
from trtlint.engine.finding import ModelReport, Suggestion, Suppression
from trtlint.report.closing import ReportFooter
from trtlint.report.counts import HiddenFindings, files_in_words, hidden_line

NORM = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float[N,8,64] x) => (float[N,8,64] o)
< float two = {2}, float epsilon = {1e-6}, int64[1] axes = {-1} >
{
  m = ReduceMean <axes = [-1], keepdims = 1> (x)
  d = Sub (x, m)
  s = Pow (d, two)
  v = ReduceMean <axes = [-1], keepdims = 1> (s)
  e = Add (v, epsilon)
  r = Sqrt (e)
  o = Div (d, r)
}
"""
SHOWS = " shows the FP16 error of each output, measured with your inputs"


def saved(folder: Path, text: str = NORM, name: str = "net.onnx") -> Path:
    onnx.save(onnx.parser.parse_model(text), folder / name)
    return folder / name


def closing(folder: Path, *options: str) -> list[str]:
    return [line for line in printed(folder, "--isolated", "--no-cache", *options).out.splitlines() if line]


def test_after_an_accuracy_warning_the_measurement_is_the_next_step(tmp_path: Path) -> None:
    saved(tmp_path)
    lines = closing(tmp_path, "net.onnx", "--trt", "10.7", "--gpu", "L4", "--fp16")
    asked = "next: trtlint measure net.onnx --inputs batch.npz --trt 10.7 --gpu L4 --fp16"
    assert [line for line in lines if line.startswith("next:")] == [asked + SHOWS]


def test_the_target_of_a_build_command_is_in_the_next_step(tmp_path: Path) -> None:
    saved(tmp_path, name="my net.onnx")
    build = "trtexec --onnx=model.onnx --fp16"
    lines = closing(tmp_path, "my net.onnx", "--trt", "10.7", "--build", build)
    (line,) = [line for line in lines if line.startswith("next:")]
    assert line.startswith("next: trtlint measure 'my net.onnx' --inputs batch.npz --trt 10.7 --fp16")


@pytest.mark.parametrize("options", [(), ("--trt", "10.7"), ("--trt", "10.7", "--no-fp16")])
def test_without_fp16_no_measurement_is_suggested(tmp_path: Path, options: tuple[str, ...]) -> None:
    saved(tmp_path)
    assert not [line for line in closing(tmp_path, "net.onnx", *options) if line.startswith("next:")]


def test_several_models_get_one_next_step(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        saved(tmp_path, name=name)
    lines = closing(tmp_path, "a.onnx", "b.onnx", "--trt", "10.7", "--fp16")
    assert [line.split(" --")[0] for line in lines if line.startswith("next:")] == [
        "next: trtlint measure a.onnx"
    ]


def test_a_narrow_terminal_gets_the_command_alone() -> None:
    report = ModelReport("a.onnx", "TensorRT 10.7", (replace(handmade.SCALE, severity="warning"),))
    more = Suggestion("inputs", "trtlint measure MODEL --inputs batch.npz", "much").named("a.onnx")
    found = ReportFooter()
    found.add([replace(report, further=(more,))], report.findings, (), shown=False)
    assert list(found.further(50)) == ["trtlint measure a.onnx --inputs batch.npz"]
    assert list(found.further(None)) == ["trtlint measure a.onnx --inputs batch.npz shows much"]


def test_files_are_named_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(
        "[01/15/2025-17:13:04] [TRT] [E] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error "
        "(Could not find any implementation for node /a/Conv.)\n",
        "utf-8",
    )
    assert any(" in 1 log" in line for line in closing(tmp_path, "build.log"))
    (tmp_path / "layers.json").write_text('{"Layers": ["a", "b"], "Bindings": []}', "utf-8")
    saved(tmp_path)
    both = closing(tmp_path, "build.log", "net.onnx", "--trt", "10.7", "--fp16")
    assert not any("in 2 models" in line for line in both)


def test_several_kinds_of_files_are_counted_apart() -> None:
    assert files_in_words(Counter()) == "0 models"
    assert files_in_words(Counter(model=3), 1) == "1 of 3 models"
    assert files_in_words(Counter(log=1)) == "1 log"
    assert files_in_words(Counter(model=2, log=1), 1) == "1 of 3 files (2 models, 1 log)"


def test_hidden_findings_are_in_one_line_with_the_options_that_show_them() -> None:
    accepted = HiddenFindings()
    suppressed = replace(handmade.CLIP, suppression=Suppression("model", "a.onnx", "measured"))
    accepted.add([replace(handmade.clean_model(), suppressed=(suppressed,), withheld=2)])
    assert hidden_line([handmade.FLAG], accepted, 3) == (
        "1 conditional finding hidden: give --fp16 or --no-fp16 (1), or see them with --show-conditional; "
        "1 finding suppressed (1 by metadata of the model), "
        "2 findings below --min-confidence (see them with --min-confidence low), "
        "3 findings merged into other findings (listed by --format json)"
    )
    assert hidden_line([], HiddenFindings()) == ""


def test_findings_included_in_their_cause_are_counted(tmp_path: Path) -> None:
    included = replace(handmade.SCALE, includes=(handmade.CLIP, handmade.CLIP))
    found = ReportFooter()
    report = ModelReport(str(tmp_path), "TensorRT 10.7", (included,))
    found.add([report], report.findings, (), shown=False)
    assert found.hidden == "2 findings merged into other findings (listed by --format json)"
