"""Tests that the commands, screens and code in the documentation are correct."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement

from tests.conftest import REPOSITORY
from tests.dry_build.rtx import VERSION as WHEELS
from tests.pages import Block, Command, Session, blocks, commands, pages, same
from trtlint.cli import cli
from trtlint.compare.comparison import available
from trtlint.engine.rulebook import load_builtin, load_rules
from trtlint.examples.rules import run_examples
from trtlint.fixes import keep_fp32, rewrites
from trtlint.language.functions import FUNCTIONS
from trtlint.report.formats import FORMATS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

README = (REPOSITORY / "README.md").read_text()
RULES = (REPOSITORY / "rules" / "README.md").read_text()
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
CONFIGURATION = json.loads((REPOSITORY / "trtlint" / "policy" / "schema" / "configuration.json").read_text())

PAGES = {page.relative_to(REPOSITORY).as_posix(): page for page in pages()}
ELSEWHERE = re.compile(r"dask://|https?://|s3://|hf://")
"""Words of commands that cannot run on this machine; the tests only parse such commands."""
BUILDER = re.compile(r"--dry-(?:build|parse)|--verify-build")
"""Options that need the TensorRT-RTX wheels of the version in the pages."""
CELL = re.compile(r"(?<!\\)\|")
"""The borders of the cells of a table."""
SPAN = re.compile(r"(?<!`)`(trtlint [^`\n]+)`(?!`)")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_do_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGES[name].read_text(encoding="utf-8")
    found = list(blocks(page))
    if not any(map(shown, found)):
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    session = Session(tmp_path)
    session.prepare()
    for block in found:
        if block.title:
            session.write(block.title, block.text)
        elif block.language == "python":
            check_code(f"{name}:{block.line}", block, tmp_path)
        for command in commands(block):
            check_command(f"{name}:{command.line}: {command.text}", command, session)


def shown(block: Block) -> bool:
    """Return whether the tests run a block of a page."""
    return block.language == "python" or any(commands(block))


def check_command(where: str, command: Command, session: Session) -> None:
    """Run a command and compare its screen, or only parse the command if it cannot run here."""
    words = command.text.split()
    if words[0] == "pip":
        check_install(where, words)
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE), where
    elif ELSEWHERE.search(command.text) or lacks_packages(command.text):
        check_options(where, words)
    else:
        assert words[0] in {"trtlint", "echo", "cat", "cd", "cp", "eval"}, (
            f"{where}: not a command that is tried"
        )
        printed = session.run(command.text)
        assert session.code in (0, 1), f"{where}: exit code {session.code}\n{printed}"
        if command.screen is not None:
            assert same(command.screen, printed), f"{where} prints\n{printed}"


def lacks_packages(text: str) -> bool:
    """Return whether a command needs packages that are not installed."""
    return bool(BUILDER.search(text) and WHEELS != "1.7.1") or (
        "--verify" in text.split() and not available()
    )


def check_install(where: str, words: list[str]) -> None:
    """Check that the extras in a pip command exist in this project."""
    for word in words[2:]:
        name = word.strip("'\"")
        if name.startswith("."):  # a checkout: https://pip.pypa.io/en/stable/cli/pip_install/#examples
            name = f"trtlint{name[1:]}"
        if name.startswith("trtlint"):
            extras = Requirement(name).extras
            assert extras <= PROJECT["optional-dependencies"].keys(), where


def check_options(where: str, words: list[str]) -> None:
    """Check that a command, or a part of one, has only options of the command line."""
    assert not words[1].isidentifier() or words[1] in cli.commands, f"{where}: no command {words[1]}"
    named = words[1] if words[1] in cli.commands else "lint"
    known = {"--help", "-h", "--version"}
    for parameter in cli.commands[named].params:
        known |= {*parameter.opts, *parameter.secondary_opts}
    for word in words[1:]:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-zA-Z][\w-]*", option) and not re.fullmatch(r"-j\d*", option):
            assert option in known, f"{where}: {named} has no option {option}"


def check_code(where: str, block: Block, folder: Path) -> None:
    """Check Python code, and run it if its imports are installed."""
    tree = ast.parse(block.text, filename=where)
    imported = {name.split(".")[0] for name in imports(tree)}
    if "trtlint" in imported and all(map(importlib.util.find_spec, imported)):
        done = subprocess.run(
            [sys.executable, "-c", block.text], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{where}: {done.stderr}"


def imports(tree: ast.AST) -> Iterator[str]:
    """Return the modules that code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("name", PAGES)
