"""Tests of dry builds on the command line: confirmed and refuted findings, and messages."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.dry_build import models
from tests.dry_build.rtx import NEEDS_WHEELS, VERSION, write_log
from trtlint.cli import run

LINE = ".".join(VERSION.split(".")[:2]) or "1.7"

NONZERO = """
< ir_version: 8, opset_import: ["" : 17] >
mask (float[16] x) => (int64[1,N] i) { [relu] y = Relu (x) [nz] i = NonZero (y) }
"""
CUSTOM = """
< ir_version: 8, opset_import: ["" : 17, "my.ops" : 1] >
custom (float[1,64] x) => (float[1,64] y) { [relu] r = Relu (x) [fancy] y = my.ops.FancyNorm (r) }
"""

TABLE = f"""
< ir_version: 8, opset_import: ["" : 17] >
table (float[b,s,4] x) => (float[b,s,4] y)
< float[1,37,4] w = {{{", ".join(["1"] * 148)}}} >
{{ [pos] y = Add (x, w) }}
"""
PRIME = """
< ir_version: 8, opset_import: ["" : 17] >
prime (float[b,3,h,w] x) => (float[3,7919] y)
< int64[2] s = {3, 7919} >
{ [view] y = Reshape (x, s) }
"""
BRANCH = """
< ir_version: 8, opset_import: ["" : 17] >
branch (float[b,3] x, bool c) => (float[A] y)
{
  [the_if] y = If (c) <
    then_branch = a () => (float p) { p = ReduceSum <keepdims = 0> (x) },
    else_branch = b () => (float[b,3] q) { q = Identity (x) }
  >
}
"""


class Lints:
    """Function that runs the command line and returns its report."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def code(self, *words: object) -> int:
        code = run([str(word) for word in words])
        self.out, self.err = self._capsys.readouterr()
        return code

    def reports(self, *words: object) -> list[dict[str, Any]]:
        self.code(*words, "--format", "json", "--isolated")
        found: list[dict[str, Any]] = json.loads(self.out)["models"]
        return found

    def report(self, *words: object) -> dict[str, Any]:
        (found,) = self.reports(*words)
        return found


@pytest.fixture
def lints(capsys: pytest.CaptureFixture[str]) -> Lints:
    return Lints(capsys)


def found(report: dict[str, Any], rule: str) -> dict[str, Any]:
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == rule]
    return dict(finding)


def rules(report: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in report["findings"]}


