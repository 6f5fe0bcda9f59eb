"""Tests of the hooks, run by pre-commit in a team's repository."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml

from tests.dependencies import link_dependencies
from tests.runs.test_cache import external

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLE = REPOSITORY / "examples" / "attention"
POINTER = """\
version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
"""
CLEAN = '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y) { y = Abs (x) }'
TARGET = ["--trt", "10.7", "--select", "ACC102"]

pytest.importorskip("pre_commit")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with a model and its source code."""
    root = tmp_path / "project"
    (root / "models").mkdir(parents=True)
    shutil.copy(EXAMPLE / "model.py", root)
    shutil.copy(EXAMPLE / "attention.onnx", root / "models")
    onnx.save(onnx.parser.parse_model(CLEAN), root / "models" / "clean.onnx")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Begin")
    return root


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an environment with this trtlint and without the user's pre-commit data."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    script = scripts / "trtlint"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trtlint "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_"))}
    return {
        **inherited,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
    }


def pre_commit(folder: Path, environment: dict[str, str], *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments, "--color", "never", "--verbose"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def configure(folder: Path, hook: str, *arguments: str) -> None:
    """Configure a published hook to run the installed trtlint."""
    published: list[dict[str, Any]] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    (entry,) = (entry for entry in published if entry["id"] == hook)
    entry = {**entry, "language": "system", "args": list(arguments)}
    config = {"repos": [{"repo": "local", "hooks": [entry]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(folder, "add", ".")


def staged(folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run the hook on the staged files and return its output."""
    git(folder, "add", ".")
    return pre_commit(folder, environment, "run")


@pytest.mark.slow
def test_only_changed_models_are_linted(project: Path, environment: dict[str, str]) -> None:
    configure(project, "trtlint", *TARGET)
    code, out = staged(project, environment)
    assert code == 0
    assert "(no files to check)" in out
    (project / "models" / "again.onnx").write_bytes((EXAMPLE / "attention.onnx").read_bytes())
    code, out = staged(project, environment)
    assert code == 1
    assert "error[ACC102]" in out
    assert re.findall(r"--> (\S+)", out) == ["models/again.onnx"]


@pytest.mark.slow
def test_the_line_of_the_code_is_named(project: Path, environment: dict[str, str]) -> None:
    configure(project, "trtlint", *TARGET, "--output", "sarif:out.sarif", "--output", "markdown:out.md")
    lines = (project / "model.py").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "scaled_dot_product_attention(" in text)
    code, out = pre_commit(project, environment, "run", "--all-files")
    assert code == 1
    assert f"exported from model.py:{line} in forward" in out
    assert f'"startLine": {line}' in (project / "out.sarif").read_text()
    assert f"model.py:{line}" in (project / "out.md").read_text()


@pytest.mark.slow
def test_several_models_external_data_and_pointers(project: Path, environment: dict[str, str]) -> None:
    external(project / "external", 1.0)
    (project / "models" / "pointer.onnx").write_text(POINTER)
    configure(project, "trtlint", *TARGET)
    code, out = pre_commit(project, environment, "run", "--all-files")
    assert code == 1
    assert "models/pointer.onnx: skipped: a Git LFS pointer" in out
    assert "1 error at 2 places in 1 of 3 models" in out
    assert "could not be linted" not in out

    (project / "models" / "attention.onnx").unlink()
    code, out = pre_commit(project, environment, "run", "--all-files")
    assert code == 0
    assert "models/pointer.onnx: skipped: a Git LFS pointer" in out

    configure(project, "trtlint", *TARGET, "--require-lfs")
    code, out = pre_commit(project, environment, "run", "--all-files")
    assert code == 1
    assert "models/pointer.onnx: a Git LFS pointer" in out
    assert "exit code: 3" in out


@pytest.mark.slow
def test_data_that_lfs_has_not_fetched(project: Path, environment: dict[str, str]) -> None:
    external(project / "external", 1.0)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "Add a model")
    configure(project, "trtlint", *TARGET)
    (project / "external" / "e.onnx.data").write_text(POINTER)
    code, out = staged(project, environment)  # only the data changed, which lints the model
    assert code == 0
    note = "values in external data 'e.onnx.data' are unknown: 'e.onnx.data' is a Git LFS pointer"
    assert f"external/e.onnx: {note}" in out
    configure(project, "trtlint", *TARGET, "--require-lfs")
    code, out = staged(project, environment)
    assert code == 1
    assert "the external data file 'e.onnx.data' is a Git LFS pointer" in out
    assert "exit code: 3" in out


RULE = (
    """---
id: HOUSE101
name: no-sin
severity: error
since: 1.0.0
evidence: documented
find: node
where: op == "Sin"
message: "a Sin is here"
advice:
  - do: "Take it out."
references:
  - https://example.org/sin
---
## Fires

```onnx
"""
    + CLEAN.replace("Abs", "Sin")
    + """
```

## Stays silent

```onnx
"""
    + CLEAN
    + """
```
"""
)


@pytest.mark.slow
def test_rules_of_ones_own(project: Path, environment: dict[str, str]) -> None:
    configure(project, "trtlint-rules")
    rule = project / "house" / "HOUSE101-no-sin.md"
    rule.parent.mkdir()
    rule.write_text(RULE)
    (project / "house" / "README.md").write_text("no rule")
    code, out = staged(project, environment)
    assert code == 0, out
    assert "Passed" in out
    rule.write_text(RULE.replace('op == "Sin"', 'op == "Cos"'))
    code, out = staged(project, environment)
    assert code == 1
    assert "HOUSE101" in out
    rule.write_text(RULE.replace("find: node", "find: nodes"))
    code, out = staged(project, environment)
    assert code == 1
    assert "house/HOUSE101-no-sin.md:7" in out
    assert "exit code: 2" in out


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """Return this project as a hook repository."""
    index = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(tmp_path / "index"),
    ]
    if subprocess.run([*index, "hatchling"], capture_output=True, check=False).returncode:
        pytest.skip("no package index within reach")
    root = tmp_path / "trtlint"
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("trtlint", "rules"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=unwanted)
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, root)
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Publish")
    return root


@pytest.mark.slow
def test_hooks_install_and_run(
    project: Path, environment: dict[str, str], hooks: Path, tmp_path: Path
) -> None:
    (project / "trtlint.toml").write_text('select = ["ACC102"]\n[target]\ntrt = "10.7"\n')
    (project / "models" / "pointer.onnx").write_text(POINTER)
    (project / "HOUSE101-no-sin.md").write_text(RULE)
    git(project, "add", ".")
    environment["PYTHONPATH"] = str(link_dependencies(tmp_path / "dependencies"))
    environment["PIP_NO_COMPILE"] = "1"  # what is imported is compiled then; all of it takes seconds
    code, out = pre_commit(project, environment, "try-repo", str(hooks), "--all-files")
    assert code == 1, out
    assert re.search(r"^trtlint\.+Failed$", out, re.MULTILINE)
    assert re.search(r"^trtlint rules\.+Passed$", out, re.MULTILINE)
    assert "exported from model.py:" in out
    assert "models/pointer.onnx: skipped: a Git LFS pointer" in out
    assert "1 error at 2 places in 1 of 2 models for TensorRT 10.7" in out


LIKE_AN_OPTION = "--baseline=b.onnx"
KNOWN = '{"schema": "trtlint.baseline/1", "entries": []}'


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[*TARGET, "--"], TARGET])
def test_a_file_called_like_an_option_is_none(
    project: Path, environment: dict[str, str], arguments: list[str]
) -> None:
    (project / "b.onnx").write_text(KNOWN)
    (project / LIKE_AN_OPTION).write_bytes((EXAMPLE / "attention.onnx").read_bytes())
    configure(project, "trtlint", *arguments)
    code, out = staged(project, environment)
    assert code == 1
    if arguments[-1] == "--":
        assert f"--> {LIKE_AN_OPTION}" in out
    else:
        assert "is both an option and a file" in out
        assert "exit code: 2" in out


def test_hooks_put_two_dashes_before_file_names() -> None:
    published = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    assert [entry["args"][-1] for entry in published] == ["--"] * len(published)
