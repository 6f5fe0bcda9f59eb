"""Tests that every module imports only from its own layer or a lower one."""

from __future__ import annotations

import ast
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from tests.conftest import REPOSITORY
from trtlint.engine.rulebook import load_builtin

ROOMS = (
    "files", "process", "knowledge", "model", "remote", "buildfiles", "buildcommand", "target", "language",
    "dry_build", "measurement", "compare", "network", "torch_tensorrt", "facts", "partition", "engine",
    "policy", "case", "fixes", "examples", "conversion", "report", "runs", "commands",
)  # fmt: skip
"""From lowest to highest; docs/development/rooms.md describes each of them."""
TOP = {
    "api", "arguments", "cases", "cli", "converting", "inputfiles", "keywords", "optionnames",
    "results", "tools", "__main__", "__init__",
}  # fmt: skip
"""The modules above all rooms."""
BOTTOM = {"errors", "structs"}
"""The modules below all rooms."""
LONGEST = 400
TWO_MEANINGS = {"Attention", "Outcome", "Place", "_Versions"}
"""The only class names that two modules define."""


@cache
def everything_imported(source: str) -> tuple[tuple[str, int, bool], ...]:
    """Return all imports of a module, lazy ones too: name, level, and whether only for type checking.

    The syntax tree is discarded: millions of nodes would slow down garbage collection.
    """
    tree = ast.parse(source)
    typing = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0, id(node) in typing) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name, node.level, id(node) in typing) for name in names]
    return tuple(found)


def imports(module: str, source: str) -> Iterator[tuple[str, bool]]:
    """Return the project imports of a module, lazy ones too, and whether only for type checking."""
    for name, level, only_types in everything_imported(source):
        assert not level, f"{module}: relative imports hide where they go"
        if name.partition(".")[0] == "trtlint":
            yield name, only_types


def room_of(module: str) -> str:
    """Return the package of a module, the module itself below all packages, or an empty text above them."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in {*ROOMS, *BOTTOM} else ""


def arrows_up(module: str, source: str) -> list[str]:
    """Return the imports of a module from higher packages."""
    order = {name: index for index, name in enumerate((*BOTTOM, *ROOMS, ""))}
    own = order[room_of(module)]
    return [
        f"{module} -> {name}"
        for name, _ in imports(module, source)
        if name != "trtlint.__version__" and order[room_of(name)] > own
    ]


@cache
def modules() -> Mapping[str, str]:
    """Return every module of the project with its source."""
    found = {}
    for file in sorted((REPOSITORY / "trtlint").rglob("*.py")):
        parts = file.relative_to(REPOSITORY).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)
        found[name] = file.read_text(encoding="utf-8")
    return found


def test_there_are_no_rooms_but_these() -> None:
    folders = {
        file.name
        for file in (REPOSITORY / "trtlint").iterdir()
        if file.is_dir() and any(file.rglob("*.py")) and file.name != "rules"
    }
    assert folders <= set(ROOMS)
    flat = {file.stem for file in (REPOSITORY / "trtlint").glob("*.py")}
    assert flat == TOP | BOTTOM | {"case"}


@pytest.mark.slow
def test_every_import_goes_down() -> None:
    assert [arrow for module, source in modules().items() for arrow in arrows_up(module, source)] == []


@pytest.mark.parametrize(
    "planted",
    [
        "from trtlint.engine.finding import Finding",
        "import trtlint.report.text",
        "def later():\n    from trtlint.commands import lint",
        "from trtlint import api",
    ],
)
def test_a_planted_import_is_found(planted: str) -> None:
    assert arrows_up("trtlint.facts.base", planted)


def test_no_modules_import_each_other() -> None:
    sources = modules()
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, source in sources.items():
        for name, only_types in imports(module, source):
            imported = name if name in sources else name.rpartition(".")[0]
            if imported in sources and imported not in ("trtlint", module) and not only_types:
                graph.add_edge(module, imported)
    assert [group for group in nx.strongly_connected_components(graph) if len(group) > 1] == []


def test_no_module_is_long() -> None:
    long = [module for module, source in modules().items() if len(source.splitlines()) > LONGEST]
    assert long == []


def test_a_class_name_has_one_meaning() -> None:
    names = Counter(
        line.removeprefix("class ").split("(")[0].rstrip(":")
        for source in modules().values()
        for line in source.splitlines()
        if line.startswith("class ")
    )
    assert {name for name, count in names.items() if count > 1} <= TWO_MEANINGS


def test_the_engine_knows_no_operators() -> None:
    import onnx.defs

    operators = {schema.name for schema in onnx.defs.get_all_schemas_with_history()}
    for folder in ("engine", "policy", "report"):
        for file in sorted(Path(REPOSITORY, "trtlint", folder).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            assert not {text for text in texts if isinstance(text, str)} & operators, file


def test_the_engine_knows_no_rules_and_no_rewrites() -> None:
    """Rules are data: to rename a rule or a rewrite must not change the engine without an error."""
    entries = load_builtin().entries
    letters = "|".join(sorted({entry.id.rstrip(string.digits) for entry in entries}))
    rewrites = Path(REPOSITORY, "trtlint", "fixes", "rewrites").glob("[a-z]*.py")
    names = {entry.name for entry in entries} | {file.stem.replace("_", "-") for file in rewrites}
    for file in sorted(Path(REPOSITORY, "trtlint", "engine").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.fullmatch(rf"(?:{letters})[0-9]{{0,3}}", node.value), (file, node.lineno)
                assert node.value not in names, (file, node.lineno)


def test_records_are_structs() -> None:
    """Dataclasses take ten times as long to create, and a start creates two hundred classes."""
    others = [
        module
        for module, source in modules().items()
        if any(name.startswith("dataclasses") for name, _, _ in everything_imported(source))
    ]
    assert others == []
