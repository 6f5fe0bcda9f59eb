"""Tests of build files on the command line, with a model and without one."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import sys
from pathlib import Path

import jsonschema
import onnx
import onnx.parser
import pytest

import trtlint
from tests import schemas
from trtlint.api import lint
from trtlint.buildfiles.record import read_build
from trtlint.cli import run
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import Finding
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.placement import Placement
from trtlint.facts.of_model.attention import Attention
from trtlint.model.load import load
from trtlint.runs.exits import Exit
from trtlint.target.target import Target

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAFNET, LOG = EXAMPLES / "nafnet.onnx", EXAMPLES / "nafnet.build.log.gz"
ERROR = b"[E] Error Code 4: API Usage Error (Network must have at least one output.)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.onnx").write_bytes(NAFNET.read_bytes())
    Path("b.onnx").write_bytes(NAFNET.read_bytes())
    Path("build.log").write_bytes(gzip.decompress(LOG.read_bytes()))
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: Exit = Exit.CLEAN) -> tuple[str, str]:
    assert run([*arguments, "--isolated"]) == code
    written = capsys.readouterr()
    return written.out, written.err


def of(rule: str, findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.rule == rule]


class TestConfirmed:
    def test_the_example(self) -> None:
        report = lint(NAFNET, Target("tensorrt-rtx", "1.7"), record=read_build([str(LOG)]))
        (found,) = of("ACC101", report.models[0].findings)
        assert (found.standing, found.confidence, len(found.sites)) == ("confirmed", "confirmed", 2)
        assert found.said[0] == f"{LOG}:1431: Detected layernorm nodes in FP16."
        assert not of("LOG101", report.models[0].findings)

    def test_without_the_log_it_is_less_sure(self) -> None:
        report = lint(NAFNET, Target("tensorrt-rtx", "1.7"))
        (found,) = of("ACC101", report.models[0].findings)
        assert (found.standing, found.confidence) == ("open", "high")

    @pytest.mark.parametrize("arguments", [["a.onnx", "--log", "build.log"], ["build.log", "a.onnx"]])
    def test_on_the_screen(
        self, folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        out, err = output(capsys, *arguments)
        assert "= seen in: build.log:1431: Detected layernorm nodes in FP16.\n" in out
        assert "= confidence: confirmed, measured\n" in out
        assert "for TensorRT-RTX (any version)" in out
        assert err == ""

    def test_the_build_alone(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out, _ = output(capsys, "build.log")
        assert "LOG101" in out
        assert "ACC101" not in out
        assert "build.log:1431" in out

    def test_standard_input(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("build.log").read_bytes())))
        out, _ = output(capsys, "a.onnx", "--log", "-")
        assert "= seen in: -:1431: Detected layernorm nodes in FP16.\n" in out

    def test_as_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        name = "__myl_SqrtDivMulMulAdd_myl0_4"
        times = [{"count": 1}, {"name": name, "averageMs": 0.5, "timeMs": 0.5, "percentage": 25.0}]
        Path("profile.json").write_text(json.dumps(times))
        out, _ = output(capsys, "a.onnx", "build.log", "profile.json", "--format", "json")
        document = json.loads(out)
        jsonschema.validate(document, schemas.load("trtlint.report/1"))
        (found,) = (f for f in document["models"][0]["findings"] if f["rule"] == "ACC101")
        assert (found["standing"], found["time"]) == ("confirmed", {"ms": 0.5, "share": 0.25})
        assert f"layer {name}: 25 % of 2 ms" in found["evidence"]

    def test_a_conflict_is_a_note(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out, _ = output(capsys, "a.onnx", "build.log", "--trt", "10.7")
        note = "reports TensorRT-RTX, but the target is TensorRT 10.7; using TensorRT 10.7"
        assert re.search(rf"^note: a\.onnx: build\.log:\d+ {note}$", out, re.MULTILINE)
        assert "for TensorRT 10.7" in out


class TestParserErrors:
    """Tests of lines that TensorRT-RTX 1.7.1 printed for these two models."""

    MODEL = """
    < ir_version: 8, opset_import: ["" : 17, "my.domain" : 1] >
    g (float16[4,8] x) => (float16[4,8] y)
    < float[8] w = {1, 2, 3, 4, 5, 6, 7, 8} >
    { [r] a = Relu (x) OPERATOR [s] y = Sigmoid (b) }
    """
    TYPES = """\