def test_rows_of_a_table_have_the_columns_of_its_head(name: str) -> None:
    wrong, columns = [], 0
    for line in PAGES[name].read_text(encoding="utf-8").splitlines():
        cells = len(CELL.findall(line)) if line.startswith("|") else 0
        columns = cells and (columns or cells)
        if cells != columns:
            wrong.append(line)
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_files_in_a_page_are_well_formed(name: str) -> None:
    for block in blocks(PAGES[name].read_text(encoding="utf-8")):
        where = f"{name}:{block.line}"
        if block.language == "toml":
            data = tomllib.loads(block.text)
            data = data.get("tool", {}).get("trtlint", {} if "pyproject" in block.title else data)
            jsonschema.validate(json.loads(json.dumps(data, default=str)), CONFIGURATION)
        elif block.language in {"yaml", "yml"}:
            assert yaml.safe_load(block.text), where
        elif block.language == "json":
            assert json.loads(block.text), where


@pytest.mark.parametrize("name", PAGES)
def test_commands_within_sentences_have_options_that_exist(name: str) -> None:
    page = PAGES[name].read_text(encoding="utf-8")
    for match in SPAN.finditer(page):
        check_options(f"{name}:{page.count(chr(10), 0, match.start()) + 1}", match[1].split())


@pytest.mark.parametrize("name", PAGES)
def test_links_to_files_hold(name: str) -> None:
    page = PAGES[name]
    for to in re.findall(r"\]\(((?!https?:)[^)#\s]+)", page.read_text(encoding="utf-8")):
        # Pages that only `make docs` writes are no exception: a reader of a checkout does not have them.
        assert (page.parent / to).exists(), f"{name}: no file {to}"


def test_a_screen_may_leave_lines_out() -> None:
    assert same("a\n...\nc", "a\nb\nb\nc")
    assert not same("a\n...\nc", "a\nb\nd")
    assert not same("a", "a\nb")


def test_commands_of_a_page_are_found() -> None:
    page = (
        "x\n\n```console\n$ trtlint a \\\n    --x\nout\n$ echo $?\n1\n```\n\n"
        "    trtlint b\n    # c\n\n```\ntrtlint c\n```\n"
    )
    found = [command for block in blocks(page) for command in commands(block)]
    assert [(command.line, command.text, command.screen) for command in found] == [
        (4, "trtlint a --x", "out"),
        (7, "echo $?", "1"),
        (12, "trtlint b", None),
        (15, "trtlint c", None),
    ]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_table_of_formats_is_complete() -> None:
    page = PAGES["docs/how-to/ci.md"].read_text(encoding="utf-8")
    rows = "".join(re.findall(r"^\| (`.*`) \|", page, re.MULTILINE))
    assert re.findall(r"`([\w-]+)`", rows) == [*FORMATS]


def test_the_table_of_rewrites_is_complete() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "fix.md").read_text(encoding="utf-8")
    cells = [row.split(" | ")[0] for row in page.splitlines() if row.startswith("| `")]
    listed = {name: "(`--unsafe`)" in cell for cell in cells for name in re.findall(r"`(\w[\w-]+)`", cell)}
    files = Path(rewrites.__file__).parent.glob("[a-z]*.py")
    assert sorted(listed) == sorted([keep_fp32.NAME, *(file.stem.replace("_", "-") for file in files)])
    advice = [item for rule in load_builtin() for item in rule.advice if item.fix is not None]
    unsafe = {item.fix for item in advice if item.safety == "unsafe"}
    assert unsafe.isdisjoint(item.fix for item in advice if item.safety == "safe")
    assert {name for name, is_unsafe in listed.items() if is_unsafe} == unsafe


def test_the_table_of_functions_is_complete() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", RULES, re.MULTILINE)
    documented = [(signature, meaning) for signature, meaning in rows if "(" in signature]
    assert sorted(documented) == sorted((f.signature, f.meaning) for f in FUNCTIONS.values())


def test_the_rule_in_the_documentation_works(tmp_path: Path) -> None:
    text = re.search(r"````markdown\n(.*?)````", RULES, re.DOTALL)
    assert text is not None
    (tmp_path / "HOUSE001-no-nearest-upsampling.md").write_text(text[1])
    results = list(run_examples(load_rules([tmp_path])))
    assert len(results) == 2
    assert all(result.ok for result in results), [str(result) for result in results]
