"""Tests of upgrades between versions: analysis, reports and command line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

from tests import schemas
from tests.graphs import model_of
from tests.report.screen import stream
from trtlint.buildcommand import find_commands
from trtlint.cli import run
from trtlint.engine.evaluate import Evaluation
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.engine.rulefile import load_rule
from trtlint.engine.upgrade import Upgrade, targets, upgrade
from trtlint.facts.facts import Facts
from trtlint.knowledge.releases import minors
from trtlint.report.upgrade import UpgradeReport
from trtlint.report.upgradejson import to_json
from trtlint.target.parsing import TargetError
from trtlint.target.target import Target

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x, int64[4] ids) => (float[4] y, int64[4] z) {
  a = Relu (x)
  b = Sin (a)
  c = Abs (b)
  y = Relu (c)
  z = Identity (ids)
}
"""


def rule(folder: Path, id_: str, op: str, versions: str, severity: str = "error", concerns: str = "") -> Rule:
    path = folder / f"{id_}-find-{op.lower()}.md"
    path.write_text(
        f"""---
id: {id_}
name: find-{op.lower()}
severity: {severity}
since: 0.1.0
evidence: documented
applies:
  tensorrt: "{versions}"
find: node
where: op == "{op}"
message: "a {{op}} is here"
advice:
  - do: "Take the {{op}} out."
  - tensorrt: ">=10.8"
    do: "Wait for a fix."
{concerns}
references:
  - https://example.org/{id_}
---
""",
        encoding="utf-8",
    )
    return load_rule(path)


@pytest.fixture
def rules(tmp_path: Path) -> list[Rule]:
    return [
        rule(tmp_path, "TST101", "Relu", ">=10.7,<10.8"),
        rule(tmp_path, "TST102", "Sin", ">=10.9", "warning"),
        rule(tmp_path, "TST103", "Abs", ">=8.0", "note"),
        rule(tmp_path, "TST104", "Identity", ">=10.10", "error", "concerns: code"),
    ]


def moved(rules: list[Rule], first: str, last: str, base: Target | None = None, command: str = "") -> Upgrade:
    facts = Facts(model_of(MODEL), command=next(find_commands(command), None))
    builds = targets(base or Target(), first, last)
    evaluation = Evaluation(facts)
    return upgrade(facts, builds, [evaluation.report(rules, each) for each in builds], rules)


class TestTargets:
    def test_a_line_stands_for_its_newest_release(self) -> None:
        found = targets(Target(gpu="L4"), "10.12", "10.14")
        assert [target.version for target in found] == ["10.12.0", "10.13.3", "10.14.1"]
        assert [target.previous for target in found] == [None, "10.12.0", "10.12.0"]
        assert {target.sm for target in found} == {89}

    def test_an_exact_end_stands_for_itself(self) -> None:
        found = targets(Target(), "10.0.0", "10.13.2")
        assert (found[0].version, found[-1].version) == ("10.0.0", "10.13.2")

    def test_other_products(self) -> None:
        found = targets(Target(product="tensorrt-rtx"), "1.4", "1.7")
        assert [target.version for target in found] == ["1.4.0", "1.5.0", "1.6.1", "1.7.1"]

    def test_ends_that_do_not_exist(self) -> None:
        with pytest.raises(TargetError, match="does not exist"):
            targets(Target(), "10.99", "11.0")
        with pytest.raises(TargetError, match="is reversed"):
            targets(Target(), "11.0", "10.0")


