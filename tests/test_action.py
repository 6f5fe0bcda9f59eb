"""Tests of the GitHub action: its steps with GitHub's variables, and its examples."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.test_precommit import CLEAN, EXAMPLE, git

REPOSITORY = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None or os.name == "nt", reason="no bash")

PYTHON = """#!/bin/sh
echo "$@" >> "{log}"
if [ "$3" = venv ]; then
  "{python}" "$1" -c 'import venv'  # as the real one does
  mkdir -p "$4/bin"
  cp "$0" "$4/bin/python"
  entry='from trtlint.__main__ import main\nif __name__ == "__main__": main()'
  printf '#!%s\\n%s\\n' "{python}" "$entry" > "$4/bin/trtlint"
  chmod +x "$4/bin/trtlint"
elif [ "$3" != pip ]; then
  exec "{python}" "$@"
fi
"""
"""A fake interpreter that creates environments with this trtlint and records pip's requirements."""


@dataclass
class Runner:
    """A local GitHub runner for the action.

    Attributes:
        root: the runner's own files.
        workspace: the checked out repository.
        context: values of expressions.
        out: output of the steps.
        code: exit code of the failed step, otherwise 0.
    """

    root: Path
    workspace: Path
    context: dict[str, str] = field(default_factory=dict)
    out: str = ""
    code: int = 0

    def run(self, **inputs: str) -> dict[str, str]:
        """Run the action with inputs and return its outputs."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= ACTION["inputs"].keys()
        values = {name: entry["default"] for name, entry in ACTION["inputs"].items()} | given
        values["python"] = str(self._python())
        context = {f"inputs.{name}": value for name, value in values.items()}
        context |= {"github.action_path": str(REPOSITORY), **self.context}
        temporary = self.root / "temp"
        temporary.mkdir(exist_ok=True)
        for name in ("outputs", "summary"):
            (self.root / name).write_text("")
        self.out, self.code = "", 0
        for step in STEPS:
            if not self.code:
                self._step(step, context, temporary)
        lines = (self.root / "outputs").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        """Return the summary of the step."""
        return (self.root / "summary").read_text(encoding="utf-8")

    @property
    def installed(self) -> str:
        """Return the requirements passed to pip."""
        return (self.root / "python.log").read_text()

    def _step(self, step: dict[str, Any], context: dict[str, str], temporary: Path) -> None:
        script = self.root / "step.sh"
        script.write_text(step["run"])
        environment = {
            "HOME": str(self.root),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONUTF8": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(self.root / "outputs"),
            "GITHUB_STEP_SUMMARY": str(self.root / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(temporary),
        }
        for name, text in step["env"].items():
            environment[name] = EXPRESSION.sub(lambda match: _value(match[1], context), text)
        # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell
        done = subprocess.run(
            [str(BASH), "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.workspace,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.out += done.stdout
        self.code = done.returncode

    def _python(self) -> Path:
        python = self.root / "python"
        python.write_text(PYTHON.format(log=self.root / "python.log", python=sys.executable))
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        return python


def _value(expression: str, context: dict[str, str]) -> str:
    """Return the first non-empty value of ``a || b``."""
    return next((context[name] for name in expression.split(" || ") if context.get(name)), "")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Return a runner with a repository of two models and the source code of one of them."""
    workspace = tmp_path / "work space"
    (workspace / "models").mkdir(parents=True)
    shutil.copy(EXAMPLE / "model.py", workspace)
    shutil.copy(EXAMPLE / "attention.onnx", workspace / "models")
    onnx.save(onnx.parser.parse_model(CLEAN), workspace / "models" / "clean.onnx")
    git(workspace, "init", "--quiet", "--initial-branch", "main")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "Begin")
    root = tmp_path / "runner"
    root.mkdir()
    return Runner(root, workspace)


