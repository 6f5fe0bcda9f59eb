"""Tests of the command line: arguments, output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import onnx
import pytest
from syrupy.assertion import SnapshotAssertion

from tests import schemas
from trtlint import __version__
from trtlint.cli import run
from trtlint.runs.bugs import describe

RULE = """---
id: {id}
name: {name}
severity: {severity}
since: 0.1.0
evidence: documented
applies:
  tensorrt: "{versions}"
find: node
where: {where}
mark: [node]
message: "a {{op}} is here"
advice:
  - do: "Take the {{op}} out."
references:
  - https://example.org/{id}
---
## What it does

Finds a {name}. It says no more.

## Fires

```onnx --trt 10.7
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) {{ {fires} }}
```

## Stays silent

```onnx --trt 10.7
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) {{ y = Abs (x) }}
```
"""

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) {
  a = Relu (x)
  b = Relu (a)
  y = Sin (b)
}
"""
NAMES = ("/blocks.0/Relu", "/blocks.1/Relu", "/head/Sin")
CLEAN = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) { y = Abs (x) }
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with models and custom rules."""
    house = tmp_path / "house"
    house.mkdir()
    for id_, name, severity, where, versions, fires in (
        ("XYZ901", "house-relu", "error", 'op == "Relu"', ">=10.7,<10.8", "y = Relu (x)"),
        ("XYZ902", "house-sin", "warning", 'op == "Sin"', "", "y = Sin (x)"),
        ("XYZ903", "house-fp16", "note", 'op == "Sin" and target.fp16', ">=10.0,<11", "y = Sin (x)"),
    ):
        text = RULE.format(id=id_, name=name, severity=severity, where=where, versions=versions, fires=fires)
        if id_ == "XYZ903":
            text = text.replace("```onnx --trt 10.7", "```onnx --trt 10.7 --fp16")
        (house / f"{id_}-{name}.md").write_text(text, encoding="utf-8")
    save(tmp_path / "models" / "b.onnx", MODEL)
    save(tmp_path / "models" / "sub" / "a.onnx", CLEAN)
    (tmp_path / "models" / "notes.txt").write_text("no model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.delenv("TRTLINT_DEBUG", raising=False)
    return tmp_path


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    model = onnx.parser.parse_model(text)
    for node, name in zip(model.graph.node, NAMES, strict=False):
        node.name = name
    path.write_bytes(model.SerializeToString())


REPOSITORY = Path(__file__).resolve().parent.parent
HOUSE = ["--rules", "house", "--select", "XYZ"]


def test_default_command_is_lint(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models/b.onnx", "--trt", "10.7", *HOUSE]) == 1
    short = capsys.readouterr()
    assert run(["lint", "models/b.onnx", "--trt", "10.7", *HOUSE]) == 1
    assert capsys.readouterr() == short
    assert run(["--trt", "10.7", *HOUSE, "models/b.onnx"]) == 1
    assert capsys.readouterr() == short


@pytest.mark.parametrize("format_", ["full", "concise"])
def test_output(
    format_: str, work: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    run(["models", "--trt", "10.7", "--format", format_, *HOUSE])
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ["attn_sdpa__dynamo__op20__fp16.onnx", "--trt", "10.7"],
        ["attn_sdpa__dynamo__op20__fp16.onnx", "--trt", "10.6..11.4", "--select", "ACC102"],
        ["nafnet_function__dynamo__op20__fp32.onnx", "--trt", "10.7", "--fp16", "--gpu", "L4"],
        [".", "--trt", "10.7", "--format", "concise"],
    ],
    ids=["one", "range", "fp16", "folder"],
)
def test_real_models(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.chdir(REPOSITORY / "tests" / "data" / "models")
    run(arguments)
    assert capsys.readouterr().out == snapshot


def test_range_of_versions(
    work: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    run(["models/b.onnx", "--trt", "10.6..10.8", *HOUSE])
    assert capsys.readouterr().out == snapshot


def test_json_follows_the_schema(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "models" / "text.onnx").write_text("hello")
    assert run(["models", "--trt", "10.7", "--trt", "10.8", "--format", "json", *HOUSE]) == 3
    out = capsys.readouterr().out
    document = json.loads(out)
    jsonschema.validate(document, schemas.load("trtlint.report/1"))
    assert [(model["path"], model["target"]) for model in document["models"]] == [
        (path, f"TensorRT {version}")
        for path in ("models/b.onnx", "models/sub/a.onnx", "models/text.onnx")
        for version in ("10.7", "10.8")
    ]
    first = document["models"][0]
    assert [finding["rule"] for finding in first["findings"]] == ["XYZ901", "XYZ902"]
    assert [site["node"] for site in first["findings"][0]["sites"]] == ["/blocks.0/Relu", "/blocks.1/Relu"]
    assert [(f["rule"], f["depends"]) for f in first["conditional"]] == [("XYZ903", ["--fp16"])]
    assert document["models"][4]["errors"]
    assert run(["models", "--trt", "10.7", "--trt", "10.8", "--format", "json", *HOUSE]) == 3
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["models/sub/a.onnx"], 0),
        (["models/b.onnx"], 1),
        (["models/b.onnx", "--trt", "10.8"], 0),
        (["models/b.onnx", "--trt", "10.8", "--fail-on", "warning"], 1),
        (["models/b.onnx", "--trt", "10.8", "--fail-on", "warning", "--ignore", "XYZ902"], 0),
        (["models/b.onnx", "--trt", "10.8", "--fail-on", "note", "--ignore", "XYZ902"], 0),
        (["models/b.onnx", "--trt", "10.8", "--fail-on", "note", "--ignore", "XYZ902", "--fp16"], 1),
        (["models/b.onnx", "--fail-on", "never"], 0),
        (["models/b.onnx", "--exit-zero"], 0),
        (["missing.onnx"], 3),
        (["missing.onnx", "models/b.onnx", "--exit-zero"], 3),
        (["models/notes.txt", "models/b.onnx"], 3),
        (["models/b.onnx", "--trt", "10.77"], 2),
        (["models/b.onnx", "--rules", "nowhere"], 2),
        (["models/b.onnx", "--select", "XYZ999"], 2),
        (["models/b.onnx", "--fp61"], 2),
        (["facts", "missing.onnx"], 3),
        (["facts", "models/b.onnx", "--kind", "nodes"], 2),
        (["rule", "XYZ"], 2),
        (["rulez"], 2),
        ([], 2),
        (["lint"], 2),
        (["--help"], 0),
        (["lint", "-h"], 0),
    ],
)
def test_exit_codes(arguments: list[str], code: int, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = HOUSE if arguments and arguments[0].endswith((".onnx", ".txt")) else []
    if arguments and "--trt" not in arguments and house:
        house = [*house, "--trt", "10.7"]
    if "--select" in arguments:
        house = HOUSE[:2]
    assert run([*arguments, *house]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    if code == 2 and arguments:
        assert captured.out == ""
        assert captured.err.startswith("trtlint: ")
        assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["x", "--trt", "10.77"], "10.16"),
        (["x", "--gpu", "H101"], "H100"),
        (["x", "--select", "house-rely"], "house-relu"),
        (["x", "--fp61"], "--fp16"),
        (["x", "--fp16", "--explain-miss", "house-rely", "n"], "house-relu"),
        (["facts", "x", "--kind", "attentoin"], "attention"),
        (["rulse"], "trtlint rules"),
        (["rule", "house-rely"], "house-relu"),
    ],
)
def test_usage_errors_name_the_nearest(
    arguments: list[str], hint: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house = HOUSE[:2] if arguments[0] in ("x", "rule") else []
    assert run([*arguments, *house]) == 2
    assert hint in capsys.readouterr().err


def test_unreadable_files_do_not_stop_the_others(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "models" / "aa.onnx").write_bytes(b"")
    assert run(["missing.onnx", "models", "--trt", "10.7", "--format", "concise", *HOUSE]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("missing.onnx: error: ")
    assert lines[1].startswith("models/aa.onnx: error: ")
    assert any(line.startswith("models/b.onnx: blocks.0: error[XYZ901]") for line in lines)


def test_findings_of_low_confidence_do_not_fail(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Without a version it is not known whether the range of the rule is met.
    assert run(["models/b.onnx", "--rules", "house", "--select", "XYZ901"]) == 0
    out = capsys.readouterr().out
    assert "error[XYZ901]" in out
    assert "TensorRT 10.7" in out


def test_conditional_findings_are_counted_and_shown_on_demand(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["models/b.onnx", "--trt", "10.8", "--rules", "house", "--select", "XYZ903"]
    assert run(arguments) == 0
    assert (
        "1 conditional finding hidden: give --fp16 or --no-fp16 (1), or see them with --show-conditional"
        in capsys.readouterr().out
    )
    assert run([*arguments, "--show-conditional"]) == 0
    assert "note[XYZ903] house-fp16" in capsys.readouterr().out
    assert run([*arguments, "--no-fp16"]) == 0
    assert capsys.readouterr().out == "models/b.onnx: no findings for TensorRT 10.8, no FP16\n"


@pytest.mark.parametrize(
    ("spelling", "other"), [("--stronglyTyped", "--strongly-typed"), ("--noTF32", "--no-tf32")]
)
def test_spellings_of_trtexec(
    spelling: str, other: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["models/b.onnx", "--trt", "10.7", spelling, *HOUSE])
    first = capsys.readouterr().out
    run(["models/b.onnx", "--trt", "10.7", other, *HOUSE])
    assert capsys.readouterr().out == first
    run(["models/b.onnx", "--trt", "10.7", *HOUSE])
    assert capsys.readouterr().out != first


def test_folders_are_searched_and_files_linted_once(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "link.onnx").symlink_to(work / "models" / "b.onnx")
    run(["models/sub", "models", "models/b.onnx", "link.onnx", "--format", "json", *HOUSE])
    document = json.loads(capsys.readouterr().out)
    assert [model["path"] for model in document["models"]] == ["models/sub/a.onnx", "models/b.onnx"]


def test_folder_without_models(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / "empty").mkdir()
    assert run(["empty", *HOUSE]) == 3
    assert "empty" in capsys.readouterr().out


def test_a_bug_is_one_line(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("of\nmine")

    arguments = ["missing.onnx", "models/b.onnx", "--format", "concise", *HOUSE]
    monkeypatch.setattr("trtlint.engine.evaluate.Evaluation", broken)
    assert run(arguments) == 4
    captured = capsys.readouterr()
    missing, bug = captured.out.splitlines()
    assert missing.startswith("missing.onnx: ")
    assert bug.startswith("models/b.onnx: error: a bug in trtlint: ZeroDivisionError: of mine")
    assert "report" in bug
    assert captured.err == ""
    monkeypatch.setenv("TRTLINT_DEBUG", "1")
    assert run(arguments) == 4
    assert "Traceback" in capsys.readouterr().err


def test_a_bug_outside_a_file_is_one_line(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("mine")

    monkeypatch.setattr("trtlint.commands.lint.SettingsReader", broken)
    assert run(["models/b.onnx"]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("trtlint: a bug in trtlint: KeyError: 'mine'")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("issues", "end"),
    [
        ("https://git.a.test/team/trtlint/issues", "report it at https://git.a.test/team/trtlint/issues"),
        ("https://github.com/OWNER/trtlint/issues", "report it"),
    ],
)
def test_a_bug_is_reported_at_the_issue_tracker(
    issues: str, end: str, project_urls: Callable[..., None]
) -> None:
    project_urls(f"Issues, {issues}")
    assert describe(ValueError("x")).endswith(f"; please {end}")


def test_the_message_of_a_bug_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str) -> str:
        raise OSError("Too many open files")

    monkeypatch.setattr("trtlint.runs.bugs.project_url", full)
    assert describe(ValueError("x")).endswith("; please report it")


def test_suppress_needs_a_file_to_write(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suppress", "models/b.onnx", "ACC101", "--reason", "x"]) == 2
    assert "Missing option '-o'" in capsys.readouterr().err


def test_interrupt(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trtlint.model.load.load", interrupted)
    assert run(["models/b.onnx", *HOUSE]) == 130


@pytest.mark.parametrize("format_", ["full", "concise", "json"])
def test_closed_pipe_is_quiet(format_: str, work: Path) -> None:
    for i in range(40):
        save(work / "many" / f"{i}.onnx", MODEL)
    command = [sys.executable, "-m", "trtlint", "many", "--format", format_, "--trt", "10.7", *HOUSE]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_usage_error_quotes_no_more_than_is_read(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = work / "long.toml"
    config.write_text(f'"{"k" * 100_000}" = 1\n', encoding="ascii")
    assert run(["models", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("trtlint: long.toml: kkkk")
    assert len(said) < 1100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line(work: Path) -> None:
    command = [sys.executable, "-m", "trtlint", "models", "--trt", "10.7", *HOUSE]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "trtlint: cannot write the output: No space left on device\n"
    assert done.returncode == 3


def test_version_imports_nothing_heavy(work: Path) -> None:
    code = (
        "import sys; sys.argv = ['trtlint', '--version']; from trtlint.__main__ import main; main();"
        "print(*{'click', 'rich', 'onnx', 'numpy', 'networkx', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"trtlint {__version__}\n\n"


def test_output_needs_no_unicode(work: Path) -> None:
    save(work / "models" / "é.onnx", MODEL)
    done = subprocess.run(
        [sys.executable, "-m", "trtlint", "models", "--trt", "10.7", *HOUSE],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 1
    assert b"\\xe9.onnx" in done.stdout
    assert done.stderr == b""


def test_rules_table(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--rules", "house"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "name", "severity", "applies", "to", "evidence", "summary"]
    (row,) = [line for line in lines if line.startswith("XYZ901")]
    for part in ("house-relu", "error", "TensorRT 10.7", "documented", "Finds a house-relu"):
        assert part in row
    assert "ACC102" in {line.split()[0] for line in lines if line}


@pytest.mark.parametrize("key", ["XYZ901", "xyz901", "house-relu"])
def test_rule_is_explained(key: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rule", key, "--rules", "house"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("error[XYZ901] house-relu\n")
    assert "Finds a house-relu. It says no more." in out
    assert "applies to: TensorRT 10.7" in out
    assert "https://example.org/XYZ901" in out


def test_examples_of_rules(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", "house"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "6 examples of 3 rules hold"
    file = work / "house" / "XYZ901-house-relu.md"
    file.write_text(file.read_text().replace("y = Abs (x)", "y = Relu (x)"))
    assert run(["test", "house"]) == 1
    assert f"house/{file.name}:" in capsys.readouterr().out
    file.write_text(file.read_text().replace("severity: error", "severity: grave"))
    assert run(["test", "house"]) == 2
    assert f"house/{file.name}:4: " in capsys.readouterr().err


def test_facts(work: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert run(["facts", "models/b.onnx", "--kind", "node"]) == 0
    assert capsys.readouterr().out == snapshot
    assert run(["facts", "models/b.onnx"]) == 0
    out = capsys.readouterr().out
    assert "node" in out.partition("\n\n")[0]
    assert "the whole model" in out
    assert "/head/Sin (Sin)\n    op " not in out


def test_a_kind_without_facts_is_listed(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["facts", "models/b.onnx", "--kind", "attention", "--kind", "node"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("node (3)", "attention (0)")


def test_facts_as_json(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["facts", "models/b.onnx", "--kind", "node", "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [fact["place"] for fact in facts] == ["/blocks.0/Relu", "/blocks.1/Relu", "/head/Sin"]
    assert set(facts[0]) == {"kind", "place", "module", "source", "fields", "chain"}
    assert facts[0]["fields"]["op"] == "Relu"


@pytest.mark.parametrize(
    ("rule", "node", "options", "reason"),
    [
        ("XYZ901", "/head/Sin", ["--trt", "10.7"], 'op == "Relu"'),
        ("house-relu", "/blocks.0/Relu", ["--trt", "10.8"], "10.8"),
        ("XYZ903", "/head/Sin", ["--trt", "10.7"], "--fp16"),
        ("XYZ901", "/blocks.0/Relu", ["--trt", "10.7"], "fires"),
    ],
)
def test_explained_misses(
    rule: str,
    node: str,
    options: list[str],
    reason: str,
    work: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["models/b.onnx", "--explain-miss", rule, node, "--rules", "house", *options]) == 0
    assert reason in capsys.readouterr().out


def test_an_empty_path_is_not_the_current_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", ""]) == 2
    assert "a path is empty" in capsys.readouterr().err