class TestUpgrade:
    def names(self, found: Upgrade, numbers: tuple[int, ...]) -> list[str]:
        return [found.findings[number].finding.rule for number in numbers]

    def test_steps(self, rules: list[Rule]) -> None:
        found = moved(rules, "10.6", "10.10")
        steps = [
            (step.after, self.names(found, step.fixed), self.names(found, step.new)) for step in found.steps
        ]
        assert steps == [
            ("10.7", [], ["TST101"]),
            ("10.8", ["TST101"], []),
            ("10.9", [], ["TST102"]),
            ("10.10", [], ["TST104"]),
        ]
        assert [(item.finding.rule, item.lines) for item in found.findings] == [
            ("TST101", (1,)),
            ("TST104", (4,)),
            ("TST102", (3, 4)),
            ("TST103", (0, 1, 2, 3, 4)),
        ]

    def test_the_newest_of_the_lines_with_the_fewest_risks_is_the_safest(self, rules: list[Rule]) -> None:
        found = moved(rules, "10.6", "10.10")
        assert found.safest is not None
        assert found.lines[found.safest.line].line == "10.8"
        assert [found.lines[index].line for index in found.safest.equals] == ["10.6", "10.8"]
        assert self.names(found, found.safest.last_adds) == ["TST102"]
        assert found.safest.first_adds == ()

    def test_code_and_commands_are_work_and_no_risk(self, rules: list[Rule]) -> None:
        found = moved(rules, "10.9", "10.10")
        assert [line.risks["error"] for line in found.lines] == [0, 0]
        assert found.safest is not None
        assert found.lines[found.safest.line].line == "10.10"

    def test_a_version_without_support_for_the_gpu_is_never_the_safest(self, rules: list[Rule]) -> None:
        found = moved(rules, "10.3", "10.6", Target(gpu="V100"))
        assert found.safest is not None
        assert found.lines[found.safest.line].line == "10.4"
        assert moved(rules, "10.5", "10.6", Target(gpu="V100")).safest is None

    def test_advice_is_that_of_each_line(self, rules: list[Rule]) -> None:
        found = moved(rules, "10.6", "10.9")
        (item,) = [item for item in found.findings if item.finding.rule == "TST103"]
        assert item.advice == (("Take the Abs out.", (0, 1, 2, 3)), ("Wait for a fix.", (2, 3)))

    def test_what_becomes_unknown_is_not_fixed(self, tmp_path: Path) -> None:
        one = rule(tmp_path, "TST101", "Relu", ">=10.0")
        text = one.path.read_text(encoding="utf-8").replace(
            'op == "Relu"', 'op == "Relu" and (target.release < (10, 8) or target.fp16)'
        )
        one.path.write_text(text, encoding="utf-8")
        found = moved([load_rule(one.path)], "10.7", "10.8")
        assert found.steps[0].fixed == ()
        assert [finding.rule for finding in found.conditional] == ["TST101"]

    def test_the_rules_about_moving_fire_from_the_step_on(self) -> None:
        book = list(load_rules([builtin_rules() / "portability"]))
        found = moved(book, "8.6", "11.4")
        since = {item.finding.rule: found.lines[item.lines[0]].line for item in found.findings}
        assert since["PORT109"] == "9.0"
        assert since["PORT110"] == "10.0"
        assert since["PORT128"] == "10.13"
        assert since["PORT111"] == since["PORT112"] == since["PORT127"] == "11.0"
        assert not any(step.fixed for step in found.steps)


class TestText:
    def text(self, found: Upgrade, width: int | None = None) -> str:
        with stream(width) as file:
            UpgradeReport(file).add(found)
        return file.getvalue()

    def test_what_it_says(self, rules: list[Rule]) -> None:
        text = self.text(moved(rules, "10.6", "10.10", Target(gpu="L4"), "trtexec --onnx=a.onnx --verbose"))
        assert "TensorRT 10.6 to 10.10" in text
        assert "inputs: x f32[4], ids i64[4]" in text
        assert "build: SM 8.9 (L4)" in text
        assert "command: trtexec --onnx=a.onnx --verbose" in text
        assert "safest version: 10.8, no error or warning known for this graph, the same as for 10.6" in text
        assert "; 10.8 is the newest of these versions" in text
        assert "known risks: 10.6 none; 10.7 1 error; 10.8 none; 10.9 to 10.10 1 warning" in text
        assert "10.10 also has TST102 find-sin" in text
        assert "avoid 10.7: TST101 find-relu" in text
        assert "- gone: TST101" in text
        assert "+ warning TST102" in text
        assert "do: from 10.8: Wait for a fix." in text
        assert "see: https://example.org/TST101" in text

    @pytest.mark.parametrize("width", [60, 80, 100, 140])
    def test_it_fits_its_width(self, rules: list[Rule], width: int) -> None:
        for line in self.text(moved(rules, "10.6", "10.10"), width).splitlines():
            assert len(line) <= width or "https://" in line or "/" in line

    def test_an_error_in_every_version_is_said_first(self, tmp_path: Path) -> None:
        text = self.text(moved([rule(tmp_path, "TST101", "Relu", ">=8.0")], "10.6", "10.8"))
        assert "every version of the range has TST101 find-relu" in text
        assert "No known changes between these versions." in text

    def test_no_version_for_this_gpu(self, rules: list[Rule]) -> None:
        text = self.text(moved(rules, "10.5", "10.6", Target(gpu="V100")))
        assert "safest version: none" in text