@pytest.mark.slow
def test_a_finding_reaches_the_pull_request(runner: Runner) -> None:
    outputs = runner.run(trt="10.7", args="--select\nACC102\n")
    assert runner.code == 1
    assert outputs == {
        "exit-code": "1",
        "models": "2",
        "errors": "1",
        "findings": "1",
        "sarif-file": "trtlint.sarif",
    }
    lines = (runner.workspace / "model.py").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "scaled_dot_product_attention(" in text)
    assert f"exported from model.py:{line} in forward" in runner.out
    assert re.search(rf"^::error file=model\.py,line={line},title=", runner.out, re.MULTILINE)
    assert "ACC102" in runner.summary
    sarif = json.loads((runner.workspace / "trtlint.sarif").read_text())
    (result,) = sarif["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("model.py", line)
    assert f"pip install --quiet --disable-pip-version-check {REPOSITORY}" in runner.installed


@pytest.mark.slow
def test_the_report_gives_the_runner_no_commands(runner: Runner) -> None:
    runner.run(trt="10.7", args="--select\nACC102")
    before, _, rest = runner.out.partition("::stop-commands::")
    token, _, rest = rest.partition("\n")
    report, _, after = rest.partition(f"::{token}::\n")
    assert len(token) == 32
    assert "error[ACC102]" in report
    assert "error[ACC102]" not in before
    assert "::error file=" in after


@pytest.mark.slow
def test_results_that_come_with_the_repository_do_not_count(runner: Runner) -> None:
    (runner.workspace / "trtlint.toml").write_text('select = ["ACC102"]\n')
    assert runner.run(trt="10.7")["findings"] == "1"
    (kept,) = (runner.root / "temp").glob("trtlint-cache")
    entries = list(kept.glob("*/*.json"))
    assert len(entries) == 2
    for entry in entries:
        forged = runner.workspace / ".trtlint_cache" / entry.relative_to(kept)
        forged.parent.mkdir(parents=True, exist_ok=True)
        forged.write_bytes(entry.read_bytes().replace(b"ACC102", b"ACC999"))
    shutil.rmtree(kept)
    assert runner.run(trt="10.7")["findings"] == "1"
    assert "error[ACC102]" in runner.out


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["", "\n-j\n2"])
def test_nothing_of_the_checkout_is_run(jobs: str, runner: Runner) -> None:
    for name in (
        "venv",
        "json",
        "secrets",
        "pip",
        "ensurepip",
        "trtlint",
        "click",
        "multiprocessing",
        "struct",
    ):
        planted = "import pathlib\npathlib.Path(__file__).with_name('owned').touch()\n"
        (runner.workspace / f"{name}.py").write_text(planted)
    outputs = runner.run(trt="10.7", args=f"--select\nACC102{jobs}")
    assert (runner.code, outputs["models"]) == (1, "2"), runner.out
    assert not (runner.workspace / "owned").exists()


def test_every_interpreter_of_the_action_is_isolated() -> None:
    calls = [
        words
        for step in STEPS
        for words in re.findall(r'(?:"\$python"|bin/python") (-\S+)', re.sub(r"\n +#.*", "", step["run"]))
    ]
    assert len(calls) == 4
    assert set(calls) == {"-I"}


@pytest.mark.slow
def test_what_is_not_wanted_is_left_out(runner: Runner) -> None:
    outputs = runner.run(
        trt="10.7",
        args="--select\nACC102",
        fail_on="never",
        annotations="false",
        summary="false",
        sarif_file="out.sarif",
        version="0.1.0",
    )
    assert (runner.code, outputs["exit-code"], outputs["errors"]) == (0, "0", "1")
    assert "::error" not in runner.out
    assert runner.summary == ""
    assert (runner.workspace / "out.sarif").is_file()
    assert "trtlint==0.1.0" in runner.installed


def commit(workspace: Path, name: str) -> None:
    """Commit a model with this name."""
    shutil.copy(EXAMPLE / "attention.onnx", workspace / name)
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "Add a model")


@pytest.mark.parametrize("event", ["pull_request.base.sha", "before"])
def test_nothing_changed_since_the_commit_of_an_event(event: str, runner: Runner) -> None:
    runner.context[f"github.event.{event}"] = git(runner.workspace, "rev-parse", "HEAD")
    outputs = runner.run(changed_only="true", trt="10.7")
    assert (runner.code, outputs["models"], outputs["sarif-file"]) == (0, "0", "")


