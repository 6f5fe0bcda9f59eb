"""Tests of the JSON Schemas in the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import REPOSITORY
from tests.schemas import FOLDER, load


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_each_is_a_schema_of_its_name(file: Path) -> None:
    kind, version = file.stem.rsplit("-", 1)
    loaded = load(f"{kind}/{version}")
    jsonschema.Draft202012Validator.check_schema(loaded)
    assert loaded["title"] == loaded["properties"]["schema"]["const"] == f"{kind}/{version}"


def references(schema: Any) -> Iterator[str]:
    """Yield each ``$ref`` of a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from references(each)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_each_defines_what_it_refers_to_and_no_more(file: Path) -> None:
    schema = json.loads(file.read_text(encoding="utf-8"))
    definitions = {f"#/$defs/{name}": schema["$defs"][name] for name in schema.get("$defs", {})}
    used = {*references({key: value for key, value in schema.items() if key != "$defs"})}
    waiting = list(used)
    while waiting:
        new = {*references(definitions[waiting.pop()])} - used
        used |= new
        waiting += new
    assert used == definitions.keys()


def test_definitions_of_several_schemas_are_equal() -> None:
    """Copy a changed definition from ``trtlint.report-1.json`` to the schemas that use it."""
    report = load("trtlint.report/1")["$defs"]
    for name in ("convert", "fix", "torch-upgrade", "upgrade"):
        own = load(f"trtlint.{name}/1")["$defs"]
        shared = own.keys() & report.keys()
        assert "problem" in shared
        assert {key: own[key] for key in shared} == {key: report[key] for key in shared}, name


def test_the_reference_lists_each() -> None:
    index = (REPOSITORY / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert [file.stem for file in FOLDER.glob("*.json") if f"/{FOLDER.name}/{file.name})" not in index] == []