class TestJson:
    def test_it_follows_its_schema(self, rules: list[Rule]) -> None:
        data = json.loads(json.dumps(to_json([moved(rules, "10.6", "10.10")])))
        jsonschema.Draft202012Validator.check_schema(schemas.load("trtlint.upgrade/1"))
        jsonschema.validate(data, schemas.load("trtlint.upgrade/1"))
        (model,) = data["models"]
        assert (model["from"], model["to"], model["safest"]["version"]) == ("10.6", "10.10", "10.8")
        assert [version["opset_max"] for version in model["versions"]] == [22, 22, 22, 22, 22]
        assert model["findings"][0]["finding"]["rule"] == "TST101"
        assert model["findings"][0]["versions"] == ["10.7"]
        assert model["versions"][0]["cuda"] == ["11.8", "12.6"]

    def test_a_field_too_many_is_refused(self, rules: list[Rule]) -> None:
        data: dict[str, Any] = to_json([moved(rules, "10.6", "10.7")])
        data["models"][0]["more"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, schemas.load("trtlint.upgrade/1"))


class TestCommand:
    @pytest.fixture
    def model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "a.onnx")
        return Path("a.onnx")

    def test_text(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["upgrade", str(model), "--from", "8.6", "--to", "11.4"]) == 0
        out = capsys.readouterr().out
        assert "a.onnx: TensorRT 8.6 to 11.4" in out
        assert "PORT110" in out
        assert "PORT127" in out

    def test_the_newest_version_is_the_default(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["upgrade", str(model), "--from", "10.16", "--format", "json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["models"]
        assert found["to"] == minors("tensorrt")[-1]

    def test_the_build_command_counts_and_is_checked(
        self, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = model.parent / "build.sh"
        script.write_text("set -e\ntrtexec --onnx=out/a.onnx --fp16 --workspace=64\n", encoding="utf-8")
        assert run(["upgrade", str(model), "--from", "8.6", "--build", str(script)]) == 0
        out = capsys.readouterr().out
        assert "build: FP16" in out
        assert "at: build.sh:2 --workspace" in out or "--memPoolSize=workspace" in out
        assert "error[PORT106] from 11.0" in out
        assert "warning[PORT101] from 11.0" in out

    def test_tensorrt_rtx(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        args = ["upgrade", str(model), "--from", "1.4", "--to", "1.7", "--product", "tensorrt-rtx"]
        assert run(args) == 0
        assert "TensorRT-RTX 1.4 to 1.7" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--from", "10.99"], "does not exist"),
            (["--from", "11.0", "--to", "10.0"], "is reversed"),
            (["--from", "10.8", "--to", "10.8"], "are the same release line"),
            (["--from", "8.6", "--build", "python build.py"], "neither a file nor a trtexec command"),
            ([], "--from"),
        ],
    )
    def test_wrong_usage(
        self, model: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["upgrade", str(model), *args]) == 2
        assert message in capsys.readouterr().err

    def test_a_file_that_cannot_be_read(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("broken.onnx").write_bytes(b"\x0a\xff")
        assert run(["upgrade", "broken.onnx", str(model), "--from", "8.6"]) == 3
        out = capsys.readouterr().out
        assert "error: broken.onnx" in out
        assert "a.onnx: TensorRT 8.6" in out


class TestLintWithBuild:
    @pytest.fixture
    def model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "a.onnx")
        return Path("a.onnx")

    def lint(self, capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, list[str]]:
        run(["lint", "a.onnx", "--format", "json", *args])
        models = json.loads(capsys.readouterr().out)["models"]
        return {model["target"]: [finding["rule"] for finding in model["findings"]] for model in models}

    def test_the_command_settles_the_target(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        found = self.lint(
            capsys, "--trt", "10.8", "--build", "trtexec --onnx=a.onnx --fp16 --noTF32 --stronglyTyped"
        )
        assert list(found) == ["TensorRT 10.8, FP16, strongly typed, no TF32"]
        assert "PORT116" in found["TensorRT 10.8, FP16, strongly typed, no TF32"]

    def test_the_command_line_has_the_last_word(
        self, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = self.lint(
            capsys, "--trt", "11.4", "--no-fp16", "--build", "trtexec --onnx=a.onnx --fp16 --int8"
        )
        assert list(found) == ["TensorRT 11.4, INT8, no FP16"]

    def test_tensorrt_rtx_is_a_product_of_its_own(
        self, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert list(self.lint(capsys, "--build", "tensorrt_rtx --onnx=a.onnx")) == [
            "TensorRT-RTX (any version)"
        ]

    def test_without_a_version_each_option_names_the_versions_without_it(
        self, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(["lint", "a.onnx", "--build", "trtexec --onnx=a.onnx --buildOnly"])
        out = capsys.readouterr().out
        assert "PORT102" in out
        assert "TensorRT 10.0 and newer" in out

    def test_a_script_that_does_not_build_the_model(
        self, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("build.sh").write_text("trtexec --onnx=b.onnx\ntrtexec --onnx=c.onnx\n", encoding="utf-8")
        run(["lint", "a.onnx", "--trt", "11.4", "--build", "build.sh"])
        assert "no build command in the given file has --onnx=a.onnx" in capsys.readouterr().err

    def test_from_python(self, model: Path) -> None:
        from trtlint import lint

        report = lint(model, Target(version="11.4"), command="trtexec --onnx=a.onnx --fp16")
        assert {"PORT101", "PORT106"} <= {finding.rule for finding in report.models[0].findings}
        assert report.models[0].target == "TensorRT 11.4, FP16"


@pytest.mark.parametrize(
    "name",
    [
        "llama_sdpa__ts__op17__fp16",
        "bert_eager__ts__op17__fp32",
        "guided_diffusion_chunk__ts__op17__fp32",
        "nafnet_function__dynamo__op20__fp16",
        "tiny_cnn_qdq_weightonlyq__ts__op17__int8",
    ],
)
def test_real_models_from_8_6_to_11_4(exported: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = [str(exported / f"{name}.onnx"), "--from", "8.6", "--to", "11.4", "--gpu", "L4", "--fp16"]
    assert run(["upgrade", *args, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schemas.load("trtlint.upgrade/1"))
    (model,) = data["models"]
    rules = {item["finding"]["rule"] for item in model["findings"]}
    assert {"PORT110", "PORT111", "PORT112", "PORT127", "PORT129"} <= rules
    assert ("PORT109" in rules) == any(
        " i64[" in text for text in model["model"]["inputs"] + model["model"]["outputs"]
    )
    assert model["safest"] is not None


def test_facts_about_a_build_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "a.onnx")
    command = "trtexec --onnx=a.onnx --workspace=64"
    assert run(["facts", "a.onnx", "--kind", "flag", "--build", command, "--format", "json"]) == 0
    assert '"state": "removed"' in capsys.readouterr().out


def twins(folder: Path, count: int) -> Path:
    """Return a model with pairs of equally named nodes, one finding per pair."""
    nodes = [
        onnx.helper.make_node("Relu", [f"x{n}"], [f"x{n + 1}"], f"node{n // 2}") for n in range(2 * count)
    ]
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4])
        for name in ("x0", nodes[-1].output[0])
    ]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
    opset = onnx.helper.make_opsetid("", 17)
    file = folder / f"twins{count}.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), file)
    return file


@pytest.mark.slow
@pytest.mark.isolated
def test_thousands_of_findings_stay_below_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Work that grew with the square of the findings took half a minute here; the limit is 4.5 s.
    assert run(["upgrade", str(twins(tmp_path, 2000)), "--from", "8.6", "--format", "json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert sum(found["finding"]["rule"] == "BLD242" for found in model["findings"]) == 2000


@pytest.mark.slow
@pytest.mark.isolated
def test_a_model_beyond_the_limit_is_one_line_and_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), small)
    large = tmp_path / "large.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), large)

    def endless(facts: Facts, *others: Any) -> Upgrade:
        deadline = time.process_time() + 30
        while facts.model.path == large and time.process_time() < deadline:
            pass
        return upgrade(facts, *others)

    monkeypatch.setattr("trtlint.commands.upgrade.upgrade", endless)
    monkeypatch.setattr("trtlint.files.limits.SECONDS", 0.5)
    assert run(["upgrade", str(large), str(small), "--from", "10.7", "--to", "10.9", "-q"]) == 3
    said = capsys.readouterr().out
    assert (
        f"error: {large}: reading and checking this file exceeded the limit of 0.5 s of processor time, "
        in said
    )
    assert f"{small}  safest" in said