@pytest.mark.slow
def test_only_what_changed(runner: Runner) -> None:
    runner.context["github.event.before"] = git(runner.workspace, "rev-parse", "HEAD")
    commit(runner.workspace, "models/with space, $(touch owned) and\nline.onnx")
    commit(runner.workspace, "-j.onnx")
    (runner.workspace / "models" / "clean.onnx").unlink()
    git(runner.workspace, "commit", "--quiet", "--all", "--message", "Remove a model")
    outputs = runner.run(changed_only="true", trt="10.7", args="--select\nACC102")
    assert (runner.code, outputs["models"]) == (1, "2"), runner.out
    outputs = runner.run(changed_only="true", trt="10.7", paths="models/**/*.onnx\n")
    assert outputs["models"] == "1"
    assert not (runner.workspace / "owned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("base", ["", "0" * 40, "4d7a214614ab2935c943f9e0ff69d22eadbb8f32"])
def test_all_where_there_is_nothing_to_compare_with(base: str, runner: Runner) -> None:
    runner.context["github.event.before"] = base
    outputs = runner.run(changed_only="true", trt="10.7", args="--select\nACC102")
    assert outputs["models"] == "2"
    assert "all models are linted" in runner.out


@pytest.mark.slow
def test_a_shallow_clone_fetches_what_it_compares_with(runner: Runner, tmp_path: Path) -> None:
    base = git(runner.workspace, "rev-parse", "HEAD")
    commit(runner.workspace, "new.onnx")
    git(runner.workspace, "config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", runner.workspace.as_uri(), str(shallow))
    runner.workspace = shallow
    runner.context["github.event.before"] = base
    outputs = runner.run(changed_only="true", trt="10.7", args="--select\nACC102")
    assert (outputs["models"], outputs["errors"]) == ("1", "1")


@pytest.mark.slow
def test_wrong_usage_and_unreadable_files_fail(runner: Runner) -> None:
    outputs = runner.run(trt="10.77")
    assert (runner.code, outputs) == (2, {"exit-code": "2"})
    assert "10.77" in runner.out
    (runner.workspace / "broken.onnx").write_text("no model")
    outputs = runner.run(trt="10.8")
    assert (runner.code, outputs["exit-code"]) == (3, "3")
    assert "::error file=broken.onnx" in runner.out


HOSTILE = ("$(touch owned)`touch owned`\"; touch owned; \"'; touch owned; '", "a\nexit-code=0")
"""One text with all shell injections, and an injection into the outputs file."""


@pytest.mark.slow
@NEEDS_WHEELS
@pytest.mark.parametrize(("wanted", "level"), [("parse", "parse"), ("true", "build")])
def test_the_parser_and_the_builder_are_asked_where_that_is_wanted(
    wanted: str, level: str, runner: Runner
) -> None:
    runner.run(dry_build=wanted)
    assert f"dry {level}, TensorRT-RTX" in runner.out
    assert "[rtx]" in runner.installed


@pytest.mark.slow
def test_nobody_is_asked_otherwise(runner: Runner) -> None:
    runner.run()
    assert "TensorRT-RTX" not in runner.out
    assert "[rtx]" not in runner.installed
    runner.run(dry_build="maybe")
    assert runner.code == 2


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE)
def test_inputs_are_never_run(hostile: str, runner: Runner) -> None:
    for names in (("paths",), ("trt", "gpu", "config", "dry_build", "fail_on", "args"), ("sarif_file",)):
        runner.run(**dict.fromkeys(names, hostile))
        assert runner.code or names == ("sarif_file",)
        assert not (runner.workspace / "owned").exists()
        assert "exit-code=0" not in (runner.root / "outputs").read_text() or not runner.code


def test_scripts_hold_no_expressions() -> None:
    assert [step["name"] for step in STEPS if "${{" in step["run"]] == []


def test_every_input_and_output_is_described() -> None:
    for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert entry["description"].rstrip().endswith(".")
    used = {
        name
        for step in STEPS
        for text in step["env"].values()
        for name in re.findall(r"inputs\.([\w-]+)", text)
    }
    assert used == set(ACTION["inputs"])


def test_the_example_for_github_fits_the_action_and_is_pinned() -> None:
    workflow = yaml.safe_load((REPOSITORY / "examples" / "ci" / "github.yml").read_text())
    steps = workflow["jobs"]["trtlint"]["steps"]
    for step in steps:
        name, _, version = step["uses"].partition("@")
        if name == "OWNER/trtlint":
            assert step["with"].keys() <= ACTION["inputs"].keys()
            assert version == "COMMIT"
        else:
            assert re.fullmatch(r"[0-9a-f]{40}", version), name
    text = json.dumps(steps)
    assert set(re.findall(r"steps\.trtlint\.outputs\.([\w-]+)", text)) <= ACTION["outputs"].keys()


@pytest.mark.slow
def test_the_example_for_gitlab_runs(runner: Runner) -> None:
    (job,) = yaml.safe_load((REPOSITORY / "examples" / "ci" / "gitlab.yml").read_text()).values()
    (command,) = job["script"]
    assert re.search(r":\d+\.\d+\.\d+", job["image"])
    assert re.fullmatch(r"pip install .*git\+https://\S+/trtlint@COMMIT", job["before_script"][0])
    words = command.split()
    assert words[0] == "trtlint"
    done = subprocess.run(
        [sys.executable, "-m", "trtlint", *words[1:]],
        cwd=runner.workspace,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    for report in job["artifacts"]["reports"].values():
        assert (runner.workspace / report).stat().st_size > 0