@NEEDS_WHEELS
class TestRealBuilder:
    """Tests with the TensorRT-RTX wheels."""

    def test_a_static_finding_becomes_confirmed(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.NO_KERNEL)
        finding = found(lints.report(model, "--dry-build", "--rtx", LINE), "BLD213")
        assert finding["confidence"] == finding["standing"] == "confirmed"
        assert finding["evidence"][0].startswith(f"dry build, TensorRT-RTX {VERSION}, SM 8.9:")
        assert finding["refusal"]["stage"] == "build"

    def test_a_plugin_that_the_product_lacks_is_one_confirmed_finding(
        self, tmp_path: Path, lints: Lints
    ) -> None:
        model = models.write(tmp_path, NONZERO)
        log = write_log(model, tmp_path / "build.log")
        for evidence in (["--dry-build"], ["--log", log]):
            assert lints.code(model, *evidence, "--rtx", LINE, "--isolated") == 1
            report = lints.report(model, *evidence, "--rtx", LINE)
            (finding,) = [each for each in report["findings"] if each["severity"] == "error"]
            assert (finding["rule"], finding["standing"]) == ("BLD203", "confirmed")

    def test_the_log_of_a_failed_build_fails_the_run_with_its_model_and_without(
        self, tmp_path: Path, lints: Lints
    ) -> None:
        model = models.write(tmp_path, CUSTOM)
        log = write_log(model, tmp_path / "build.log")
        for words in ([log], [model, "--log", log], [model, "--log", log, "--min-confidence", "confirmed"]):
            assert lints.code(*words, "--isolated") == 1

    def test_sizes_come_from_the_constants_of_the_graph(self, tmp_path: Path, lints: Lints) -> None:
        report = lints.report(models.write(tmp_path, TABLE), "--dry-build", "--rtx", LINE)
        assert report["dry_build"]["built"] is True
        assert [shape["opt"] for shape in report["dry_build"]["shapes"]] == [[1, 37, 4]]
        assert not [finding for finding in report["findings"] if finding["severity"] == "error"]
        assert any("built, for x=1x37x4 (default input shapes" in note for note in report["notes"])

    def test_sizes_that_trtlint_chose_are_no_error(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, PRIME)
        report = lints.report(model, "--dry-build", "--rtx", LINE)
        assert (report["dry_build"]["parsed"], report["dry_build"]["built"]) == (True, None)
        assert not [finding for finding in report["findings"] if finding["severity"] == "error"]
        (note,) = [note for note in report["notes"] if "--shapes x:..." in note]
        assert "reshape changes volume" in note
        assert lints.code(model, "--dry-build", "--rtx", LINE, "--isolated") == 0

    def test_sizes_that_were_given_are_an_error(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, PRIME)
        assert lints.code(model, "--dry-build", "--rtx", LINE, "--isolated", "--shapes", "x:1x3x8x8") == 1
        assert lints.code(model, "--dry-build", "--rtx", LINE, "--isolated", "--shapes", "x:1x3x1x7919") == 0

    def test_a_refusal_of_any_size_stays_an_error(self, tmp_path: Path, lints: Lints) -> None:
        report = lints.report(models.write(tmp_path, BRANCH), "--dry-build", "--rtx", LINE)
        assert report["dry_build"]["built"] is False
        assert found(report, "BLD216")["standing"] == "confirmed"

    def test_a_refusal_that_no_rule_knows_is_reported(self, tmp_path: Path, lints: Lints) -> None:
        report = lints.report(models.write(tmp_path, REDUCED), "--dry-build", "--rtx", LINE)
        (error,) = report["dry_build"]["errors"]
        refused = [finding for finding in report["findings"] if "refusal" in finding]
        assert [site["node"] for finding in refused for site in finding["sites"]] == [error["node"]]
        refusal = {"stage": "parse", "op": error["op"], "code": error["code"]}
        assert refused[0]["refusal"] == refusal | {"first_taken_by": None, "last_taken_by": None}
        assert refused[0]["confidence"] == "confirmed"

    def test_of_tensorrt_it_confirms_nothing(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.UNSUPPORTED_TWICE)
        findings = lints.report(model, "--dry-build", "--trt", "10.7")["findings"]
        assert findings
        for finding in findings:
            assert finding["confidence"] in ("high", "medium", "low")
            assert "standing" not in finding

    def test_a_crash_is_a_finding_and_other_files_are_linted(self, tmp_path: Path, lints: Lints) -> None:
        models.crashing(tmp_path)
        models.write(tmp_path, models.BUILT, "plain.onnx")
        crashed, plain = lints.reports(tmp_path, "--dry-build", "--rtx", LINE)
        finding = found(crashed, "DRY103")
        assert finding["severity"] == "error"
        assert crashed["dry_build"]["last_lines"][-1] in finding["message"]
        assert plain["dry_build"]["built"] is True

    def test_a_timeout_is_a_finding(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.BUILT)
        report = lints.report(model, "--dry-build", "--rtx", LINE, "--dry-build-seconds", "0.001")
        assert found(report, "DRY103")["severity"] == "warning"
        assert report["dry_build"]["cause"] == "time"
        (advice,) = found(report, "DRY103")["advice"]
        assert advice.startswith("Raise the time limit")

    def test_each_gpu_is_built_for_and_the_nearest_is_named(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.BUILT)
        reports = lints.reports(model, "--dry-build", "--gpu", "sm75,sm89,sm90")
        assert [report["dry_build"]["sm"] for report in reports] == [75, 89, 89]
        assert [report["dry_build"]["asked_sm"] for report in reports] == [75, 89, 90]
        assert any("cannot build for SM 9.0" in note for note in reports[2]["notes"])
        assert not any("cannot build" in note for note in reports[1]["notes"])

    def test_shapes_come_from_the_build_then_from_the_option(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.BUILT)
        command = (
            "trtexec --onnx=model.onnx --minShapes=x:1x3x8x8 --optShapes=x:2x3x8x8 --maxShapes=x:4x3x8x8"
        )
        (shape,) = lints.report(model, "--dry-build", "--build", command)["dry_build"]["shapes"]
        assert (shape["min"], shape["max"], shape["chosen"]) == ([1, 3, 8, 8], [4, 3, 8, 8], False)
        report = lints.report(model, "--dry-build", "--build", command, "--shapes", "x:1x3x16x16")
        assert report["dry_build"]["shapes"][0]["opt"] == [1, 3, 16, 16]

    def test_the_note_says_which_shapes_were_chosen(self, tmp_path: Path, lints: Lints) -> None:
        (note,) = lints.report(models.write(tmp_path, models.BUILT), "--dry-build")["notes"]
        assert note.endswith(
            "x=1x3x224x224 (default input shapes; with other shapes, the builder may fuse other layers)"
        )

    def test_the_configuration_asks_for_it_model_by_model(
        self, tmp_path: Path, lints: Lints, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("a.onnx", "b.onnx", "c.onnx"):
            models.write(tmp_path, models.BUILT, name)
        Path("trtlint.toml").write_text(
            'dry-build = "parse"\n'
            '[[models]]\npath = "a.onnx"\ndry-build = true\nshapes = "x:1x3x4x4"\n'
            '[[models]]\npath = "c.onnx"\ndry-build = false\n',
            encoding="utf-8",
        )
        lints.code(".", "--format", "json")
        a, b, c = json.loads(lints.out)["models"]
        assert a["dry_build"]["shapes"][0]["opt"] == [1, 3, 4, 4]
        assert b["dry_build"]["level"] == "parse"
        assert "dry_build" not in c
        lints.code(".", "--format", "json", "--no-dry-build")
        assert not any("dry_build" in each for each in json.loads(lints.out)["models"])

    def test_a_result_is_kept_and_used_again(
        self, tmp_path: Path, lints: Lints, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = models.write(tmp_path, models.NO_KERNEL)
        first = lints.report(model, "--dry-build", "--rtx", LINE)

        def never(*_: object) -> None:
            raise AssertionError("built again")

        monkeypatch.setattr("trtlint.runs.dry.ask", never)
        assert lints.report(model, "--dry-build", "--rtx", LINE) == first
        assert (
            lints.report(model, "--dry-build", "--rtx", LINE, "--gpu", "sm89")["dry_build"]["asked_sm"] == 89
        )
        with_shapes = lints.code(model, "--dry-build", "--shapes", "q:2x4x128x64", "--isolated")
        assert with_shapes == 4  # that is another build

    @pytest.mark.slow
    def test_several_processes_find_the_same(self, tmp_path: Path, lints: Lints) -> None:
        folder = tmp_path / "models"
        folder.mkdir()
        models.crashing(folder)
        for name, text in (("a.onnx", models.BUILT), ("b.onnx", models.NO_KERNEL), ("c.onnx", models.MIXED)):
            models.write(folder, text, name)
        words = (folder, "--dry-build", "--rtx", LINE, "--no-cache")
        assert told(lints.reports(*words, "-j", "2")) == told(lints.reports(*words))

    def test_logs_are_left_where_they_are_wanted(self, tmp_path: Path, lints: Lints) -> None:
        model = models.write(tmp_path, models.BUILT)
        lints.report(model, "--dry-build", "--dry-build-logs", tmp_path / "logs")
        name = f"model.rtx-{VERSION}.sm89"
        assert "Layers:" in (tmp_path / "logs" / f"{name}.log").read_text(encoding="utf-8")
        kept = json.loads((tmp_path / "logs" / f"{name}.json").read_text(encoding="utf-8"))
        assert kept["built"] is True

    def test_models_of_one_name_have_logs_of_their_own(self, tmp_path: Path, lints: Lints) -> None:
        for name in ("a", "b"):
            (tmp_path / "repository" / name / "1").mkdir(parents=True)
            models.write(tmp_path / "repository" / name / "1", models.BUILT)
        lints.reports(tmp_path / "repository", "--dry-parse", "--dry-build-logs", tmp_path / "logs")
        found = sorted(file.parent.parent.name for file in (tmp_path / "logs").rglob("*.log"))
        assert found == ["a", "b"]

    def test_weights_beyond_the_limit_are_a_note(self, tmp_path: Path, lints: Lints) -> None:
        model = models.with_external(tmp_path, size=16_384)
        report = lints.report(model, "--dry-build", "--dry-build-memory", "1G")
        assert any("raise the limit with --dry-build-memory 5G" in note for note in report["notes"])
        assert "dry_build" not in report

    def test_a_file_that_is_no_model_is_unreadable(self, tmp_path: Path, lints: Lints) -> None:
        (tmp_path / "broken.onnx").write_bytes(b"no model")
        assert lints.code(tmp_path / "broken.onnx", "--dry-build", "--isolated") == 3

    @pytest.mark.slow
    def test_real_verdicts_are_met(self, exported: Path, lints: Lints) -> None:
        verdicts = [
            json.loads(line)
            for line in (exported / "verdicts-rtx-1.7.1.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        failing = [verdict for verdict in verdicts if not verdict["parse"] or not verdict["build"]][::7]
        chosen = {verdict["model"]: verdict for verdict in (*failing, *verdicts[::60])}
        files = [exported / f"{name}.onnx" for name in chosen]
        for report in lints.reports(*files, "--dry-build", "--rtx", "1.7", "-j", "2"):
            verdict, dry = chosen[Path(report["path"]).stem], report["dry_build"]
            assert (dry["parsed"], dry["built"]) == (verdict["parse"], verdict["build"])
            sites = {site["node"] for finding in report["findings"] for site in finding["sites"]}
            named = [error["node_name"] for error in verdict["errors"][:1] if error["node_name"]]
            assert sites >= set(named)
            assert verdict["parse"] or any("refusal" in finding for finding in report["findings"])


REDUCED = """
< ir_version: 8, opset_import: ["" : 13] >
known_at_run_time (float[4,4] x, int64[n] axes) => (float[m,k] y)
{ [sum] y = ReduceSum <keepdims = 0> (x, axes) }
"""


def told(reports: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    return [
        (each["path"], [(f["rule"], f["confidence"], f["fingerprint"]) for f in each["findings"]])
        for each in reports
    ]


@pytest.mark.skipif(VERSION != "1.7.1", reason="the builder of TensorRT-RTX 1.7.1 refuses the example")
def test_the_builder_refuses_what_the_parser_took(lints: Lints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    report = lints.report("examples/frames.onnx", "--dry-build", "--rtx", LINE)
    assert (report["dry_build"]["parsed"], report["dry_build"]["built"]) == (True, False)
    assert {"BLD205", "LOG124"} <= {
        each["rule"] for each in report["findings"] if each["severity"] == "error"
    }


class TestWithoutBuilding:
    """Tests of messages before any build."""

    @pytest.fixture(autouse=True)
    def model(self, tmp_path: Path) -> Path:
        return models.write(tmp_path, models.BUILT)

    def test_missing_wheels_are_one_line_with_the_command(
        self, model: Path, lints: Lints, tmp_path: Path
    ) -> None:
        assert lints.code(model, "--dry-build=1.4.0", "--rtx-path", tmp_path, "--isolated") == 2
        assert lints.err.count("\n") == 1
        assert "pip install --target" in lints.err
        assert "tensorrt-rtx-cu12-libs==1.4.0.76" in lints.err

    def test_a_path_behind_the_option_is_a_path(self, model: Path, lints: Lints, tmp_path: Path) -> None:
        assert lints.code("--dry-build", model, "--rtx-path", tmp_path / "none", "--isolated") == 2
        assert "no such folder" in lints.err

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("--dry-build=abc", "is not a TensorRT-RTX version"),
            ("--dry-parse --no-dry-build", "cannot be used with"),
            ("--dry-build-memory 4X", "is not a size; write it like 4G"),
            ("--dry-build-seconds 0", "0"),
            ("--shapes x:1x3", "--shapes needs --dry-build, --dry-parse or --compare"),
        ],
    )
    def test_wrong_options_are_usage_errors(self, model: Path, lints: Lints, words: str, says: str) -> None:
        assert lints.code(model, *shlex.split(words), "--isolated") == 2
        assert says in lints.err

    @NEEDS_WHEELS
    def test_a_shape_that_cannot_be_read_is_named(self, model: Path, lints: Lints) -> None:
        assert lints.code(model, "--dry-build", "--shapes", "x:1by3", "--isolated") == 2
        assert "--shapes: 'x:1by3' is not a shape" in lints.err

    def test_shapes_count_as_unused_if_the_dry_build_is_turned_off(self, model: Path, lints: Lints) -> None:
        assert lints.code(model, "--no-dry-build", "--shapes", "x:1x3", "--isolated") == 0

    def test_a_release_that_is_none_is_a_mistake_in_the_configuration(
        self, model: Path, lints: Lints, tmp_path: Path
    ) -> None:
        (tmp_path / "trtlint.toml").write_text('dry-build = "newest"', encoding="utf-8")
        assert lints.code(model) == 2
        assert "dry-build: 'newest' is invalid; write for example parse or 1.7.1" in lints.err

    def test_a_real_build_and_a_dry_one_exclude_each_other(
        self, model: Path, lints: Lints, tmp_path: Path
    ) -> None:
        log = tmp_path / "build.log"
        log.write_text("&&&& RUNNING TensorRT.trtexec [TensorRT v101600] # trtexec\n", encoding="utf-8")
        assert lints.code(model, "--log", log, "--dry-build", "--isolated") == 2
        assert "describes a real build" in lints.err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="a stand-in for the wheels")
def test_a_builder_that_hangs_is_stopped(tmp_path: Path, lints: Lints) -> None:
    """Fake wheels hang at once, whatever the release and the model."""
    wheels = tmp_path / "wheels"
    package = wheels / "tensorrt_rtx_bindings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(HANGING, encoding="utf-8")
    for name in ("bindings", "libs"):
        info = wheels / f"tensorrt_rtx_cu12_{name}-1.7.1.116.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Name: tensorrt-rtx-cu12-{name}\nVersion: 1.7.1.116\n", encoding="utf-8"
        )
    model = models.write(tmp_path, models.BUILT)
    for seconds in (1, 10, 60):  # a busy machine needs longer for the first line
        words = (model, "--dry-build", "--rtx", "1.7", "--rtx-path", wheels, "--dry-build-seconds", seconds)
        report = lints.report(*words)
        assert report["dry_build"]["cause"] == "time"
        if "I shall never end" in found(report, "DRY103")["message"]:
            break
    assert found(report, "DRY103")["message"].endswith("the last lines of its log: I shall never end")


HANGING = """
import time
print("I shall never end", flush=True)
time.sleep(600)
"""