[V] Number of target compute capabilities: 1
[W] IElementWiseLayer with inputs a and ONNXTRT_Broadcast_output: \
first input has type Half but second input has type Float.
[V] Registering layer: node_of_b for ONNX node: node_of_b
[E] ITensor::getDimensions: Error Code 4: API Usage Error (node_of_b: ElementWiseOperation SUM \
must have same input types. But they are of types Half and Float. \
In validateTypes at /_src/optimizer/common/nodes/elementWiseNode.cpp:40)
[E] ModelImporter.cpp:140: While parsing node number 1 [Add -> "b"]:
[E] ModelImporter.cpp:142: --- Begin node ---
Node name:\x20
[E] ModelImporter.cpp:143: --- End node ---
[E] ModelImporter.cpp:151: ERROR: ModelImporter.cpp:489 In function parseNode:
[6] Invalid Node - node_of_b
"""
    PLUGIN = """\
[V] Number of target compute capabilities: 1
[E] ModelImporter.cpp:140: While parsing node number 1 [MyOp -> "b"]:
[E] ModelImporter.cpp:142: --- Begin node ---
Node name: cust
[E] ModelImporter.cpp:143: --- End node ---
[E] ModelImporter.cpp:151: ERROR: onnxOpCheckers.cpp:998 In function checkFallbackPluginImporter:
[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"
"""

    @pytest.mark.parametrize(
        ("operator", "log", "rule", "node", "line"),
        [
            ("b = Add (a, w)", TYPES, "BLD101", "Add_1", "build.log:4: ITensor::getDimensions: Error Code 4"),
            (
                "[cust] b = my.domain.MyOp (a)",
                PLUGIN,
                "BLD202",
                "cust",
                "build.log:6: ModelImporter.cpp:151: ERROR",
            ),
        ],
        ids=["types", "plugin"],
    )
    def test_the_node_is_found(
        self, folder: Path, operator: str, log: str, rule: str, node: str, line: str
    ) -> None:
        onnx.save(onnx.parser.parse_model(self.MODEL.replace("OPERATOR", operator)), "model.onnx")
        Path("build.log").write_text(log)
        report = lint("model.onnx", record=read_build(["build.log"]))
        (found,) = of(rule, report.models[0].findings)
        assert found.confidence == "confirmed"
        assert [site.node for site in found.sites] == [node]
        assert found.said[0].startswith(line)
        assert [other.rule for other in report.models[0].findings if other.confidence == "confirmed"] == [
            rule
        ]


class TestMistakes:
    def test_a_build_is_of_one_model(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        _, err = output(capsys, "a.onnx", "b.onnx", "build.log", code=Exit.USAGE)
        assert (
            err == "trtlint: build.log describes the build of one model, but 2 models are given; pass "
            "only that model\n"
        )

    def test_a_missing_file(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out, _ = output(capsys, "a.onnx", "--log", "gone.log", code=Exit.UNREADABLE)
        assert "error: gone.log: No such file or directory\n" in out
        assert "ACC101" in out

    def test_a_cut_layer_file(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("layers.json").write_text('{"Layers": [{"Name": "a"')
        out, _ = output(capsys, "layers.json", code=Exit.UNREADABLE)
        assert out.startswith("error: layers.json: not valid JSON, or cut off: ")

    def test_the_second_log(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out, _ = output(capsys, "a.onnx", "build.log", "--log", str(LOG), code=Exit.UNREADABLE)
        assert "error: build.log: a second log; pass one file of each kind for a build\n" in out

    def test_logs_of_several_builds_each_have_their_report(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("failed.log").write_bytes(ERROR)
        out, _ = output(capsys, "build.log", "failed.log", "--format", "json", code=Exit.FINDINGS)
        assert [model["path"] for model in json.loads(out)["models"]] == ["build.log", "failed.log"]

    def test_two_files_cannot_be_standard_input(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        _, err = output(capsys, "-", "--log", "-", code=Exit.USAGE)
        assert err == "trtlint: standard input (-) is given twice; use it for one file\n"

    def test_text_that_is_no_log(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("other.txt").write_text("no word of a build\n")
        out, _ = output(capsys, "--log", "other.txt", code=Exit.UNREADABLE)
        assert "error: other.txt: contains no line of a TensorRT build; save the output" in out
        assert "no findings" not in out
        out, _ = output(capsys, "a.onnx", "--log", "other.txt")
        assert "other.txt: contains no line of a TensorRT build\n" in out


class TestFacts:
    def test_where_each_node_went(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["facts", "a.onnx", "build.log"]) == Exit.CLEAN
        lines = capsys.readouterr().out.splitlines()
        head = next(index for index, line in enumerate(lines) if line.startswith("node ") and "layer" in line)
        assert lines[head].split() == ["node", "operator", "layer", "precision", "format", "ms"]
        row = next(line for line in lines[head:] if line.startswith("/n1/Sqrt "))
        assert re.split(r"\s{2,}", row)[1:4] == [
            "Sqrt",
            "__myl_SqrtDivMulMulAdd_myl0_4",
            "f16",
        ]

    def test_times_of_a_profile(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        times = [
            {"count": 1},
            {"name": "/c2/Conv_myl0_6", "averageMs": 0.25, "timeMs": 2.5, "percentage": 50},
        ]
        Path("profile.json").write_text(json.dumps(times))
        assert run(["facts", "a.onnx", "build.log", "profile.json", "--kind", "placement"]) == Exit.CLEAN
        (block,) = (text for text in capsys.readouterr().out.split("\n\n") if "/c2/Conv (Conv)" in text)
        assert re.search(r"ms +0\.25$", block, re.MULTILINE)
        assert re.search(r"share +0\.5$", block, re.MULTILINE)

    def test_of_a_build_alone(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["facts", "build.log", "--format", "json"]) == Exit.CLEAN
        kinds = {fact["kind"] for fact in json.loads(capsys.readouterr().out)}
        assert kinds == {"build", "engine", "layer", "log_message"}

    def test_a_model_that_cannot_be_read_is_named(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("broken.onnx").write_bytes(b"no model")
        for name in ("broken.onnx", "missing.onnx"):
            assert run(["facts", name, "build.log"]) == Exit.UNREADABLE
            assert capsys.readouterr().err.startswith(f"error: {name}: ")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["facts"], "no path given"),
            (["facts", "a.onnx", "b.onnx"], "models are given; pass one model"),
        ],
    )
    def test_usage(
        self, folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
    ) -> None:
        assert run(arguments) == Exit.USAGE
        assert message in capsys.readouterr().err


def pairs(shared: Path) -> list[tuple[Path, Path]]:
    """Return the logs with their models in the same folder."""
    logs = sorted((shared / "data" / "logs").glob("rtx-*.log"))
    return [(log, log.with_name(re.sub(r"^rtx-[\d.]+-", "", log.stem) + ".onnx")) for log in logs]


class TestRealBuilds:
    def test_nodes_are_joined_to_layers(self, shared: Path) -> None:
        for log, model in pairs(shared):
            facts = Facts(load(model), evidence=[BuildEvidence(read_build([str(log)]))])
            if facts.joined is None:
                continue  # the build failed
            placed = [fact for fact in facts.of("placement") if isinstance(fact, Placement)]
            assert sum(bool(fact.layers) for fact in placed) >= 0.95 * len(placed), log.name

    def test_attention_is_fused_where_there_is_a_kernel(self, shared: Path) -> None:
        for log, model in pairs(shared):
            facts = Facts(load(model), evidence=[BuildEvidence(read_build([str(log)]))])
            if facts.joined is None:
                continue
            layers = [fact for fact in facts.of("layer") if isinstance(fact, LayerFact)]
            blocks = [fact for fact in facts.of("attention") if isinstance(fact, Attention)]
            fused = [
                block
                for block in blocks
                if any(layer.attention and block.node in layer.nodes for layer in layers)
            ]
            assert bool(fused) == ("_gemm_mha_v2" in log.read_text()), log.name
            report = lint(model, Target("tensorrt-rtx", "1.7"), record=read_build([str(log)]))
            unfused = of("PERF104", report.models[0].findings)
            assert [finding.standing for finding in unfused] == ["confirmed"] * (len(blocks) - len(fused))

    def test_norms_are_confirmed_where_the_builder_warned(self, shared: Path) -> None:
        confirmed = 0
        for log, model in pairs(shared):
            report = lint(model, Target("tensorrt-rtx", "1.7"), record=read_build([str(log)]))
            found = of("ACC101", report.models[0].findings)
            warned = "Detected layernorm nodes in FP16" in log.read_text()
            assert [finding.standing for finding in found] == ["confirmed"] * warned, log.name
            confirmed += warned
        assert confirmed == 2

    @pytest.mark.parametrize(
        ("log", "rule", "node"),
        [
            ("rtx-1.7.1-attention-op23-fp32-buildfail.log", "BLD213", "attn"),
            ("rtx-1.4.0-conv-fp16-qdq-full.log", "LOG106", "w_Q"),
        ],
    )
    def test_errors_of_the_builder_name_their_nodes(
        self, shared: Path, log: str, rule: str, node: str
    ) -> None:
        ((path, model),) = (pair for pair in pairs(shared) if pair[0].name == log)
        report = lint(model, record=read_build([str(path)]))
        (found,) = of(rule, report.models[0].findings)
        assert found.confidence == "confirmed"
        assert [site.node for site in found.sites] == [node]

    @pytest.mark.slow
    def test_every_file_goes_through(self, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = shared / "data"
        files = [file for part in ("logs", "layer-info", "profiles") for file in (data / part).iterdir()]
        codes = {
            file.name: run([str(file), "--isolated", "--format", "concise"])
            for file in sorted(files)
            if file.suffix != ".onnx"
        }
        assert len(codes) > 90
        unread = {name for name, code in codes.items() if code not in (Exit.CLEAN, Exit.FINDINGS)}
        assert unread == {name for name in codes if name.endswith("exporttimes.json")}
        assert capsys.readouterr().err == ""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name",
        [
            "logs/rtx-1.7.1-ln-fp16-decomposed-warning.log",
            "logs/lix19937-trt8.5.10-mnist-best-verbose.log.gz",
            "logs/fragments-issue-threads.log",
            "layer-info/trex-trt8.x-resnet18-qat-a100-layers.json",
            "layer-info/own-trtrtx1.7.1-decln-layers-oneline.txt",
            "profiles/trex-trt8.x-resnet18-fp16-a100-profile.json",
        ],
    )
    def test_cut_files(
        self, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        data = (shared / "data" / name).read_bytes()
        places = random.Random(name).sample(range(len(data)), 12)
        cut = tmp_path / Path(name).name
        for place in [0, 1, *places]:
            cut.write_bytes(data[:place])
            code = run([str(cut), "--isolated", "--format", "concise"])
            assert code in (Exit.CLEAN, Exit.FINDINGS, Exit.UNREADABLE), place
        assert capsys.readouterr().err == ""


def test_a_log_that_only_names_tensorrt_has_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.txt").write_text("Inference backend: tensorrt\n")
    assert run(["--log", "other.txt", "--isolated"]) == 0
    note = "note: other.txt: trtlint recognizes no line of this log, so it can say nothing about the build"
    assert note in capsys.readouterr().out


def test_a_log_that_is_no_log_is_an_error_in_python(folder: Path) -> None:
    Path("other.txt").write_text("bash: make: command not found\n")
    (report,) = trtlint.lint([], log="other.txt").models
    assert [problem.path for problem in report.errors] == ["other.txt"]
    assert trtlint.lint("a.onnx", log="other.txt").models[0].errors == ()
